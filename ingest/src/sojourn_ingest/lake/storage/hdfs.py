"""A lake in HDFS.

HDFS renames atomically and refuses a name that is taken, so an object is written under a name of its own first. Writers
keep apart by a file that is created, never overwritten, and removed in the end.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sojourn_ingest import named_points
from sojourn_ingest.lake.storage.interface import Kept, LakeBusyError, kept_of
from sojourn_ingest.lake.storage.remote_copies import RemoteStorage
from sojourn_ingest.remote.clients import hdfs_at, told

if TYPE_CHECKING:
    from hdfs_native import Client

HOLD = "held"
#: Read and written at a time.
PIECE_BYTES = 4 * 2**20


class HdfsStorage(RemoteStorage):
    """The files below one folder of HDFS. What the cluster refuses or cannot do is a StorageError."""

    def __init__(self, uri: str, client: Client, cache: Path | None = None) -> None:
        super().__init__(uri, cache)
        self._client = client
        self._root = urlsplit(uri).path.rstrip("/")

    @classmethod
    def at(cls, uri: str, cache: Path | None) -> HdfsStorage:
        """Return the lake at a URI.

        Raises
        ------
        StorageError
            If the client is not installed, or the cluster is not known.
        """
        return cls(uri, hdfs_at(uri), cache)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _told(self, name: str) -> Iterator[str]:
        with told(f"{self._uri}/{name}"):
            yield self._path(name)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, in order."""
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in one folder."""
        found: dict[str, int] = {}
        with self._told(folder) as path:
            try:
                for item in self._client.list_status(path):
                    if not item.isdir:
                        found[f"{folder}/{item.path.rpartition('/')[2]}"] = int(item.length)
            except FileNotFoundError:
                return {}
        return dict(sorted(found.items()))

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if it is not there."""
        with self._told(name) as path:
            try:
                found = self._client.get_file_info(path)
            except FileNotFoundError:
                return None
        return None if found.isdir else int(found.length)

    def sha256(self, name: str) -> str:
        """Return the hash of a file, read as a stream."""
        digest = hashlib.sha256()
        with self._told(name) as path:
            for piece in self._client.read(path):
                digest.update(piece)
        return digest.hexdigest()

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        with self._told(name) as path:
            return b"".join(self._client.read(path))

    def create(self, name: str, content: bytes) -> bool:
        """Write a file under a name of its own and rename it to one that is not taken."""
        if self.size(name) is not None:
            return False
        temporary = f"{name}.{uuid.uuid4().hex}.tmp"
        with self._told(temporary) as path, self._client.create(path) as stream:
            stream.write(content)
        named_points.reach("object.creating")
        with self._told(name) as path:
            try:
                self._client.rename(self._path(temporary), path)
            except FileExistsError:
                self._client.delete(self._path(temporary))
                return False
        named_points.reach("object.created")
        return True

    def delete(self, name: str) -> None:
        """Remove a file."""
        named_points.reach("object.deleting")
        with self._told(name) as path:
            self._client.delete(path)

    def keep(self, name: str, draft: Path) -> Kept:
        """Copy what was written to its place; no reader looks there before a commit names it."""
        kept = kept_of(draft)
        named_points.reach("data.flushing", draft)
        with self._told(name) as path, draft.open("rb") as source, self._client.create(path) as target:
            while piece := source.read(PIECE_BYTES):
                target.write(piece)
        draft.unlink()
        return kept

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lake by a file that names the holder; a killed holder's has to be removed by hand."""
        holder = f"process {os.getpid()} on {os.uname().nodename}"
        if not self.create(HOLD, holder.encode()):
            other = self.read(HOLD).decode(errors="replace")
            raise LakeBusyError(
                f"{other} is writing to {self._uri}; wait for it to end, or remove {self._uri}/{HOLD} if it was killed"
            )
        try:
            yield
        finally:
            self.delete(HOLD)
