"""Archives (tar, plain or compressed, whatever the name says) of snapshot files: one outcome, members counted.

Members are read as a stream and never written to the disk. Their names are not repeated anywhere, because M-Lab's older
ones hold the client's address; a member is told by its place.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, cast

import pyarrow as pa

from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.plain_text import open_plain
from sojourn_ingest.formats.snapshot_connections import TABLE, SnapshotFormat, connection_numbers
from sojourn_ingest.formats.tcp_info import TcpInfoReader, is_tcp_info, nothing_usable

HEAD_BYTES = 65_536
BLOCK_BYTES = 512
MAGIC_OFFSET = 257
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


class SnapshotArchive(SnapshotFormat):
    """A tar archive whose members are snapshots: tcp-info, NDT5, NDT7, SideStream, flent, described tables.

    Polls of one connection in several tcp-info members are one row. A member that is empty is counted and is no fault;
    one that is damaged is, and the others are still read.
    """

    name = "snapshot_archive"

    def __init__(self, members: Sequence[Format]) -> None:
        self._members = members

    @property
    def version(self) -> str:
        """Version of the reader, with those of the readers of its members."""
        return "archive-1+" + "+".join(member.version for member in self._members)

    def recognises(self, source: Source) -> bool:
        """Return whether the content has the magic of a tar archive."""
        return source.head[MAGIC_OFFSET : MAGIC_OFFSET + 5] == b"ustar"

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the rows of all members, numbered through."""
        polls = TcpInfoReader(context, reading)
        numbers = _Numbers()
        place = 0
        with open_plain(source) as plain:
            handle = _Ending(plain)
            try:
                with tarfile.open(fileobj=cast(BinaryIO, handle), mode="r|") as archive:
                    for entry in archive:
                        if not entry.isfile():
                            continue
                        place += 1
                        member = archive.extractfile(entry)
                        if entry.size == 0 or member is None:
                            reading.refuse("empty_member")
                            continue
                        try:
                            yield from numbers.through(
                                self._member(cast(BinaryIO, member), source, context, reading, polls)
                            )
                        except InputError as error:
                            reading.refuse(f"member: {error.reason}")
                            if error.reason not in ("unrecognised_format", "empty"):
                                fault = InputError(error.reason, f"member {place} of the archive: {error.message}")
                                reading.fault = reading.fault or fault
            except (tarfile.TarError, EOFError) as error:
                message = f"tar archive is damaged after member {place}: {error}; copy the file again"
                reading.fault = InputError("corrupt_record", message)
            else:
                if not handle.ends_as_an_archive():
                    message = f"tar archive ends without its end marker after member {place}; copy the file again"
                    reading.fault = reading.fault or InputError("truncated", message)
        yield from numbers.through((TABLE, batch) for batch in polls.finish(reading))
        if numbers.rows == 0:
            raise reading.fault or nothing_usable(reading)

    def _member(
        self, member: BinaryIO, archive: Source, context: Context, reading: Reading, polls: TcpInfoReader
    ) -> Facts:
        stored = member.read(16)
        compression = next((name for magic, name in COMPRESSIONS.items() if stored.startswith(magic)), "none")
        wrapped = Source(archive.path, compression, b"", 0, _rejoined(stored, member))
        with open_plain(wrapped) as plain:
            head = _read_up_to(plain, HEAD_BYTES)
            if not head:
                reading.refuse("empty_member")
                return
            source = Source(archive.path, "none", head, len(head) + 1, _rejoined(head, plain))
            if is_tcp_info(source):
                for batch in polls.read(_rejoined(head, plain)):
                    yield TABLE, batch
                return
            chosen = next((one for one in self._members if one.recognises(source)), None)
            if chosen is None:
                raise InputError("unrecognised_format", "no reader of snapshots knows it")
            inner = Reading()
            try:
                for name, batch in chosen.read(source, context, inner):
                    if name == TABLE:
                        yield name, batch
                    else:
                        # Other tables tell their rows apart by the file, which an archive is not.
                        reading.refuse(f"{name}: not read in an archive", batch.num_rows)
            finally:
                reading.records_read += inner.records_read
                for reason, count in inner.refused.items():
                    reading.refuse(reason, count)
            if inner.fault is not None:
                raise inner.fault


def _read_up_to(handle: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = handle.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Numbers:
    """Numbers the connections of an archive through, in the order in which they come: each reader begins with 0."""

    def __init__(self) -> None:
        self.rows = 0

    def through(self, facts: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name, batch in facts:
            place = batch.schema.get_field_index("connection_number")
            numbers = connection_numbers(self.rows, batch.num_rows)
            self.rows += batch.num_rows
            yield name, batch.set_column(place, batch.schema.field(place), numbers)
