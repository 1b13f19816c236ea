"""Results of the tester crusader (``.crr``), file versions 0 to 2: rates of each stream, round trips, lost probes.

A file is a header (magic and version, two 64-bit numbers), then in version 0 the fields one after the other as bincode
writes them, in versions 1 and 2 one msgpack map in snappy frames. The tester's source defines the layout
(src/crusader-lib/src/file_format.rs of Zoxc/crusader). Crusader's clock is that of the test, without a date.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack
import pyarrow as pa

from sojourn_ingest.formats.content.json_document import read_text
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

FILE = "crusader result"
MAGIC = struct.pack("<Q", 0x5372AB82AE7C59CB)
HEADER = struct.Struct("<QQ")
NEWEST = 2
NS_PER_S = 10**9
#: A week. A changed byte makes a time of decades, which would be served as an RTT.
LONGEST_NS = 7 * 86_400 * NS_PER_S
#: Kinds of chunks of the snappy framing format, section 4.
COMPRESSED, PLAIN, STREAM_START, FIRST_SKIPPABLE = 0x00, 0x01, 0xFF, 0x80
LARGEST_CHUNK = 65_536
LARGEST_BYTES = 16 * 2**20
CHECKSUM_BYTES = 4
WAYS = {True: "downlink", False: "uplink"}


@dataclass(frozen=True)
class _Stream:
    """One TCP stream: what had arrived at which time."""

    download: bool
    both: bool
    points: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class _Result:
    """What every version states; times in ns after the tester's own zero. ``pings`` are sent at, and took (or None)."""

    start_ns: int
    streams: Sequence[_Stream]
    pings: Sequence[tuple[int, int | None, int | None]]


class Crusader(Format):
    """One result of crusader."""

    name = "crusader"
    without_facts = "crusader result without a value; the test ended before it measured anything"
    holds_addresses = False
    version = "crusader-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with the magic number."""
        return source.head.startswith(MAGIC)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and its series.

        Raises
        ------
        InputError
            ``unsupported_version``, ``corrupt_record`` for a damaged file.
        """
        content = read_text(source, FILE)
        result = _parsed(content)
        rows = SeriesRows(reading)
        for place, stream in enumerate(result.streams):
            way = WAYS[stream.download]
            name = f"{'both ' if stream.both else ''}{'download' if stream.download else 'upload'} {place + 1}"
            samples = list(_rates(stream, result.start_ns))
            reading.records_read += len(stream.points)
            if samples:
                kind = SeriesKind(name, "rate_bps", "intervals", name, "tcp", way)
                yield from rows.add(rows.begin(kind), samples)
        reading.records_read += len(result.pings)
        trips = [_sample(sent, took, result.start_ns) for sent, took, _ in result.pings]
        if trips:
            yield from rows.add(rows.begin(SeriesKind("latency", "rtt_ms", "samples", "latency", "probe")), trips)
        # Of the way up, as the server's clock is matched to the client's by crusader; version 0 has none.
        ups = [_sample(sent, up, result.start_ns) for sent, _, up in result.pings if up]
        if ups:
            kind = SeriesKind("latency up", "one_way_delay_ms", "samples", "latency up", "probe", "uplink")
            yield from rows.add(rows.begin(kind), ups)
        yield from rows.finish()
        ways = {stream.download for stream in result.streams}
        direction = WAYS[ways.pop()] if len(ways) == 1 else None
        run = ToolRun("crusader", "crusader", setting_of("", source.plain_name), direction=direction)
        yield from run_rows(run, source, context)


def _sample(sent_ns: int, took_ns: int | None, start_ns: int) -> Sample:
    return Sample(None if took_ns is None else number(took_ns / 1e6), time_s=(sent_ns - start_ns) / NS_PER_S)


def _rates(stream: _Stream, start_ns: int) -> Iterator[Sample]:
    """Yield the rate between two counts of what had arrived; counts only grow."""
    for (before_ns, before), (after_ns, after) in zip(stream.points, stream.points[1:], strict=False):
        if after_ns > before_ns and after >= before:
            length_s = (after_ns - before_ns) / NS_PER_S
            yield Sample(number((after - before) * 8 / length_s), None, (after_ns - start_ns) / NS_PER_S, length_s)


def _parsed(content: bytes) -> _Result:
    if len(content) < HEADER.size:
        raise InputError("truncated", f"{FILE}: truncated in its header; copy the file again", len(content))
    version = HEADER.unpack_from(content)[1]
    if version > NEWEST:
        raise InputError("unsupported_version", f"{FILE} of version {version}; supported are 0 to {NEWEST}")
    try:
        return _from_bincode(content) if version == 0 else _from_map(content[HEADER.size :])
    except (struct.error, KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        # pyarrow and msgpack raise kinds of ValueError for what they cannot unpack.
        message = f"{FILE}: damaged or cut ({type(error).__name__}); copy the file again"
        raise InputError("corrupt_record", message) from error


# ---------------------------------------------------------------- versions 1 and 2


def _from_map(framed: bytes) -> _Result:
    document = msgpack.unpackb(_unframed(framed), raw=False)
    streams = [
        _Stream(
            bool(group["download"]), bool(group["both"]), [(_ns(p["time"]), _count(p["bytes"])) for p in one["data"]]
        )
        for group in document["stream_groups"]
        for one in group["streams"]
    ]
    return _Result(_ns(document["start"]), streams, [_ping(ping) for ping in document["pings"]])


def _ping(ping: dict[str, Any]) -> tuple[int, int | None, int | None]:
    latency = ping["latency"]
    if latency is None:
        return _ns(ping["sent"]), None, None
    total = latency["total"]
    return _ns(ping["sent"]), None if total is None else _ns(total), _ns(latency["up"])


def _ns(duration: Any) -> int:
    """Return a duration, whole seconds and nanoseconds, in ns."""
    seconds, nanoseconds = (duration["secs"], duration["nanos"]) if isinstance(duration, dict) else duration
    ns = _count(seconds) * NS_PER_S + _count(nanoseconds)
    if ns >= LONGEST_NS:
        raise ValueError("a time that is too long for a test")
    return ns


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError("not a count")
    return value


def _unframed(framed: bytes) -> bytes:
    """Return the content of snappy frames; pyarrow knows the blocks in them, not the frames."""
    codec = pa.Codec("snappy")
    parts: list[bytes] = []
    place = size = 0
    while place < len(framed):
        kind, length = framed[place], int.from_bytes(framed[place + 1 : place + 4], "little")
        chunk = framed[place + 4 : place + 4 + length]
        if len(chunk) < length:
            raise ValueError("a frame is cut")
        place += 4 + length
        if kind == COMPRESSED:
            block = chunk[CHECKSUM_BYTES:]
            try:
                part = codec.decompress(block, _plain_bytes(block), asbytes=True)
            except OSError as error:
                raise ValueError("a frame is damaged") from error
        elif kind == PLAIN:
            part = chunk[CHECKSUM_BYTES:]
        elif kind == STREAM_START or kind >= FIRST_SKIPPABLE:
            continue
        else:
            raise ValueError("a frame of an unknown kind")
        size += len(part)
        if size > LARGEST_BYTES:
            raise ValueError("too large for a result")
        parts.append(part)
    return b"".join(parts)


def _plain_bytes(block: bytes) -> int:
    """Return the size that a block of snappy states of its content, in groups of seven bits."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > LARGEST_CHUNK:
        raise ValueError("a frame that is too large")
    return size


# ---------------------------------------------------------------- version 0


class _Bincode:
    """Reads fixed-size little-endian fields, as bincode 1 writes them."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content = content
        self._place = place

    def take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._content, self._place)
        self._place += struct.calcsize(form)
        return value

    def flag(self) -> bool:
        value = self.take("<B")
        if value > 1:
            raise ValueError("not a flag")
        return bool(value)

    def ns(self) -> int:
        return _ns((self.take("<Q"), self.take("<I")))

    def times(self, least_bytes: int) -> range:
        """Return as many turns as a list has members, each of at least so many bytes."""
        count = self.take("<Q")
        if count * least_bytes > len(self._content) - self._place:
            raise ValueError("a list longer than the file")
        return range(count)


def _from_bincode(content: bytes) -> _Result:
    fields = _Bincode(content, HEADER.size)
    for _ in range(4):
        fields.take("<Q")  # the configuration
    start_ns = fields.ns()
    fields.ns()
    streams = []
    for _ in fields.times(10):
        download, both = fields.flag(), fields.flag()
        for _ in fields.times(8):
            points = [(fields.ns(), _count(fields.take("<Q"))) for _ in fields.times(20)]
            streams.append(_Stream(download, both, points))
    pings: list[tuple[int, int | None, int | None]] = []
    for _ in fields.times(21):
        fields.take("<Q")
        pings.append((fields.ns(), fields.ns() if fields.flag() else None, None))
    return _Result(start_ns, streams, pings)
