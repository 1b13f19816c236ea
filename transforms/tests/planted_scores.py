"""Scores planted in a lake, without files that a reader would have them from."""

from __future__ import annotations

import pyarrow as pa

from sojourn_ingest.lake import FactWriter, Lake, Outcome
from sojourn_ingest.schema import table

TABLE = "qoe_score"
PROVENANCE = ("source_hash", "decoder_version")


def put(lake: Lake, path: str, content: str, *scores: float, version: str = "v1", modified_ns: int = 1) -> None:
    """Commit scores of runs under a path, as a reader would: one row for each, numbered from 0."""
    outcome = Outcome(
        source_path=path, content_hash=content, decoder_version=version, size_bytes=1, modified_ns=modified_ns,
        compression="none", format="test", status="ok", records_read=len(scores),
    )  # fmt: skip
    with FactWriter(lake.storage, content, version) as writer:
        # Every declared column but the provenance, which the writer adds.
        declared = [field for field in table(TABLE).arrow_schema() if field.name not in PROVENANCE]
        rows = [
            dict.fromkeys(field.name for field in declared)
            | {
                "score_number": i,
                "study_id": "s",
                "scored": f"run/{path}{i}",
                "run_id": f"{path}{i}",
                "metric": "m",
                "score": score,
            }
            for i, score in enumerate(scores)
        ]
        writer.write(TABLE, pa.RecordBatch.from_pylist(rows, schema=pa.schema(declared)))
        lake.commit(outcome, writer.finish())
