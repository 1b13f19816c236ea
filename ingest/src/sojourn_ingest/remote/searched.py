"""A client's file as one of Python's, which Arrow takes too."""

from __future__ import annotations

import io
from typing import BinaryIO, Protocol, cast

from sojourn_ingest.remote.clients import store_errors
from sojourn_ingest.remote.path import RemotePath

#: Fetched at a time.
BUFFER_BYTES = 2**20


class _ClientFile(Protocol):
    def read(self, size: int, /) -> object: ...
    def seek(self, offset: int, whence: int, /) -> object: ...
    def tell(self) -> int: ...


class _Searched(io.RawIOBase):
    def __init__(self, path: RemotePath, file: _ClientFile) -> None:
        self._path = path
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with store_errors(str(self._path)):
            content = bytes(self._file.read(len(buffer)))  # type: ignore[call-overload]
        buffer[: len(content)] = content
        return len(content)


def searched(path: RemotePath, file: _ClientFile) -> BinaryIO:
    """Return a client's file as one that can be searched; its failures are those of :func:`clients.store_errors`."""
    return cast(BinaryIO, io.BufferedReader(_Searched(path, file), BUFFER_BYTES))
