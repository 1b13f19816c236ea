"""Snapshots: one build's marts as Parquet files that never change, and the pointer to the one being served.

The same input gives the same bytes, so a snapshot is named by the hash of its content and says nothing of
when it was made; the pointer does.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_transforms.catalogue import Mart

CURRENT = "CURRENT"
BUILD_ID_DIGITS = 16
SNAPSHOTS_KEPT = 3
ROW_GROUP_ROWS = 122_880


@dataclass(frozen=True)
class Published:
    """The pointer's content."""

    build_id: str
    published_at: str


def current(snapshots: Path) -> Published | None:
    """Return what is being served, or None when nothing was published yet."""
    pointer = snapshots / CURRENT
    if not pointer.exists():
        return None
    return Published(**json.loads(pointer.read_text(encoding="utf-8")))


def current_build(snapshots: Path) -> dict[str, Any] | None:
    """Return build.json of what is being served, or None."""
    published = current(snapshots)
    if published is None:
        return None
    description = snapshots / published.build_id / "build.json"
    if not description.exists():
        return None
    content: dict[str, Any] = json.loads(description.read_text(encoding="utf-8"))
    return content


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _export(connection: duckdb.DuckDBPyConnection, schema: str, mart: Mart, path: Path) -> dict[str, Any]:
    columns = ", ".join(f'"{column.name}"' for column in mart.columns)
    order = ", ".join(f'"{name}" nulls first' for name in mart.key)
    result = connection.sql(f'select {columns} from {schema}."{mart.name}" order by {order}')
    reader: pa.RecordBatchReader = result.to_arrow_reader(ROW_GROUP_ROWS)
    rows = 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for batch in reader:
            rows += batch.num_rows
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROW_GROUP_ROWS)
    types = {name: str(kind) for name, kind in zip(result.columns, result.types, strict=True)}
    return mart.as_dict(rows, types)


def publish(
    warehouse: Path, schema: str, marts: Iterable[Mart], build: dict[str, Any], snapshots: Path
) -> tuple[str, bool]:
    """Write the marts as a snapshot and switch to it; return its build id and whether it is a new one.

    ``build`` is build.json without its id. The switch is the rename of one small file, so a reader sees the
    old build or the new one.
    """
    snapshots.mkdir(parents=True, exist_ok=True)
    staging = snapshots / f".staging-{os.getpid()}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            # One thread, so that equal rows come out in equal order and the file's bytes are the same each time.
            connection.execute("set threads = 1")
            entries = [_export(connection, schema, mart, staging / f"{mart.name}.parquet") for mart in marts]
        _write_json(staging / "catalog.json", {"datasets": entries})
        digest = hashlib.sha256(json.dumps(build, sort_keys=True).encode())
        for path in sorted(staging.iterdir()):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
        build_id = digest.hexdigest()[:BUILD_ID_DIGITS]
        _write_json(staging / "build.json", {"build_id": build_id, **build})
        target = snapshots / build_id
        is_new = not target.exists()
        if is_new:
            staging.replace(target)
        _point_to(snapshots, build_id)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _remove_old(snapshots, build_id)
    return build_id, is_new


def _point_to(snapshots: Path, build_id: str) -> None:
    published_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    temporary = snapshots / f".{CURRENT}-{os.getpid()}"
    _write_json(temporary, {"build_id": build_id, "published_at": published_at})
    temporary.replace(snapshots / CURRENT)


def _remove_old(snapshots: Path, build_id: str) -> None:
    # The newest few stay: a server may still be answering from the one before.
    builds = [path for path in snapshots.iterdir() if path.is_dir() and not path.name.startswith(".")]
    builds.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in [p for p in builds if p.name != build_id][SNAPSHOTS_KEPT - 1 :]:
        shutil.rmtree(path)
