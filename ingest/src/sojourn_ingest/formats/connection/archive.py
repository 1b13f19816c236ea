"""Archives (tar, plain or compressed, and zip, under any name) of files of connections: one outcome, members counted.

Members are read as a stream and never written to the disk. Their names are not repeated anywhere, because M-Lab's older
ones hold the client's address; a member is named by its position.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Self, cast

import pyarrow as pa

from sojourn_ingest.formats.connection.connection_format import (
    TABLE,
    ConnectionFormat,
    MemberFormat,
    RawConnections,
    RawRows,
    connection_numbers,
)
from sojourn_ingest.formats.connection.gathered_connections import GatheredConnections
from sojourn_ingest.formats.connection.tcp_info import TcpInfoReader, is_tcp_info
from sojourn_ingest.formats.connection.zip_members import DAMAGED_MEMBER, opened_zip, refused_entry
from sojourn_ingest.formats.content.archive_magic import is_archive, is_zip
from sojourn_ingest.formats.content.expansion import ArchiveExpansion
from sojourn_ingest.formats.content.plain_text import DAMAGED_STREAM, open_json_lines, open_plain
from sojourn_ingest.formats.content.whole_characters import whole_characters
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.remote import local_file

HEAD_BYTES = 65_536
#: A member up to this size is read at once, which is quicker; a larger one is streamed.
SMALL_MEMBER_BYTES = 2**20
BLOCK_BYTES = 512
#: Entries that hold the name and more of the next one; tarfile reads them whole.
NAMING_TYPES = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip
LONGEST_NAME_BYTES = 2**20
MAGIC_BYTES = 16
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}


class _Joined(io.RawIOBase):
    """What was read of a stream to look at it, and then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        content = bytes(self._head[: len(buffer)]) or self._rest.read(len(buffer))
        self._head = self._head[len(content) :]
        buffer[: len(content)] = content
        return len(content)


class _Broken(io.RawIOBase):
    """A stream at the place where its archive is damaged."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        raise self._error


class _Entry(tarfile.TarInfo):
    """An entry of an archive, where its header is sound.

    tarfile takes a damaged one for the end, so that what follows would be lost, and reads long names at once.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the entry of a header."""
        try:
            entry = super().frombuf(buf, encoding, errors)
        except tarfile.InvalidHeaderError as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError(f"header of a member: {error}") from error
        if entry.type in NAMING_TYPES and entry.size > LONGEST_NAME_BYTES:
            raise tarfile.ReadError("header of a member: its name is too long")
        return entry


class _Ending:
    """A stream that remembers its end: an archive that was cut between two members looks whole but for its end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._end = b""

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(size)
        self._end = (self._end + content)[-BLOCK_BYTES:]
        return content

    def ends_as_an_archive(self) -> bool:
        """Read what is left, and return whether the last block is one of zeros."""
        while self.read(HEAD_BYTES):
            pass
        return self._end == bytes(BLOCK_BYTES)


def _rejoined(head: bytes, rest: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Joined(head, rest)))


class ConnectionArchive(ConnectionFormat):
    """A tar or zip archive whose members hold connections: tcp-info, NDT5, NDT7, SideStream, flent, described tables.

    Polls of one connection in several tcp-info members are one row. A member that is empty is counted and is not a
    fault; one that is damaged is, and the others are still read.
    """

    name = "connection_archive"
    without_facts = "none of its files is a capture or has connections with a time"

    def __init__(self, members: Sequence[MemberFormat]) -> None:
        self._members = members

    @property
    def version(self) -> str:
        """Version of the reader, with those of the readers of its members."""
        return "archive-3+" + "+".join(member.version for member in self._members)

    def recognises(self, source: Source) -> bool:
        """Return whether the content has the magic of an archive."""
        return is_archive(source.head)

    def nothing_measured(self, reading: Reading) -> InputError:
        """Return the error of an archive without connections, whatever else is in it."""
        error = super().nothing_measured(reading)
        return InputError(error.reason, f"archive: {error.message}; unpack it and give its folder")

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the rows of all members, numbered through."""
        rows = _Rows(context, reading)
        expansion = ArchiveExpansion()
        if is_zip(source.head):
            yield from self._zip(source, reading, rows, expansion)
            yield from rows.finish()
            return
        place = 0
        with open_plain(source) as plain:
            handle = _Ending(plain)
            try:
                with tarfile.open(fileobj=cast(BinaryIO, handle), mode="r|", tarinfo=_Entry) as archive:
                    while (entry := archive.next()) is not None:
                        # The archive would keep every entry, as many as there are.
                        archive.members.clear()  # type: ignore[attr-defined]
                        if not entry.isfile():
                            continue
                        place += 1
                        member = archive.extractfile(entry)
                        if entry.size == 0 or member is None:
                            reading.refuse("empty_member")
                            continue
                        expansion.begin(entry.size)
                        try:
                            content = _member_content(cast(io.BufferedReader, member), entry.size)
                            yield from self._member(content, source, reading, rows, expansion)
                        except InputError as error:
                            _refuse_member(place, error, reading)
                    continued = _holds_more(cast(BinaryIO, archive.fileobj))
                whole = handle.ends_as_an_archive()
            except (tarfile.TarError, EOFError) as error:
                message = f"tar archive is damaged after member {place}: {error}; copy the file again"
                reading.fault = InputError("corrupt_record", message)
            except DAMAGED_STREAM as error:
                message = f"{source.compression} stream is damaged after member {place}: {error}; copy the file again"
                reading.fault = InputError("compression", message)
            else:
                if continued:
                    message = f"archive continues after its end marker, which follows member {place}; "
                    message += "copy the file again, or unpack archives that were joined and give them one by one"
                    reading.fault = reading.fault or InputError("corrupt_record", message)
                elif not whole:
                    message = f"tar archive ends without its end marker after member {place}; copy the file again"
                    reading.fault = reading.fault or InputError("truncated", message)
        yield from rows.finish()

    def _zip(self, source: Source, reading: Reading, rows: _Rows, expansion: ArchiveExpansion) -> Facts:
        if source.compression != "none":
            raise InputError("unrecognised_format", f"zip archive in {source.compression}; decompress it")
        with local_file(source.path) as (local,), opened_zip(Path(local)) as archive:
            files = (entry for entry in archive.infolist() if not entry.is_dir())
            for place, entry in enumerate(files, 1):
                reason = refused_entry(entry) or (None if entry.file_size else "empty_member")
                if reason is not None:
                    reading.refuse(reason)
                    continue
                expansion.begin(entry.compress_size)
                try:
                    with archive.open(entry) as member:
                        yield from self._member(cast(BinaryIO, member), source, reading, rows, expansion)
                except InputError as error:
                    _refuse_member(place, error, reading)
                except DAMAGED_MEMBER as error:
                    _refuse_member(place, InputError("compression", f"zip: {error}; copy the file again"), reading)

    def _member(
        self, stored: BinaryIO, archive: Source, reading: Reading, rows: _Rows, expansion: ArchiveExpansion
    ) -> Facts:
        compression = "none"
        with open_plain(Source(archive.path, "none", b"", 0, stored)) as begun:
            magic = begun.read(MAGIC_BYTES)
        for first_bytes, name in COMPRESSIONS.items():
            if magic.startswith(first_bytes):
                compression = name
        if isinstance(stored, io.BytesIO):
            stored.seek(0)
        else:
            stored = _rejoined(magic, stored)
        with open_plain(Source(archive.path, compression, b"", 0, stored)) as opened:
            plain = opened if compression == "none" else expansion.counted(opened)
            head = _read_up_to(plain, HEAD_BYTES)
            if not head:
                reading.refuse("empty_member")
                return
            rest = io.BytesIO(head) if len(head) < HEAD_BYTES else _rejoined(head, plain)
            source = Source(archive.path, "none", head, len(head) + 1, rest)
            if is_tcp_info(source):
                with open_json_lines(source, reading) as polls:
                    yield from rows.of_polls(polls)
                return
            chosen = next((one for one in self._members if one.recognises(source)), None)
            if chosen is None and is_archive(head):
                raise InputError("archive_in_archive", "also an archive; unpack it")
            if chosen is None:
                raise InputError("unrecognised_format", "no reader of connections recognises it")
            inner = Reading()
            try:
                with whole_characters():
                    is_measured = False
                    for raw in chosen.raw_facts(source, inner):
                        is_measured = True
                        if isinstance(raw, tuple):
                            # The rows of other tables are distinguished by their file, which an archive is not.
                            name, batch = raw
                            reading.refuse(f"{name}: not read in an archive", batch.num_rows)
                        else:
                            yield from rows.of_member(raw)
                    if not is_measured:
                        raise chosen.nothing_measured(inner)
            finally:
                reading.records_read += inner.records_read
                for reason, count in inner.refused.items():
                    reading.refuse(reason, count)
            if inner.fault is not None:
                raise inner.fault


def _refuse_member(place: int, error: InputError, reading: Reading) -> None:
    reading.refuse(f"member: {error.reason}")
    if error.reason not in ("unrecognised_format", "empty", "archive_in_archive"):
        fault = InputError(error.reason, f"member {place} of the archive: {error.message}")
        reading.fault = reading.fault or fault


def _member_content(member: io.BufferedReader, size: int) -> BinaryIO:
    """Return the stored content of a member; damage of the archive within it comes up where it is read."""
    if size > SMALL_MEMBER_BYTES:
        return member
    parts: list[bytes] = []
    try:
        while size > 0 and (part := member.read1(min(size, HEAD_BYTES))):
            parts.append(part)
            size -= len(part)
    except (tarfile.TarError, *DAMAGED_STREAM) as error:
        return _rejoined(b"".join(parts), cast(BinaryIO, _Broken(error)))
    return io.BytesIO(b"".join(parts))


def _holds_more(rest: BinaryIO) -> bool:
    """Return whether anything but zeros follows the end marker of an archive."""
    while block := rest.read(HEAD_BYTES):
        if block.count(0) < len(block):
            return True
    return False


def _read_up_to(handle: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = handle.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Rows:
    """The connections of an archive, numbered through in the order in which they come: each reader begins with 0."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self.numbered = 0
        self._reading = reading
        self._polls = TcpInfoReader(context, reading)
        self._gathered = GatheredConnections(context, reading)

    def of_member(self, raw: RawConnections | RawRows) -> Facts:
        """Take connections of one member; yield the rows that are complete."""
        for batch in self._gathered.add(raw):
            yield self._through(batch)

    def of_polls(self, member: BinaryIO) -> Facts:
        """Take the polls of one tcp-info member; yield the rows that are complete."""
        for batch in self._polls.read(member):
            yield from self._gathered_so_far()
            yield self._through(batch)

    def finish(self) -> Facts:
        """Yield the rest."""
        yield from self._gathered_so_far()
        for batch in self._polls.finish(self._reading):
            yield self._through(batch)

    def _gathered_so_far(self) -> Facts:
        for batch in self._gathered.finish():
            yield self._through(batch)

    def _through(self, batch: pa.RecordBatch) -> tuple[str, pa.RecordBatch]:
        place = batch.schema.get_field_index("connection_number")
        numbers = connection_numbers(self.numbered, batch.num_rows)
        self.numbered += batch.num_rows
        return TABLE, batch.set_column(place, batch.schema.field(place), numbers)
