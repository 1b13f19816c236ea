"""What became of one attempt to ingest one path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from sojourn_ingest.schema import table

Status = Literal["ok", "partial", "rejected"]


@dataclass(frozen=True)
class Outcome:
    """One row of ``ingest_outcome``; see its declaration for units and meaning."""

    source_path: str
    content_hash: str
    decoder_version: str
    size_bytes: int
    modified_ns: int
    compression: str
    format: str | None
    status: Status
    records_read: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    duplicate_of: str | None = None
    part_of: str | None = None
    reason: str | None = None
    message: str | None = None
    fault_offset_bytes: int | None = None
    started_ns: int = 0
    duration_ms: float = 0.0

    def _row(self, names: Iterable[str]) -> dict[str, object]:
        row = {name: getattr(self, name) for name in names if name not in ("records_refused", "refused_by_reason")}
        row["records_refused"] = sum(self.refused.values())
        row["refused_by_reason"] = json.dumps(self.refused, sort_keys=True)
        return row

    @staticmethod
    def as_table(outcomes: Sequence[Outcome]) -> pa.Table:
        """Return outcomes as a table, in the declared schema."""
        schema = table("ingest_outcome").arrow_schema()
        return pa.Table.from_pylist([outcome._row(schema.names) for outcome in outcomes], schema=schema)
