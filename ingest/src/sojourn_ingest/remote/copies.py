"""Copies of remote sources on this machine, while they are read and no longer.

On Linux a copy has no name on the disk: it goes with the process that has it open, also with one that is killed.
Readers find it by its number in ``/proc``, and its content is that of one version of the object.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast

from sojourn_ingest.disk_space import free_bytes, size_text
from sojourn_ingest.input_error import InputError
from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.store import State
from sojourn_ingest.remote.stores import store_of
from sojourn_ingest.storage_error import StorageError

#: Whether this system finds an open file without a name.
_NAMELESS = Path("/proc/self/fd").is_dir()
#: What is left free on the disk of the copies.
RESERVE_BYTES = 2**26


def folder_of_copies() -> Path:
    """Return where copies lie: the folder for temporary files, such as $TMPDIR."""
    return Path(tempfile.gettempdir())


class _Copy:
    def __init__(self) -> None:
        self.holders = 0
        self.fetching = Lock()
        self.state: State | None = None
        self.file: BinaryIO | None = None

    @property
    def path(self) -> Path:
        assert self.file is not None
        return Path(f"/proc/self/fd/{self.file.fileno()}") if _NAMELESS else Path(self.file.name)


_lock = Lock()
_copies: dict[RemotePath, _Copy] = {}


@contextmanager
def keeping(paths: Iterable[Path]) -> Iterator[None]:
    """Keep copies that are fetched meanwhile until this ends, so that several readers share one; nothing for files."""
    held = [path for path in paths if isinstance(path, RemotePath)]
    with _lock:
        for path in held:
            _copies.setdefault(path, _Copy()).holders += 1
    try:
        yield
    finally:
        with _lock:
            for path in held:
                copy = _copies[path]
                copy.holders -= 1
                if not copy.holders:
                    del _copies[path]
                    if copy.file is not None:
                        copy.file.close()


@contextmanager
def local_file(*paths: Path) -> Iterator[list[str]]:
    """Hold files of this machine with the content of some paths: the files themselves, or copies.

    Raises
    ------
    InputError
        If an object cannot be read, or changes while it is copied, or if the disk has no room for the copy.
    StorageError
        If the store cannot be used.
    """
    with keeping(paths):
        yield [str(_fetched(path).path if isinstance(path, RemotePath) else path) for path in paths]


@contextmanager
def seekable(path: Path) -> Iterator[Path | BinaryIO]:
    """Hold what Arrow opens: a file, a copy where one is held, or an object of which only what is read is fetched."""
    if not isinstance(path, RemotePath):
        yield path
        return
    with ExitStack() as stack:
        yield stack.enter_context(open_remote(path))


def state_of_copy(path: RemotePath) -> State | None:
    """Return the state of the version of which a copy is held; None if there is no copy."""
    with _lock:
        copy = _copies.get(path)
    return None if copy is None else copy.state


def open_remote(path: RemotePath) -> BinaryIO:
    """Open the copy that is held, or the object itself as a stream."""
    with _lock:
        copy = _copies.get(path)
    if copy is not None and copy.state is not None:
        return copy.path.open("rb")
    return store_of(path.store_uri).open(path)


def _fetched(path: RemotePath) -> _Copy:
    with _lock:
        copy = _copies[path]
    with copy.fetching:
        if copy.state is None:
            file = _new_file()
            try:
                state = fetch(path, file)
            except BaseException:
                file.close()
                raise
            copy.file, copy.state = file, state
    return copy


def _new_file() -> BinaryIO:
    make = tempfile.TemporaryFile if _NAMELESS else tempfile.NamedTemporaryFile
    return cast(BinaryIO, make(dir=folder_of_copies(), prefix="sojourn-"))


def fetch(path: RemotePath, file: BinaryIO, most_bytes: int | None = None) -> State:
    """Copy an object, or its first bytes, into a file; return the state of the version that was copied.

    Raises
    ------
    InputError
        As :func:`local_file`.
    StorageError
        If the store cannot be used.
    """
    store = store_of(path.store_uri)
    try:
        state, pieces = store.fetch(path)
        wanted = state.size_bytes if most_bytes is None else min(most_bytes, state.size_bytes)
        free = free_bytes(folder_of_copies())
        if wanted + RESERVE_BYTES > free:
            # Not a fault of the source: nothing is recorded of it.
            raise StorageError(
                f"{path}: a copy of {size_text(wanted)} does not fit into {folder_of_copies()}, where "
                f"{size_text(free)} are free; free some space or set TMPDIR (committed files are kept)"
            )
        copied = 0
        for piece in pieces:
            file.write(piece)
            copied += len(piece)
            if copied >= wanted:
                break
        file.flush()
        if most_bytes is None and copied != state.size_bytes:
            raise InputError(
                "changed_while_read", "the object changed while it was read; ingest it again when it is complete"
            )
    except (FileNotFoundError, PermissionError) as error:
        raise InputError("unreadable", f"cannot be read: {error.strerror}") from error
    return state
