"""Files of a zip archive, read as streams; its list of files is bounded before it is read.

What zipfile says of damage is not repeated: it quotes the names of files.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from sojourn_ingest.formats.connection.tar_members import MOST_MEMBERS
from sojourn_ingest.formats.content.before_damage import BufferedContent
from sojourn_ingest.input_error import InputError

#: What stands before the content of a file, without its name.
HEADER_BYTES = 30
#: Of the list of files, of which each takes a hundred bytes or so.
MOST_LIST_BYTES = 8 * 2**20
END_BYTES, END_MAGIC = 22, b"PK\x05\x06"
#: The form for large archives stands before the end, and its place between the two.
LARGE_END_BYTES, LARGE_END_MAGIC = 56, b"PK\x06\x06"
PLACE_BYTES, PLACE_MAGIC = 20, b"PK\x06\x07"
LONGEST_COMMENT_BYTES = 2**16
#: Bits of the flags of a file: two kinds of encryption, and changes to another file.
ENCRYPTED, PATCHED = 0x01 | 0x40, 0x20
READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: What opening a file with a damaged header raises, also where its name is no text.
DAMAGED_HEADER = (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error)
#: What reading a damaged file raises.
DAMAGE: dict[type[Exception], str] = {
    zipfile.BadZipFile: "its checksum does not match, so any byte of it may be wrong",
    zlib.error: "the deflated data is damaged",
    EOFError: "it ends early",
}
COPY_AGAIN = "copy the file again"


@contextmanager
def opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive.

    Raises
    ------
    InputError
        ``truncated`` without its list of files, ``too_many_members``, ``corrupt_record``.
    """
    with path.open("rb") as handle:
        list_bytes = _list_bytes(handle, path.stat().st_size)
        if list_bytes is None:
            raise InputError("truncated", f"zip archive ends without its list of files; {COPY_AGAIN}")
        too_many = InputError("too_many_members", "zip archive of too many files; unpack it and give its folder")
        if list_bytes > MOST_LIST_BYTES:
            raise too_many
        try:
            archive = zipfile.ZipFile(handle)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            message = f"zip archive: its list of files is damaged; {COPY_AGAIN}"
            raise InputError("corrupt_record", message) from error
        with archive:
            if len(archive.filelist) > MOST_MEMBERS:
                raise too_many
            yield archive


def refused_entry(entry: zipfile.ZipInfo) -> str | None:
    """Return why a file cannot be looked into; None if it can."""
    if entry.flag_bits & ENCRYPTED:
        return "member_encrypted"
    is_unpacked = entry.compress_type in READ_METHODS and not entry.flag_bits & PATCHED
    return None if is_unpacked else "member_not_unpacked"


class _Member(io.RawIOBase):
    def __init__(self, unpacked: IO[bytes]) -> None:
        self._unpacked = unpacked

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            content = self._unpacked.read(len(buffer))
        except tuple(DAMAGE) as error:
            meaning = next(meaning for kind, meaning in DAMAGE.items() if isinstance(error, kind))
            raise InputError("compression", f"zip: {meaning}; {COPY_AGAIN}") from error
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def opened_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[BinaryIO]:
    """Open a file.

    Raises
    ------
    InputError
        ``compression`` where it is damaged, also from what is read of it.
    """
    try:
        unpacked = archive.open(entry)
    except DAMAGED_HEADER as error:
        raise InputError("compression", f"zip: its header is damaged; {COPY_AGAIN}") from error
    with unpacked:
        yield BufferedContent(_Member(unpacked))


def overlapping(entries: Iterable[zipfile.ZipInfo]) -> set[zipfile.ZipInfo]:
    """Return the files with bytes that are another one's, without the first of those: all others fit into the archive.

    Each file is read on its own, so that a list with many names for the same bytes would take its length times theirs.
    """
    found, end = set(), 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            found.add(entry)
        else:
            end = entry.header_offset + HEADER_BYTES + entry.compress_size
    return found


def stands_behind_files(archive: zipfile.ZipFile) -> bool:
    """Return whether files stand before those of the list: of archives that were joined, only the last has its list."""
    return min((entry.header_offset for entry in archive.filelist), default=archive.start_dir) > 0


def _list_bytes(handle: BinaryIO, size: int) -> int | None:
    """Return the size of the list of files, as the end of the archive states it; None without an end.

    The form for large archives holds where it is given, as it does for zipfile. Elsewhere than directly before its
    place, the list may be as large as the archive.
    """
    handle.seek(max(0, size - LARGE_END_BYTES - PLACE_BYTES - END_BYTES - LONGEST_COMMENT_BYTES))
    tail = handle.read()
    handle.seek(0)
    place = tail.rfind(END_MAGIC)
    if place < 0 or len(tail) - place < END_BYTES:
        return None
    before = tail[max(0, place - LARGE_END_BYTES - PLACE_BYTES) : place]
    if not before[-PLACE_BYTES:].startswith(PLACE_MAGIC):
        return int.from_bytes(tail[place + 12 : place + 16], "little")
    return int.from_bytes(before[40:48], "little") if before.startswith(LARGE_END_MAGIC) else size
