"""Counters of queue disciplines in flent data files (series ``qdisc_stats_HOST``): queue_counter.

flent polls ``tc -s qdisc`` on each host, adds up the disciplines of an interface (without the root where there are
several), gives times in milliseconds, and from file version 4 on turns drops and marks into what came since the poll
before; those are added up again here, from the first poll on. Before version 4 they are tc's own counters. It names
neither discipline nor handle: the kind is what the fields show.
"""

from __future__ import annotations

import math
from typing import Any

from sojourn_ingest.formats.content.json_document import label
from sojourn_ingest.formats.series.flent.document import FlentDocument
from sojourn_ingest.schema.column import LONGEST_LABEL

PREFIX = "qdisc_stats_"

# Column: key of flent's raw values (flent/runners.py, TcRunner).
COUNTERS = {
    "sent_bytes": "sent_bytes",
    "sent_packets": "sent_pkts",
    "overlimits": "overlimits",
    "requeues": "requeues",
    "backlog_bytes": "backlog_bytes",
    "backlog_packets": "backlog_pkts",
    "codel_count": "count",
    "codel_last_count": "lastcount",
    "max_packet_bytes": "maxpacket",
    "dropped_overlimit_packets": "drop_overlimit",
    "new_flows": "new_flows_len",
    "old_flows": "old_flows_len",
    "new_flow_count": "new_flow_count",
}
SINCE_LAST_POLL = {"dropped_packets": "dropped", "ecn_marked_packets": "ecn_mark"}
FIRST_VERSION_SINCE_LAST_POLL = 4
TIMES_MS = {"codel_delay_us": "delay", "codel_drop_next_us": "drop_next"}


#: Polls of a file: eight hours of ten a second.
MOST_POLLS = 300_000


def counter_rows(document: FlentDocument) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of queue_counter of a flent document, without provenance, and how many polls were refused."""
    raw = document.raw
    interfaces = _interfaces(document.metadata)
    is_cumulative = document.version < FIRST_VERSION_SINCE_LAST_POLL
    rows: list[dict[str, Any]] = []
    refused = 0
    for name in sorted(raw):
        polls = raw[name]
        if not name.startswith(PREFIX) or "::" in name:
            continue
        host = name.removeprefix(PREFIX)
        # Each row has it; where it is too long it stays so, and the rows are refused.
        device = (f"{host}:{interfaces[host]}" if host in interfaces else host)[: LONGEST_LABEL + 1]
        by_poll = [_row(poll) for poll in polls[: MOST_POLLS - len(rows)]]
        good = [row for row in by_poll if row is not None]
        refused += len(polls) - len(good)
        kind = next((kind for row in good if (kind := row["kind"]) != "-"), "-")
        totals = dict.fromkeys(SINCE_LAST_POLL, 0)
        for poll_index, row in enumerate(sorted(good, key=lambda row: row["poll_start_ns"])):
            for column in SINCE_LAST_POLL:
                if row[column] is not None and not is_cumulative:
                    totals[column] += row[column]
                    row[column] = totals[column]
            rows.append(row | {"poll_index": poll_index, "device": device, "kind": kind})
    return rows, refused


def _interfaces(metadata: dict[str, Any]) -> dict[str, str]:
    parameters = metadata.get("TEST_PARAMETERS")
    if not isinstance(parameters, dict):
        return {}
    hosts, interfaces = (label(parameters.get(f"qdisc_stats_{what}")).split(",") for what in ("hosts", "interfaces"))
    return dict(zip(hosts, interfaces, strict=False)) if len(hosts) == len(interfaces) else {}


def _row(poll: dict[str, Any]) -> dict[str, Any] | None:
    if not _is_number(poll.get("t")) or not 0 <= poll["t"] < 2**33:
        return None
    row: dict[str, Any] = {
        # Whole microseconds first: a double holds today's epoch to a quarter of a microsecond, not to a nanosecond.
        "poll_start_ns": round(poll["t"] * 1_000_000) * 1000,
        "poll_end_ns": None,
        "kind": _kind(poll),
        "handle": "-",
        "parent": None,
        "root": None,
        "options": None,
        "codel_dropping": None,
    }
    for columns, factor in ((COUNTERS | SINCE_LAST_POLL, 1), (TIMES_MS, 1000)):
        for column, key in columns.items():
            value = poll.get(key)
            if value is None:
                row[column] = None
            elif _is_number(value) and (value >= 0 or key == "drop_next") and abs(value) * factor < 2**53:
                row[column] = round(value * factor)
            else:
                return None
    if "lastcount" in poll:
        row["codel_dropping"] = poll.get("dropping") is not None
        if not row["codel_dropping"]:
            row["codel_drop_next_us"] = None
    return row


def _kind(poll: dict[str, Any]) -> str:
    if "new_flows_len" in poll:
        return "fq_codel"
    if "lastcount" in poll:
        return "codel"
    if "prob" in poll:
        return "pie"
    return "cake" if "cake_pkts" in poll else "-"


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    # A whole number may be larger than any double, in which the counters are checked.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
