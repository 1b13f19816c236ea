"""Where things of one installation live: everything generated is below one folder, ``var``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paths:
    """The folders of one installation, all below ``var``."""

    var: Path

    @classmethod
    def from_environment(cls, var: Path | None = None) -> Paths:
        """Return the folders below ``var``, or below $SOJOURN_VAR, or below ./var."""
        chosen = var or Path(os.environ.get("SOJOURN_VAR") or "var")
        return cls(chosen.expanduser().resolve())

    @property
    def lake(self) -> Path:
        """Parquet facts and their commits."""
        return self.var / "lake"

    @property
    def warehouse(self) -> Path:
        """The DuckDB file that dbt builds in."""
        return self.var / "warehouse" / "warehouse.duckdb"

    @property
    def dbt(self) -> Path:
        """What dbt writes: its manifest, compiled statements and log."""
        return self.var / "dbt"

    @property
    def spark(self) -> Path:
        """What Spark writes: its warehouse, its scratch files, a launcher of Java."""
        return self.var / "spark"

    @property
    def snapshots(self) -> Path:
        """Published builds, and CURRENT, which names the one being served."""
        return self.var / "snapshots"

    @property
    def generated(self) -> Path:
        """Made-up measurements to ingest, the one thing below ``var`` that is input."""
        return self.var / "generated"

    @property
    def secrets(self) -> Path:
        """Keys and passwords, generated at first use."""
        return self.var / "secrets.env"
