"""What sources need of a store: states, listings as streams, and content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol

from sojourn_ingest.remote.path import RemotePath


class State(NamedTuple):
    """What tells one version of an object from another; ``tag`` is the ETag."""

    size_bytes: int
    modified_ns: int
    tag: str


class Fetched(NamedTuple):
    """A version of an object, and its content as a stream."""

    state: State
    pieces: Iterator[bytes]


class RemoteStore(Protocol):
    """One bucket. Every method raises what :func:`clients.store_errors` does."""

    def state(self, path: RemotePath) -> State:
        """Return the state of an object now; raises FileNotFoundError."""

    def below(self, path: RemotePath) -> Iterator[list[tuple[RemotePath, State]]]:
        """Yield all objects below a folder in pieces, those of one folder together but for those of its subfolders."""

    def folder(self, path: RemotePath) -> Iterator[tuple[RemotePath, State]]:
        """Yield the objects of one folder."""

    def fetch(self, path: RemotePath) -> Fetched:
        """Return the content, as a stream, and the state of the version that it is of."""

    def open(self, path: RemotePath) -> BinaryIO:
        """Open an object as a file that can be searched, of which only what is read is fetched."""
