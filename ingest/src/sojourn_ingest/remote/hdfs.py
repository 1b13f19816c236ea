"""Sources in HDFS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from sojourn_ingest.remote.clients import hdfs_at, told
from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.searched import searched
from sojourn_ingest.remote.store import Fetched, State

if TYPE_CHECKING:
    from hdfs_native import Client, FileStatus


def _state(found: FileStatus) -> State:
    return State(int(found.length), int(found.modification_time) * 10**6, "")


class HdfsSources:
    """The files of one cluster."""

    def __init__(self, store_uri: str) -> None:
        self._uri = store_uri
        self._client: Client = hdfs_at(store_uri)

    def _path(self, found: FileStatus) -> RemotePath:
        return RemotePath(f"{self._uri}{found.path}")

    def state(self, path: RemotePath) -> State:
        """Return the state of a file now."""
        with told(str(path)):
            found = self._client.get_file_info(f"/{path.key}")
        if found.isdir:
            raise FileNotFoundError(2, "it is a folder", str(path))
        return _state(found)

    def below(self, path: RemotePath) -> Iterator[list[tuple[RemotePath, State]]]:
        """Yield the files below a folder, folder by folder."""
        folders = [f"/{path.key}"]
        while folders:
            files, inner = [], []
            with told(str(path)):
                try:
                    for found in self._client.list_status(folders.pop()):
                        if found.isdir:
                            inner.append(found.path)
                        else:
                            files.append((self._path(found), _state(found)))
                except FileNotFoundError:
                    # A folder that was removed since its own folder was listed; of the first, that nothing is there.
                    continue
            folders += sorted(inner, reverse=True)
            yield files

    def folder(self, path: RemotePath) -> Iterator[tuple[RemotePath, State]]:
        """Yield the files of one folder."""
        with told(str(path)):
            for found in self._client.list_status(f"/{path.key}"):
                if not found.isdir:
                    yield self._path(found), _state(found)

    def fetch(self, path: RemotePath) -> Fetched:
        """Return the content and the state before it is read: whoever has read it asks for the state again."""
        with told(str(path)):
            return Fetched(self.state(path), self._pieces(path))

    def _pieces(self, path: RemotePath) -> Iterator[bytes]:
        with told(str(path)):
            file = self._client.read(f"/{path.key}")
            yield from file.read_range_stream(0, len(file))

    def open(self, path: RemotePath) -> BinaryIO:
        """Open a file that can be searched."""
        with told(str(path)):
            return searched(path, self._client.read(f"/{path.key}"))
