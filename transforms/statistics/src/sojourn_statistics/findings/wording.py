"""How findings write numbers, units, counts, lists and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

_FIRST = {
    "solo": "alone",
    "app_first": "application starts first",
    "tcp_first": "TCP starts first",
    "rival_first": "the other application starts first",
}

_KINDS = (
    ("_srtt_ms", " smoothed RTT"),
    ("_one_way_delay_ms", " one-way delay"),
    ("_http_latency_ms", " HTTP latency"),
    ("_rtt_ms", " RTT"),
    ("_", " "),
)

_CONTROLS = {
    "cubic": "CUBIC",
    "reno": "Reno",
    "bbr": "BBRv1",
    "bbr2": "BBRv2",
    "bbr3": "BBRv3",
    "prague": "Prague",
    "dctcp": "DCTCP",
}


def congestion_control(name: str) -> str:
    """Return the name of a congestion control in the field; Linux's own where there is none here."""
    return _CONTROLS.get(name, name)


def rounded(value: float) -> str:
    """Return a number as people say it: whole from 10 on, else two significant digits, never with an exponent."""
    if abs(value) >= 10 or value == round(value):
        return f"{value:,.0f}"
    return f"{Decimal(f'{value:.2g}'):f}"


def milliseconds(value: float) -> str:
    """Return a duration in ms, rounded."""
    return f"{rounded(value)} ms"


def percent(ratio: float) -> str:
    """Return a ratio as whole percent."""
    return f"{100 * ratio:.0f} %"


def percent_of(part: int, whole: int) -> str:
    """Return a part of a whole in percent, with one digit behind the point."""
    return f"{100 * part / whole:.1f} %"


def megabits(bps: float) -> str:
    """Return a rate in bit/s as Mbit/s with three significant digits, never with an exponent."""
    return f"{Decimal(f'{bps / 1e6:.3g}'):f} Mbit/s"


def counted(number: int, noun: str) -> str:
    """Return a count with its noun, which takes an s unless there is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(parts: Sequence[str]) -> str:
    """Return parts as a list of a sentence: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def range_of(low: float, high: float, unit: str) -> str:
    """Return a range of whole numbers, or the one number that both are."""
    return f"{low:.0f} {unit}" if round(low) == round(high) else f"{low:.0f} to {high:.0f} {unit}"


def link(row: Mapping[str, Any]) -> str:
    """Return rate and round-trip time of a setting."""
    programme = "" if row["bandwidth_programme"] is None else f" ({row['bandwidth_programme']})"
    rate = f"changing rate{programme}" if row["bandwidth_bps"] is None else megabits(row["bandwidth_bps"])
    rtt = "RTT not stated" if row["rtt_ms"] is None else f"{row['rtt_ms']:g} ms RTT"
    return f"{rate} · {rtt}"


def competitors(row: Mapping[str, Any]) -> str:
    """Return what runs against what in a setting, with all that describes it beside the link."""
    return " · ".join(
        (f"{row['application'] or 'TCP only'} against {row['rival_application'] or 'TCP'}", *conditions(row))
    )


def conditions(row: Mapping[str, Any]) -> list[str]:
    """Return what describes a setting beside its link, its competitors and their order."""
    words = {
        "direction": "{}",
        "congested_direction": "congested: {}",
        "workload": "workload “{}”",
        "testbed": "testbed {}",
        "participants": "{} participants",
        "call_view": "view: {}",
        "opposite_link": "other direction: {}",
    }
    return [text.format(row[name]) for name, text in words.items() if row[name] is not None]


def order_and_ecn(row: Mapping[str, Any]) -> str:
    """Return which flow starts first, and which flows use ECN and L4S."""
    parts = [] if row["start_order"] is None else [_FIRST.get(row["start_order"], row["start_order"])]
    if row["ecn"] is not None:
        parts.append("no ECN" if row["ecn"] == "none" else f"{row['ecn']} ECN")
    if row["l4s"] not in (None, "neither"):
        parts.append(f"L4S: {row['l4s']}")
    return " · ".join(parts)


def words_of(identifier: str) -> str:
    """Return an identifier, such as what the delay of a tool is, as words.

    ``iperf3_srtt_ms_polls`` is iperf3 smoothed RTT polls.
    """
    for key, words in _KINDS:
        identifier = identifier.replace(key, words)
    return identifier


def synthetic_note(row: Mapping[str, Any]) -> str:
    """Return the end of a context over generated runs, else nothing."""
    return " · synthetic" if row["synthetic"] else ""
