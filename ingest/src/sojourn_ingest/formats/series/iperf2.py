"""Reports of iperf 2 as CSV (``-y C``): rates, and of UDP jitter and loss. They hold addresses, which are not kept.

From 2.2 on, ``-e`` writes a header that names the columns; 2.1.9 wrote more columns without one, of which only those of
every version are read. Times are local, and values have times after the start only, because older versions do not say
the zone. A report does not say which way the data went.

The sender of UDP writes lines of nine columns as of TCP, and the receiver's report of the same transfer follows with
both ends exchanged: a transfer is known by its ends and id.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from sojourn_ingest.formats.content.delimiters import delimiter_of, numbers_of
from sojourn_ingest.formats.content.plain_text import first_line, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.bounds import MORE_LOST, date_of, is_more_than_sent
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

logger = logging.getLogger(__name__)

#: Time with its zone (2.1.9 and later with -e), and four fields of both ends.
ENDS = (
    rb"^(?:[+-]\d{4}:)?(?P<time>\d{14})(?:\.\d+)?(?:[+-]\d{4})?,"
    rb"(?P<source>[^,]*,\d*),(?P<destination>[^,]*,\d*),"
)
#: Id of the transfer, interval, bytes, bit/s; then whole numbers that -e does not name, or of UDP jitter and loss.
LINE = re.compile(
    ENDS + rb"(?P<id>-?\d{1,9}),(?P<start>\d{1,12}(?:\.\d+)?)-(?P<end>\d{1,12}(?:\.\d+)?),"
    rb"(?P<bytes>\d{1,20}),(?P<bps>\d{1,20})"
    rb"(?:(?:,-?\d{1,20}){6,16}"
    rb"|,(?P<jitter>\d{1,12}(?:\.\d+)?),(?P<lost>-?\d{1,18}),(?P<packets>-1|\d{1,18}),-?(?:nan|[\d.]+),\d+"
    rb"(?:,-?\d{1,20}(?:\.\d{1,9})?){0,12})?\s*$"
)
HEADER = re.compile(
    rb"^time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed(?:,[a-z0-9]{1,20}){0,30}\s*$"
)
NAMED_LINE = re.compile(
    ENDS + rb"-?\d{1,9},\d{1,12}(?:\.\d+)?,\d{1,12}(?:\.\d+)?,\d{1,20},\d{1,20}(?:,-?[\d.a-z]{1,30}){0,30}\s*$"
)
NUMBER = re.compile(rb"^\d{1,20}(?:\.\d{1,9})?$")
MAX_LINE_BYTES = 4096
MOST_TRANSFERS = 4096
#: What a sender writes in place of the number of packets of a whole transfer.
UNKNOWN = -1
#: What stands for no value in a column of 32 bits.
UNKNOWN_32 = 2**32 - 1
#: Columns that a header names, beside those of every report: metric, basis, divisor. The congestion window is in
#: packets; its bytes are rounded down to KiB.
NAMED: dict[bytes, tuple[str, str, int]] = {
    b"tcpretry": ("retransmitted_packets", "intervals", 1),
    b"tcppcwnd": ("cwnd_packets", "polls", 1),
    b"tcprtt": ("srtt_ms", "polls", 1000),
    b"tcprttvar": ("rttvar_ms", "polls", 1000),
}
#: The id of the sum over parallel transfers.
SUM = -1
#: Parallel transfers of one test begin together, as far as whole seconds and a report that is waited for tell.
LONGEST_BETWEEN_STARTS_S = 3.0
SEVERAL = "iperf2 report: tests that began at different times; put each test into a separate file"
UNDATED = (
    "iperf2 report: several transfers without their start times; record the client's with -i 1 -y C, one test per file"
)


@dataclass(frozen=True)
class _Line:
    """One line of a report."""

    transfer: int
    start_s: float
    end_s: float
    rate_bps: int
    #: Of UDP: jitter in ms, lost packets, packets.
    udp: tuple[float, int, int] | None = None
    more: tuple[tuple[str, str, float], ...] = ()
    #: Both ends, in the order of the line.
    ends: tuple[bytes, bytes] = (b"", b"")
    #: When the transfer began, in s of a local clock; None where the line has no date.
    began_s: float | None = None

    @property
    def key(self) -> tuple[int, frozenset[bytes]]:
        """What all lines of a transfer share."""
        return self.transfer, frozenset(self.ends)


@dataclass
class _Transfer:
    """One transfer: its name, the ends in the order of its first line, and whether any of its lines is of UDP.

    ``numbers`` are its series, by name, metric and basis; ``last_s`` is the end of its last interval. ``began_s`` is
    when it began, by a local clock, and ``length_s`` the end of its longest interval.
    """

    name: str
    ends: tuple[bytes, bytes]
    is_udp: bool = False
    numbers: dict[tuple[str, str, str], int] = field(default_factory=dict)
    last_s: float = 0.0
    began_s: float | None = None
    length_s: float = 0.0


class Iperf2(Format):
    """One report of iperf 2."""

    name = "iperf2"
    without_facts = "iperf2 report without a line that can be read"
    holds_addresses = False
    version = "iperf2-10"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is one of a report, or its header, also as a spreadsheet saves it."""
        return _delimiter(source) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and its series; a line that is not one of a report is refused.

        Raises
        ------
        InputError
            ``several_results`` for tests that began at different times, or of which that is not known.
        """
        rows = SeriesRows(reading)
        # A line of nine columns is of UDP if a later one of its transfer is.
        transfers = _transfers(source)
        offset = 0
        try:
            for reported, line, size in _lines(source):
                if reported is None:
                    if line.strip() and not HEADER.match(line):
                        reading.refuse("not a line of a report")
                        message = f"iperf2 report: line at byte {offset} is not one; it was left out"
                        reading.fault = reading.fault or InputError("corrupt_record", message, offset)
                elif reported.key not in transfers:
                    reading.refuse("more_transfers_than_are_told_apart")
                else:
                    reading.records_read += 1
                    transfer = transfers[reported.key]
                    for kind, sample in _values(reported, transfer, reading):
                        key = (kind.name, kind.metric, kind.sample_basis)
                        if key not in transfer.numbers:
                            transfer.numbers[key] = rows.begin(kind)
                        yield from rows.add(transfer.numbers[key], [sample])
                offset += size
        except InputError as error:
            error.offset = offset
            reading.fault = error
        yield from rows.finish()
        setting = setting_of("", source.plain_name)
        is_udp = any(transfer.is_udp for transfer in transfers.values())
        workload = "iperf2_udp" if is_udp else "iperf2_tcp"
        yield from run_rows(
            ToolRun("iperf2", workload, setting, application="udp" if is_udp else None), source, context
        )


def _delimiter(source: Source) -> str | None:
    """Return what separates the fields of a report; None for what is no report."""

    def fits(fields: list[str]) -> bool:
        line = ",".join(field.replace(",", ".") for field in fields).encode()
        return LINE.match(line) is not None or HEADER.match(line) is not None

    return delimiter_of(first_line(source), fits)


def _lines(source: Source) -> Iterator[tuple[_Line | None, bytes, int]]:
    """Yield what each line of a file says, the line as iperf 2 writes it, and its stored size in bytes.

    A header and what is no line of a report say None.
    """
    columns: list[bytes] = []
    delimiter = _delimiter(source) or ","
    with open_plain(source) as handle:
        while stored := handle.readline(MAX_LINE_BYTES):
            line = stored
            if delimiter != "," or b'"' in stored:
                # iperf 2 separates by commas and quotes nothing; spreadsheets do otherwise.
                line = ",".join(numbers_of(stored.decode("latin-1").rstrip("\r\n"), delimiter)).encode("latin-1")
            if HEADER.match(line):
                # Each kind of report in a file has its own.
                columns = line.strip().split(b",")
                yield None, line, len(stored)
            else:
                yield _named(line, columns) if columns else _unnamed(line), line, len(stored)


def _transfers(source: Source) -> dict[tuple[int, frozenset[bytes]], _Transfer]:
    """Return the transfers of a file, as far as it is not damaged.

    Raises
    ------
    InputError
        ``several_results`` where they did not begin together, so that they did not compete, or it is not known.
    """
    transfers: dict[tuple[int, frozenset[bytes]], _Transfer] = {}
    names: set[str] = set()
    # How much later than the first line says a transfer began, as a second test on the same ports does.
    latest_s = 0.0
    try:
        for reported, _, _ in _lines(source):
            if reported is None or (reported.key not in transfers and len(transfers) >= MOST_TRANSFERS):
                continue
            if reported.key not in transfers:
                name = "sum" if reported.transfer == SUM else f"transfer {reported.transfer}"
                # Several clients of a server may have the same id.
                name = name if name not in names else f"{name} of {len(transfers) + 1}"
                names.add(name)
                transfers[reported.key] = _Transfer(name, reported.ends)
            transfer = transfers[reported.key]
            transfer.is_udp |= reported.udp is not None
            transfer.length_s = max(transfer.length_s, reported.end_s)
            if reported.began_s is not None:
                transfer.began_s = min(reported.began_s, transfer.began_s or reported.began_s)
                latest_s = max(latest_s, reported.began_s - transfer.began_s)
    except InputError as error:
        # What came before the damage is read, and the reading of the lines says of it.
        logger.debug("transfers are known up to the damage: %s", error.reason)
    dated = [transfer for transfer in transfers.values() if transfer.began_s is not None]
    starts = [transfer.began_s for transfer in dated if transfer.began_s is not None]
    # Short transfers that began within so long did not overlap, as far as whole seconds tell.
    longest_s = min([LONGEST_BETWEEN_STARTS_S, *(transfer.length_s + 0.5 for transfer in dated)])
    is_repeated = latest_s > LONGEST_BETWEEN_STARTS_S
    if is_repeated or (starts and max(starts) - min(starts) > longest_s):
        raise InputError("several_results", SEVERAL)
    # A single transfer is one test, dated or not.
    if len(transfers) > max(len(dated), 1):
        raise InputError("several_results", UNDATED)
    return transfers


def _ends(match: re.Match[bytes]) -> tuple[bytes, bytes]:
    return match["source"], match["destination"]


def _began_s(match: re.Match[bytes], end_s: float) -> float | None:
    """Return when a transfer began: a line is written at the end of its interval.

    iperf 2.1 dates the final report of what it received 1970.
    """
    written_s = _written_s(match["time"])
    return None if written_s is None else written_s - end_s


@lru_cache(maxsize=256)
def _written_s(time: bytes) -> float | None:
    """Return a time to the second, which many lines have, in s; None for what is no date."""
    try:
        written = datetime.strptime(time.decode(), "%Y%m%d%H%M%S")
    except ValueError:
        return None
    written_s = (written - datetime(1970, 1, 1)).total_seconds()
    return None if date_of(round(written_s) * 10**9) is None else written_s


def _unnamed(line: bytes) -> _Line | None:
    """Return a line of a report without a header; None for any other."""
    match = LINE.match(line)
    if match is None:
        return None
    udp = None
    if match["jitter"] is not None:
        udp = (float(match["jitter"]), int(match["lost"]), int(match["packets"]))
    end_s = float(match["end"])
    return _Line(
        int(match["id"]),
        float(match["start"]),
        end_s,
        int(match["bps"]),
        udp,
        ends=_ends(match),
        began_s=_began_s(match, end_s),
    )


def _named(line: bytes, columns: list[bytes]) -> _Line | None:
    """Return a line of a report whose header names its columns; None for any other."""
    values = line.strip().split(b",")
    match = NAMED_LINE.match(line)
    if match is None or len(values) != len(columns):
        return None
    row = dict(zip(columns, values, strict=True))
    udp = None
    if b"jitter" in row:
        jitter, lost, packets = (_number(row.get(name)) for name in (b"jitter", b"errors", b"datagrams"))
        udp = (jitter or 0.0, int(lost or 0), UNKNOWN if packets is None else int(packets))
    more = []
    for column, (metric, basis, divisor) in NAMED.items():
        value = _number(row.get(column))
        # No round trip and no window is 0: a sum of several transfers has none, and neither has a closed socket.
        if value is not None and value != UNKNOWN_32 and (value > 0 or column == b"tcpretry"):
            more.append((metric, basis, value / divisor))
    end_s = float(row[b"iend"])
    return _Line(
        int(row[b"transferid"]),
        float(row[b"istart"]),
        end_s,
        int(row[b"speed"]),
        udp,
        tuple(more),
        _ends(match),
        _began_s(match, end_s),
    )


def _number(text: bytes | None) -> float | None:
    """Return what a column states; None for what is not a number, or below 0, which stands for no value."""
    return number(float(text)) if text is not None and NUMBER.match(text) else None


def _values(reported: _Line, transfer: _Transfer, reading: Reading) -> list[tuple[SeriesKind, Sample]]:
    """Return the values of one line."""
    start_s, end_s = reported.start_s, reported.end_s
    if end_s <= start_s:
        reading.refuse("interval_without_length")
        return []
    # What the receiver reports to the sender is of the whole transfer, and so is the last line of a transfer: it begins
    # again at 0.
    is_reported = reported.ends != transfer.ends
    is_total = is_reported or start_s < transfer.last_s
    transfer.last_s = max(transfer.last_s, end_s)
    name = f"{transfer.name} receiver" if is_reported else transfer.name
    role = "app" if transfer.is_udp else "tcp"
    flow = None if reported.transfer == SUM else transfer.name
    values: list[tuple[str, str, float | None]] = [("rate_bps", "intervals", number(reported.rate_bps))]
    if reported.udp is not None:
        jitter_ms, lost, packets = reported.udp
        # A sender knows neither, and writes 0 for both. No receiver of several packets has a jitter of 0.
        if jitter_ms != 0 or lost != 0:
            values.append(("jitter_ms", "polls", jitter_ms))
            if packets != UNKNOWN and is_more_than_sent(lost, packets):
                reading.refuse(MORE_LOST)
            else:
                values.append(("lost_packets", "intervals", float(lost)))
        if packets != UNKNOWN:
            values.append(("sent_packets", "intervals", number(packets)))
    values += reported.more
    rows = []
    for metric, basis, value in values:
        if value is None:
            reading.refuse(f"{metric}: larger than any measurement")
        elif not (is_total and metric == "cwnd_packets"):
            kind = SeriesKind(f"{name} {metric}", metric, "total" if is_total else basis, flow, role)
            time_s, duration_s = (None, end_s - start_s) if is_total else (end_s, end_s - start_s)
            rows.append((kind, Sample(value, time_s=time_s, duration_s=duration_s)))
    return rows
