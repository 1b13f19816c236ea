"""Polls of ``ss -ti`` as plain text, with the time before each poll: tcp_poll and connection.

What a loop such as ``while sleep 1; do date +%s.%N; ss -tin; done`` writes. ss prints a socket on two lines (the second
one begins with a blank) or, with ``-O``, on one. The time is on a line of its own, in seconds since the epoch or as
RFC 3339.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sojourn_ingest.formats.connection.connection_format import ConnectionFormat
from sojourn_ingest.formats.connection.ss_polls import LARGEST_NS, STATES, Poll, SocketRows
from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.text_columns import rfc3339_ns_of

SECONDS = re.compile(r"^#?\s*(?P<whole>\d{9,10})(?:[.,](?P<fraction>\d{1,9}))?\s*$")
HEADER = re.compile(r"^State\s+Recv-Q\s+Send-Q\s+Local")
SOCKET = re.compile(rf"^({'|'.join(STATES)})\s+\d+\s+\d+\s+\S+:\S+\s+\S+:\S+")


def _time_ns(line: str) -> int | None:
    match = SECONDS.match(line)
    if match is not None:
        time_ns = int(match["whole"]) * 1_000_000_000 + int((match["fraction"] or "").ljust(9, "0"))
        return time_ns if time_ns <= LARGEST_NS else None
    # date --iso-8601=ns writes a comma before the fraction.
    return rfc3339_ns_of(line.lstrip("# ").strip().replace(",", "."))


class SsText(ConnectionFormat):
    """Text of ss, one poll after another."""

    name = "ss_text"
    version = "ss-text-4"

    def recognises(self, source: Source) -> bool:
        """Return whether one of the first lines is the header of ss, or a socket of it."""
        lines = [line.decode("utf-8", errors="replace") for line in head_lines(source, limit=5)]
        return any(HEADER.match(line) or SOCKET.match(line) for line in lines)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per socket and poll, then the connections; polls without a time are refused."""
        sockets = SocketRows(context, reading)
        try:
            with open_plain(source) as handle:
                for poll in self._polls(handle, reading):
                    yield from sockets.take(poll)
        except InputError as error:
            reading.fault = error
        if sockets.polls == 0 and reading.fault is None:
            raise InputError(
                "no_time", "polls of ss without a time; write one before each poll, for example with date +%s.%N"
            )
        yield from sockets.finish()

    @staticmethod
    def _polls(lines: Iterator[bytes], reading: Reading) -> Iterator[Poll]:
        poll: Poll | None = None
        for raw in lines:
            line = raw.decode("utf-8", errors="replace").rstrip()
            if not line or HEADER.match(line):
                continue
            time_ns = None if line[0].isspace() or SOCKET.match(line) else _time_ns(line)
            if time_ns is not None:
                if poll is not None:
                    yield poll
                poll = Poll(time_ns, None, [])
            elif poll is None:
                if not line[0].isspace():
                    reading.refuse("no_time")
            elif line[0].isspace() and poll.lines:
                poll.lines[-1] += line
            else:
                poll.lines.append(line)
        if poll is not None:
            yield poll
