"""Dumps of rtcstats with a numbered file format, which rtcstats-js and Chrome's page write.

The first line is ``RTCStatsDump``, the second an object with the number of the format, which is 3. Each line after is
``[method, peer connection, value, …, ms since the line before]``. Methods, types and properties may be numbers of
tables that never change (https://github.com/rtcstats/rtcstats, packages/rtcstats-shared/compression.js). rtcstats-js
writes what has changed: a report that is absent from a poll is unchanged, and one that is null is gone. Chrome's page
writes whole reports, which have an id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from sojourn_ingest.formats.call.statistics_lines import WITHOUT_POLLS, read_lines
from sojourn_ingest.formats.call.stream_rows import FIELDS, MOST_REPORTS, StreamRows
from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.schema.column import LONGEST_LABEL

FIRST_LINE: Final = b"RTCStatsDump"
FILE_FORMAT: Final = 3
#: Names of the methods that matter here, with their numbers.
GET_STATS: Final = frozenset(("getStats", "g", 1, "1"))
BEGIN_OR_END: Final = frozenset(("create", 39, "39", "remove"))
#: Numbers of types of reports of streams; others are not read.
TYPES: Final = {"1": "inbound-rtp", "2": "outbound-rtp", "3": "remote-inbound-rtp"}
#: Of all polls together: each takes time although no line names it.
MOST_UNCHANGED: Final = 5_000_000
UNCHANGED: Final[dict[str, Any]] = {}
#: Numbers of the properties that are read.
PROPERTIES: Final = {
    "10": "ssrc", "11": "kind", "14": "packetsReceived", "15": "packetsLost", "16": "jitter", "20": "framesDecoded",
    "23": "frameWidth", "24": "frameHeight", "26": "qpSum", "32": "freezeCount", "33": "totalFreezesDuration",
    "41": "bytesReceived", "42": "nackCount", "43": "firCount", "44": "pliCount", "47": "jitterBufferDelay",
    "49": "jitterBufferEmittedCount", "51": "totalSamplesReceived", "52": "concealedSamples",
    "75": "roundTripTime", "79": "packetsSent", "80": "bytesSent", "91": "framesEncoded",
    "95": "qualityLimitationReason", "96": "qualityLimitationDurations",
}  # fmt: skip


class NumberedRtcStatsDump(Format):
    """Dump of rtcstats whose first line says so: the polls of ``getStats`` hold what has changed."""

    name = "rtcstats_numbered"
    without_facts = WITHOUT_POLLS
    holds_addresses = False
    version = "rtcstats-numbered-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is that of a numbered format."""
        return source.head.partition(b"\n")[0].rstrip() == FIRST_LINE

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the streams of each poll.

        Raises
        ------
        InputError
            ``unsupported_version`` if the format has another number; if the second line has none, or there is no poll.
        """
        return read_lines(open_plain(source), reading, _Lines().take)


class _Lines:
    """What earlier lines say of later ones: the time, and the reports that a peer connection has."""

    def __init__(self) -> None:
        self._number = 0
        self._time_ms = 0.0
        self._reports: dict[str, dict[str, None]] = {}
        self._report_count = 0
        #: Reports of which lines said nothing new.
        self._unchanged = 0

    def take(self, rows: StreamRows, line: bytes) -> Facts:
        self._number += 1
        if self._number == 2:
            self._check_format(line)
        if self._number <= 2 or not line.strip():
            return
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._damage("not JSON") from error
        if not isinstance(row, list):
            raise ValueError("the line is not an array")  # noqa: TRY004 - of the input, not of a caller
        span = row[-1] if len(row) >= 4 else None
        if isinstance(span, bool) or not isinstance(span, int | float):
            raise self._damage("without the time since the line before")
        try:
            self._time_ms += span
        except OverflowError as error:
            raise self._damage("an impossible time since the line before") from error
        method, connection, value = row[:3]
        # Whatever else a method was called with names people and addresses.
        if isinstance(method, str | int) and method in BEGIN_OR_END:
            self._report_count -= len(self._reports.pop(str(connection), {}))
            rows.forget(str(connection))
        elif isinstance(method, str | int) and method in GET_STATS:
            if not isinstance(connection, str | int) or (isinstance(connection, int) and abs(connection) >= 2**63):
                raise ValueError("the row names no peer connection")
            if len(str(connection)) > LONGEST_LABEL:
                # It is refused, before anything of it is kept.
                yield from rows.take(str(connection), self._time_ms, ())
                return
            if not isinstance(value, dict):
                raise ValueError("the value of getStats is not an object")
            reports = [(name, report) for name, report in value.items() if isinstance(report, dict)]
            if reports and all("id" in report for _, report in reports):
                whole = ((name, _named(report)) for name, report in reports)
                yield from rows.take(str(connection), self._time_ms, whole, whole=True)
            else:
                yield from rows.take(str(connection), self._time_ms, self._changed(rows, str(connection), value))

    def _changed(self, rows: StreamRows, connection: str, value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield each report of a stream that the peer connection has, with what is new of it."""
        present = self._reports.setdefault(connection, {})
        before = len(present)
        too_long = []
        for name, report in value.items():
            if report is None:
                present.pop(name, None)
                rows.remove(connection, name)
            elif isinstance(report, dict) and "type" in report:
                if _type_of(report) in FIELDS and len(name) > LONGEST_LABEL:
                    too_long.append(name)
                elif _type_of(report) in FIELDS:
                    present[name] = None
                else:
                    present.pop(name, None)
        self._report_count += len(present) - before
        if self._report_count > MOST_REPORTS:
            raise InputError("corrupt_record", f"more than {MOST_REPORTS} reports in one file; no call has that many")
        self._unchanged += len(present) - sum(name in present for name in value)
        if self._unchanged > MOST_UNCHANGED:
            text = f"more than {MOST_UNCHANGED:,} reports that polls do not change; split the dump"
            raise InputError("too_large", text)
        for name in (*present, *too_long):
            report = value.get(name)
            yield name, _named(report) if isinstance(report, dict) else UNCHANGED

    @staticmethod
    def _check_format(line: bytes) -> None:
        try:
            header = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError("corrupt_record", "rtcstats dump: its second line is not JSON; save it again") from error
        number = header.get("fileFormat") if isinstance(header, dict) else None
        if number != FILE_FORMAT:
            shown = number if isinstance(number, int) and abs(number) < 10**6 else "none"
            raise InputError(
                "unsupported_version",
                f"rtcstats dump with file format {shown}; only {FILE_FORMAT} is read; save it with a newer "
                "version of rtcstats, or save the dump of chrome://webrtc-internals",
            )

    def _damage(self, what: str) -> InputError:
        # Times are differences: after a line that cannot be read, no time is known.
        return InputError("corrupt_record", f"line {self._number} of the dump: {what}; save the statistics again")


def _named(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report with the names of the standard."""
    named = {PROPERTIES.get(key, key): value for key, value in report.items()}
    if "type" in named:
        named["type"] = _type_of(named)
    return named


def _type_of(report: dict[str, Any]) -> Any:
    """Return the name of a report's type; its number, if it is of none that is read."""
    kind = report["type"]
    return TYPES.get(str(kind), kind) if isinstance(kind, int | str) else None
