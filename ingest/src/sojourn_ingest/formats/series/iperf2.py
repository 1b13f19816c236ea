"""Reports of iperf 2 as CSV (``-y C``): rates, and of UDP jitter and loss. They hold addresses, which are not kept.

From 2.2 on, ``-e`` writes a header that names the columns; 2.1.9 wrote more columns without one, of which only those of
every version are read. Times are local, and values have times after the start only, because older versions do not say
the zone. A report does not say which way the data went.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

#: Time with its zone (2.1.9 and later with -e), and four fields of both ends.
ENDS = rb"^(?:[+-]\d{4}:)?\d{14}(?:\.\d+)?(?:[+-]\d{4})?,[^,]*,\d*,[^,]*,\d*,"
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


@dataclass
class _Transfer:
    """The series of one transfer, by metric and basis, and how long its last interval was."""

    numbers: dict[tuple[str, str], int]
    last_s: float = 0.0


class Iperf2(Format):
    """One report of iperf 2."""

    name = "iperf2"
    holds_addresses = False
    version = "iperf2-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is one of a report, or its header."""
        lines = head_lines(source, limit=1)
        return bool(lines) and (LINE.match(lines[0]) is not None or HEADER.match(lines[0]) is not None)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and its series; a line that is not one of a report is refused.

        Raises
        ------
        InputError
            ``no_series`` where no line could be read.
        """
        rows = SeriesRows(reading)
        transfers: dict[int, _Transfer] = {}
        is_udp = False
        columns: list[bytes] = []
        offset = 0
        try:
            with open_plain(source) as handle:
                while line := handle.readline(MAX_LINE_BYTES):
                    if HEADER.match(line):
                        # Each kind of report in a file has its own.
                        columns = line.strip().split(b",")
                        offset += len(line)
                        continue
                    found = _named(line, columns) if columns else _unnamed(line)
                    if found is None:
                        if line.strip():
                            reading.refuse("not a line of a report")
                            text = f"iperf2 report: line at byte {offset} is not one; it was left out"
                            reading.fault = reading.fault or InputError("corrupt_record", text, offset)
                    elif found.transfer not in transfers and len(transfers) >= MOST_TRANSFERS:
                        reading.refuse("more_transfers_than_are_told_apart")
                    else:
                        reading.records_read += 1
                        is_udp = is_udp or found.udp is not None
                        transfer = transfers.setdefault(found.transfer, _Transfer({}))
                        for kind, sample in _values(found, transfer):
                            key = (kind.metric, kind.sample_basis)
                            if key not in transfer.numbers:
                                transfer.numbers[key] = rows.begin(kind)
                            yield from rows.add(transfer.numbers[key], [sample])
                    offset += len(line)
        except InputError as error:
            error.offset = offset
            reading.fault = error
        if not rows.samples:
            raise reading.fault or InputError("no_series", "iperf2 report without a line that can be read")
        yield from rows.finish()
        setting = setting_of("", source.plain_name)
        workload = "iperf2_udp" if is_udp else "iperf2_tcp"
        yield from run_rows(
            ToolRun("iperf2", workload, setting, application="udp" if is_udp else None), source, context
        )


def _unnamed(line: bytes) -> _Line | None:
    """Return a line of a report without a header; None for any other."""
    found = LINE.match(line)
    if found is None:
        return None
    udp = None
    if found["jitter"] is not None:
        udp = (float(found["jitter"]), int(found["lost"]), int(found["packets"]))
    return _Line(int(found["id"]), float(found["start"]), float(found["end"]), int(found["bps"]), udp)


def _named(line: bytes, columns: list[bytes]) -> _Line | None:
    """Return a line of a report whose header names its columns; None for any other."""
    values = line.strip().split(b",")
    if NAMED_LINE.match(line) is None or len(values) != len(columns):
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
    return _Line(
        int(row[b"transferid"]), float(row[b"istart"]), float(row[b"iend"]), int(row[b"speed"]), udp, tuple(more)
    )


def _number(text: bytes | None) -> float | None:
    """Return what a column states; None for what is not a number, or below 0, which stands for no value."""
    return number(float(text)) if text is not None and NUMBER.match(text) else None


def _values(found: _Line, transfer: _Transfer) -> list[tuple[SeriesKind, Sample]]:
    """Return the values of one line."""
    start_s, end_s = found.start_s, found.end_s
    if end_s <= start_s:
        return []
    # The last line of a transfer is of all of it: it begins again at 0.
    is_total = start_s < transfer.last_s
    transfer.last_s = max(transfer.last_s, end_s)
    name = "sum" if found.transfer == SUM else f"transfer {found.transfer}"
    role = "tcp" if found.udp is None else "app"
    flow = None if found.transfer == SUM else name
    values: list[tuple[str, str, float | None]] = [("rate_bps", "intervals", number(found.rate_bps))]
    if found.udp is not None:
        jitter_ms, lost, packets = found.udp
        # A sender knows neither, and writes 0 for both. No receiver of several packets has a jitter of 0.
        if jitter_ms != 0 or lost != 0:
            values += [("jitter_ms", "polls", jitter_ms), ("lost_packets", "intervals", float(max(0, lost)))]
        if packets != UNKNOWN:
            values.append(("sent_packets", "intervals", number(packets)))
    values += found.more
    rows = []
    for metric, basis, value in values:
        if value is not None and not (is_total and metric == "cwnd_packets"):
            kind = SeriesKind(f"{name} {metric}", metric, "total" if is_total else basis, flow, role)
            time_s, duration_s = (None, end_s - start_s) if is_total else (end_s, end_s - start_s)
            rows.append((kind, Sample(value, time_s=time_s, duration_s=duration_s)))
    return rows
