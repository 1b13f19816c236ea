"""A lake in HDFS, through Arrow's client of it (libhdfs, which comes with a Hadoop installation).

HDFS renames atomically and refuses a name that is taken, so an object is written under a name of its own first. Writers
keep apart by a file that is created, never overwritten, and removed in the end.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.fs as pa_fs

from sojourn_ingest import named_points
from sojourn_ingest.lake.storage.interface import Kept, LakeBusyError, StorageError, kept_of
from sojourn_ingest.lake.storage.remote_copies import RemoteStorage

HOLD = "held"
#: Read at a time for a hash.
PIECE_BYTES = 4 * 2**20


class HdfsStorage(RemoteStorage):
    """The files below one folder of a file system whose rename is atomic and never overwrites."""

    def __init__(self, uri: str, filesystem: pa_fs.FileSystem, root: str, cache: Path | None = None) -> None:
        super().__init__(uri, cache)
        self._files = filesystem
        self._root = root.rstrip("/")

    @classmethod
    def at(cls, uri: str, cache: Path | None) -> HdfsStorage:
        """Return the lake at a URI.

        Raises
        ------
        StorageError
            If libhdfs or the cluster cannot be reached.
        """
        try:
            filesystem, root = pa_fs.FileSystem.from_uri(uri)
        except OSError as error:
            needed = "needs HADOOP_HOME and CLASSPATH of a Hadoop installation (libhdfs)"
            raise StorageError(f"{uri}: {needed}: {str(error).splitlines()[0]}") from error
        return cls(uri, filesystem, root or urlsplit(uri).path, cache)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _exists(self, name: str) -> bool:
        return bool(self._files.get_file_info(self._path(name)).type != pa_fs.FileType.NotFound)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, in order."""
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in one folder."""
        found = self._files.get_file_info(pa_fs.FileSelector(self._path(folder), allow_not_found=True))
        files = [item for item in found if item.type == pa_fs.FileType.File]
        return dict(sorted((f"{folder}/{item.base_name}", int(item.size)) for item in files))

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if it is not there."""
        found = self._files.get_file_info(self._path(name))
        return int(found.size) if found.type == pa_fs.FileType.File else None

    def sha256(self, name: str) -> str:
        """Return the hash of a file, read as a stream."""
        digest = hashlib.sha256()
        with self._files.open_input_stream(self._path(name)) as stream:
            while piece := stream.read(PIECE_BYTES):
                digest.update(piece)
        return digest.hexdigest()

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        with self._files.open_input_stream(self._path(name)) as stream:
            return bytes(stream.read())

    def create(self, name: str, content: bytes) -> bool:
        """Write a file under a name of its own and rename it to one that is not taken."""
        if self._exists(name):
            return False
        temporary = f"{name}.{uuid.uuid4().hex}.tmp"
        self._files.create_dir(self._path(str(Path(name).parent)))
        with self._files.open_output_stream(self._path(temporary)) as stream:
            stream.write(content)
        named_points.reach("object.creating")
        try:
            self._files.move(self._path(temporary), self._path(name))
        except OSError:
            self.delete(temporary)
            if self._exists(name):
                return False
            raise
        named_points.reach("object.created")
        return True

    def delete(self, name: str) -> None:
        """Remove a file."""
        named_points.reach("object.deleting")
        if self._exists(name):
            self._files.delete_file(self._path(name))

    def keep(self, name: str, draft: Path) -> Kept:
        """Copy what was written to its place; no reader looks there before a commit names it."""
        kept = kept_of(draft)
        named_points.reach("data.flushing", draft)
        self._files.create_dir(self._path(str(Path(name).parent)))
        with draft.open("rb") as source, self._files.open_output_stream(self._path(name)) as target:
            shutil.copyfileobj(source, target)
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
