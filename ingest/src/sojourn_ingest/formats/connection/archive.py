"""Archives (tar, plain or compressed, and zip, under any name) of files of connections: one outcome, members counted.

Members are read as a stream and never written to the disk. Their names are not repeated anywhere, because M-Lab's older
ones hold the client's address; a member is named by its position.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

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
from sojourn_ingest.formats.connection.tar_members import TarFaultError, TarMember, TarMembers
from sojourn_ingest.formats.connection.tcp_info import TcpInfoReader, is_tcp_info
from sojourn_ingest.formats.connection.zip_members import (
    opened_member,
    opened_zip,
    overlapping,
    refused_entry,
    stands_behind_files,
)
from sojourn_ingest.formats.content.archive_magic import is_archive, is_zip
from sojourn_ingest.formats.content.before_damage import DAMAGED_STREAM, BufferedContent
from sojourn_ingest.formats.content.expansion import ArchiveExpansion, allocated_bytes
from sojourn_ingest.formats.content.plain_text import open_json_lines, open_plain
from sojourn_ingest.formats.content.whole_characters import whole_characters
from sojourn_ingest.formats.description_places import DescriptionPlaces
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.remote import local_file

HEAD_BYTES = 65_536
#: A member up to this size is read at once, which is quicker; a larger one is streamed.
SMALL_MEMBER_BYTES = 2**20
MAGIC_BYTES = 16
REPEATED = "repeated_member"
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}


class _Joined(io.RawIOBase):
    """What was read of a stream to look at it, and then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
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

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        raise self._error


def _rejoined(head: bytes, rest: BinaryIO) -> BinaryIO:
    return BufferedContent(_Joined(head, rest))


class ConnectionArchive(ConnectionFormat):
    """A tar or zip archive whose members hold connections: tcp-info, NDT5, NDT7, SideStream, flent, described tables.

    Polls of one connection in several tcp-info members are one row. A member that is empty is counted and is not a
    fault; one that is damaged is, and the others are still read.
    """

    name = "connection_archive"
    without_facts = "none of its files is a capture or has connections with a time"

    def __init__(self, members: Sequence[MemberFormat], places: DescriptionPlaces) -> None:
        self._members = members
        self._places = places

    @property
    def version(self) -> str:
        """Version of the reader, with those of the readers of its members."""
        return "archive-7+" + "+".join(member.version for member in self._members)

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
        expansion = ArchiveExpansion(allocated_bytes(source.path.stat()))
        if is_zip(source.head):
            yield from self._zip(source, reading, rows, expansion)
            yield from rows.finish()
            return
        with open_plain(source) as plain:
            members = TarMembers(plain)
            try:
                for member in members:
                    reason = member.refusal or (None if member.size else "empty_member")
                    if reason is not None:
                        reading.refuse(reason)
                        if reason == REPEATED:
                            reading.fault = reading.fault or _repeated(members.place)
                        continue
                    expansion.begin(member.size)
                    try:
                        yield from self._member(_member_content(member), source, reading, rows, expansion)
                    except InputError as error:
                        _refuse_member(members.place, error, reading)
            except TarFaultError as error:
                reading.fault = error.fault
            except DAMAGED_STREAM as error:
                message = f"{source.compression} stream is damaged after member {members.place}: {error}; "
                reading.fault = InputError("compression", f"{message}copy the file again")
        yield from rows.finish()

    def _zip(self, source: Source, reading: Reading, rows: _Rows, expansion: ArchiveExpansion) -> Facts:
        if source.compression != "none":
            raise InputError("unrecognised_format", f"zip archive in {source.compression}; decompress it")
        with local_file(source.path) as (local,), opened_zip(Path(local)) as archive:
            files = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            repeated = overlapping(files)
            names: set[str] = set()
            overlap = InputError("corrupt_record", "zip: it overlaps another file; make the archive again")
            if stands_behind_files(archive):
                message = "zip archive holds files before those of its list; copy the file again, or unpack archives "
                reading.fault = InputError("corrupt_record", f"{message}that were joined and give them one by one")
            for place, entry in enumerate(files, 1):
                if entry in repeated:
                    _refuse_member(place, overlap, reading)
                    continue
                if entry.filename in names:
                    reading.refuse(REPEATED)
                    reading.fault = reading.fault or _repeated(place)
                    continue
                names.add(entry.filename)
                reason = refused_entry(entry) or (None if entry.file_size else "empty_member")
                if reason is not None:
                    reading.refuse(reason)
                    continue
                expansion.begin(entry.compress_size)
                try:
                    with opened_member(archive, entry) as member:
                        yield from self._member(member, source, reading, rows, expansion)
                except InputError as error:
                    _refuse_member(place, error, reading)

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
            chosen = self._places.nearest(source, self._members)
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


def _repeated(place: int) -> InputError:
    message = f"member {place} of the archive has the name of an earlier one, whose place it takes; "
    return InputError("corrupt_record", f"{message}unpack the archive and give its folder")


def _refuse_member(place: int, error: InputError, reading: Reading) -> None:
    reading.refuse(f"member: {error.reason}")
    if reading.fault is None and error.reason not in ("unrecognised_format", "empty", "archive_in_archive"):
        # Damage of a compression, as a reason, is that of the whole archive.
        reason = "corrupt_record" if error.reason == "compression" else error.reason
        reading.fault = InputError(reason, f"member {place} of the archive: {error.message}")


def _member_content(member: TarMember) -> BinaryIO:
    """Return the stored content of a member; damage of the archive within it comes up where it is read."""
    stored = io.BufferedReader(member)
    if member.size > SMALL_MEMBER_BYTES:
        return cast(BinaryIO, stored)
    parts: list[bytes] = []
    try:
        while part := stored.read1(HEAD_BYTES):
            parts.append(part)
    except (TarFaultError, *DAMAGED_STREAM) as error:
        return _rejoined(b"".join(parts), cast(BinaryIO, _Broken(error)))
    return io.BytesIO(b"".join(parts))


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
