"""What became of one attempt to ingest one path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from sojourn_ingest.lake.commit import Commit, DataFile, RecordingPart
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


def commit_of(
    outcome: Outcome,
    files: tuple[DataFile, ...],
    subject: str | None = None,
    part_outcomes: Sequence[Outcome] = (),
) -> Commit:
    """Return the commit of an attempt before it is known what it replaces."""
    return Commit(
        source_path=outcome.source_path,
        content_hash=outcome.content_hash,
        decoder_version=outcome.decoder_version,
        size_bytes=outcome.size_bytes,
        modified_ns=outcome.modified_ns,
        format=outcome.format,
        status=outcome.status,
        holds_facts=bool(files),
        reason=outcome.reason,
        message=outcome.message,
        records_read=outcome.records_read,
        files=files,
        subject=subject,
        duplicate_of=outcome.duplicate_of,
        parts=tuple(
            RecordingPart(
                source_path=part.source_path,
                content_hash=part.content_hash,
                size_bytes=part.size_bytes,
                modified_ns=part.modified_ns,
                status=part.status,
                reason=part.reason,
                message=part.message,
                records_read=part.records_read,
            )
            for part in part_outcomes
        ),
    )
