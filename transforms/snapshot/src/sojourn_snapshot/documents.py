"""The JSON documents of a snapshot: the same content gives the same bytes, on which the build id rests."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from sojourn_snapshot.errors import DamagedSnapshotError, what_is_wrong

BUILD = "build.json"
LARGEST_BYTES = 256 * 2**20
"""Of a document. The list of files of 100 years of daily data has some 10 MB."""


def write_document(path: Path, content: object) -> None:
    """Write a JSON document, its members in order of their names."""
    path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def read_bytes(path: Path) -> bytes:
    """Return the content of a document.

    Raises
    ------
    DamagedSnapshotError
        If it is missing, cannot be read, is too large, or is no file: to open a pipe would wait for a writer.
    """
    try:
        state = path.stat()
        mode = state.st_mode
        if stat.S_ISDIR(mode):
            raise DamagedSnapshotError(f"{path} is a folder; remove it")
        if not stat.S_ISREG(mode):
            raise DamagedSnapshotError(f"{path} cannot be read: not a regular file")
        if state.st_size > LARGEST_BYTES:
            raise DamagedSnapshotError(f"{path} cannot be read: it is larger than {LARGEST_BYTES // 2**20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {what_is_wrong(error)}") from error


def read_build(snapshot: Path) -> dict[str, Any]:
    """Return what a build was made from, and its id.

    Raises
    ------
    DamagedSnapshotError
        If the document is missing, cannot be read, or is of another build than its folder.
    """
    path = snapshot / BUILD
    document = read_bytes(path)
    try:
        content = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("build_id") != snapshot.name:
        raise DamagedSnapshotError(f"{path} is not of this build; expected the build_id {snapshot.name}")
    return content
