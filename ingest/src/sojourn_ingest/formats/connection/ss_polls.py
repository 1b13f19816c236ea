"""Polls of ``ss -tino`` as JSON Lines: tcp_poll, and connection over the polls of each socket.

One object a poll: ``ts_ns`` and ``ts_end_ns`` (UTC epoch, before and after the call) and ``raw``, the
unchanged text of ``ss -H -O -tino``, one line a socket; without ``-O`` a socket may have more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.connection.connection_format import TABLE as CONNECTIONS
from sojourn_ingest.formats.connection.connection_format import Basis, ConnectionFormat, ConnectionRows, RawRows
from sojourn_ingest.formats.content.json_document import refuse_what_takes_memory
from sojourn_ingest.formats.content.plain_text import open_json_lines
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.series.bounds import CLOCK_NOT_SET, date_of
from sojourn_ingest.schema import table

BATCH_ROWS = 16_384
#: Lines of a poll, and its characters: two for each of half a million sockets; hosts have thousands.
MOST_LINES = 1_000_000
LARGEST_POLL = 2**26

#: Connections that are kept to wait for more polls of them; of more, the half that is silent for longest is given.
OPEN_CONNECTIONS = 65_536
#: Addresses whose keys are remembered: the same sockets are in poll after poll.
KNOWN_ADDRESSES = 65_536

# The kernel's smoothed RTT as ss prints it. The peer is the client: ss runs where the data are sent from.
BASIS = Basis("ss", rtt_basis="smoothed", sample_basis="polls")
COUNTERS = ("sent_bytes", "acked_bytes", "received_bytes", "retransmitted_packets")

STATES = frozenset(
    (
        "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN",
        "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING", "CLOSED",
    )
)  # fmt: skip

LARGEST_NS = 2**63 - 1


def parse_socket(line: str) -> dict[str, Any]:
    """Return one socket's line of ``ss -H -O -tino`` as columns of tcp_poll, addresses unreplaced.

    A value that cannot be read is None; ``unread_values`` is the number of those.

    Raises
    ------
    ValueError
        If the line does not have the five leading fields.
    """
    row = _native.ss_socket(line)
    if row is None:
        raise ValueError("not a socket line of ss -H -O -tino")
    return row


@dataclass
class Poll:
    """One call of ss: the time before it and after it, where that was noted (ns, UTC epoch), and its lines.

    ``sockets`` has the lines of each socket, which are one line once they are joined.
    """

    start_ns: int
    end_ns: int | None
    sockets: list[list[str]] = field(default_factory=list)
    lines: int = 0
    characters: int = 0

    def add(self, line: str) -> bool:
        """Take a line that is not blank; without ``-O``, what TCP knows of a socket is on lines of its own.

        Returns whether it was taken: a poll has at most `MOST_LINES` and `LARGEST_POLL`.
        """
        self.lines += 1
        self.characters += len(line)
        if self.lines > MOST_LINES or self.characters > LARGEST_POLL:
            return False
        if line[0].isspace() and self.sockets:
            # Joined once, by who reads them: text that grows by each line is copied for each.
            self.sockets[-1].append(line)
        else:
            self.sockets.append([line])
        return True


class SocketRows:
    """Turns polls into rows of tcp_poll, and into one connection for each socket over all its polls."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self._pseudonymiser = context.pseudonymiser
        self._reading = reading
        self._connections = ConnectionRows(context, reading)
        self._poll_index = 0
        self._rows: list[dict[str, Any]] = []
        self._open: dict[tuple[Any, ...], dict[str, Any]] = {}
        #: With more connections, those that no longer appear are looked for.
        self._most_open = OPEN_CONNECTIONS
        self._ended: list[dict[str, Any]] = []
        self._given = 0
        self._keys: dict[str | None, tuple[str | None, str | None]] = {None: (None, None)}
        self._has_values = False

    @property
    def polls(self) -> int:
        """Polls taken so far."""
        return self._poll_index

    def take(self, poll: Poll) -> Facts:
        """Take one poll; a socket that cannot be read, and a poll without a date, is refused and counted."""
        if date_of(poll.start_ns) is None:
            self._reading.refuse(CLOCK_NOT_SET)
            return
        for socket_index, lines in enumerate(poll.sockets):
            try:
                row = parse_socket("".join(lines))
                addresses = {end: row.pop(f"{end}_address") for end in ("local", "peer")}
                row["local_host_key"], row["local_prefix_key"] = self._keys_of(addresses["local"])
                row["peer_host_key"], row["peer_prefix_key"] = self._keys_of(addresses["peer"])
            except (ValueError, OverflowError):
                self._reading.refuse("malformed_socket")
                continue
            self._reading.refuse("value_of_a_socket", row.pop("unread_values"))
            row |= {
                "poll_index": self._poll_index,
                "socket_index": socket_index,
                "poll_start_ns": poll.start_ns,
                "poll_end_ns": poll.end_ns,
            }
            self._has_values = self._has_values or row["congestion_control"] is not None or row["srtt_us"] is not None
            self._rows.append(row)
            self._reading.records_read += 1
            if addresses["peer"] and row["peer_port"] and row["state"] != "LISTEN":
                self._reduce(addresses, row)
            if len(self._rows) >= BATCH_ROWS:
                yield from self._batches()
        self._poll_index += 1
        if len(self._open) + len(self._ended) > self._most_open:
            yield from self._end_silent()
            # A poll that adds few costs no look at all that are open.
            self._most_open = max(OPEN_CONNECTIONS, len(self._open) * 5 // 4)

    def _keys_of(self, address: str | None) -> tuple[str | None, str | None]:
        keys = self._keys.get(address)
        if keys is None and address is not None:
            if len(self._keys) > KNOWN_ADDRESSES:
                self._keys = {None: (None, None)}
            keys = self._keys[address] = self._pseudonymiser.keys(address)
        return keys or (None, None)

    def _reduce(self, addresses: dict[str, str | None], row: dict[str, Any]) -> None:
        socket = (addresses["local"], row["local_port"], addresses["peer"], row["peer_port"])
        connection = self._open.get(socket)
        sent = row["sent_bytes"]
        if connection is not None and sent is not None and sent < (connection["sent_bytes"] or 0):
            # Counters only grow: this is another connection on the same ports.
            self._ended.append(self._open.pop(socket))
            connection = None
        if connection is None:
            connection = self._open[socket] = {
                "start_ns": row["poll_start_ns"],
                "end_ns": row["poll_start_ns"],
                "client_address": addresses["peer"],
                "rtt_samples": 0,
                "rtt_sum_us": 0,
            } | dict.fromkeys((*COUNTERS, "rtt_min_us", "rtt_max_us", "kernel_min_rtt_us", "congestion_control"))
        connection["last_poll"] = row["poll_index"]
        # The clock may have been set back.
        connection["start_ns"] = min(connection["start_ns"], row["poll_start_ns"])
        connection["end_ns"] = max(connection["end_ns"], row["poll_start_ns"])
        connection["duration_ms"] = (connection["end_ns"] - connection["start_ns"]) / 1e6
        if row["srtt_us"]:
            connection["rtt_samples"] += 1
            connection["rtt_sum_us"] += row["srtt_us"]
            connection["rtt_min_us"] = min(connection["rtt_min_us"] or row["srtt_us"], row["srtt_us"])
            connection["rtt_max_us"] = max(connection["rtt_max_us"] or 0, row["srtt_us"])
        if row["min_rtt_us"]:
            connection["kernel_min_rtt_us"] = min(
                connection["kernel_min_rtt_us"] or row["min_rtt_us"], row["min_rtt_us"]
            )
        connection["congestion_control"] = row["congestion_control"] or connection["congestion_control"]
        for name in COUNTERS:
            if row[name] is not None:
                connection[name] = max(connection[name] or 0, row[name])

    def _end_silent(self) -> Facts:
        polls = sorted(row["last_poll"] for row in self._open.values())
        latest = polls[len(polls) // 2] if polls else 0
        silent = [socket for socket, row in self._open.items() if row["last_poll"] < latest]
        self._ended += [self._open.pop(socket) for socket in silent]
        yield from self._connections_of(self._ended)
        self._ended = []

    def finish(self) -> Facts:
        """Yield what remains: the last polls, and the connections in the order of their first poll.

        Raises
        ------
        InputError
            ``no_measurement`` where ss listed sockets without what TCP knows of them.
        """
        if self._reading.records_read and not self._has_values:
            # Without -i, or of sockets that wait for their end, which have none.
            raise InputError(
                "no_measurement", "ss output without TCP details; run ss -tin while connections are established"
            )
        yield from self._batches()
        yield from self._connections_of([*self._ended, *self._open.values()])

    def _connections_of(self, rows: list[dict[str, Any]]) -> Facts:
        rows.sort(key=lambda row: row["start_ns"])
        for number, row in enumerate(rows, self._given):
            total, polls = row.pop("rtt_sum_us"), row["rtt_samples"]
            del row["last_poll"], row["end_ns"]
            row["connection_number"], row["rtt_avg_us"] = number, total / polls if polls else None
        self._given += len(rows)
        for place in range(0, len(rows), BATCH_ROWS):
            yield CONNECTIONS, self._connections.complete(RawRows(BASIS, rows[place : place + BATCH_ROWS]))

    def _batches(self) -> Facts:
        if self._rows:
            declared = [field for field in table("tcp_poll").arrow_schema() if field.name in self._rows[0]]
            yield "tcp_poll", pa.RecordBatch.from_pylist(self._rows, schema=pa.schema(declared))
        self._rows = []


class SsPolls(ConnectionFormat):
    """Polls of ss over time, one JSON object a poll."""

    name = "ss_polls"
    without_facts = "polls of ss without a TCP socket that can be read; record them with ss -tin"
    version = "ss-polls-10"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a poll."""
        return "ts_ns" in source.object and "raw" in source.object

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per socket and poll; a line or socket that cannot be read is refused and counted."""
        sockets = SocketRows(context, reading)
        offset = 0
        try:
            with open_json_lines(source, reading) as handle:
                # What is longer comes in parts, of which none is a poll.
                while line := handle.readline(LARGEST_POLL):
                    try:
                        poll = _poll(line)
                    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                        reading.refuse("malformed_line")
                        # The text of an error may quote the line, which holds addresses.
                        what = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
                        reading.fault = reading.fault or InputError(
                            "corrupt_record", f"line at byte {offset} is not a poll of ss: {what}", offset
                        )
                    else:
                        yield from sockets.take(poll)
                    offset += len(line)
        except InputError as error:
            # Damage to the compressed stream: the polls before it are kept.
            error.offset = offset
            reading.fault = error
        yield from sockets.finish()


def _poll(line: bytes) -> Poll:
    try:
        refuse_what_takes_memory(line, "a poll of ss")
    except InputError as error:
        raise ValueError(error.message) from error
    content = json.loads(line)
    start_ns, end_ns, text = int(content["ts_ns"]), int(content["ts_end_ns"]), content["raw"]
    if not isinstance(text, str):
        raise TypeError("raw is not a text")
    if not 0 <= start_ns <= LARGEST_NS or not 0 <= end_ns <= LARGEST_NS:
        raise ValueError("ts_ns or ts_end_ns is not a time in nanoseconds")
    poll = Poll(start_ns, end_ns)
    for part in text.splitlines():
        if part.strip() and not poll.add(part):
            raise ValueError("a poll has too many lines")
    return poll
