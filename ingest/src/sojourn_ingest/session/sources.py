"""From paths to files, and from a file to its content's hash, compression and first bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sojourn_ingest import _native
from sojourn_ingest.formats.content.expansion import refuse_expansion
from sojourn_ingest.formats.content.native_decoder import input_error
from sojourn_ingest.formats.interface import InputError, Source
from sojourn_ingest.lake import Lake
from sojourn_ingest.session.recorded_paths import path_text


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Return every regular file below the paths, sorted, each once; hidden files and folders are left out.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.is_file():
            found.add(path.resolve())
            continue
        base = path.resolve()
        for item in base.rglob("*"):
            hidden = any(part.startswith(".") for part in item.relative_to(base).parts)
            if not hidden and item.is_file():
                found.add(item)
    return sorted(found)


@dataclass(frozen=True)
class OpenedFile:
    """A file that was read once: the bytes that identify its format, its content's hash, and where it is damaged."""

    source: Source
    content_hash: str
    fault: InputError | None


def open_file(path: Path) -> OpenedFile:
    """Read a file through, for the hash of its plain content and its first bytes.

    Raises
    ------
    InputError
        If it cannot be read at all, or its name is not UTF-8.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("unreadable", "the file's name is not UTF-8; rename it") from error
    _refuse_expansion(path)
    try:
        content = _native.fingerprint(str(path))
    except _native.DecodeError as error:
        raise input_error(error) from error
    source = Source(path=path, compression=content.compression, head=content.head, plain_bytes=content.plain_bytes)
    return OpenedFile(source, content.sha256, None if content.fault is None else input_error(content.fault))


def _refuse_expansion(path: Path) -> None:
    try:
        refuse_expansion(path)
    except OSError as error:
        raise InputError("unreadable", f"cannot be read: {error.strerror}") from error


def content_hash(path: Path) -> str:
    """Return the hash of a file's plain content; raises InputError if it cannot be read."""
    _refuse_expansion(path)
    try:
        return _native.fingerprint(str(path)).sha256
    except _native.DecodeError as error:
        raise input_error(error) from error


class KnownHashes:
    """Hashes of files; those that the lake knows, of files that have not changed since, are not computed again."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def of(self, path: Path) -> str:
        """Return the hash of a file's plain content; raises InputError or OSError if it cannot be read."""
        state = path.stat()
        text = path_text(path)
        known = self._lake.at_path(text)
        recording = self._lake.recording_with(text)
        part = None if recording is None else recording.of_part(text)
        if part is not None:
            known.append(part)
        for commit in known:
            # It was hashed when it was tried, in this session or an earlier one.
            unchanged = (commit.size_bytes, commit.modified_ns) == (state.st_size, state.st_mtime_ns)
            if commit.content_hash and unchanged:
                return commit.content_hash
        return content_hash(path)
