"""How large a compressed file or one with holes states to become, found before anything of it is read.

Whoever reads a compressed file reads all of its plain content, so its time is that of the plain bytes. gzip cannot
expand more than 1032 times. zstd and xz can: a file of a few MB may stand for terabytes of zeros. The headers of zstd's
blocks (RFC 8878, section 3.1.1.2) and the index at the end of xz (version 1.2.1 of its format, section 4) say how much
comes out. They may be wrong, or missing behind what is damaged: so the decoder, which hashes every file before it is
read, holds it to the same bound. A file with holes is one of zeros too, which the file system expands. Files of an
archive may be compressed within what the archive is compressed with, so theirs is counted as it is read.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO

from sojourn_ingest.formats.content.before_damage import BufferedContent
from sojourn_ingest.input_error import InputError

#: Plain content up to this size is read whatever it was compressed from, in bytes.
ALWAYS_READ_BYTES = 2**30
#: Beyond, this many bytes of plain content for one that is stored: about what gzip can do at most.
MOST_EXPANSION = 1100
STAT_BLOCK_BYTES = 512
COUNTED_BYTES = 2**18
ZSTD_MAGIC = 0xFD2FB528
ZSTD_SKIPPABLE = 0x184D2A50
ZSTD_BLOCK_BYTES = 128 * 1024
XZ_MAGIC = b"\xfd7zXZ\x00"
XZ_FOOTER_BYTES = 12
XZ_HEADER_BYTES = 12
#: A longer index is not read: it would be of hundreds of thousands of blocks.
XZ_MOST_INDEX_BYTES = 2**24


class ArchiveExpansion:
    """Plain content of the files of an archive, held to what is stored of them: of each, and of all so far.

    Of all, no more than ``archive_bytes`` are stored: what the archive is compressed with multiplies with what its
    files are compressed with.
    """

    def __init__(self, archive_bytes: int) -> None:
        self._archive_bytes = archive_bytes
        self._stored = self._plain = 0
        self._stored_of_file = self._plain_of_file = 0

    def begin(self, stored_bytes: int) -> None:
        """Go on to the next file."""
        self._stored = min(self._stored + stored_bytes, self._archive_bytes)
        self._stored_of_file, self._plain_of_file = stored_bytes, 0

    def add(self, plain_bytes: int) -> None:
        """Count plain content of the file.

        Raises
        ------
        InputError
            If it is more than is read of what is stored.
        """
        self._plain += plain_bytes
        self._plain_of_file += plain_bytes
        for plain, stored in ((self._plain_of_file, self._stored_of_file), (self._plain, self._stored)):
            most = max(ALWAYS_READ_BYTES, MOST_EXPANSION * stored)
            if plain > most:
                text = f"{stored:,} stored bytes expand to more than {most:,}; "
                raise InputError("expands_too_far", f"{text}unpack the archive and give its folder if they are genuine")

    def counted(self, plain: BinaryIO) -> BinaryIO:
        """Return a stream whose content is counted as it is read."""
        return BufferedContent(_Counted(plain, self), COUNTED_BYTES)


class _Counted(io.RawIOBase):
    def __init__(self, plain: BinaryIO, expansion: ArchiveExpansion) -> None:
        self._plain = plain
        self._expansion = expansion

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # Where files before were too much, nothing of this one is unpacked.
        self._expansion.add(0)
        content = self._plain.read(len(buffer))
        self._expansion.add(len(content))
        buffer[: len(content)] = content
        return len(content)


def allocated_bytes(state: os.stat_result) -> int:
    """Return what a file has on its disk, without its holes."""
    return min(state.st_size, state.st_blocks * STAT_BLOCK_BYTES)


def refuse_expansion(path: Path) -> None:
    """Go on if a file's plain content is in proportion to its size, or at most 1 GiB.

    What is damaged goes on too: the reader says where the damage is.

    Raises
    ------
    InputError
        If it would expand further.
    OSError
        If it cannot be read.
    """
    state = path.stat()
    size, allocated = state.st_size, allocated_bytes(state)
    if size > max(ALWAYS_READ_BYTES, MOST_EXPANSION * allocated):
        text = f"{size:,} bytes, but only {allocated:,} on the disk; copy what comes before the holes"
        raise InputError("expands_too_far", text)
    with path.open("rb") as handle:
        head = handle.read(6)
        handle.seek(0)
        most = max(ALWAYS_READ_BYTES, MOST_EXPANSION * allocated)
        if _is_zstd(head):
            plain = _zstd_bytes(handle, most)
        elif head == XZ_MAGIC:
            plain = _xz_bytes(handle, size, most)
        else:
            return
    if plain > most:
        text = f"{size:,} compressed bytes expand to more than {most:,}; decompress the file first if it is genuine"
        raise InputError("expands_too_far", text)


def _is_zstd(head: bytes) -> bool:
    first = int.from_bytes(head[:4], "little")
    return first == ZSTD_MAGIC or first & ~0xF == ZSTD_SKIPPABLE


def _zstd_bytes(handle: BinaryIO, most: int) -> int:
    """Return an upper bound on the plain size of zstd frames, exact for blocks that repeat one byte."""
    total = 0
    while total <= most:
        magic = handle.read(4)
        if len(magic) < 4:
            break
        if int.from_bytes(magic, "little") & ~0xF == ZSTD_SKIPPABLE:
            handle.seek(int.from_bytes(handle.read(4), "little"), os.SEEK_CUR)
            continue
        if int.from_bytes(magic, "little") != ZSTD_MAGIC:
            break
        total += _zstd_frame(handle, most - total)
    return total


def _zstd_frame(handle: BinaryIO, most: int) -> int:
    descriptor = handle.read(1)
    if not descriptor:
        return 0
    flags = descriptor[0]
    single, content = bool(flags & 0x20), flags >> 6
    skipped = (0 if single else 1) + (0, 1, 2, 4)[flags & 3] + ((1 if single else 0), 2, 4, 8)[content]
    handle.seek(skipped, os.SEEK_CUR)
    total = 0
    while total <= most:
        header = handle.read(3)
        if len(header) < 3:
            break
        word = int.from_bytes(header, "little")
        last, kind, size = word & 1, word >> 1 & 3, word >> 3
        # Raw, one byte that repeats, compressed; the fourth kind is reserved, and the reader says so.
        total += (size, size, ZSTD_BLOCK_BYTES, 0)[kind]
        if kind == 3:
            break
        handle.seek(1 if kind == 1 else size, os.SEEK_CUR)
        if last:
            handle.seek(4 if flags & 4 else 0, os.SEEK_CUR)
            break
    return total


def _xz_bytes(handle: BinaryIO, size: int, most: int) -> int:
    """Return the plain size of xz streams as their indexes say, from the last stream to the first."""
    total, end = 0, size
    while end >= XZ_HEADER_BYTES + XZ_FOOTER_BYTES and total <= most:
        handle.seek(end - XZ_FOOTER_BYTES)
        footer = handle.read(XZ_FOOTER_BYTES)
        if footer[8:] == b"\x00\x00\x00\x00":
            end -= 4  # padding behind a stream
            continue
        if footer[10:] != b"YZ":
            break
        index_bytes = (int.from_bytes(footer[4:8], "little") + 1) * 4
        start = end - XZ_FOOTER_BYTES - index_bytes
        if start < XZ_HEADER_BYTES or index_bytes > XZ_MOST_INDEX_BYTES:
            break
        handle.seek(start)
        stored, plain = _xz_index(handle.read(index_bytes))
        if stored <= 0:
            break
        total += plain
        end = start - stored - XZ_HEADER_BYTES
    return total


def _xz_index(index: bytes) -> tuple[int, int]:
    """Return the stored and plain bytes of the blocks that an index lists; zero if it is not an index."""
    if not index or index[0] != 0:
        return 0, 0
    records, at = _xz_number(index, 1)
    stored = plain = 0
    for _ in range(records):
        if at >= len(index):
            return 0, 0
        unpadded, at = _xz_number(index, at)
        uncompressed, at = _xz_number(index, at)
        stored += (unpadded + 3) // 4 * 4
        plain += uncompressed
    return stored, plain


def _xz_number(index: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        if at + place >= len(index):
            break
        byte = index[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    return 0, len(index)
