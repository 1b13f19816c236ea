"""One discipline or class of ``tc -s -j`` as columns of queue_counter, and its parts as rows of queue_counter_part.

The keys are those that iproute2 prints (tc/tc_util.c, tc_class.c and q_*.c). A key that no column takes is returned by
name, so that the outcome can tell of it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from sojourn_ingest.formats.content.json_document import label
from sojourn_ingest.formats.series.bounds import LONGEST_DELAY_US
from sojourn_ingest.schema.column import LONGEST_LABEL
from sojourn_ingest.schema.shared_columns import COUNT

#: Beyond it a double, as tests and intervals use, does not count exactly: 9 petabytes.
LARGEST: Final = COUNT[1]
#: Of what the kernel counts in 32 bits (``gnet_stats_queue``): a queue that it believes to hold less than nothing is
#: beyond.
LARGEST_QUEUED: Final = 2**31 - 1
#: Greatest value of the keys whose values are not bounded by `LARGEST`: lengths of queues, and measured delays.
GREATEST: Final = dict.fromkeys(("backlog", "qlen"), LARGEST_QUEUED) | dict.fromkeys(
    ("ldelay", "delay", "delay-l", "delay-c", "peak_delay_us", "avg_delay_us", "base_delay_us"), LONGEST_DELAY_US
)

#: Column: key in tc's JSON. Every discipline and class may have the first group (tc/tc_util.c). CoDel's and PIE's times
#: are in microseconds.
COMMON: Final = {
    "sent_bytes": "bytes",
    "sent_packets": "packets",
    "dropped_packets": "drops",
    "overlimits": "overlimits",
    "requeues": "requeues",
    "backlog_bytes": "backlog",
    "backlog_packets": "qlen",
}
CODEL: Final = {
    "ecn_marked_packets": "ecn_mark",
    "codel_count": "count",
    "codel_last_count": "lastcount",
    "codel_delay_us": "ldelay",
    "max_packet_bytes": "maxpacket",
    "dropped_overlimit_packets": "drop_overlimit",
}
FQ_CODEL: Final = CODEL | {
    "new_flows": "new_flows_len",
    "old_flows": "old_flows_len",
    "new_flow_count": "new_flow_count",
    "memory_used_bytes": "memory_used",
    "dropped_overmemory_packets": "drop_overmemory",
}
KINDS: Final[dict[str, dict[str, str]]] = {
    "codel": CODEL,
    "fq_codel": FQ_CODEL,
    "pie": {
        "ecn_marked_packets": "ecn_mark",
        "queue_delay_us": "delay",
        "enqueued_packets": "pkts_in",
        "dropped_overlimit_packets": "overlimit",
        "dropped_aqm_packets": "dropped",
        "backlog_max_packets": "maxq",
    },
    "fq_pie": {
        "ecn_marked_packets": "ecn_mark",
        "enqueued_packets": "pkts_in",
        "dropped_overlimit_packets": "overlimit",
        "dropped_overmemory_packets": "overmemory",
        "dropped_aqm_packets": "dropped",
        "new_flows": "new_flows_len",
        "old_flows": "old_flows_len",
        "new_flow_count": "new_flow_count",
        "memory_used_bytes": "memory_used",
    },
    "red": {
        "ecn_marked_packets": "marked",
        "dropped_aqm_packets": "early",
        "dropped_overlimit_packets": "pdrop",
        "dropped_otherwise_packets": "other",
    },
    "fq": {"ecn_marked_packets": "ce_mark"},
    "cake": {
        "memory_used_bytes": "memory_used",
        "memory_limit_bytes": "memory_limit",
        "network_min_bytes": "min_network_size",
        "network_max_bytes": "max_network_size",
        "adjusted_min_bytes": "min_adj_size",
        "adjusted_max_bytes": "max_adj_size",
        "header_offset_mean_bytes": "avg_hdr_offset",
    },
    "dualpi2": {
        "ecn_marked_packets": "ecn-mark",
        "step_marked_packets": "step-mark",
        "backlog_max_packets": "maxq",
        "memory_used_bytes": "memory-used",
        "memory_limit_bytes": "memory-limit",
    },
    "htb": {"lent_packets": "lended", "borrowed_packets": "borrowed"},
}
COUNTER_COLUMNS: Final = tuple(dict.fromkeys([*COMMON, *(column for keys in KINDS.values() for column in keys)]))
#: Keys that no counter is: names, and what the columns options, root and codel_* take.
_TAKEN: Final = frozenset(
    {"kind", "class", "handle", "parent", "root", "dev", "options", "refcnt", "offloaded", "ingress_block"}
    | {"egress_block", "leaf", "stats", "deleted"}
)
_TAKEN_OF_KIND: Final = {
    "codel": {"dropping", "drop_next"},
    "fq_codel": {"dropping", "drop_next"},
    "pie": {"prob", "avg_dq_rate"},
    "cake": {"tins", "capacity_estimate"},
    "dualpi2": {"prob", "credit", "delay-c", "delay-l", "pkts-in-c", "pkts-in-l", "max-memory-used"},
}
#: tc prints the parameters of a class beside its counters, not in an object of their own.
CLASS_OPTIONS: Final = frozenset(
    {
        "prio",
        "quantum",
        "rate",
        "ceil",
        "overhead",
        "linklayer",
        "burst",
        "cburst",
        "level",
        "burst_cell",
        "cburst_cell",
    }
    | {"mpu_rate", "mpu_ceil", "tokens", "ctokens", "giants"}
)

#: Column of queue_counter_part: key of a tin of CAKE (q_cake.c).
TIN: Final = {
    "sent_bytes": "sent_bytes",
    "sent_packets": "sent_packets",
    "dropped_packets": "drops",
    "ecn_marked_packets": "ecn_mark",
    "dropped_acknowledgements": "ack_drops",
    "backlog_bytes": "backlog_bytes",
    "peak_delay_us": "peak_delay_us",
    "mean_delay_us": "avg_delay_us",
    "base_delay_us": "base_delay_us",
    "target_us": "target_us",
    "interval_us": "interval_us",
    "sparse_flows": "sparse_flows",
    "bulk_flows": "bulk_flows",
    "unresponsive_flows": "unresponsive_flows",
    "max_packet_bytes": "max_pkt_len",
    "flow_quantum_bytes": "flow_quantum",
    "way_indirect_hits": "way_indirect_hits",
    "way_misses": "way_misses",
    "way_collisions": "way_collisions",
}
TIN_NAMES: Final = {
    1: ("best_effort",),
    3: ("bulk", "best_effort", "voice"),
    4: ("bulk", "best_effort", "video", "voice"),
}
PART_COLUMNS: Final = (*TIN, "threshold_rate_bps", "queue_delay_us", "enqueued_packets")
#: DualPI2's queues, in the order of RFC 9332: name, key of the delay, key of the packets that entered.
DUAL_QUEUES: Final = (("l4s", "delay-l", "pkts-in-l"), ("classic", "delay-c", "pkts-in-c"))


@dataclass
class Counters:
    """One discipline of one poll: its row, its parts, how often which key had no column or was out of range."""

    row: dict[str, Any]
    parts: list[dict[str, Any]] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    out_of_range: Counter[str] = field(default_factory=Counter)


def read_counters(qdisc: dict[str, Any]) -> Counters:
    """Return one discipline or class of tc's JSON, without the columns of the poll.

    A counter that is out of range costs itself alone: the kernel's are unsigned, and one below zero shows as 2^64 - 1,
    or 2^32 - 1 of what is queued.

    Raises
    ------
    ValueError
        If it has no kind or handle, or a counter is not a whole number.
    """
    is_class = "class" in qdisc
    kind, handle, parent = qdisc.get("class" if is_class else "kind"), qdisc.get("handle"), qdisc.get("parent")
    if not (isinstance(kind, str) and isinstance(handle, str)):
        raise ValueError("a discipline has no kind or no handle")  # noqa: TRY004 - of the input, not of a caller
    device = label(qdisc.get("dev", "-"))
    if max(map(len, (kind, handle, label(parent), device))) > LONGEST_LABEL:
        raise ValueError("the name of a discipline or device is too long")
    # Newer versions of tc put the counters of a class into an object of their own.
    stats = qdisc.get("stats")
    out_of_range: Counter[str] = Counter()
    values = _in_range({**qdisc, **stats} if isinstance(stats, dict) else qdisc, kind, out_of_range)
    options = qdisc.get("options")
    if is_class:
        options = {key: qdisc[key] for key in sorted(CLASS_OPTIONS & qdisc.keys())}
    row: dict[str, Any] = {
        "device": device,
        "kind": kind,
        # Disciplines that the kernel made itself all have the handle 0: and differ in their parent.
        "handle": f"{handle}@{parent}" if handle == "0:" and parent is not None else handle,
        "parent": None if parent is None else label(parent),
        "root": bool(qdisc.get("root", False)) and not is_class,
        "is_class": is_class,
        "options": None if options is None else json.dumps(options, sort_keys=True),
    }
    # A kind that is not known may have the keys of the known ones: those of CoDel are in several.
    keys = COMMON | KINDS.get(kind, FQ_CODEL)
    row |= dict.fromkeys(COUNTER_COLUMNS)
    row |= {column: _count(values, key) for column, key in keys.items()}
    row |= _of_codel(values)
    row |= {
        "marking_probability_ratio": _ratio(values, "prob"),
        "credit_bytes": _signed(values, "credit") if kind == "dualpi2" else None,
        "capacity_estimate_bps": _rate(values, "capacity_estimate") if kind == "cake" else None,
        "shaper_rate_bps": _shaper_rate(kind, options),
        "diffserv_mode": options.get("diffserv") if kind == "cake" and isinstance(options, dict) else None,
    }
    counters = Counters(row, out_of_range=out_of_range)
    if kind == "cake":
        _tins(qdisc.get("tins"), counters)
    if kind == "dualpi2":
        counters.parts = [
            {"part_number": number, "part_name": name, "queue_delay_us": _count(values, delay)}
            | {"enqueued_packets": _count(values, packets)}
            for number, (name, delay, packets) in enumerate(DUAL_QUEUES)
        ]
    taken = _TAKEN | set(keys.values()) | _TAKEN_OF_KIND.get(kind, set())
    if kind not in KINDS:
        taken |= _TAKEN_OF_KIND["codel"] | {"prob"}
    if is_class:
        taken |= CLASS_OPTIONS
    counters.unknown.update(f"{kind}.{key}" for key in values if key not in taken)
    return counters


def _in_range(values: dict[str, Any], name: str, out_of_range: Counter[str]) -> dict[str, Any]:
    """Return the values with null for whole numbers that no counter or delay reaches; count those by their keys."""

    def is_beyond(key: str, value: Any) -> bool:
        return is_whole(value) and abs(value) > GREATEST.get(key, LARGEST)

    beyond = [key for key, value in values.items() if is_beyond(key, value)]
    out_of_range.update(f"{name}.{key}" for key in beyond)
    return {**values, **dict.fromkeys(beyond)} if beyond else values


def _of_codel(qdisc: dict[str, Any]) -> dict[str, Any]:
    if "lastcount" not in qdisc:
        return {"codel_dropping": None, "codel_drop_next_us": None}
    dropping = bool(qdisc.get("dropping", False))
    return {"codel_dropping": dropping, "codel_drop_next_us": _signed(qdisc, "drop_next") if dropping else None}


def _tins(tins: Any, counters: Counters) -> None:
    if tins is None:
        return
    if not isinstance(tins, list) or not all(isinstance(tin, dict) for tin in tins):
        raise ValueError("tins is not a list of objects")
    names = TIN_NAMES.get(len(tins), ())
    for number, tin in enumerate(_in_range(tin, "cake.tins", counters.out_of_range) for tin in tins):
        part: dict[str, Any] = {column: _count(tin, key) for column, key in TIN.items()}
        part |= {
            "part_number": number,
            "part_name": names[number] if names else f"tin_{number}",
            "threshold_rate_bps": _rate(tin, "threshold_rate"),
        }
        counters.parts.append(part)
        counters.unknown.update(f"cake.tins.{key}" for key in tin if key not in {*TIN.values(), "threshold_rate"})
    marked = [part["ecn_marked_packets"] for part in counters.parts]
    if marked and None not in marked:
        # CAKE counts marks by tin only.
        counters.row["ecn_marked_packets"] = min(sum(marked), LARGEST)


def _shaper_rate(kind: str, options: Any) -> int | None:
    if not isinstance(options, dict):
        return None
    key = {"cake": "bandwidth", "tbf": "rate", "htb": "rate"}.get(kind)
    return _rate(options, key) if key is not None and is_whole(options.get(key)) else None


def _count(values: dict[str, Any], key: str) -> int | None:
    value = values.get(key)
    if value is not None and not (is_whole(value) and 0 <= value <= LARGEST):
        raise ValueError(f"{key} {value!r} is not a count")
    return value


def _signed(values: dict[str, Any], key: str) -> int | None:
    value = values.get(key)
    if value is not None and not (is_whole(value) and abs(value) <= LARGEST):
        raise ValueError(f"{key} {value!r} is not a whole number")
    return value


def _rate(values: dict[str, Any], key: str) -> int | None:
    """Return a rate in bit/s: tc's JSON has bytes per second."""
    value = _count(values, key)
    if value is not None and value > LARGEST // 8:
        raise ValueError(f"{key} {value!r} is not a rate")
    return None if value is None else value * 8


def _ratio(values: dict[str, Any], key: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"{key} {value!r} is not a probability")
    return float(value)


def is_whole(value: Any) -> bool:
    """Return whether a value of a JSON document is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
