"""WebRTC statistics in lines: dumps of rtcstats, and getStats reports, one poll a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Final

from sojourn_ingest.formats.call.stream_rows import StreamRows
from sojourn_ingest.formats.content.json_document import label
from sojourn_ingest.formats.content.plain_text import open_json_lines
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.bounds import date_of
from sojourn_ingest.text_columns import rfc3339_ns_of

LONGEST_LINE: Final = 2**24
LONGEST_TIME: Final = 40
NS_PER_MS: Final = 1_000_000
#: Beginnings of the rows that are read.
STATISTICS_LINE = re.compile(rb'\s*\[\s*"(?:get[sS]tats|create)"')

#: Methods of a peer connection, as the rows of a dump name them.
METHOD = re.compile(r"[A-Za-z][A-Za-z._]{0,63}")
#: Types of WebRTC's reports, one of which any result has.
REPORT_TYPES: Final = frozenset(
    (
        "inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "remote-outbound-rtp", "peer-connection", "codec",
        "transport", "media-source", "local-candidate", "remote-candidate", "candidate-pair", "certificate",
    )
)  # fmt: skip

#: Name under which a poll often stands beside its time.
WRAPPED: Final = "stats"

SERVER_MESSAGE: Final = (
    "statistics of a server (JVB or Jigasi), which has no streams as a viewer sees them; give the dump of a client"
)


WITHOUT_POLLS: Final = "no poll of getStats in the file; record the call with statistics"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        # Also a number of thousands of digits, which Python does not read.
        raise json.JSONDecodeError("not JSON", "", 0) from error


def read_lines(
    opened: AbstractContextManager[BinaryIO], reading: Reading, take: Callable[[StreamRows, bytes], Facts]
) -> Facts:
    """Give each line to ``take``; one that raises ValueError is refused, and the first such is the file's fault.

    If ``take`` raises InputError, no later line is read.
    """
    rows = StreamRows(reading)
    offset = 0
    try:
        with opened as handle:
            for line in _lines(handle):
                try:
                    yield from take(rows, line)
                except (ValueError, RecursionError) as error:
                    # The text of an error may quote the line, which names people.
                    what = "not JSON" if isinstance(error, json.JSONDecodeError | RecursionError) else str(error)
                    reading.refuse(f"line: {what}")
                    message = f"line at byte {offset}: {what}; save the statistics again"
                    reading.fault = reading.fault or InputError("corrupt_record", message, offset)
                offset += len(line)
    except InputError as error:
        # Damage to the compressed stream: the polls before it stand.
        error.offset = offset if error.offset is None else error.offset
        reading.fault = error
    yield from rows.finish()


def _lines(handle: Any) -> Iterator[bytes]:
    """Yield lines; one that is too long comes in parts, of which none is JSON."""
    while line := handle.readline(LONGEST_LINE):
        yield line


class RtcStatsDump(Format):
    """Dump of rtcstats: ``[type, peer connection, value, ms]`` a line, whose ``getstats`` hold what has changed."""

    name = "rtcstats"
    without_facts = WITHOUT_POLLS
    holds_addresses = False
    version = "rtcstats-6"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a row of a client, or an object of a server."""
        return "statsSessionId" in source.object or _is_row(source.json.value if source.json is not None else None)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the streams of each poll.

        Raises
        ------
        InputError
            ``unsupported_version`` if the dump is of a server; if it has no poll.
        """
        if source.object:
            raise InputError("unsupported_version", SERVER_MESSAGE, 0)
        return read_lines(open_json_lines(source, reading), reading, self._take)

    @staticmethod
    def _take(rows: StreamRows, line: bytes) -> Facts:
        # Other rows, which are most of a short dump, hold descriptions of sessions, names and addresses.
        if STATISTICS_LINE.match(line) is None:
            return
        row = _parsed(line)
        if not isinstance(row, list) or len(row) < 4:
            raise ValueError("the row does not have a type, a peer connection, a value and a time")
        connection = row[1]
        if not isinstance(connection, str):
            raise ValueError("the row names no peer connection")  # noqa: TRY004 - of the input, not of a caller
        if row[0] == "create":
            rows.forget(connection)
        elif isinstance(row[2], dict):
            # Newer dumps number their rows in a fifth element.
            yield from rows.take(connection, row[3], row[2].items())
        else:
            raise ValueError("the value of getstats is not an object")


class GetStatsLines(Format):
    """Results of ``getStats()``, one a line or all in one array.

    Each is an array of reports or of pairs of id and report, or an object by id, also under the name ``stats``.
    """

    name = "get_stats"
    without_facts = WITHOUT_POLLS
    holds_addresses = False
    version = "get-stats-7"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is of reports with types of WebRTC."""
        first = _polls_of(source.json.value if source.json is not None else None)[0]
        reports = first.values() if isinstance(first, dict) else map(_report_of, first or ())
        return any(isinstance(report, dict) and _is_report(report) for report in reports)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the streams of each poll, whose time is the latest of its reports."""
        return read_lines(open_json_lines(source, reading), reading, self._take)

    @staticmethod
    def _take(rows: StreamRows, line: bytes) -> Facts:
        if not line.strip():
            return
        for poll in _polls_of(_parsed(line)):
            yield from GetStatsLines._take_poll(rows, poll)

    @staticmethod
    def _take_poll(rows: StreamRows, content: Any) -> Facts:
        if isinstance(content, dict):
            reports = list(content.items())
        elif isinstance(content, list):
            reports = [
                (label(each.get("id", number)), each)
                for number, each in enumerate(map(_report_of, content))
                if isinstance(each, dict)
            ]
        else:
            raise ValueError("the line is neither an array nor an object of reports")  # noqa: TRY004
        times = (_time_ms(each.get("timestamp")) for _, each in reports if isinstance(each, dict))
        latest = max((time for time in times if time is not None), default=None)
        yield from rows.take("", latest, reports, whole=True)


def _is_row(first: Any) -> bool:
    """Return whether a value is a row of a dump: a method, a peer connection or null, a value, and the time."""
    return (
        isinstance(first, list)
        and len(first) > 2
        and isinstance(first[0], str)
        and METHOD.fullmatch(first[0]) is not None
        and (first[1] is None or (isinstance(first[1], str) and len(first[1]) <= 64))
    )


def _is_report(report: dict[str, Any]) -> bool:
    kind = report.get("type")
    return isinstance(kind, str) and kind in REPORT_TYPES


def _report_of(element: Any) -> Any:
    """Return the report of an element: of a pair, as an array made of a map has them, the second."""
    return element[1] if isinstance(element, list) and len(element) == 2 else element


def _polls_of(content: Any) -> list[Any]:
    """Return the polls of one value: those of an array of polls, else the value itself."""
    listed = content if isinstance(content, list) and content and _is_poll(content[0]) else [content]
    return [each[WRAPPED] if _is_wrapped(each) else each for each in listed]


def _is_poll(element: Any) -> bool:
    if isinstance(element, list):
        # A pair of id and report is none.
        return bool(element) and not isinstance(element[0], str)
    return _is_wrapped(element) or (
        isinstance(element, dict) and any(isinstance(one, dict) and _is_report(one) for one in element.values())
    )


def _is_wrapped(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get(WRAPPED), dict | list)


def _time_ms(value: Any) -> float | None:
    """Return the time of a report in ms: in the unit in which it is a date, else by the clock of a page.

    Browsers write ms, libwebrtc without one microseconds, and tools around it seconds or a text.
    """
    if isinstance(value, str) and len(value) <= LONGEST_TIME:
        time_ns = rfc3339_ns_of(value)
        return None if time_ns is None else time_ns / NS_PER_MS
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**63:
        return None
    units = (NS_PER_MS, NS_PER_MS / 1000, NS_PER_MS * 1000, 1)
    unit_ns = next((unit for unit in units if date_of(round(value * unit)) is not None), NS_PER_MS)
    return float(value * (unit_ns / NS_PER_MS))
