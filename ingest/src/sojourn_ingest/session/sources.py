"""From paths to files, and from a file to its content's hash, compression and first bytes."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from sojourn_ingest import _native
from sojourn_ingest.formats.content.expansion import refuse_expansion
from sojourn_ingest.formats.content.native_decoder import input_error
from sojourn_ingest.formats.interface import InputError, Source
from sojourn_ingest.lake import Lake
from sojourn_ingest.remote import RemotePath, keeping, local_file
from sojourn_ingest.remote.copies import fetch
from sojourn_ingest.remote.states import state_now, state_of
from sojourn_ingest.session.recorded import recorded_as_it_is

logger = logging.getLogger(__name__)

#: First bytes by which a format is recognised, at most; the same limit as the native recogniser's.
HEAD_BYTES = 65_536
#: Fetched of a remote file to recognise it: more than a description may have.
HEAD_FETCHED_BYTES = 2**20 + HEAD_BYTES
PIECE_BYTES = 2**20
#: Errors of a link whose target is missing or is itself, and of a file that was removed after it was listed.
LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Return every regular file below the paths, sorted, each once; hidden files and folders are left out.

    A file or folder that cannot be read is warned of.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    """
    files: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        base = path.resolve()
        if not path.is_dir():
            if regular_file_status(base) is not None:
                files.add(base)
            continue
        files.update(path for path, _ in regular_files([base], _warn))
    return sorted(files)


def regular_file_status(path: Path) -> os.stat_result | None:
    """Return the status of a regular file; None of anything else, such as a folder or a device.

    None, too, of what the kernel makes while it is read (procfs, tracefs): a log of the kernel has no end.

    Raises
    ------
    OSError
        If there is no file, or it cannot be reached.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or (status.st_size == 0 and os.statvfs(path).f_blocks == 0):
        return None
    return status


def regular_files(
    folders: Iterable[Path], on_error: Callable[[Path, OSError], None], left_out: Collection[Path] = ()
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the regular files below folders with their status, however deep; hidden files and folders are left out.

    ``on_error`` is called for what cannot be read, which is passed over.
    """
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        if folder in left_out:
            continue
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    path = Path(entry.path)
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(path)
                        elif (status := regular_file_status(path)) is not None:
                            yield path, status
                    except OSError as error:
                        if error.errno not in LEADS_NOWHERE:
                            on_error(path, error)
        except OSError as error:
            on_error(folder, error)


def _warn(path: Path, error: OSError) -> None:
    logger.warning("%s: left out, because it cannot be read: %s", path, error.strerror)


@dataclass(frozen=True)
class OpenedFile:
    """A file that was read once: the bytes that identify its format, its content's hash, and where it is damaged.

    The hash is empty of a source whose reader is to hash it.
    """

    source: Source
    content_hash: str
    fault: InputError | None


def open_file(path: Path, hashed_by_reader: Collection[bytes] = ()) -> OpenedFile:
    """Read a file through, for the hash of its plain content and its first bytes.

    Of a content that begins with one of the bytes of ``hashed_by_reader`` only the first bytes are read.

    Raises
    ------
    InputError
        If it cannot be read at all, or its name is not UTF-8.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("unreadable", "the file's name is not UTF-8; rename it") from error
    with keeping([path]):
        content = _fingerprint(path, hashed_by_reader)
    source = Source(
        path=path,
        compression=content.compression,
        head=content.head,
        plain_bytes=content.plain_bytes,
        to_hash=not content.sha256,
    )
    return OpenedFile(source, content.sha256, None if content.fault is None else input_error(content.fault))


#: First bytes of each compression, as the native reader knows them; the first byte of a skippable frame may vary.
_SKIPPABLE = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))
_MAGIC = {"gzip": (b"\x1f\x8b",), "zstd": (b"\x28\xb5\x2f\xfd", *_SKIPPABLE), "xz": (b"\xfd7zXZ\0",)}


def compression_of(path: Path) -> str:
    """Return none, gzip, zstd or xz, from the first bytes of a file alone."""
    with local_file(path) as (local,), Path(local).open("rb") as handle:
        head = handle.read(6)
    return next((name for name, magic in _MAGIC.items() if head.startswith(magic)), "none")


def open_head(path: Path, *, is_hashed: bool = True) -> Source:
    """Return what identifies a file's format; of a remote one only the first bytes are fetched, not all for a hash.

    If it is not hashed, only the first bytes of a local file are read, too.

    Raises
    ------
    InputError
        If it cannot be read at all.
    """
    if isinstance(path, RemotePath):
        with tempfile.NamedTemporaryFile(prefix="sojourn-") as head:
            fetch(path, cast(BinaryIO, head), HEAD_FETCHED_BYTES)
            opened = open_file(Path(head.name))
        opened = replace(opened, source=replace(opened.source, path=path))
    else:
        # Every content begins with no byte at all.
        opened = open_file(path, () if is_hashed else (b"",))
    if opened.fault is not None and opened.source.plain_bytes == 0:
        raise opened.fault
    return opened.source


def streamed(path: Path) -> OpenedFile:
    """Return what :func:`open_file` does of a remote file that is not compressed, read as a stream, without a copy.

    Raises
    ------
    InputError
        If it cannot be read, or changes meanwhile.
    """
    digest, head, size = hashlib.sha256(), b"", 0
    try:
        before = path.stat()
        with path.open("rb") as handle:
            while piece := handle.read(PIECE_BYTES):
                digest.update(piece)
                head = head or piece[:HEAD_BYTES]
                size += len(piece)
        now = state_now(path) if isinstance(path, RemotePath) else None
    except OSError as error:
        raise InputError("unreadable", f"cannot be read: {error.strerror}") from error
    if now is not None and (now.size_bytes, now.modified_ns) != (before.st_size, before.st_mtime_ns):
        raise InputError("changed_while_read", "the object changed while it was read; ingest it again")
    return OpenedFile(Source(path, "none", head, size), digest.hexdigest(), None)


def _fingerprint(path: Path, head_only: Collection[bytes] = ()) -> _native.Fingerprint:
    try:
        with local_file(path) as (local,):
            refuse_expansion(Path(local))
            content = _native.fingerprint(local, head_only=list(head_only))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError("unreadable", f"cannot be read: {error.strerror}") from error
    except _native.DecodeError as error:
        raise input_error(error) from error
    fault = None if content.fault is None else input_error(content.fault)
    if fault is not None and fault.reason == "expands_too_far":
        # A reader would take much longer than this for the same content.
        raise fault
    return content


def content_hash(path: Path) -> str:
    """Return the hash of a file's plain content; raises InputError if it cannot be read."""
    if not isinstance(path, RemotePath):
        return _fingerprint(path).sha256
    # To read an object again takes as long as the network does: hashes of its versions are kept for a while.
    with keeping([path]):
        try:
            state = (path, *state_of(path))
        except OSError as error:
            raise InputError("unreadable", f"cannot be read: {error.strerror}") from error
        cached = _hashes.get(state)
        if cached is None:
            cached = _fingerprint(path).sha256
            _note_hash((path, *state_of(path)), cached)
        return cached


#: Hashes of remote files that were read through, by path and state.
_hashes: dict[tuple[object, ...], str] = {}
HASHES_KEPT = 10_000


def _note_hash(state: tuple[object, ...], digest: str) -> None:
    while len(_hashes) >= HASHES_KEPT:
        _hashes.pop(next(iter(_hashes)), None)
    _hashes[state] = digest


class KnownHashes:
    """Hashes of files; those that the lake knows, of files that have not changed since, are not computed again."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def of(self, path: Path) -> str:
        """Return the hash of a file's plain content; raises InputError or OSError if it cannot be read."""
        state = path.stat()
        for commit in recorded_as_it_is(self._lake, path, state.st_size, state.st_mtime_ns):
            # It was hashed when it was tried, in this session or an earlier one.
            if commit.content_hash:
                return commit.content_hash
        return content_hash(path)
