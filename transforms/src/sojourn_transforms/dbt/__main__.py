"""dbt on Spark: ``python -m sojourn_transforms.dbt ARGUMENTS`` hands them to dbt in a session that sees the lake.

On DuckDB plain ``dbt`` does. Spark knows the lake by temporary views of one session, which is why dbt has to run in the
process that holds it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner

from sojourn_ingest.paths import Paths
from sojourn_transforms.dbt.compilation import ENGINE_VARIABLE
from sojourn_transforms.project import find_project
from sojourn_transforms.spark.lake_views import register_lake
from sojourn_transforms.spark.session import SparkSettings, spark_session


def main() -> int:
    """Run dbt with the arguments of this process; return its status."""
    project, paths = find_project().resolve(), Paths.from_environment()
    os.environ[ENGINE_VARIABLE] = "spark"
    folders = ["--project-dir", str(project), "--profiles-dir", str(project)]
    target = ["--target-path", str(project / "target" / "dbt-spark"), "--log-path", str(Path("logs").resolve())]
    lake = paths.open_lake()
    with lake.reading(), spark_session(paths, SparkSettings.from_options(None, [])) as session:
        register_lake(session, lake)
        return 0 if dbtRunner().invoke([*sys.argv[1:], *folders, *target]).success else 1


if __name__ == "__main__":
    sys.exit(main())
