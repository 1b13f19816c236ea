"""Dump of chrome://webrtc-internals: each value of each report as a series over the polls."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from sojourn_ingest.formats.call.stream_rows import StreamRows
from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source

NAMES: Final = "webrtc-internals"
#: Reports of streams; all others hold addresses or labels, or nothing that is kept.
TYPES: Final = frozenset(("inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "track", "ssrc"))
LEGACY = re.compile(r"ssrc_\d{1,10}_(recv|send)")
#: Before M90 or so a dump has no types: ids of reports begin with the name of the report's class.
CLASSES: Final = (
    (re.compile(r"RTCInboundRTP(?:Audio|Video)?Stream_", re.IGNORECASE), "inbound-rtp"),
    (re.compile(r"RTCOutboundRTP(?:Audio|Video)?Stream_", re.IGNORECASE), "outbound-rtp"),
    (re.compile(r"RTCRemoteInboundRTP(?:Audio|Video)?Stream_", re.IGNORECASE), "remote-inbound-rtp"),
    (re.compile(r"RTCMediaStreamTrack_(?:sender|receiver|local|remote)_"), "track"),
)
#: Chrome keeps a thousand values of a series, and a call has some thousand series.
MOST_POLLS: Final = 100_000
MOST_VALUES: Final = 5_000_000
#: Characters of the values of a series, and of a dump: they are texts of their own within the document.
LONGEST_SERIES: Final = 4 * 2**20
LONGEST_DUMP: Final = 64 * 2**20


class WebRtcInternals(Format):
    """The dump that Chrome's page offers, of one or several peer connections."""

    name = "webrtc_internals"
    without_facts = "webrtc-internals: no series of a stream; save the dump during a call"
    holds_addresses = False
    version = "webrtc-internals-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the document names peer connections, or its requests for media."""
        connections, requests = source.object.get("PeerConnections"), source.object.get("getUserMedia")
        return isinstance(connections, dict) or isinstance(requests, list)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the streams of each poll, of one peer connection after another.

        Raises
        ------
        InputError
            If the document is damaged or has no series of a stream.
        """
        content = json_document.read_object(source, NAMES, reading)
        connections = content.get("PeerConnections")
        if not isinstance(connections, dict):
            raise InputError("corrupt_record", f"{NAMES}: the dump has no peer connections; save it during a call", 0)
        return self._rows(connections, reading)

    @staticmethod
    def _rows(connections: dict[str, Any], reading: Reading) -> Facts:
        rows = StreamRows(reading)
        values = characters = 0
        for name, connection in connections.items():
            stats = connection.get("stats") if isinstance(connection, dict) else None
            all_series: list[_Series] = []
            for key, series in (stats if isinstance(stats, dict) else {}).items():
                try:
                    read = _series(key, series)
                except ValueError as error:
                    reading.refuse(f"series: {error}")
                    continue
                values += sum(one.weight for one in read)
                characters += len(series["values"]) if read and isinstance(series["values"], str) else 0
                if values > MOST_VALUES or characters > LONGEST_DUMP:
                    reading.refuse("series: above the values of a dump")
                    break
                all_series += read
            for time_s, reports in _polls(all_series):
                yield from rows.take(name, time_s * 1000, reports.items(), whole=True)
        yield from rows.finish()


@dataclass(frozen=True)
class _Series:
    """The values of one field of one report, evenly from the first poll to the last in which it was there."""

    report: str
    kind: str
    field: str
    start_s: float
    end_s: float
    values: list[Any]

    @property
    def weight(self) -> int:
        """How many values it takes the memory of: an object takes that of some numbers."""
        return len(self.values) + sum(4 + len(value) for value in self.values if isinstance(value, dict))

    def times_s(self) -> Iterator[float]:
        step = (self.end_s - self.start_s) / max(1, len(self.values) - 1)
        return (self.start_s + place * step for place in range(len(self.values)))


def _series(key: str, series: Any) -> list[_Series]:
    """Return a series, if it is of a stream.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    report, _, field = key.rpartition("-")
    if not isinstance(series, dict) or not report or field.startswith("["):
        return []
    kind = "ssrc" if LEGACY.fullmatch(report) else series.get("statsType", _kind_by_id(report))
    if not isinstance(kind, str) or kind not in TYPES:
        return []
    values = series.get("values")
    if isinstance(values, str):
        if len(values) > LONGEST_SERIES:
            raise ValueError("its values are too long")
        try:
            values = json.loads(values)
        except (ValueError, RecursionError) as error:
            raise ValueError("its values are not JSON") from error
    if not isinstance(values, list) or not 0 < len(values) <= MOST_POLLS:
        raise ValueError("its values are not a list")
    if any(isinstance(value, list) or (isinstance(value, dict) and _is_nested(value)) for value in values):
        raise ValueError("its values are lists, or objects within objects")
    start_s, end_s = _epoch_s(series.get("startTime")), _epoch_s(series.get("endTime"))
    if end_s < start_s:
        raise ValueError("its time runs backwards")
    return [_Series(report, kind, field, start_s, end_s, values)]


def _is_nested(value: dict[str, Any]) -> bool:
    return any(isinstance(member, list | dict) for member in value.values())


def _kind_by_id(report: str) -> str | None:
    """Return the type of a report without one, from its id."""
    return next((kind for pattern, kind in CLASSES if pattern.match(report)), None)


def _polls(all_series: list[_Series]) -> Iterator[tuple[float, dict[str, dict[str, Any]]]]:
    """Yield the time and the reports of each poll; the times are those of the series that has most values."""
    if not all_series:
        return
    times_s = list(max(all_series, key=lambda series: len(series.values)).times_s())
    polls: list[dict[str, dict[str, Any]]] = [{} for _ in times_s]
    # The middle between two polls: another series began at one of them, and its times differ by how polls vary.
    edges = [(before + after) / 2 for before, after in pairwise(times_s)]
    for series in all_series:
        for time_s, value in zip(series.times_s(), series.values, strict=True):
            report = polls[bisect(edges, time_s)].setdefault(series.report, {"type": series.kind})
            report[series.field] = value
    yield from zip(times_s, polls, strict=True)


def _epoch_s(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError("it has no start or end")  # noqa: TRY004 - of the input, not of a caller
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError("its start or end is not a time") from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
