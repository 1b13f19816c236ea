"""What an engine does in a build: it runs the dbt project over the lake and leaves the marts in a DuckDB file.

Statistics, publication and everything after them read that file, independently of the engine that filled it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sojourn_ingest import named_points
from sojourn_ingest.lake import Lake
from sojourn_ingest.memory import duckdb_memory
from sojourn_ingest.paths import Paths
from sojourn_transforms.dbt.fingerprint import models_fingerprint
from sojourn_transforms.mart_files import DateFingerprints
from sojourn_transforms.warehouse import (
    date_fingerprints,
    models_fingerprint_of,
    note_models_fingerprint,
    register_lake,
)

if TYPE_CHECKING:
    from sojourn_transforms.dbt.results import DbtReport

EngineName = Literal["duckdb", "spark"]
OnStep = Callable[[str], None]


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

    def build_marts(self, project: Path, lake: Lake, on_step: OnStep) -> DbtReport:
        """Run every model, seed and data test; dbt's manifest is then below ``paths.dbt``.

        Raises
        ------
        DbtError
            If dbt could not start, or a model or test failed.
        """

    def write_comparisons(self) -> None:
        """Compute the mart ``comparison`` from the others; it is then next to them in ``marts_file``."""

    @property
    def is_full(self) -> bool:
        """Whether every mart was built from the start, so that nothing of the previous snapshot is taken over."""

    def date_fingerprints(self) -> DateFingerprints:
        """Return the fingerprint of the inputs of each day of connections; none if this is not known."""


class DuckDbEngine:
    """One machine: DuckDB reads the lake's files where they are."""

    name: EngineName = "duckdb"

    def __init__(self, paths: Paths, full: bool = False, memory: str | None = None) -> None:
        self._paths = paths
        self._full = full
        self.memory: str | None = memory or duckdb_memory()
        self._mark = ""

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

    def build_marts(self, project: Path, lake: Lake, on_step: OnStep) -> DbtReport:
        """Run dbt in this process over views of the lake's live files.

        Only days of connections whose sources changed are counted, unless the models changed or ``full`` was asked for.
        """
        # Importing dbt takes seconds, as SciPy and statsmodels do below.
        from sojourn_transforms.dbt.invocation import run_dbt

        on_step("registering the lake's files")
        register_lake(self._paths.warehouse, lake)
        named_points.reach("lake.registered")
        warehouse, fingerprint = self._paths.warehouse, models_fingerprint(project) + _forgotten(self._paths)
        is_full = self._full or models_fingerprint_of(warehouse) != fingerprint
        report = run_dbt(
            project, self._paths.dbt, on_step, warehouse=warehouse, full_refresh=is_full, memory=self.memory
        )
        note_models_fingerprint(warehouse, fingerprint)
        self._mark = fingerprint
        return report

    def date_fingerprints(self) -> DateFingerprints:
        """Return fingerprints of the sources of each day, of the models, and of what writes the files."""
        return date_fingerprints(self._paths.warehouse, self._mark)

    def write_comparisons(self) -> None:
        """Compute the comparisons in this process."""
        from sojourn_transforms.comparison_mart import write_comparisons

        write_comparisons(self._paths.warehouse, memory=self.memory)


def _forgotten(paths: Paths) -> str:
    """Return a fingerprint of the forgotten hosts: sources lose rows and keep their hash, so all is counted again."""
    if not paths.forgotten.exists():
        return ""
    return hashlib.sha256(paths.forgotten.read_bytes()).hexdigest()
