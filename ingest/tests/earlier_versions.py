"""Lakes as earlier versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake import Lake


def written_otherwise(lake: Lake, path: Path, rows: pa.Table) -> None:
    """Replace a file of a commit, as if an earlier version, which recorded no hashes, had written these rows."""
    pq.write_table(rows, path)
    for commit in (lake.root / "commits").iterdir():
        document = json.loads(commit.read_text())
        # Nor did it chain its commits.
        document.pop("checksum", None)
        document.pop("link", None)
        for file in document["files"]:
            if lake.root / file["path"] == path:
                del file["sha256"]
                file["size_bytes"] = path.stat().st_size
        commit.write_text(json.dumps(document))
    for head in (lake.root / "heads").glob("*"):
        head.unlink()
