"""Reports of iperf 2 as CSV (``-y C``): rates, and of UDP jitter and loss. They hold addresses, which are not kept.

Times are local and the zone is not said, so values have times after the start only. A report does not say which way the
data went.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

#: Time, four fields of both ends, id of the transfer, interval, bytes, bit/s; of UDP jitter, loss and more.
LINE = re.compile(
    rb"^\d{14}(?:\.\d+)?(?:[+-]\d{4})?,[^,]*,\d*,[^,]*,\d*,(?P<id>-?\d{1,9}),"
    rb"(?P<start>\d{1,12}(?:\.\d+)?)-(?P<end>\d{1,12}(?:\.\d+)?),"
    rb"(?P<bytes>\d{1,20}),(?P<bps>\d{1,20})"
    rb"(?:,(?P<jitter>\d{1,12}(?:\.\d+)?),(?P<lost>-?\d{1,18}),(?P<packets>-1|\d{1,18}),-?(?:nan|[\d.]+),\d+)?\s*$"
)
MAX_LINE_BYTES = 4096
MOST_TRANSFERS = 4096
#: What a sender writes in place of the number of packets of a whole transfer.
UNKNOWN = -1
#: The id of the sum over parallel transfers.
SUM = -1


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
        """Return whether the first line is one of a report."""
        lines = head_lines(source, limit=1)
        return bool(lines) and LINE.match(lines[0]) is not None

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
        offset = 0
        try:
            with open_plain(source) as handle:
                while line := handle.readline(MAX_LINE_BYTES):
                    found = LINE.match(line)
                    if found is None:
                        if line.strip():
                            reading.refuse("not a line of a report")
                            text = f"iperf2 report: line at byte {offset} is not one; it was left out"
                            reading.fault = reading.fault or InputError("corrupt_record", text, offset)
                    elif int(found["id"]) not in transfers and len(transfers) >= MOST_TRANSFERS:
                        reading.refuse("more_transfers_than_are_told_apart")
                    else:
                        reading.records_read += 1
                        is_udp = is_udp or found["jitter"] is not None
                        transfer = transfers.setdefault(int(found["id"]), _Transfer({}))
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


def _values(found: re.Match[bytes], transfer: _Transfer) -> list[tuple[SeriesKind, Sample]]:
    """Return the values of one line."""
    start_s, end_s = float(found["start"]), float(found["end"])
    if end_s <= start_s:
        return []
    # The last line of a transfer is of all of it: it begins again at 0.
    is_total = start_s < transfer.last_s
    transfer.last_s = max(transfer.last_s, end_s)
    number_of_transfer = int(found["id"])
    name = "sum" if number_of_transfer == SUM else f"transfer {number_of_transfer}"
    role = "tcp" if found["jitter"] is None else "app"
    flow = None if number_of_transfer == SUM else name
    values: list[tuple[str, str, float | None]] = [("rate_bps", "intervals", number(int(found["bps"])))]
    if found["jitter"] is not None:
        jitter_ms, lost, packets = float(found["jitter"]), int(found["lost"]), int(found["packets"])
        # A sender knows neither, and writes 0 for both. No receiver of several packets has a jitter of 0.
        if jitter_ms != 0 or lost != 0:
            values += [("jitter_ms", "polls", jitter_ms), ("lost_packets", "intervals", float(max(0, lost)))]
        if packets != UNKNOWN:
            values.append(("sent_packets", "intervals", number(packets)))
    rows = []
    for metric, basis, value in values:
        if value is not None:
            kind = SeriesKind(f"{name} {metric}", metric, "total" if is_total else basis, flow, role)
            time_s, duration_s = (None, end_s - start_s) if is_total else (end_s, end_s - start_s)
            rows.append((kind, Sample(value, time_s=time_s, duration_s=duration_s)))
    return rows
