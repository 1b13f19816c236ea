"""Sources in an object store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from sojourn_ingest.remote.clients import object_store_at, store_errors
from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.searched import searched
from sojourn_ingest.remote.store import Fetched, State

#: Objects of one piece of a listing: what S3 lists in one answer.
LISTED_AT_A_TIME = 1000
#: Fetched at a time where a file is searched.
BUFFER_BYTES = 2**20


def _state(item: Mapping[str, Any]) -> State:
    seconds = item["last_modified"].timestamp()
    return State(int(item["size"]), round(seconds * 10**6) * 1000, str(item["e_tag"] or ""))


class ObjectSources:
    """The objects of one bucket."""

    def __init__(self, store_uri: str) -> None:
        self._uri = store_uri
        self._store = object_store_at(store_uri)

    def state(self, path: RemotePath) -> State:
        """Return the state of an object now."""
        import obstore

        with store_errors(str(path)):
            return _state(obstore.head(self._store, path.key))

    def below(self, path: RemotePath) -> Iterator[list[tuple[RemotePath, State]]]:
        """Yield the objects below a prefix, in the order of their keys."""
        import obstore

        with store_errors(str(path)):
            listing = obstore.list(
                self._store, prefix=f"{path.key}/" if path.key else None, chunk_size=LISTED_AT_A_TIME
            )
            for piece in listing:
                yield [below for item in piece if (below := self._found(item)) is not None]

    def folder(self, path: RemotePath) -> Iterator[tuple[RemotePath, State]]:
        """Yield the objects of one folder, from listings that leave out those below its folders."""
        import obstore

        with store_errors(str(path)):
            listed = obstore.list_with_delimiter(self._store, prefix=f"{path.key}/" if path.key else None)
        for item in listed["objects"]:
            entry = self._found(item)
            if entry is not None:
                yield entry

    def _found(self, item: Mapping[str, Any]) -> tuple[RemotePath, State] | None:
        path, state = RemotePath(f"{self._uri}/{item['path']}"), _state(item)
        if state.size_bytes == 0:
            # Some tools make an empty object for a folder, whose key ends with a slash that the client does not tell.
            try:
                self.state(path)
            except FileNotFoundError:
                return None
        return path, state

    def fetch(self, path: RemotePath) -> Fetched:
        """Return the content by one request, so that it is of one version; the client resumes it where it breaks."""
        import obstore

        with store_errors(str(path)):
            stored = obstore.get(self._store, path.key)
            return Fetched(_state(stored.meta), self._pieces(path, stored))

    def _pieces(self, path: RemotePath, stored: Any) -> Iterator[bytes]:
        with store_errors(str(path)):
            yield from map(bytes, stored.stream(min_chunk_size=BUFFER_BYTES))

    def open(self, path: RemotePath) -> BinaryIO:
        """Open an object as a file that can be searched."""
        import obstore

        with store_errors(str(path)):
            return searched(path, obstore.open_reader(self._store, path.key, buffer_size=BUFFER_BYTES))
