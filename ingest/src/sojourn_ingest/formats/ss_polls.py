"""Polls of ``ss -tino`` as JSON Lines: tcp_poll.

One object a poll: ``ts_ns`` and ``ts_end_ns`` (UTC epoch, before and after the call) and ``raw``, the
unchanged text of ``ss -H -O -tino``, one line a socket.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.plain_text import head_lines, open_plain
from sojourn_ingest.schema import table

BATCH_ROWS = 16_384

# Bare words that ss prints before the congestion control's name (misc/ss.c, tcp_stats_print).
FLAG_WORDS = frozenset(("ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited"))
STATES = frozenset(
    (
        "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN",
        "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING", "CLOSED",
    )
)  # fmt: skip


def _milliseconds_to_us(text: str) -> int:
    return round(float(text) * 1000)


def _rate_bps(text: str) -> int:
    return int(text.removesuffix("bps"))


# column: (key of a "key:value" word, conversion)
COLON_WORDS: dict[str, tuple[str, Any]] = {
    "min_rtt_us": ("minrtt", _milliseconds_to_us),
    "rto_us": ("rto", _milliseconds_to_us),
    "mss_bytes": ("mss", int),
    "cwnd_packets": ("cwnd", int),
    "ssthresh_packets": ("ssthresh", int),
    "sent_bytes": ("bytes_sent", int),
    "retransmitted_bytes": ("bytes_retrans", int),
    "acked_bytes": ("bytes_acked", int),
    "unacked_packets": ("unacked", int),
    "lost_packets": ("lost", int),
}

# column: word after which, as a word of its own, the value stands
FOLLOWING_WORDS = {"pacing_rate_bps": "pacing_rate", "delivery_rate_bps": "delivery_rate"}

# What the column's integer type holds.
LARGEST: dict[str, int] = {
    column.name: 2 ** (column.type.bit_width - 1) - 1
    for column in table("tcp_poll").columns
    if pa.types.is_integer(column.type)
} | {"app_limited": 1}

ENDPOINT = re.compile(r"\[?(?P<address>[0-9a-fA-F.:*]+?)(?:%\w+)?\]?:(?P<port>\d+|\*)$")


def _endpoint(text: str) -> tuple[str | None, int | None]:
    match = ENDPOINT.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not an address with a port")
    address, port = match["address"], match["port"]
    return (None if address == "*" else address), (None if port == "*" else int(port))


def parse_socket(line: str) -> dict[str, Any]:
    """Return one socket's line of ``ss -H -O -tino`` as columns of tcp_poll, addresses unreplaced.

    Raises
    ------
    ValueError
        If the line does not have the five leading fields, or a value is not of its kind.
    """
    words = line.split()
    if len(words) < 5 or words[0] not in STATES:
        raise ValueError("not a socket line of ss -H -O -tino")
    local_address, local_port = _endpoint(words[3])
    peer_address, peer_port = _endpoint(words[4])
    details = words[5:]
    keyed = {key: value for key, separator, value in (word.partition(":") for word in details) if separator}
    bare = [word for word in details if ":" not in word]
    following = dict(pairwise(details))
    row: dict[str, Any] = {
        "state": words[0],
        "local_address": local_address,
        "local_port": local_port,
        "peer_address": peer_address,
        "peer_port": peer_port,
        "congestion_control": next((word for word in bare if word not in FLAG_WORDS), None),
        "app_limited": "app_limited" in bare,
        "srtt_us": None,
        "rttvar_us": None,
        "retransmitted_packets": None,
    }
    if "rtt" in keyed:
        smoothed, _, variation = keyed["rtt"].partition("/")
        row["srtt_us"] = _milliseconds_to_us(smoothed)
        row["rttvar_us"] = _milliseconds_to_us(variation) if variation else None
    if "retrans" in keyed:
        row["retransmitted_packets"] = int(keyed["retrans"].rpartition("/")[2])
    for column, (key, convert) in COLON_WORDS.items():
        row[column] = convert(keyed[key]) if key in keyed else None
    for column, key in FOLLOWING_WORDS.items():
        row[column] = _rate_bps(following[key]) if key in following else None
    for column, value in row.items():
        if isinstance(value, int) and not -LARGEST[column] - 1 <= value <= LARGEST[column]:
            raise ValueError(f"{column} {value} is beyond what a kernel can report")
    return row


class SsPolls:
    """Polls of ss over time, one JSON object a poll."""

    name = "ss_polls"
    holds_addresses = True
    version = "ss-polls-1"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a poll."""
        lines = head_lines(source, limit=1)
        first = lines[0] if lines else b""
        return first.startswith(b'{"ts_ns":') and b'"raw":' in first

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per socket and poll; a line or socket that cannot be read is refused and counted."""
        rows: list[dict[str, Any]] = []
        offset = 0
        poll_index = 0
        try:
            with open_plain(source) as handle:
                for line in handle:
                    try:
                        rows += self._poll(line, poll_index, context, reading)
                        poll_index += 1
                    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                        reading.refuse("malformed_line")
                        reading.fault = reading.fault or InputError(
                            "corrupt_record", f"line at byte {offset} is not a poll of ss: {error}", offset
                        )
                    offset += len(line)
                    if len(rows) >= BATCH_ROWS:
                        yield "tcp_poll", self._batch(rows)
                        rows = []
        except InputError as error:
            # Damage to the compressed stream: the polls before it stand.
            if poll_index == 0:
                raise
            error.offset = offset
            reading.fault = error
        if rows:
            yield "tcp_poll", self._batch(rows)

    def _poll(self, line: bytes, poll_index: int, context: Context, reading: Reading) -> list[dict[str, Any]]:
        poll = json.loads(line)
        start_ns, end_ns, text = int(poll["ts_ns"]), int(poll["ts_end_ns"]), str(poll["raw"])
        if not 0 <= start_ns <= LARGEST["poll_start_ns"] or not 0 <= end_ns <= LARGEST["poll_end_ns"]:
            raise ValueError("ts_ns or ts_end_ns is not a time in nanoseconds")
        rows = []
        for socket_index, socket_line in enumerate(text.splitlines()):
            try:
                row = parse_socket(socket_line)
                for end in ("local", "peer"):
                    address = row.pop(f"{end}_address")
                    keys = context.pseudonymiser.keys(address) if address else (None, None)
                    row[f"{end}_host_key"], row[f"{end}_prefix_key"] = keys
            except (ValueError, OverflowError):
                reading.refuse("malformed_socket")
                continue
            row |= {
                "poll_index": poll_index,
                "socket_index": socket_index,
                "poll_start_ns": start_ns,
                "poll_end_ns": end_ns,
            }
            rows.append(row)
            reading.records_read += 1
        return rows

    @staticmethod
    def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
        declared = [field for field in table("tcp_poll").arrow_schema() if field.name in rows[0]]
        return pa.RecordBatch.from_pylist(rows, schema=pa.schema(declared))
