"""Reports of WebRTC's streams, whole or as changes, as rows of call_poll.

A report is an object of a poll with an id: an RTP stream, what the far end says of it, or (before 2022) its track.
Labels, names and addresses in reports are not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from sojourn_ingest.formats.call.poll_columns import DECLARED, KEY, PLACE, VALUES
from sojourn_ingest.formats.call.stream_counters import LOST, StreamCounters
from sojourn_ingest.formats.interface import Facts, InputError, Reading
from sojourn_ingest.formats.series.bounds import CLOCK_NOT_SET, LONGEST_DELAY_MS, date_of
from sojourn_ingest.schema.column import LONGEST_LABEL

BATCH_ROWS: Final = 16_384
#: Reports and streams that are remembered of one file; a call has tens.
MOST_REPORTS: Final = 65_536
#: Peer connections that are remembered of one file.
MOST_CONNECTIONS: Final = 65_536
#: Reports of the far end that are remembered of one connection: each poll looks at all of them.
MOST_FAR_ENDS: Final = 256
#: A picture of AV1 has 65,536 pixels in a row.
MOST_PIXELS: Final = 2**16
LATEST_MS: Final = 9.2e12
#: Values of a stream, which models add up over thousands of them in 64 bits: 17 TB, a trillion packets, 115 days.
LARGEST_BYTES: Final = 2**44
LARGEST_COUNT: Final = 2**40
LONGEST_S: Final = 10_000_000

WHOLE: Final = frozenset(
    PLACE[field.name] for field in DECLARED if field.name in PLACE and not pa.types.is_floating(field.type)
)
BYTES: Final = frozenset(place for name, place in PLACE.items() if name.endswith("bytes"))
PIXELS: Final = frozenset((PLACE["frame_width"], PLACE["frame_height"]))
DELAYS: Final = frozenset((PLACE["jitter_ms"], PLACE["rtt_ms"]))
LIMITED_BY: Final = PLACE["limited_by"]
REMOTE: Final = tuple(PLACE[name] for name in ("lost_packets", "jitter_ms", "rtt_ms"))
UTC: Final = "utc"
UNSET: Final = "unset"
LIMITS: Final = frozenset(("none", "bandwidth", "cpu", "other"))

#: Name in a report to the column and the factor to its unit: the standard counts time in seconds.
Fields = Mapping[str, tuple[int, float]]


def _fields(**names: str | tuple[str, float]) -> Fields:
    return {
        name: (PLACE[column], 1.0) if isinstance(column, str) else (PLACE[column[0]], column[1])
        for name, column in names.items()
    }


_RTP: Final = _fields(
    frameWidth="frame_width", frameHeight="frame_height", qpSum="qp_sum", nackCount="nack_count", pliCount="pli_count",
    firCount="fir_count",
)  # fmt: skip
_PLAYED: Final = _fields(
    framesDecoded="frames", frameWidth="frame_width", frameHeight="frame_height", freezeCount="freeze_count",
    totalFreezesDuration=("freezes_duration_ms", 1000.0), jitterBufferDelay=("jitter_buffer_delay_ms", 1000.0),
    jitterBufferEmittedCount="jitter_buffer_emitted", concealedSamples="concealed_samples",
    totalSamplesReceived="received_samples",
)  # fmt: skip
FIELDS: Final[dict[str, Fields]] = {
    "inbound-rtp": {
        **_RTP,
        **_PLAYED,
        **_fields(
            packetsReceived="packets", bytesReceived="payload_bytes", packetsLost="lost_packets",
            jitter=("jitter_ms", 1000.0),
        ),
    },
    "outbound-rtp": {
        **_RTP,
        **_fields(packetsSent="packets", bytesSent="payload_bytes", framesEncoded="frames"),
    },
    "remote-inbound-rtp": _fields(
        packetsLost="lost_packets", jitter=("jitter_ms", 1000.0), roundTripTime=("rtt_ms", 1000.0)
    ),
    "track": _PLAYED,
    "ssrc recv": _fields(
        packetsReceived="packets", bytesReceived="payload_bytes", packetsLost="lost_packets", framesDecoded="frames",
        googFrameWidthReceived="frame_width", googFrameHeightReceived="frame_height", qpSum="qp_sum",
        googNacksSent="nack_count", googPlisSent="pli_count", googFirsSent="fir_count", googJitterReceived="jitter_ms",
    ),
    "ssrc send": _fields(
        packetsSent="packets", bytesSent="payload_bytes", packetsLost="lost_packets", framesEncoded="frames",
        googFrameWidthSent="frame_width", googFrameHeightSent="frame_height", qpSum="qp_sum",
        googNacksReceived="nack_count", googPlisReceived="pli_count", googFirsReceived="fir_count",
        googJitterReceived="jitter_ms", googRtt="rtt_ms",
    ),
}  # fmt: skip
DIRECTION: Final = {
    "inbound-rtp": "inbound", "outbound-rtp": "outbound", "ssrc recv": "inbound", "ssrc send": "outbound",
}  # fmt: skip
DURATIONS: Final = {"bandwidth": PLACE["bandwidth_limited_ms"], "cpu": PLACE["cpu_limited_ms"]}


class _Report:
    """What is known of one report: its values so far, which a later poll changes."""

    __slots__ = ("direction", "fields", "legacy_limits", "media_kind", "role", "ssrc", "track", "values")

    def __init__(self, role: str) -> None:
        self.role = role
        self.fields = FIELDS[role]
        self.direction = DIRECTION.get(role)
        self.ssrc: int | None = None
        self.media_kind: str | None = None
        self.track: str | None = None
        self.legacy_limits = [False, False]
        self.values: list[Any] = [None] * len(VALUES)


class StreamRows:
    """Turns polls into rows; a value, report or poll that cannot be read is refused and counted."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._polls = 0
        self._rows: list[tuple[Any, ...]] = []
        self._connections: dict[str, int] = {}
        self._reports: dict[str, dict[str, _Report]] = {}
        self._report_count = 0
        #: By peer connection: those of its reports that say what the far end received.
        self._far_ends: dict[str, dict[str, None]] = {}
        #: By peer connection: the time of its last poll, and whether that is a date.
        self._last_times: dict[str, tuple[float, bool]] = {}
        self._streams: dict[tuple[int, int, str], StreamCounters] = {}

    def forget(self, connection: str) -> None:
        """Forget the reports of a peer connection, because another one takes its name."""
        self._report_count -= len(self._reports.pop(connection, {}))
        self._far_ends.pop(connection, None)

    def remove(self, connection: str, name: str) -> None:
        """Forget one report, which the peer connection no longer has."""
        if self._reports.get(connection, {}).pop(name, None) is not None:
            self._report_count -= 1
            self._far_ends.get(connection, {}).pop(name, None)

    def take(self, connection: str, time_ms: Any, reports: Iterable[tuple[str, Any]], *, whole: bool = False) -> Facts:
        """Take one poll of a peer connection; ``whole`` reports have every field, others only those that changed."""
        if len(connection) > LONGEST_LABEL:
            self._reading.refuse("poll: the name of its connection is too long")
            return
        is_new = connection not in self._reports and connection not in self._connections
        if is_new and max(len(self._reports), len(self._connections)) >= MOST_CONNECTIONS:
            text = f"more than {MOST_CONNECTIONS:,} peer connections in one file; split the file"
            raise InputError("too_large", text)
        if whole:
            self.forget(connection)
        by_name = self._reports.setdefault(connection, {})
        polled: dict[str, _Report] = {}
        for name, content in reports:
            if name in polled:
                self._reading.refuse("report: its name is that of another report of the same poll")
                continue
            report = self._update(by_name, name, content)
            if report is not None:
                self._note_far_end(connection, name, report)
            if report is not None and report.direction is not None:
                polled[name] = report
        if isinstance(time_ms, bool) or not isinstance(time_ms, int | float) or not 0 <= time_ms <= LATEST_MS:
            self._reading.refuse("poll: it has no time")
            return
        poll_ns = round(time_ms * 1000) * 1000
        is_date = date_of(poll_ns) is not None
        last_ms, last_is_date = self._last_times.get(connection, (0.0, True))
        if time_ms < last_ms and (last_is_date or not is_date):
            # Its changes count, because those of later polls are relative to them.
            self._reading.refuse("poll: its time runs backwards")
            return
        self._last_times[connection] = time_ms, is_date
        if not is_date:
            self._reading.refuse_once(CLOCK_NOT_SET)
        number = self._connections.setdefault(connection, len(self._connections))
        far_ends: dict[int | None, list[Any]] = {}
        if any(report.direction == "outbound" for report in polled.values()):
            far_ends = {by_name[name].ssrc: by_name[name].values for name in self._far_ends.get(connection, ())}
        emitted: set[tuple[int, str]] = set()
        for report in polled.values():
            self._give(number, poll_ns, UTC if is_date else UNSET, report, by_name, far_ends, emitted)
        self._polls += 1
        self._reading.records_read += 1
        if len(self._rows) >= BATCH_ROWS:
            yield from self.finish()

    def finish(self) -> Facts:
        """Yield the rows that were not given yet."""
        if not self._rows:
            return
        columns = dict(zip((*KEY, *VALUES), zip(*self._rows, strict=True), strict=True))
        self._rows = []
        arrays = [pa.array(columns[field.name], field.type) for field in DECLARED]
        yield "call_poll", pa.RecordBatch.from_arrays(arrays, schema=pa.schema(DECLARED))

    def _give(
        self,
        connection: int,
        poll_ns: int,
        clock: str,
        report: _Report,
        reports: dict[str, _Report],
        far_ends: dict[int | None, list[Any]],
        emitted: set[tuple[int, str]],
    ) -> None:
        ssrc, direction = report.ssrc, report.direction
        if ssrc is None or direction is None:
            self._reading.refuse("stream: it has no SSRC")
            return
        if (ssrc, direction) in emitted:
            self._reading.refuse("stream: its SSRC is that of another stream of the same poll")
            return
        emitted.add((ssrc, direction))
        values = report.values.copy()
        track = reports.get(report.track) if report.track is not None else None
        far_end = far_ends.get(ssrc) if direction == "outbound" else None
        if track is not None:
            values = [own if own is not None else of_track for own, of_track in zip(values, track.values, strict=True)]
        if far_end is not None:
            for place in REMOTE:
                values[place] = far_end[place] if far_end[place] is not None else values[place]
        key = (connection, ssrc, direction)
        stream = self._streams.get(key)
        if stream is None and len(self._streams) >= MOST_REPORTS:
            raise InputError("corrupt_record", f"more than {MOST_REPORTS} streams in one file; no call has that many")
        if stream is not None and self._continues(stream, poll_ns, clock, values):
            stream.add(poll_ns, values)
        else:
            number = 0 if stream is None else stream.number + 1
            stream = self._streams[key] = StreamCounters(number, clock, direction, poll_ns, values)
        stats_format = "legacy" if report.role.startswith("ssrc") else "standard"
        described = (report.media_kind, stats_format, poll_ns, clock)
        self._rows.append((self._polls, connection, ssrc, direction, stream.number, *described, *values))

    def _continues(self, stream: StreamCounters, poll_ns: int, clock: str, values: list[Any]) -> bool:
        # Between two clocks no time is known.
        if clock != stream.clock or stream.has_fallen(values):
            return False
        column = stream.impossible_growth(poll_ns, values)
        if column is not None:
            self._reading.refuse(f"interval: {column} grew by more than it can, so that a new stream starts")
        return column is None

    def _note_far_end(self, connection: str, name: str, report: _Report) -> None:
        far_ends = self._far_ends.setdefault(connection, {})
        if report.role != "remote-inbound-rtp":
            far_ends.pop(name, None)
        elif name not in far_ends and len(far_ends) >= MOST_FAR_ENDS:
            text = f"more than {MOST_FAR_ENDS:,} reports of the far end of one connection; save the statistics again"
            raise InputError("corrupt_record", text)
        else:
            far_ends[name] = None

    def _update(self, reports: dict[str, _Report], name: str, content: Any) -> _Report | None:
        """Bring a report up to date; None if it is not of a stream."""
        if not isinstance(content, dict):
            return None
        if len(name) > LONGEST_LABEL:
            self._reading.refuse("report: its name is too long")
            return None
        report = reports.get(name)
        kind = content.get("type")
        if kind is not None:
            role = f"ssrc {name.rpartition('_')[2]}" if kind == "ssrc" else kind
            if not isinstance(role, str) or role not in FIELDS:
                return None
            if report is None:
                if self._report_count >= MOST_REPORTS:
                    raise InputError(
                        "corrupt_record", f"more than {MOST_REPORTS} reports in one file; no call has that many"
                    )
                self._report_count += 1
            # A report that is whole again takes the place of what was known: another stream may have its name.
            report = reports[name] = _Report(role)
        if report is None:
            return None
        fields, values = report.fields, report.values
        for key, value in content.items():
            field = fields.get(key)
            if field is not None:
                values[field[0]] = self._number(value, field[0], field[1])
            elif key in DESCRIBING:
                self._describe(report, key, value)
        return report

    def _describe(self, report: _Report, key: str, value: Any) -> None:
        if key == "ssrc":
            number = self._number(value, PLACE["packets"], 1.0)
            report.ssrc = number if number is not None and number < 2**32 else None
        elif key in ("kind", "mediaType"):
            report.media_kind = value if value in ("audio", "video") else report.media_kind
        elif key == "trackId":
            report.track = value if isinstance(value, str) and len(value) <= LONGEST_LABEL else None
        elif key == "qualityLimitationReason":
            report.values[LIMITED_BY] = value if isinstance(value, str) and value in LIMITS else None
        elif key == "qualityLimitationDurations":
            for name, place in DURATIONS.items():
                if isinstance(value, dict) and name in value:
                    report.values[place] = self._number(value[name], place, 1000.0)
        elif report.role == "ssrc send":
            report.legacy_limits[key == "googCpuLimitedResolution"] = value in ("true", True)
            bandwidth, cpu = report.legacy_limits
            report.values[LIMITED_BY] = "cpu" if cpu else "bandwidth" if bandwidth else "none"

    def _number(self, value: Any, place: int, factor: float) -> Any:
        """Return a value of a column; None, counted, for what is not a number or cannot be one of it."""
        if isinstance(value, str) and NUMBER.fullmatch(value):
            value = float(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
            self._reading.refuse("value: not a number")
            return None
        largest = LONGEST_S if factor != 1 else LARGEST_BYTES if place in BYTES else LARGEST_COUNT
        is_delay_too_long = place in DELAYS and value * factor > LONGEST_DELAY_MS
        if abs(value) > largest or (value < 0 and place != LOST) or is_delay_too_long:
            self._reading.refuse("value: out of its range")
            return None
        if place in PIXELS:
            # No stream has no picture: a width of 0 is written before the first frame.
            return int(value) if 0 < value <= MOST_PIXELS else None
        return int(value) if place in WHOLE else value * factor


DESCRIBING: Final = frozenset(
    (
        "ssrc", "kind", "mediaType", "trackId", "qualityLimitationReason", "qualityLimitationDurations",
        "googCpuLimitedResolution", "googBandwidthLimitedResolution",
    )
)  # fmt: skip
NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,24})?([eE][-+]?\d{1,3})?")
