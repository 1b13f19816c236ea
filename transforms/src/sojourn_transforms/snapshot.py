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

from sojourn_transforms.catalogue import Mart
from sojourn_transforms.mart_files import FILES, DateFingerprints, MartFile, MartFiles, files_json, is_intact

CURRENT = "CURRENT"
BUILD_ID_DIGITS = 16
SNAPSHOTS_KEPT = 3


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


def publish(
    warehouse: Path,
    schema: str,
    marts: Iterable[Mart],
    build: dict[str, Any],
    snapshots: Path,
    fingerprints: DateFingerprints | None = None,
    anew: bool = False,
    memory: str | None = None,
) -> tuple[str, bool]:
    """Write the marts as a snapshot and switch to it; return its build id and whether it is a new one.

    ``build`` is build.json without its id. ``fingerprints`` say of each day what its rows follow from: unless ``anew``,
    files of days and months whose fingerprints are unchanged are taken over from the snapshot before. The switch is the
    rename of one small file, so a reader sees the old build or the new one. ``memory`` bounds what DuckDB takes.

    Raises
    ------
    RepeatedKeyError
        If two rows of a mart have the same key.
    """
    snapshots.mkdir(parents=True, exist_ok=True)
    staging = snapshots / f".staging-{os.getpid()}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        entries: list[dict[str, Any]] = []
        files: list[MartFile] = []
        published = current(snapshots)
        before = None if published is None or anew else snapshots / published.build_id
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            if memory is not None:
                connection.execute("set memory_limit = ?", [memory])
            # One thread, so that rows come out in batches of equal length and the file's bytes are the same each time.
            connection.execute("set threads = 1")
            writer = MartFiles(connection, schema, staging, before, fingerprints or {})
            for mart in marts:
                of_mart = writer.write(mart)
                files += of_mart
                entries.append(mart.as_dict(sum(file.rows for file in of_mart), writer.types(mart)))
        _write_json(staging / "catalog.json", {"datasets": entries})
        (staging / FILES).write_text(files_json(files), encoding="utf-8")
        digest = hashlib.sha256(json.dumps(build, sort_keys=True).encode())
        digest.update((staging / "catalog.json").read_bytes())
        for file in sorted(files, key=lambda file: file.name):
            digest.update(f"{file.name} {file.sha256}\n".encode())
        build_id = digest.hexdigest()[:BUILD_ID_DIGITS]
        _write_json(staging / "build.json", {"build_id": build_id, **build})
        target = snapshots / build_id
        is_new = not target.exists()
        if is_new:
            staging.replace(target)
        elif not is_intact(target):
            damaged = snapshots / f".damaged-{os.getpid()}"
            target.replace(damaged)
            staging.replace(target)
            shutil.rmtree(damaged)
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
