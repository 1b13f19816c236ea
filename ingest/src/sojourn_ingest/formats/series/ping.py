"""Output of ping (iputils, BSD, busybox) and of fping, as text, with or without the times of ``-D``.

A target is not kept: the probes are called by their place. A probe without an answer is a row without a value. Where
times are known, the time of a lost probe is set between those of its neighbours.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, epoch_ns, number
from sojourn_ingest.formats.series.setting import setting_of

STAMP = rb"(?:\[(?P<time>\d{1,10}(?:\.\d{1,9})?)\]\s+)?"
#: macOS' --apple-time states the time of day only, in the local zone.
TIME_OF_DAY = rb"(?:\d\d:\d\d:\d\d(?:\.\d{1,9})?\s+)?"
HEADER = re.compile(rb"^PING\s+\S.*\bdata bytes\b|^PING\s+\S.*\bbytes of data\b|^PING6\(\d+=.* bytes\) ")
REPLY = re.compile(
    STAMP
    + TIME_OF_DAY
    + rb"\d+ bytes from .*?\b(?:icmp_)?seq=(?P<seq>\d{1,9}) .*?time[=<](?P<rtt>[\d.]{1,20}) ?ms(?P<rest>.*)$"
)
STATED = re.compile(rb"^(?:rtt|round-trip) min/avg/max(?:/\S+)? = ([\d.]+)/([\d.]+)/([\d.]+)")
SENT = re.compile(rb"^(\d{1,12}) packets transmitted, (\d{1,12}) (?:packets )?received")

FPING = re.compile(
    STAMP + rb"(?P<target>\S+)\s+: \[(?P<seq>\d{1,9})\], (?:\d+ bytes, (?P<rtt>[\d.]{1,20}) ms|(?P<lost>timed out))\b"
)
MAX_LINE_BYTES = 65_536
#: Sequence numbers have 16 bits.
SEQUENCE_NUMBERS = 2**16
#: Beyond it, a gap is not a number of lost probes, but of another run of the command.
LARGEST_GAP = 2**15
#: Lost probes and targets that are remembered at once.
MOST_WAITING = 2**16


@dataclass
class _Probe:
    """The replies of one target, as far as they were read."""

    number: int
    name: str
    last_sequence: int | None = None
    last_time_s: float | None = None
    replies: int = 0
    #: Numbers without an answer so far, with their times; a late answer takes one away.
    waiting: dict[int, float | None] = field(default_factory=dict)


class _PingText(Format):
    """What reading of both forms shares."""

    holds_addresses = False

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and the round-trip times of its probes; of a damaged file, what came before the damage.

        Raises
        ------
        InputError
            ``no_series`` where no probe was answered and none is stated to be lost.
        """
        series = _Series(self.name, reading)
        offset = 0
        try:
            with open_plain(source) as handle:
                while line := handle.readline(MAX_LINE_BYTES):
                    yield from self.line(line.rstrip(), series)
                    offset += len(line)
        except InputError as error:
            error.offset = offset
            reading.fault = error
        yield from series.end_all()
        if not series.rows.samples:
            raise reading.fault or InputError("no_series", f"no round-trip time in the output of {self.name}")
        yield from series.rows.finish()
        setting = setting_of("", source.plain_name)
        yield from run_rows(ToolRun(self.name, self.name, setting, start_ns=epoch_ns(series.first_s)), source, context)

    @abstractmethod
    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""


class Ping(_PingText):
    """Output of ping; several one after the other are several probes."""

    name = "ping"
    version = "ping-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line that is not empty is ping's heading."""
        return any(HEADER.match(line) for line in _first_lines(source))

    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""
        if HEADER.match(line):
            yield from series.end_all()
            series.begin()
        elif (found := REPLY.match(line)) is not None and series.last is not None:
            if b"DUP!" in found["rest"]:
                series.reading.refuse("duplicate_reply")
            else:
                yield from series.reply(series.last, int(found["seq"]), found["rtt"], found["time"])
        elif (stated := STATED.match(line)) is not None and series.last is not None:
            yield from series.stated(series.last, stated.groups())
        elif (sent := SENT.match(line)) is not None and series.last is not None:
            series.sent(series.last, int(sent[1]), int(sent[2]))


class Fping(_PingText):
    """Output of fping that lists every probe (``-l``, ``-c``)."""

    name = "fping"
    version = "fping-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line that is not empty is a reply, or a probe without one."""
        return any(FPING.match(line) for line in _first_lines(source))

    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""
        found = FPING.match(line)
        if found is None:
            return
        probe = series.of_target(found["target"])
        if probe is None:
            series.reading.refuse("more_targets_than_are_told_apart")
        elif found["lost"]:
            series.reading.records_read += 1
            yield from series.add(probe, None, series.time_s(found["time"]))
        else:
            yield from series.reply(probe, None, found["rtt"], found["time"])


class _Series:
    """The series of one output."""

    def __init__(self, tool: str, reading: Reading) -> None:
        self.rows = SeriesRows(reading)
        self.reading = reading
        self.last: _Probe | None = None
        self.first_s: float | None = None
        self._tool = tool
        self._probes: list[_Probe] = []
        self._targets: dict[bytes, _Probe] = {}

    def begin(self) -> _Probe:
        """Return a new probe."""
        name = f"{self._tool} {len(self._probes) + 1}"
        number_of_series = self.rows.begin(SeriesKind(name, "rtt_ms", "samples", name, "probe"))
        self.last = _Probe(number_of_series, name)
        self._probes.append(self.last)
        return self.last

    def of_target(self, target: bytes) -> _Probe | None:
        """Return the probe of one of several targets; None for one too many."""
        if target not in self._targets and len(self._targets) < MOST_WAITING:
            self._targets[target] = self.begin()
        return self._targets.get(target)

    def time_s(self, text: bytes | None) -> float | None:
        """Return a time that the output states, UTC epoch."""
        time = None if text is None else float(text)
        self.first_s = time if self.first_s is None else self.first_s
        return time

    def reply(
        self, probe: _Probe, sequence: int | None, rtt: bytes, stamp: bytes | None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Take one answer, and note the probes between it and the one before as without an answer."""
        self.reading.records_read += 1
        try:
            rtt_ms = number(float(rtt))
        except ValueError:
            rtt_ms = None
        if rtt_ms is None:
            self.reading.refuse("reply without its time")
            return
        time_s = self.time_s(stamp)
        if sequence is not None:
            yield from self._note_gap(probe, sequence, time_s)
        probe.replies += 1
        yield from self.add(probe, rtt_ms, time_s)

    def add(self, probe: _Probe, rtt_ms: float | None, time_s: float | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add one value."""
        since_s = None if time_s is None or self.first_s is None else time_s - self.first_s
        yield from self.rows.add(probe.number, [Sample(rtt_ms, epoch_ns(time_s), since_s)])

    def stated(self, probe: _Probe, figures: tuple[bytes, ...]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add what the output says of all answers."""
        self.reading.records_read += 1
        for name, text in zip(("min", "avg", "max"), figures, strict=True):
            try:
                value = number(float(text))
            except ValueError:
                value = None
            if value is not None:
                kind = SeriesKind(f"{probe.name} {name}", "rtt_ms", "total", probe.name, "probe")
                yield from self.rows.add(self.rows.begin(kind), [Sample(value)])

    def sent(self, probe: _Probe, sent: int, received: int) -> None:
        """Note the probes behind the last answer as without one, of an output that lists its answers.

        If nothing was received, that is all of them: a line that is down is a measurement.
        """
        if probe.last_sequence is None and received == 0:
            probe.last_sequence = -1
            self.reading.records_read += 1
        lost = sent - probe.replies - len(probe.waiting)
        if probe.last_sequence is not None and 0 < lost <= LARGEST_GAP:
            for place in range(lost):
                probe.waiting[probe.last_sequence + 1 + place] = None

    def end_all(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add the probes that stayed without an answer."""
        for probe in self._probes:
            for time_s in probe.waiting.values():
                yield from self.add(probe, None, time_s)
            probe.waiting.clear()

    def _note_gap(self, probe: _Probe, sequence: int, time_s: float | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        last = probe.last_sequence
        if last is None:
            probe.last_sequence, probe.last_time_s = sequence, time_s
            return
        # Numbers begin again after 65535.
        sequence += (last - sequence + SEQUENCE_NUMBERS // 2) // SEQUENCE_NUMBERS * SEQUENCE_NUMBERS
        if sequence <= last:
            probe.waiting.pop(sequence, None)
            return
        gap = sequence - last
        if gap <= LARGEST_GAP:
            for place in range(1, gap):
                known = time_s is not None and probe.last_time_s is not None
                between = probe.last_time_s + (time_s - probe.last_time_s) * place / gap if known else None  # type: ignore[operator]
                probe.waiting[last + place] = between
        while len(probe.waiting) > MOST_WAITING:
            oldest = next(iter(probe.waiting))
            yield from self.add(probe, None, probe.waiting.pop(oldest))
        probe.last_sequence, probe.last_time_s = sequence, time_s


def _first_lines(source: Source) -> list[bytes]:
    """Return the first line that is not empty, as a list of at most one."""
    return [line for line in head_lines(source, limit=10) if line.strip()][:1]
