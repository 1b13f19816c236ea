"""The path of a source in an object store.

It is a path in all that concerns names, so that folders, neighbours and recordings of remote files are found by the
code for files. What opens or examines it asks the store. What needs a file of this machine, such as the native
decoders, gets a copy from :mod:`sojourn_ingest.remote.copies`.
"""

from __future__ import annotations

import os
import stat as stat_module
from collections.abc import Callable, Generator, Iterable
from pathlib import Path, PosixPath
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from sojourn_ingest.remote.clients import OBJECT_STORES
from sojourn_ingest.storage_error import StorageError

#: Hadoop's name for a store whose own is another one: objects have one path, whichever was given.
SAME_SCHEME = {"s3a": "s3"}


class Known(Protocol):
    """What is known of an object."""

    @property
    def size_bytes(self) -> int:
        """Return its size."""

    @property
    def modified_ns(self) -> int:
        """Return when it was changed last, in nanoseconds since the epoch."""


class Reached(NamedTuple):
    """What a path asks of its store. The package gives it, because what reaches a store needs paths itself."""

    state_of: Callable[[RemotePath], Known]
    folder_of: Callable[[RemotePath], Iterable[RemotePath]]
    open_remote: Callable[[RemotePath], BinaryIO]


_REACHED: list[Reached] = []


def reach_by(reached: Reached) -> None:
    """Say what answers for all paths from now on."""
    _REACHED[:] = [reached]


class RemotePath(PosixPath):
    """``scheme://bucket/key`` as a path; its first parts are ``scheme:`` and the bucket."""

    def __str__(self) -> str:
        """Return the URI."""
        scheme, separator, rest = super().__str__().partition(":/")
        return f"{scheme}://{rest.lstrip('/')}" if separator else scheme

    @property
    def store_uri(self) -> str:
        """``scheme://bucket``."""
        return f"{self.parts[0]}//{self.parts[1]}"

    @property
    def key(self) -> str:
        """The name within the bucket."""
        return "/".join(self.parts[2:])

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return size and time of modification.

        Raises
        ------
        FileNotFoundError
            If there is no such object.
        StorageError
            If the store cannot be used.
        """
        state = _REACHED[0].state_of(self)
        seconds, blocks = state.modified_ns // 10**9, -(-state.size_bytes // 512)
        basic = (stat_module.S_IFREG | 0o444, 0, 0, 1, 0, 0, state.size_bytes, seconds, seconds, seconds)
        named = {"st_mtime_ns": state.modified_ns, "st_mtime": state.modified_ns / 1e9, "st_blocks": blocks}
        return os.stat_result(basic, named)

    def is_file(self, **_: Any) -> bool:
        """Return whether there is such an object."""
        try:
            self.stat()
        except (FileNotFoundError, PermissionError):
            return False
        return True

    def exists(self, **_: Any) -> bool:
        """Return whether there is such an object."""
        return self.is_file()

    def iterdir(self) -> Generator[RemotePath, None, None]:
        """Yield the objects of a folder, without folders in it."""
        yield from _REACHED[0].folder_of(self)

    def open(self, mode: str = "r", *_: Any, **__: Any) -> BinaryIO:  # type: ignore[override]
        """Open the object to be read: its copy if one is held, otherwise as a stream that asks for what is read."""
        if mode != "rb":
            raise ValueError(f"{self}: a source is opened to be read as bytes, not {mode!r}")
        return _REACHED[0].open_remote(self)

    def resolve(self, strict: bool = False) -> RemotePath:
        """Return the path: it has no links."""
        return self

    def absolute(self) -> RemotePath:
        """Return the path: it is one."""
        return self


def is_remote(path: Path) -> bool:
    """Return whether a path is of an object store."""
    return isinstance(path, RemotePath)


def as_path(text: str) -> Path:
    """Return the path that a command line or a lake names: a URI of a store, ``file://``, or a file.

    Raises
    ------
    StorageError
        If a URI names no bucket.
    """
    scheme, _, rest = text.partition("://")
    if scheme in OBJECT_STORES and "://" in text:
        if not rest.partition("/")[0]:
            raise StorageError(f"{text}: lacks the bucket; give s3://bucket/folder")
        return RemotePath(SAME_SCHEME.get(scheme, scheme) + text.removeprefix(scheme))
    if scheme == "file" and "://" in text:
        return Path(unquote(urlsplit(text).path))
    return Path(text)
