"""CURRENT: which build is served. Replacing this one small file is the switch from one build to the next."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sojourn_snapshot.documents import read_bytes, write_document
from sojourn_snapshot.errors import DamagedSnapshotError, what_is_wrong

CURRENT = "CURRENT"


class Pointer(BaseModel):
    """What CURRENT says: a build, and when it was published (UTC, ISO 8601)."""

    model_config = ConfigDict(frozen=True)

    build_id: str = Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]*$", max_length=255)
    published_at: str


def read_pointer(snapshots: Path) -> Pointer | None:
    """Return what is being served, or None when nothing was published yet.

    Raises
    ------
    DamagedSnapshotError
        If CURRENT cannot be read.
    """
    path = snapshots / CURRENT
    try:
        if not path.exists():
            return None
    except OSError as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {what_is_wrong(error)}") from error
    try:
        return Pointer.model_validate_json(read_bytes(path))
    except ValidationError as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {what_is_wrong(error)}") from error


def write_pointer(snapshots: Path, pointer: Pointer, before_rename: Callable[[Path], None] = lambda _: None) -> None:
    """Switch to a build: a reader sees the previous pointer or this one, and nothing between, also after a power cut.

    ``before_rename`` is called with the finished file that is about to become CURRENT.
    """
    # Builds exclude one another, so nobody else is writing one; what a killed one left is written over.
    temporary = snapshots / f".{CURRENT}.new"
    try:
        write_document(temporary, pointer.model_dump())
        _flush(temporary)
        before_rename(temporary)
        temporary.replace(snapshots / CURRENT)
    finally:
        temporary.unlink(missing_ok=True)
    _flush(snapshots)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
