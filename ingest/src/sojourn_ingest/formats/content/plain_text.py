"""Text sources, decompressed as they are read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from sojourn_ingest.formats.content.before_damage import (
    DAMAGED_STREAM,
    PIECE_BYTES,
    BeforeDamage,
    BufferedContent,
    Readable,
    ZstdFrames,
)
from sojourn_ingest.formats.content.json_outline import UnfoldedLines
from sojourn_ingest.formats.content.streams_in_a_row import GzipMembers, XzStreams
from sojourn_ingest.formats.interface import InputError, Reading, Source
from sojourn_ingest.remote import local_file

#: Why lines around a JSON document are refused: warnings of a tool, or what a shell wrote.
TEXT_BEFORE = "line_before_the_document"
TEXT_AFTER = "line_after_the_document"
DECOMPRESSORS: dict[str, Callable[[BinaryIO], Readable]] = {"gzip": GzipMembers, "xz": XzStreams, "zstd": ZstdFrames}


@contextmanager
def open_plain(source: Source) -> Iterator[BinaryIO]:
    """Open the plain content of a source; a text as UTF-8 without a byte order mark.

    Raises
    ------
    InputError
        If the compression is not one that this reader handles, or the compressed stream is damaged.
    """
    try:
        with source.open_stored() as stored:
            plain = stored if source.compression == "none" else _decompressed(stored, source)
            yield plain if source.encoding is None else source.encoding.decoded(plain)
    except DAMAGED_STREAM as error:
        message = f"{source.compression} stream is damaged: {error}; copy the file again"
        raise InputError("compression", message) from error


@contextmanager
def open_json(source: Source, reading: Reading) -> Iterator[BinaryIO]:
    """Open a text of JSON where its first value begins; lines before it, such as a warning, are counted as refused.

    Raises
    ------
    InputError
        As :func:`open_plain` does.
    """
    with open_plain(source) as handle:
        start = source.json
        if start is not None and start.lines_before:
            handle.read(start.bytes_before)
            reading.refused[TEXT_BEFORE] = start.lines_before
        yield handle


@contextmanager
def open_json_lines(source: Source, reading: Reading) -> Iterator[BinaryIO]:
    """Open a text of JSON values as one line each, also where a tool has written them over several lines.

    Raises
    ------
    InputError
        As :func:`open_plain` does.
    """
    with open_json(source, reading) as handle:
        is_folded = source.json is not None and source.json.is_folded
        yield BufferedContent(UnfoldedLines(handle), 2**18) if is_folded else handle


def lines_of_json(source: Source, reading: Reading, longest_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a text of JSON values that are not blank; a longer line comes in parts.

    Damage to the compressed stream ends them and is the reading's fault: the lines before it stand.
    """
    offset = 0
    try:
        with open_json_lines(source, reading) as handle:
            while line := handle.readline(longest_bytes):
                if line.strip():
                    yield line
                offset += len(line)
    except InputError as error:
        error.offset = offset
        reading.fault = error


def _decompressed(stored: BinaryIO, source: Source) -> BinaryIO:
    if source.compression not in DECOMPRESSORS:
        message = f"{source.compression} is not read for this format; decompress the file first"
        raise InputError("unsupported_compression", message)
    # Members of an archive are not read again: there may be very many that are damaged.
    plain = BeforeDamage(stored, DECOMPRESSORS[source.compression], can_be_read_again=source.stream is None)
    return BufferedContent(plain, PIECE_BYTES)


def is_plain_json_lines(source: Source) -> bool:
    """Return whether a file holds a JSON value in each line as it is, from its first byte, in UTF-8."""
    start = source.json
    return source.encoding is None and start is not None and not (start.lines_before or start.is_folded)


@contextmanager
def local_text(source: Source, json_lines: Reading | None = None) -> Iterator[str]:
    """Give the path of a local file with a source's text, for decoders that open files themselves.

    It is the file itself where that is plain, and else a temporary one, as :func:`open_plain` has it. With the reading
    of a source of JSON, it is as :func:`open_json_lines` has it.
    """
    is_plain = source.encoding is None if json_lines is None else is_plain_json_lines(source)
    if is_plain:
        with local_file(source.path) as (local,):
            yield local
        return
    opened = open_plain(source) if json_lines is None else open_json_lines(source, json_lines)
    with tempfile.NamedTemporaryFile(prefix="sojourn-") as copy, opened as handle:
        shutil.copyfileobj(handle, copy)
        copy.flush()
        yield copy.name


def first_line(source: Source) -> str:
    """Return the first line of a text; empty if it is not whole in the head, or not UTF-8."""
    lines = head_lines(source, limit=1)
    try:
        return lines[0].decode() if lines else ""
    except UnicodeDecodeError:
        return ""


def head_lines(source: Source, limit: int = 50) -> list[bytes]:
    """Return the first whole lines of the content, at most ``limit``."""
    lines = source.head.split(b"\n")
    if len(source.head) < source.plain_bytes:
        lines = lines[:-1]  # the last one is cut by the head's end
    return [line.rstrip(b"\r") for line in lines[:limit]]
