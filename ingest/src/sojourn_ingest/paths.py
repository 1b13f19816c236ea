"""Where things of one installation live: all below one folder, ``var``, but for a lake that is somewhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn_ingest.secrets_file import FORGOTTEN_LIST

if TYPE_CHECKING:
    from sojourn_ingest.lake import Lake, Storage

LAKE_VARIABLE = "SOJOURN_LAKE"


@dataclass(frozen=True)
class Paths:
    """The folders of one installation below ``var``; ``lake_uri`` is where the lake is, if not there."""

    var: Path
    lake_uri: str | None = None

    @classmethod
    def from_environment(cls, var: Path | None = None) -> Paths:
        """Return the folders below ``var``, or below $SOJOURN_VAR, or below ./var; the lake at $SOJOURN_LAKE if set."""
        chosen = var or Path(os.environ.get("SOJOURN_VAR") or "var")
        return cls(chosen.expanduser().resolve(), os.environ.get(LAKE_VARIABLE) or None)

    @property
    def lake(self) -> Path:
        """Parquet facts and their commits."""
        return self.var / "lake"

    def open_lake(self) -> Lake:
        """Return the lake, with copies of remote files below ``var``.

        Raises
        ------
        StorageError
            If it is at a URI that cannot be used.
        """
        # Imported here, because every command knows these folders and few open a lake, which takes Arrow.
        from sojourn_ingest.lake import Lake

        return Lake(self.open_storage())

    def open_storage(self) -> Storage:
        """Return the storage of the lake, of which nothing is read yet: what repairs a lake begins with it.

        Raises
        ------
        StorageError
            If it is at a URI that cannot be used.
        """
        from sojourn_ingest.lake.storage import open_storage

        return open_storage(self.lake) if self.lake_uri is None else open_storage(self.lake_uri, self.lake_cache)

    @property
    def lake_cache(self) -> Path:
        """Copies of the files of a lake that is somewhere else."""
        return self.var / "lake-cache"

    @property
    def warehouse(self) -> Path:
        """The DuckDB file that models are built in."""
        return self.var / "warehouse" / "warehouse.duckdb"

    @property
    def spark(self) -> Path:
        """What Spark writes: its warehouse, its scratch files, a launcher of Java."""
        return self.var / "spark"

    @property
    def snapshots(self) -> Path:
        """Published builds, and CURRENT, which names the one being served."""
        return self.var / "snapshots"

    @property
    def forgotten(self) -> Path:
        """The list of forgotten hosts; outside the lake, so that a new lake keeps to it."""
        return self.var / FORGOTTEN_LIST

    @property
    def generated(self) -> Path:
        """Synthetic measurements to ingest, the only input below ``var``."""
        return self.var / "generated"

    @property
    def secrets(self) -> Path:
        """Keys and passwords, generated at first use."""
        return self.var / "secrets.env"
