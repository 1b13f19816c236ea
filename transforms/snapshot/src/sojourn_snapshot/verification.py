"""Verification: whether a snapshot is as it was published, by the sizes of its files or by every byte."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from sojourn_snapshot.catalogue import CATALOGUE, Catalogue, read_catalogue
from sojourn_snapshot.documents import read_build
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import FILES, MartFile, read_files, sha256_of
from sojourn_snapshot.pointer import CURRENT, read_pointer

BUILD_ID_DIGITS = 16
HASHED_BYTES = 2**20
"""Files of up to this size are hashed whenever a snapshot is opened: all of a thousand take a second."""
REBUILD = "sojourn build"


def build_id_of(build: dict[str, Any], catalogue: bytes, files: Iterable[MartFile]) -> str:
    """Return the id of a build: the hash of all that is published. ``build`` is build.json without its id."""
    digest = hashlib.sha256(json.dumps(build, sort_keys=True).encode())
    digest.update(catalogue)
    for file in sorted(files, key=lambda file: file.name):
        digest.update(f"{file.name} {file.rows} {file.bytes} {file.sha256}\n".encode())
    return digest.hexdigest()[:BUILD_ID_DIGITS]


def damages(snapshot: Path, *, full: bool, hashed_bytes: int = 0) -> list[str]:
    """Return one line for each file of a snapshot that is missing, torn or altered.

    Sizes are compared, the hashes of files of up to ``hashed_bytes``, and the documents read; with ``full`` every hash
    is compared, and the id of the build with what it is made of. A snapshot of a version that wrote no list of files
    has no sizes to compare.
    """
    if not snapshot.is_dir():
        return [f"{snapshot} is missing"]
    wrong = []
    files: dict[str, MartFile] = {}
    if full or (snapshot / FILES).exists():
        try:
            files = read_files(snapshot)
        except DamagedSnapshotError as error:
            return [str(error)]
    for file in files.values():
        path = snapshot / file.name
        if not path.is_file():
            wrong.append(f"{path} is missing")
        elif path.stat().st_size != file.bytes:
            wrong.append(f"{path} has {path.stat().st_size:,} bytes; expected {file.bytes:,}")
        elif (full or file.bytes <= hashed_bytes) and sha256_of(path) != file.sha256:
            wrong.append(f"{path} does not have the bytes that were published")
    return wrong + wrong_documents(snapshot, with_id=full and not wrong)


def wrong_documents(snapshot: Path, *, with_id: bool = True) -> list[str]:
    """Return one line for each document of a snapshot that cannot be read.

    With ``with_id``, and if all can be, also one if the build has another id than follows from them: then one of them
    was altered. No Parquet file is read for that, but the list of them.
    """
    wrong = []
    for read in (read_build, partial(read_catalogue, kind=Catalogue)):
        try:
            read(snapshot)
        except DamagedSnapshotError as error:
            wrong.append(str(error))
    if wrong or not with_id:
        return wrong
    try:
        files = read_files(snapshot)
    except DamagedSnapshotError as error:
        return [str(error)]
    made_of = {name: value for name, value in read_build(snapshot).items() if name != "build_id"}
    if build_id_of(made_of, (snapshot / CATALOGUE).read_bytes(), files.values()) != snapshot.name:
        return [f"{snapshot}: build.json, catalog.json or files.json does not have the bytes that were published"]
    return []


def wrong_pointer(snapshots: Path) -> list[str]:
    """Return one line if CURRENT is missing beside builds, cannot be read, or names a build that is missing."""
    try:
        pointer = read_pointer(snapshots)
    except DamagedSnapshotError as error:
        return [str(error)]
    if pointer is None:
        return [f"{snapshots / CURRENT} is missing"] if published_builds(snapshots) else []
    if not (snapshots / pointer.build_id).is_dir():
        return [f"{snapshots / CURRENT} names the build {pointer.build_id}, which is missing"]
    return []


def published_builds(snapshots: Path) -> list[Path]:
    """Return the folders of the builds below a folder of snapshots, by name; unfinished ones are left out."""
    return sorted(path for path in snapshots.glob("*") if path.is_dir() and not path.name.startswith("."))


def refuse_damage(snapshot: Path) -> None:
    """Go on if the files of a snapshot have the sizes that were published, and small ones the bytes.

    Raises
    ------
    DamagedSnapshotError
        If one has not; the message names it, and the command that publishes the build again.
    """
    wrong = damages(snapshot, full=False, hashed_bytes=HASHED_BYTES)
    if wrong:
        more = f", and {len(wrong) - 1:,} more files are damaged" if len(wrong) > 1 else ""
        raise DamagedSnapshotError(f"{wrong[0]}{more}; run {REBUILD}, which publishes it again")
