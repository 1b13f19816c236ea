"""What a lake requires of its storage, and which operations are atomic.

Names are relative to the lake, with slashes. One promise carries everything else: :meth:`Storage.create` makes an
object appear whole, under a name that had none, or not at all. Nothing is renamed that a reader may see.
"""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sojourn_ingest.storage_error import StorageError

__all__ = ["Kept", "LakeBusyError", "Storage", "StorageError", "kept_of"]


class LakeBusyError(RuntimeError):
    """Another process is writing to the lake."""


@dataclass(frozen=True)
class Kept:
    """What was put into its place: its size, and the SHA-256 of its bytes in hexadecimal digits."""

    size_bytes: int
    sha256: str


def kept_of(draft: Path) -> Kept:
    """Return size and hash of a local file."""
    with draft.open("rb") as opened:
        return Kept(draft.stat().st_size, hashlib.file_digest(opened, "sha256").hexdigest())


class Storage(Protocol):
    """The objects of one lake."""

    @property
    def uri(self) -> str:
        """Where the lake is, such as ``file:///var/lake`` or ``s3a://bucket/lake``."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in one folder, in order."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of the objects in one folder, by their names in order."""

    def size(self, name: str) -> int | None:
        """Return the size of an object in bytes; None if it is not there."""

    def copied_sha256(self, name: str) -> str | None:
        """Return the hash of the local copy of an object; None if there is no copy."""

    def sha256(self, name: str) -> str:
        """Return the hash of an object's bytes as they are stored, not of a copy; raises FileNotFoundError."""

    def read(self, name: str) -> bytes:
        """Return an object's content; raises FileNotFoundError."""

    def create(self, name: str, content: bytes) -> bool:
        """Make an object appear whole; return False, and change nothing, if there is one of that name."""

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""

    def draft(self, name: str) -> Path:
        """Return a local file to write an object into, which :meth:`keep` then puts in its place."""

    def keep(self, name: str, draft: Path) -> Kept:
        """Put what was written into its place, durably; return its size and hash."""

    def discard(self, name: str, draft: Path) -> None:
        """Remove what was written, whether or not it is in its place."""

    def local(self, name: str) -> Path:
        """Return a local file with an object's content: the object itself, or a copy that is kept for next time."""

    def drop_copy(self, name: str) -> None:
        """Remove the copy of an object, if there is one, so that it is fetched again."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lake for writing; raises LakeBusyError where another process does."""
