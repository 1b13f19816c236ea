"""What an engine does in a build: it runs the dbt project over the lake and leaves the marts in a DuckDB file.

Statistics, publication and everything after them read that file, whichever engine filled it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_transforms.dbt_report import DbtReport

EngineName = Literal["duckdb", "spark"]


class Engine(Protocol):
    """One way to build the marts. Use as a context manager around :meth:`build_marts` and :meth:`write_comparisons`."""

    name: EngineName

    @property
    def marts_file(self) -> Path:
        """The DuckDB file whose schema ``marts`` holds the marts, as tables or as views over Parquet."""

    def build_marts(self, project: Path, lake: Lake, on_step: Callable[[str], None]) -> DbtReport:
        """Run every model, seed and data test.

        Raises
        ------
        DbtError
            If a model or a test failed, or dbt could not start.
        """

    def write_comparisons(self) -> None:
        """Compute the mart ``comparison`` from the others, beside which it then stands."""


class DuckDbEngine:
    """One machine: DuckDB reads the lake's files where they are."""

    name: EngineName = "duckdb"

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def marts_file(self) -> Path:
        """The warehouse itself."""
        return self._paths.warehouse

    def build_marts(self, project: Path, lake: Lake, on_step: Callable[[str], None]) -> DbtReport:
        """Run dbt in this process over views of the lake's live files."""
        from sojourn_transforms.dbt_build import run_dbt_on_duckdb
        from sojourn_transforms.warehouse import register_lake

        on_step("registering the lake's files")
        register_lake(self._paths.warehouse, lake)
        return run_dbt_on_duckdb(project, self._paths.warehouse, self._paths.dbt, on_step)

    def write_comparisons(self) -> None:
        """Compute the comparisons in this process."""
        # Importing SciPy and statsmodels takes seconds.
        from sojourn_transforms.comparison_mart import write_comparisons

        write_comparisons(self._paths.warehouse)
