"""What an engine does in a build: the compiled project over the lake, with the marts left in a DuckDB file.

Publication and everything after it read that file, independently of the engine that filled it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from sojourn_ingest import named_points
from sojourn_ingest.forgotten import list_fingerprint
from sojourn_ingest.lake import Lake
from sojourn_ingest.memory import duckdb_memory
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_transforms.mart_files import Parts
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import Progress, RunReport, lake_contents_of, run_statements
from sojourn_transforms.running.statements import Compiled, EngineName, Statement
from sojourn_transforms.warehouse import note_forgotten, open_warehouse, parts_by_day, register_lake

OnProgress = Callable[[Progress], None]


class Engine(Protocol):
    """One way to build the marts. Its methods are called in this order, within ``running()``."""

    name: EngineName
    memory: str | None
    """Most memory that DuckDB takes, such as 8GB; None if another engine builds the marts."""

    @property
    def marts_file(self) -> Path:
        """The DuckDB file whose schema ``marts`` holds the marts, as tables or as views over Parquet."""

    def running(self) -> AbstractContextManager[None]:
        """Hold what the engine needs for one build."""

    def build_marts(self, compiled: Compiled, lake: Lake, on_progress: OnProgress, force: bool) -> RunReport:
        """Run every model, seed and data test, and the statistics; with ``force`` also what stands.

        Raises
        ------
        ModelError
            If a model or test failed.
        """

    @property
    def is_full(self) -> bool:
        """Whether every mart was built from the start, so that nothing of the previous snapshot is taken over."""

    def parts_by_day(self) -> Parts:
        """Return what identifies the inputs of each day of connections; none if this is not known."""


class DuckDbEngine:
    """One machine: DuckDB reads the lake's files where they are."""

    name: EngineName = "duckdb"

    def __init__(self, paths: Paths, full: bool = False, memory: str | None = None) -> None:
        self._paths = paths
        self._full = full
        self.memory: str | None = memory or duckdb_memory()

    @property
    def is_full(self) -> bool:
        """Whether every mart was to be built from the start."""
        return self._full

    @property
    def marts_file(self) -> Path:
        """The warehouse itself."""
        return self._paths.warehouse

    def running(self) -> AbstractContextManager[None]:
        """Hold nothing: DuckDB opens its file for each step."""
        return nullcontext()

    def build_marts(self, compiled: Compiled, lake: Lake, on_progress: OnProgress, force: bool) -> RunReport:
        """Run what changed over views of the lake's live files.

        Only days of connections whose sources changed are counted, unless their models changed or ``full`` was asked
        for.
        """
        statements = with_statistics(compiled)
        with open_warehouse(self._paths.warehouse, self.memory) as connection:
            tables = DuckDbTables(connection, compiled.project)
            tables.keep_only(statements)
            # Sources lose the rows of forgotten hosts and keep their hash: what was counted of them is counted again.
            forgotten = list_fingerprint(self._paths.forgotten)
            note_forgotten(connection, forgotten)
            contents = lake_contents_of(lake, TABLES, forgotten)
            register_lake(connection, lake, contents)
            named_points.reach("lake.registered")
            return run_statements(
                tables,
                statements,
                contents,
                on_progress,
                salt=forgotten,
                force=force,
                from_scratch=self._full,
            )

    def parts_by_day(self) -> Parts:
        """Return the sources of each day."""
        return parts_by_day(self._paths.warehouse)


def with_statistics(compiled: Compiled) -> list[Statement]:
    """Return the statements of a project, or of a part of it, with the marts of the statistics that it suffices for."""
    # SciPy takes a second to import, which a build without work should not spend.
    from sojourn_transforms.statistics_marts import statistics_statements

    names = {each.name for each in compiled.statements if each.kind != "test"}
    return [*compiled.statements, *(each for each in statistics_statements() if each.after <= names)]
