"""Snapshots: one build's marts as Parquet files that never change, and the pointer to the one being served.

The same input gives the same bytes, so a snapshot is named by the hash of its content and says nothing of
when it was made; the pointer does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from sojourn_ingest import named_points
from sojourn_ingest.lake.storage.folder import flush
from sojourn_process.own_folder import own_folder
from sojourn_snapshot.catalogue import CATALOGUE, Catalogue, Dataset, write_catalogue
from sojourn_snapshot.documents import BUILD, read_build, write_document
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import FILES, MartFile, write_files
from sojourn_snapshot.pointer import Pointer, read_pointer, write_pointer
from sojourn_snapshot.verification import HASHED_BYTES, build_id_of, damages, published_builds, wrong_documents
from sojourn_transforms.mart import Mart
from sojourn_transforms.mart_files import MartFiles, Origin, Parts

SNAPSHOTS_KEPT = 3
FORGOTTEN = "forgotten_hosts"
"""The member of build.json with the fingerprint of the list of forgotten hosts; there is none if the list is empty."""


def current_build(snapshots: Path) -> dict[str, Any] | None:
    """Return build.json of what is being served, or None if there is none that can be read, or files of it are gone."""
    try:
        published = read_pointer(snapshots)
    except DamagedSnapshotError:
        # A pointer that was torn is written again by the next build, which finds its snapshot there already.
        return None
    if published is None or not (snapshots / published.build_id / FILES).exists():
        return None
    served = snapshots / published.build_id
    if damages(served, full=False, hashed_bytes=HASHED_BYTES) or wrong_documents(served):
        return None
    try:
        return read_build(snapshots / published.build_id)
    except DamagedSnapshotError:
        # A snapshot that cannot be read cannot be called up to date: a new one is built and published.
        return None


def publish_snapshot(
    warehouse: Path,
    schema: str,
    marts: Iterable[Mart],
    build: dict[str, Any],
    snapshots: Path,
    *,
    origins: Mapping[str, Origin] | None = None,
    parts: Parts | None = None,
    full: bool = False,
    memory: str | None = None,
) -> tuple[str, bool]:
    """Write the marts as a snapshot and switch to it; return its build id and whether it is a new one.

    ``build`` is build.json without its id. ``origins`` say, by mart, what its rows follow from, and ``parts`` the
    sources of each day: unless ``full``, files whose rows are those of the previous snapshot are taken over from it.
    The switch is the rename of one small file, so a reader sees the old build or the new one. ``memory`` bounds what
    DuckDB takes. Snapshots with another list of forgotten hosts than ``build`` are removed.

    Raises
    ------
    RepeatedKeyError
        If two rows of a mart have the same key.
    """
    snapshots.mkdir(parents=True, exist_ok=True)
    with own_folder(".staging-", snapshots) as held:
        staging = held / "new"
        staging.mkdir()
        entries: list[Dataset] = []
        files: list[MartFile] = []
        before = None if full else _before(snapshots)
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            if memory is not None:
                connection.execute("set memory_limit = ?", [memory])
            # One thread, so that rows come out in batches of equal length and the file's bytes are the same each time.
            connection.execute("set threads = 1")
            writer = MartFiles(connection, schema, staging, before, parts or {})
            for mart in marts:
                of_mart = writer.write(mart, (origins or {}).get(mart.name, Origin()))
                files += of_mart
                entries.append(mart.dataset(sum(file.rows for file in of_mart), writer.types(mart)))
        write_catalogue(staging, Catalogue(datasets=tuple(entries)))
        write_files(staging, files)
        build_id = build_id_of(build, (staging / CATALOGUE).read_bytes(), files)
        write_document(staging / BUILD, {"build_id": build_id, **build})
        for name in (CATALOGUE, FILES, BUILD):
            flush(staging / name)
        named_points.reach("snapshot.written")
        target = snapshots / build_id
        is_new = not target.exists()
        named_points.reach("snapshot.renaming")
        if is_new:
            staging.replace(target)
        elif damages(target, full=True):
            target.replace(held / "damaged")
            staging.replace(target)
        else:
            # It is the newest again.
            os.utime(target)
        flush(snapshots)
        named_points.reach("snapshot.renamed")
        published_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        pointer = Pointer(build_id=build_id, published_at=published_at)
        write_pointer(snapshots, pointer, lambda file: named_points.reach("pointer.renaming", file))
        named_points.reach("pointer.renamed")
    _remove_old(snapshots, build_id, build.get(FORGOTTEN, ""))
    return build_id, is_new


def _before(snapshots: Path) -> Path | None:
    try:
        published = read_pointer(snapshots)
    except DamagedSnapshotError:
        return None
    return None if published is None else snapshots / published.build_id


def snapshots_with_another_list(snapshots: Path, forgotten: str) -> list[Path]:
    """Return the snapshots that were built with another list of forgotten hosts, by its fingerprint.

    Times say nothing: a copy is younger than the snapshot, and clocks are set. A build of a version that noted no list
    may have any host.
    """
    return [path for path, build in _builds(snapshots).items() if build.get(FORGOTTEN, "") != forgotten]


def unknown_folders(snapshots: Path) -> list[Path]:
    """Return the folders beside the snapshots that no build.json names."""
    builds = _builds(snapshots)
    return [path for path in published_builds(snapshots) if path not in builds]


def _builds(snapshots: Path) -> dict[Path, dict[str, Any]]:
    """Return build.json of each snapshot."""
    builds = {}
    for path in snapshots.iterdir() if snapshots.is_dir() else ():
        try:
            builds[path] = read_build(path)
        except DamagedSnapshotError:
            # A folder of somebody else is nobody's to remove, and neither is a copy under another name.
            continue
    return builds


def _remove_old(snapshots: Path, build_id: str, forgotten: str) -> None:
    # The newest few stay: a server may still be answering from the one before. Not if it may name a forgotten host.
    builds = sorted(_builds(snapshots), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    with_forgotten = set(snapshots_with_another_list(snapshots, forgotten))
    others = [path for path in builds if path.name != build_id]
    for path in (path for place, path in enumerate(others) if place >= SNAPSHOTS_KEPT - 1 or path in with_forgotten):
        named_points.reach("snapshot.removing")
        # Somebody may have moved it to another disk.
        shutil.rmtree(path.resolve())
        if path.is_symlink():
            path.unlink()
