"""Output of ping (iputils, BSD, busybox, Windows) and of fping, as text, with or without the times of ``-D``.

A target is not kept: the probes are called by their place. A probe without an answer is a row without a value. Where
times are known, the time of a lost probe is set between those of its neighbours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series import windows_ping
from sojourn_ingest.formats.series.ping_lines import (
    FPING,
    FPING_DUPLICATE,
    FPING_PROBE,
    FPING_REMARK,
    HEADER,
    Reply,
    Summary,
    is_remark,
    number_of,
    ping_line,
    summary,
)
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, epoch_ns, number
from sojourn_ingest.formats.series.setting import setting_of
from sojourn_ingest.formats.series.texts_for_people import what_people_wrote
from sojourn_ingest.schema.column import LONGEST_LABEL

MAX_LINE_BYTES = 65_536
#: White space, and the bell that iputils rings after each reply (-a).
LINE_END = b" \t\r\n\v\f\a"
#: Sequence numbers have 16 bits.
SEQUENCE_NUMBERS = 2**16
#: Beyond it, a gap is not a number of lost probes, but of another run of the command.
LARGEST_GAP = 2**15
#: Probes that may be missing in the gaps of a file, each of which becomes a row, and how many more for each gap.
MOST_IN_GAPS = 1_000_000
IN_A_GAP = 100
NOT_UNDERSTOOD = "line_not_understood"
WITHOUT_TIME = "reply without its time"
TOO_MANY_LOST = "lost probe: too many for so few answers"
#: Numbers that are remembered as answered: a second answer comes within so many.
MOST_ANSWERED = 1024
#: Of a line of Windows' without an answer, such as "Request timed out.", which is remembered.
LONGEST_WITHOUT_ANSWER = 1024
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
    waiting: OrderedDict[int, float | None] = field(default_factory=OrderedDict)
    #: Numbers that were answered, the latest last: another answer is a duplicate, also where the tool does not say so.
    answered: OrderedDict[int, None] = field(default_factory=OrderedDict)
    #: Probes that were given as lost already.
    lost: int = 0
    #: Answers since the last number whose own number could not be read: as many missing numbers are no losses.
    nameless: int = 0
    is_windows: bool = False
    #: Windows' lines from the first without an answer on, until the statistics tell which of those are lost probes.
    untold: list[float | bytes] = field(default_factory=list)
    #: The last line of Windows' looked like the title of statistics.
    has_title: bool = False
    #: Its statistics have begun.
    is_over: bool = False


class _PingText(Format):
    """What reading of both forms shares."""

    holds_addresses = False
    without_facts = "no round-trip time in the output of ping, which measures none with -s below 16"

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and the round-trip times of its probes; of a damaged file, what came before the damage."""
        series = _Series(self.name, reading)
        offset = 0
        try:
            with open_plain(source) as handle:
                while line := handle.readline(MAX_LINE_BYTES):
                    yield from self.line(line.rstrip(LINE_END), series)
                    offset += len(line)
        except InputError as error:
            error.offset = offset
            reading.fault = error
        yield from series.end_all()
        yield from series.rows.finish()
        setting = setting_of("", source.plain_name)
        yield from run_rows(ToolRun(self.name, self.name, setting, start_ns=epoch_ns(series.first_s)), source, context)

    @abstractmethod
    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""


class Ping(_PingText):
    """Output of ping; several one after the other are several probes."""

    name = "ping"
    version = "ping-11"

    def recognises(self, source: Source) -> bool:
        """Return whether one of the first lines is ping's heading, or they are an output of Windows' ping."""
        lines = head_lines(source)
        first = _texts(lines)[: windows_ping.LINES_BEFORE]
        if any(HEADER.match(line) for line in first):
            return True
        # PsPing and others write much the same.
        return windows_ping.is_output(lines) and what_people_wrote(source) is None

    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""
        probe = series.last
        if HEADER.match(line):
            yield from series.end_all()
            series.begin()
        elif (probe is None or probe.is_windows) and windows_ping.is_heading(line):
            if probe is None or not series.refuse_heading(probe):
                yield from series.end_all()
                series.begin().is_windows = True
        elif probe is None:
            if line.strip() and not is_remark(line):
                series.reading.refuse(NOT_UNDERSTOOD)
        elif probe.is_windows:
            yield from self._line_of_windows(line, probe, series)
        elif probe.is_over or line.startswith(b"---"):
            probe.is_over = True
            figures = summary(line)
            if figures is not None:
                yield from series.sum_up(probe, figures)
            elif not is_remark(line):
                series.reading.refuse(NOT_UNDERSTOOD)
        else:
            read = ping_line(line)
            series.reading.refuse(NOT_UNDERSTOOD, int(not read.is_whole))
            probe.nameless += read.nameless
            time_s = series.time_s(read.stamp_s)
            if read.unanswered is not None:
                yield from series.no_answer(probe, read.unanswered, time_s)
            for reply in read.replies:
                yield from series.reply(probe, reply, time_s)

    @staticmethod
    def _line_of_windows(line: bytes, probe: _Probe, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line of Windows' ping fills: until the statistics, most are probes."""
        if not line.strip():
            return
        rtt_ms = windows_ping.reply_ms(line)
        counts = windows_ping.counts(line)
        rtts_ms = windows_ping.stated_ms(line)
        is_rest = (probe.has_title or probe.is_over) and windows_ping.is_rest_of_statistics(line)
        if rtt_ms is not None or (counts is None and rtts_ms is None and not is_rest):
            series.refuse_title(probe)
        probe.has_title = False
        if rtt_ms is not None:
            # With -t, statistics may stand between answers.
            probe.is_over = False
            series.reading.records_read += 1
            probe.replies += 1
            if probe.untold:
                probe.untold.append(rtt_ms)
            else:
                yield from series.add(probe, rtt_ms, None)
        elif counts is not None:
            probe.is_over = True
            series.reading.records_read += 1
            # What a router answers ("Destination host unreachable") Windows counts as received.
            yield from series.tell(probe, counts.sent - probe.replies)
            if counts.sent != probe.replies + probe.lost:
                series.reading.refuse("statistics of other probes than are listed")
        elif rtts_ms is not None:
            probe.is_over = True
            yield from series.sum_up(probe, Summary(rtts_ms=rtts_ms))
        elif is_rest:
            probe.is_over = True
        elif windows_ping.is_title(line):
            probe.has_title = True
        elif probe.is_over or b"=" in line or len(line) > LONGEST_WITHOUT_ANSWER:
            series.reading.refuse(NOT_UNDERSTOOD)
        else:
            probe.untold.append(line)
        if len(probe.untold) > MOST_WAITING:
            yield from series.tell(probe, None)


class Fping(_PingText):
    """Output of fping that lists every probe (``-l``, ``-c``)."""

    name = "fping"
    version = "fping-7"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line that is no message of an error is a reply, or a probe without one."""
        lines = [line for line in _texts(head_lines(source)) if not line.startswith(b"ICMP ")]
        return any(FPING.match(line) for line in lines[:1])

    def line(self, line: bytes, series: _Series) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches that one line fills."""
        match = FPING.match(line)
        if FPING_DUPLICATE.match(line):
            series.reading.refuse("duplicate_reply")
        elif match is None or len(FPING_PROBE.findall(line)) > 1:
            if line.strip() and FPING_REMARK.search(line) is None:
                series.reading.refuse(NOT_UNDERSTOOD)
        elif len(match["target"]) > LONGEST_LABEL:
            series.reading.refuse("the name of its target is too long")
        elif (probe := series.of_target(match["target"])) is None:
            series.reading.refuse("more_targets_than_are_told_apart")
        else:
            time_s = series.time_s(None if match["time"] is None else number_of(match["time"]))
            rtt_ms = None if match["lost"] else number_of(match["rtt"])
            series.reading.records_read += 1
            if not match["lost"] and rtt_ms is None:
                series.reading.refuse(WITHOUT_TIME)
            else:
                yield from series.add(probe, rtt_ms, time_s)


class _Series:
    """The series of one output."""

    def __init__(self, tool: str, reading: Reading) -> None:
        self.rows = SeriesRows(reading)
        self.reading = reading
        self.last: _Probe | None = None
        self.first_s: float | None = None
        self._tool = tool
        #: How many have begun, and those of them that have not ended.
        self._begun = 0
        self._probes: list[_Probe] = []
        #: Probes without an answer that may be noted of gaps.
        self._gaps_left = MOST_IN_GAPS
        self._targets: dict[bytes, _Probe] = {}

    def begin(self) -> _Probe:
        """Return a new probe."""
        self._begun += 1
        name = f"{self._tool} {self._begun}"
        number_of_series = self.rows.begin(SeriesKind(name, "rtt_ms", "samples", name, "probe"))
        self.last = _Probe(number_of_series, name)
        self._probes.append(self.last)
        return self.last

    def of_target(self, target: bytes) -> _Probe | None:
        """Return the probe of one of several targets; None for one too many."""
        if target not in self._targets and len(self._targets) < MOST_WAITING:
            self._targets[target] = self.begin()
        return self._targets.get(target)

    def time_s(self, stamp_s: float | None) -> float | None:
        """Take note of a time that the output states, in s, and return it."""
        self.first_s = stamp_s if self.first_s is None else self.first_s
        return stamp_s

    def reply(self, probe: _Probe, reply: Reply, time_s: float | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Take one answer, and note the probes between it and the one before as without an answer."""
        self.reading.records_read += 1
        sequence = _whole_sequence(probe, reply.sequence)
        if reply.is_duplicate or sequence in probe.answered:
            self.reading.refuse("duplicate_reply")
            return
        yield from self._note_gap(probe, sequence, time_s)
        probe.waiting.pop(sequence, None)
        probe.answered[sequence] = None
        if len(probe.answered) > MOST_ANSWERED:
            probe.answered.popitem(last=False)
        probe.replies += 1
        rtt_ms = number(reply.rtt_ms)
        if rtt_ms is None:
            # It was answered: it is no loss.
            self.reading.refuse(WITHOUT_TIME)
        else:
            yield from self.add(probe, rtt_ms, time_s)

    def no_answer(
        self, probe: _Probe, stated_sequence: int, time_s: float | None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Note a probe of which the output says that it has no answer so far."""
        sequence = _whole_sequence(probe, stated_sequence)
        if probe.last_sequence is None or sequence > probe.last_sequence:
            yield from self._note_gap(probe, sequence, time_s)
            probe.waiting[sequence] = time_s
            self.reading.records_read += 1

    def add(self, probe: _Probe, rtt_ms: float | None, time_s: float | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add one value."""
        since_s = None if time_s is None or self.first_s is None else time_s - self.first_s
        yield from self.rows.add(probe.number, [Sample(rtt_ms, epoch_ns(time_s), since_s)])

    def sum_up(self, probe: _Probe, figures: Summary) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add what the output says of all answers, and the probes without one that its lines do not show.

        If nothing was received, that is all of them: a line that is down is a measurement.
        """
        if figures.rtts_ms is not None:
            self.reading.records_read += 1
            for name, value in zip(("min", "avg", "max"), figures.rtts_ms, strict=True):
                kind = SeriesKind(f"{probe.name} {name}", "rtt_ms", "total", probe.name, "probe")
                yield from self.rows.add(self.rows.begin(kind), [Sample(value)])
        if figures.sent is None:
            return
        if probe.last_sequence is None and figures.received == 0:
            probe.last_sequence = -1
            self.reading.records_read += 1
        # Lines of answers may be missing.
        lost = figures.sent - max(probe.replies, figures.received) - probe.lost - len(probe.waiting)
        if probe.last_sequence is None or lost <= 0:
            return
        if not self._may_note(lost):
            self.reading.refuse(TOO_MANY_LOST, lost)
            return
        # No answer comes behind the statistics.
        yield from self._end_waiting(probe)
        for _ in range(lost):
            probe.lost += 1
            yield from self.add(probe, None, None)

    def tell(self, probe: _Probe, unanswered: int | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add what waited for the statistics of Windows' ping; without them, each line is a lost probe."""
        lines = [entry for entry in probe.untold if isinstance(entry, bytes)]
        lost = len(lines) if unanswered is None else unanswered - probe.lost
        are_probes = iter(windows_ping.unanswered(lines, max(0, lost)))
        for entry in probe.untold:
            if not isinstance(entry, bytes):
                yield from self.add(probe, entry, None)
            elif next(are_probes):
                self.reading.records_read += 1
                probe.lost += 1
                yield from self.add(probe, None, None)
            else:
                self.reading.refuse(NOT_UNDERSTOOD)
        probe.untold.clear()

    def refuse_title(self, probe: _Probe) -> None:
        """Count what looked like the title of statistics, where no statistics follow."""
        self.reading.refuse(NOT_UNDERSTOOD, int(probe.has_title))
        probe.has_title = False

    def refuse_heading(self, probe: _Probe) -> bool:
        """Count what looked like a heading of Windows' and the lines behind it, if no answer or statistics follow.

        Return whether it is so; the probe is then as it was at its beginning.
        """
        if not probe.is_windows or probe.replies or probe.lost or probe.is_over:
            return False
        self.refuse_title(probe)
        self.reading.refuse(NOT_UNDERSTOOD, 1 + len(probe.untold))
        probe.untold.clear()
        return True

    def end_all(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add the probes that stayed without an answer."""
        for probe in self._probes:
            self.refuse_title(probe)
            probe.is_over = self.refuse_heading(probe) or probe.is_over
            yield from self.tell(probe, None)
            yield from self._end_waiting(probe)
        self._probes.clear()

    def _end_waiting(self, probe: _Probe) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add the probes that no answer came for so far."""
        while probe.waiting:
            probe.lost += 1
            yield from self.add(probe, None, probe.waiting.popitem(last=False)[1])

    def _may_note(self, unanswered: int) -> bool:
        """Return whether so many probes of a gap may be noted; if so, they are counted."""
        self._gaps_left += IN_A_GAP
        if unanswered > self._gaps_left:
            return False
        self._gaps_left -= unanswered
        return True

    def _note_gap(self, probe: _Probe, sequence: int, time_s: float | None) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Note the numbers between the last one and this one as without an answer so far."""
        last = probe.last_sequence
        if last is not None and sequence <= last:
            return
        gap = 0 if last is None else sequence - last
        if gap - 1 <= probe.nameless:
            probe.replies += max(0, gap - 1)
        elif last is not None and gap <= LARGEST_GAP and not self._may_note(gap - 1):
            self.reading.refuse(TOO_MANY_LOST, gap - 1)
            probe.lost += gap - 1
        elif last is not None and gap <= LARGEST_GAP:
            for place in range(1, gap):
                has_times = time_s is not None and probe.last_time_s is not None
                between = probe.last_time_s + (time_s - probe.last_time_s) * place / gap if has_times else None  # type: ignore[operator]
                probe.waiting[last + place] = between
        while len(probe.waiting) > MOST_WAITING:
            probe.lost += 1
            yield from self.add(probe, None, probe.waiting.popitem(last=False)[1])
        probe.last_sequence, probe.last_time_s, probe.nameless = sequence, time_s, 0


def _whole_sequence(probe: _Probe, sequence: int) -> int:
    """Return a number that goes on after 65535, where the tool's begin again."""
    last = probe.last_sequence
    if last is None:
        return sequence
    return sequence + (last - sequence + SEQUENCE_NUMBERS // 2) // SEQUENCE_NUMBERS * SEQUENCE_NUMBERS


def _texts(lines: list[bytes]) -> list[bytes]:
    """Return the lines that are not empty."""
    return [line for line in lines if line.strip()]
