"""HTTP adaptive streaming: what a player says of each segment, a JSON object per line, as the testbed's player does.

A line of a segment has ``segment``, ``start_ns``, ``end_ns``, ``rate_bps``, ``bytes``, ``buffered_s``, ``playing``,
``stalls`` and ``stalled_s``: when it was asked for and had arrived (UTC epoch), its media rate and size, and after it
the buffer and the counts since playback began. A last line without a segment has the same at the end. Time before
playback is no stall.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from sojourn_ingest.formats.content.plain_text import lines_of_json
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import LAST_EPOCH_S, Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

LONGEST_LINE: Final = 65_536
FLOW: Final = "player"
#: By which a player may round its times.
ROUNDING_S = 0.1


@dataclass(frozen=True)
class _Line:
    """One line; what only a segment has is null at the end."""

    end_ns: int
    buffered_s: float
    stalls: float
    stalled_s: float
    playing: bool
    start_ns: int | None
    rate_bps: float | None
    media_s: float | None


class StreamedSegments(Format):
    """The log of a player of segments."""

    name = "streamed_segments"
    without_facts = "no segment in the log of the player"
    holds_addresses = False
    version = "streamed-segments-3"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is of a segment."""
        return isinstance(source.object.get("segment"), int) and "buffered_s" in source.object

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield rate and buffer at each arrival of a segment, stalls and stalled time since the last, and the start-up.

        A line that is not one, or whose times or counts go back, is refused and counted.
        """
        series = _Series(reading)
        for line in lines_of_json(source, reading, LONGEST_LINE):
            try:
                yield from series.take(_parsed(line))
            except ValueError as error:
                reading.refuse(f"line: {error}")
        yield from series.rows.finish()
        run = ToolRun(
            "streaming", "streaming", setting_of("", source.plain_name), "downlink", FLOW, start_ns=series.start_ns
        )
        yield from run_rows(run, source, context)


class _Series:
    """The series of one player."""

    def __init__(self, reading: Reading) -> None:
        self.rows = SeriesRows(reading)
        self.start_ns = 0
        self._reading = reading
        self._before: _Line | None = None
        self._has_begun = False
        self._numbers = {
            name: self.rows.begin(SeriesKind(f"{FLOW} {name}", metric, basis, FLOW, "app", "downlink"))
            for name, metric, basis in (
                ("media rate", "media_rate_bps", "samples"),
                ("buffer", "media_buffer_ms", "polls"),
                ("stalled", "stalled_ms", "intervals"),
                ("stalls", "stalls", "intervals"),
                ("start-up", "startup_ms", "total"),
            )
        }

    def take(self, line: _Line) -> Facts:
        """Add what one line says.

        Raises
        ------
        ValueError
            If it is not of the same playback as the line before.
        """
        before = self._before
        if before is None:
            if line.start_ns is None:
                raise ValueError("no segment before the end")
            self.start_ns = line.start_ns
        elif line.end_ns < before.end_ns or line.stalls < before.stalls or line.stalled_s < before.stalled_s:
            raise ValueError("times or counts go back")
        since_ns = self.start_ns if before is None else before.end_ns
        interval_s = (line.end_ns - since_ns) / 1e9
        # What a player had stalled before its log begins is of no interval in it.
        stalled_s = 0.0 if before is None else line.stalled_s - before.stalled_s
        if stalled_s > interval_s + ROUNDING_S:
            raise ValueError("stalled_s grows by more than the time since the line before")
        self._before = line
        self._reading.records_read += 1
        time_s = (line.end_ns - self.start_ns) / 1e9
        stalls = 0.0 if before is None else line.stalls - before.stalls
        values: list[tuple[str, float, float | None]] = [
            ("buffer", line.buffered_s * 1e3, None),
            ("stalled", min(stalled_s, interval_s) * 1e3, interval_s),
            ("stalls", stalls, interval_s),
        ]
        if line.rate_bps is not None:
            values.append(("media rate", line.rate_bps, line.media_s))
        if line.playing and not self._has_begun:
            self._has_begun = True
            values.append(("start-up", time_s * 1e3, None))
        for name, value, duration_s in values:
            yield from self.rows.add(self._numbers[name], [Sample(value, line.end_ns, time_s, duration_s)])


def _parsed(line: bytes) -> _Line:
    try:
        segment = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(segment, dict):
        raise ValueError("not one object")  # noqa: TRY004 - of the input, not of a caller
    playing = segment.get("playing")
    if not isinstance(playing, bool):
        raise ValueError("playing is not true or false")  # noqa: TRY004 - of the input, not of a caller
    end_ns, buffered_s, stalls, stalled_s = (
        _time_ns(segment, "end_ns"),
        *(_amount(segment, name) for name in ("buffered_s", "stalls", "stalled_s")),
    )
    if not stalls.is_integer():
        raise ValueError("stalls is not a count")
    if "segment" not in segment:
        return _Line(end_ns, buffered_s, stalls, stalled_s, playing, None, None, None)
    start_ns, rate_bps, size = _time_ns(segment, "start_ns"), _amount(segment, "rate_bps"), _amount(segment, "bytes")
    if start_ns > end_ns or rate_bps == 0:
        raise ValueError("a segment arrives before it is requested, or has no rate")
    return _Line(end_ns, buffered_s, stalls, stalled_s, playing, start_ns, rate_bps, size * 8 / rate_bps)


def _time_ns(segment: dict[str, Any], name: str) -> int:
    value = segment.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < LAST_EPOCH_S * 10**9:
        raise ValueError(f"{name} is not nanoseconds of the UTC epoch")
    return value


def _amount(segment: dict[str, Any], name: str) -> float:
    value = number(segment.get(name))
    if value is None or value < 0:
        raise ValueError(f"{name} is not a number of 0 or more")
    return value
