"""dbt itself builds the project too, and its tables are those of the runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_transforms.comparing_builds import Relation, compare_relations
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import lake_contents_of, run_statements
from sojourn_transforms.running.statements import Statement, compiled_project
from sojourn_transforms.warehouse import open_warehouse, register_lake

pytestmark = pytest.mark.integration
BIN = Path(sys.executable).parent
RUN = "1000k_rtt50_codel_bbr_video_appfirst_rep1"


def ingested(folder: Path, sample: Path) -> Paths:
    paths = Paths(folder / "var")
    subprocess.run([BIN / "sojourn", "ingest", sample / RUN, "--var", paths.var], check=True, capture_output=True)
    return paths


def run(paths: Paths, project: Path, marts: Sequence[str]) -> list[Statement]:
    """Build marts with all that they need by the runner, and return those of them that are tables."""
    compiled = compiled_project(project, "duckdb").of(marts)
    lake = paths.open_lake()
    with open_warehouse(paths.warehouse, None) as connection:
        contents = lake_contents_of(lake, TABLES)
        register_lake(connection, lake, contents)
        run_statements(DuckDbTables(connection, project), compiled.statements, contents, lambda _: None)
    return [each for each in compiled.statements if each.kind == "model" and each.storage != "view"]


def dbt(paths: Paths, project: Path, command: Sequence[str | Path], *arguments: str) -> None:
    environment = {**os.environ, "SOJOURN_VAR": str(paths.var), "SOJOURN_MODELS": str(project)}
    done = subprocess.run(
        [*command, "build", *arguments, "--exclude-resource-type", "unit_test", "--exclude", "tag:history"],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def assert_equal_tables(paths: Paths, statements: Sequence[Statement], theirs: str) -> None:
    """Compare tables with what dbt left, of which ``theirs`` selects the rows of ``{layer}`` and ``{name}``."""
    keys = {}
    relations = []
    with duckdb.connect() as connection:
        connection.execute(f"attach '{paths.warehouse}' as ours (read_only)")
        for each in statements:
            columns = connection.execute(f"select * from ours.{each.relation} limit 0").description or ()
            keys[each.name] = tuple(name for name, *_ in columns)
    for each in statements:
        ours = paths.warehouse.with_name(f"ours-{each.name}.parquet")
        with duckdb.connect(str(paths.warehouse), read_only=True) as connection:
            connection.sql(f"select * from {each.relation}").write_parquet(str(ours))
        select = theirs.format(layer=each.relation.partition(".")[0], name=each.name)
        relations.append(Relation(each.name, f"select * from '{ours}'", select, keys[each.name]))
    compared = compare_relations(relations)
    assert compared.differences == []
    assert sum(compared.rows.values()) > 100


def copied(paths: Paths, statements: Sequence[Statement]) -> str:
    """Copy the tables that dbt made with DuckDB to files, and return the statement that selects one."""
    with duckdb.connect(str(paths.warehouse.with_name("dbt.duckdb")), read_only=True) as connection:
        for each in statements:
            file = paths.warehouse.with_name(f"{each.relation}.parquet")
            connection.sql(f"select * from {each.relation}").write_parquet(str(file))
    return f"select * from '{paths.warehouse.parent}/{{layer}}.{{name}}.parquet'"


def test_some_marts_are_the_same_by_dbt(tmp_path: Path, repository: Path, sample: Path) -> None:
    paths, project = ingested(tmp_path, sample), repository / "models"
    marts = ["run_queuing_delay", "ingest_outcome"]
    tables = run(paths, project, marts)
    target = ["--target-path", str(tmp_path / "target"), "--log-path", str(tmp_path / "logs")]
    dbt(
        paths,
        project,
        [BIN / "dbt"],
        "--select",
        *(f"+{mart}" for mart in marts),
        "--indirect-selection",
        "cautious",
        *target,
    )
    assert_equal_tables(paths, tables, copied(paths, tables))


@pytest.mark.long
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_every_mart_is_the_same_by_dbt(tmp_path: Path, repository: Path, sample: Path, engine: str) -> None:
    paths, project = ingested(tmp_path, sample), tmp_path / "models"
    shutil.copytree(repository / "models", project, ignore=shutil.ignore_patterns("target", "logs"))
    tables = run(
        paths, repository / "models", [mart.name for mart in compiled_project(repository / "models", "duckdb").marts]
    )
    if engine == "duckdb":
        dbt(paths, project, [BIN / "dbt"])
        assert_equal_tables(paths, tables, copied(paths, tables))
        # Again, as a second build of dbt's: incremental models find nothing to add.
        dbt(paths, project, [BIN / "dbt"], "--select", "config.materialized:incremental")
        assert_equal_tables(paths, tables, copied(paths, tables))
    else:
        dbt(paths, project, [sys.executable, "-m", "sojourn_transforms.dbt"])
        # Staging of long tables is part of the statements there, and hashes differ between engines.
        marts = [each for each in tables if each.layer == "marts"]
        warehouse = next(folder for folder in paths.spark.rglob("marts.db"))
        assert_equal_tables(paths, marts, f"select * from '{warehouse.parent}/{{layer}}.db/{{name}}/*.parquet'")
