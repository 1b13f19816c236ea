"""Where the objects of a lake lie: a folder, an object store or HDFS; and what is atomic there.

Names are relative to the lake, with slashes. One promise carries everything else: :meth:`Storage.create` makes an
object appear whole, under a name that had none, or not at all. Nothing is renamed that a reader may see.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

OBJECT_STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")


class LakeBusyError(RuntimeError):
    """Another process is writing to the lake."""


class StorageError(RuntimeError):
    """A storage cannot be used; the message says what would mend it."""


class Storage(Protocol):
    """The objects of one lake."""

    @property
    def uri(self) -> str:
        """Where the lake is, such as ``file:///var/lake`` or ``s3a://bucket/lake``."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in one folder, in order."""

    def read(self, name: str) -> bytes:
        """Return an object's content; raises FileNotFoundError."""

    def create(self, name: str, content: bytes) -> bool:
        """Make an object appear whole; return False, and change nothing, where there is one of that name."""

    def delete(self, name: str) -> None:
        """Remove an object; it is no error that there is none."""

    def draft(self, name: str) -> Path:
        """Return a local file to write an object into, which :meth:`keep` then puts in its place."""

    def keep(self, name: str, draft: Path) -> int:
        """Put what was written into its place, durably; return its size in bytes."""

    def discard(self, name: str, draft: Path) -> None:
        """Remove what was written, whether or not it is in its place."""

    def local(self, name: str) -> Path:
        """Return a local file with an object's content: the object itself, or a copy that is kept for next time."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lake for writing; raises LakeBusyError where another process does."""


def flush(path: Path) -> None:
    """Bring a file, or a folder's list of files, to the disk; of a file, its name in its folder too."""
    for entry in (path,) if path.is_dir() else (path, path.parent):
        descriptor = os.open(entry, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class FolderStorage:
    """A folder of a local or mounted file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def uri(self) -> str:
        """The folder."""
        return self.root.absolute().as_uri()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, in order."""
        return sorted(f"{folder}/{path.name}" for path in (self.root / folder).glob("*") if path.is_file())

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return (self.root / name).read_bytes()

    def create(self, name: str, content: bytes) -> bool:
        """Make a file appear whole: a hard link to a finished one, which the system refuses where the name is taken."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        with temporary.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        flush(path.parent)
        return True

    def delete(self, name: str) -> None:
        """Remove a file."""
        (self.root / name).unlink(missing_ok=True)

    def draft(self, name: str) -> Path:
        """Return the file itself: no reader looks at it before a commit names it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, name: str, draft: Path) -> int:
        """Bring the file to the disk."""
        flush(draft)
        return draft.stat().st_size

    def discard(self, name: str, draft: Path) -> None:
        """Remove the file."""
        draft.unlink(missing_ok=True)

    def local(self, name: str) -> Path:
        """Return the file."""
        return self.root / name

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a lock of the file system, which ends with the process that has it."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LakeBusyError(f"another process is writing to {self.root}; wait for it to end") from error
            yield


def open_storage(location: str | Path, cache: Path | None = None) -> Storage:
    """Return the storage at a folder or URI: ``file://``, ``s3://`` or ``s3a://``, ``gs://``, ``az://``, ``hdfs://``.

    ``cache`` is where copies of remote objects are kept. An object store's address and credentials come from the
    environment that its own tools read, such as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID.

    Raises
    ------
    StorageError
        If the scheme is not known, or what reads it is not installed.
    """
    if isinstance(location, Path):
        return FolderStorage(location)
    scheme = urlsplit(location).scheme
    if scheme in ("", "file"):
        return FolderStorage(Path(urlsplit(location).path if scheme else location))
    if scheme in OBJECT_STORES:
        from sojourn_ingest.lake.object_store import ObjectStorage

        return ObjectStorage.at(location, cache)
    if scheme == "hdfs":
        from sojourn_ingest.lake.hdfs import HdfsStorage

        return HdfsStorage.at(location, cache)
    raise StorageError(f"{location}: a lake lies at file://, s3a://, gs://, az:// or hdfs://")
