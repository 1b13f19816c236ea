"""Polls of ``ss -ti`` as plain text, with the time before each poll: tcp_poll and connection.

What a loop such as ``while sleep 1; do date +%s.%N; ss -tin; done`` writes. ss prints a socket on two lines (the second
one begins with a blank) or, with ``-O``, on one. The time is on a line of its own. Without ``-t``, ss says of each
socket what protocol it is of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from sojourn_ingest.formats.connection.connection_format import ConnectionFormat
from sojourn_ingest.formats.connection.ss_polls import STATES, Poll, SocketRows
from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.content.time_lines import time_line_ns
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source

LONGEST_LINE = 65_536
HEADER = re.compile(r"^(?:Netid\s+)?State\s+Recv-Q\s+Send-Q\s+Local")
SOCKET = re.compile(rf"^({'|'.join(STATES)})\s+\d+\s+\d+\s+\S+:\S+\s+\S+:\S+")
#: Its protocol, as ss names it.
PROTOCOL = re.compile(rf"^(?P<name>[a-z][a-z0-9_]{{1,7}})\s+(?=(?:{'|'.join(STATES)})\s+\d)")


class SsText(ConnectionFormat):
    """Text of ss, one poll after another."""

    name = "ss_text"
    version = "ss-text-8"
    without_facts = "no TCP socket with numeric addresses in the output of ss; record it with ss -tin"

    def recognises(self, source: Source) -> bool:
        """Return whether one of the first lines is the header of ss, or a socket of it."""
        lines = [line.decode("utf-8", errors="replace") for line in head_lines(source, limit=5)]
        return any(HEADER.match(line) or SOCKET.match(PROTOCOL.sub("", line)) for line in lines)

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
    def _polls(lines: BinaryIO, reading: Reading) -> Iterator[Poll]:
        poll: Poll | None = None
        is_other = False
        # What is longer comes in parts, of which none is a socket.
        while raw := lines.readline(LONGEST_LINE):
            line = raw.decode("utf-8", errors="replace").rstrip()
            if not line or HEADER.match(line):
                continue
            protocol = PROTOCOL.match(line)
            if protocol is not None:
                line = line[protocol.end() :]
            is_other = protocol["name"] != "tcp" if protocol is not None else is_other and line[0].isspace()
            if is_other:
                reading.refuse("socket_of_another_protocol", int(protocol is not None))
                continue
            time_ns = None if line[0].isspace() or SOCKET.match(line) else time_line_ns(line.encode())
            if time_ns is not None:
                if poll is not None:
                    yield poll
                poll = Poll(time_ns, None)
            elif poll is None:
                if not line[0].isspace():
                    reading.refuse("no_time")
            elif not poll.add(line):
                reading.refuse("line_beyond_those_of_a_poll")
        if poll is not None:
            yield poll
