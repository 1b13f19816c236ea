"""A small build of connections in the wild, with delays that the tests compute figures of on their own."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn_statistics.histogram import log_linear

TEXT, WHOLE = pa.string(), pa.int64()
BASIS = [("dataset", TEXT), ("synthetic", pa.bool_()), ("rtt_basis", TEXT), ("sample_basis", TEXT)]
BINS = [("bin_index", WHOLE), ("bin_lower_us", WHOLE), ("bin_upper_us", WHOLE), ("connections", WHOLE)]
UPPER_BOUND = [("is_upper_bound", pa.bool_())]
BY_MONTH = pa.schema([("start_month", pa.date32()), *BASIS, ("access_technology", TEXT), *BINS, *UPPER_BOUND])
BY_SYSTEM = pa.schema(
    [
        ("start_month", pa.date32()),
        *BASIS,
        ("access_technology", TEXT),
        ("country", TEXT),
        ("asn", WHOLE),
        *BINS,
        *UPPER_BOUND,
    ]
)
SUMS = ("hosts", "hosts_above", "connections", "connections_above")
SQUARES = ("connections_squared", "connections_times_above", "connections_above_squared")
BY_HOST = pa.schema(
    [("period_kind", TEXT), ("period", TEXT), *BASIS, ("access_technology", TEXT), ("threshold_ms", pa.float64())]
    + [(name, WHOLE) for name in (*SUMS, *SQUARES)]
    + UPPER_BOUND
)
MADE_UP = {"dataset": "made-up", "synthetic": True, "rtt_basis": "smoothed", "sample_basis": "rtt_samples"}
POLLED = {"dataset": "polled", "synthetic": False, "rtt_basis": "smoothed", "sample_basis": "polls"}
SYSTEMS = {"adsl": 14, "cable": 12, "ftth": 9}
SCALE = {"adsl": 11.0, "cable": 9.0, "ftth": 9.0}

Delays = dict[tuple[str, int], list[int]]


def drawn() -> Delays:
    """Delays in µs of each technology in each autonomous system: those of ADSL are the longest."""
    random = np.random.default_rng(11)
    return {
        (technology, 64500 + system): np.floor(random.lognormal(SCALE[technology], 0.5, 120)).astype(int).tolist()
        for technology, systems in SYSTEMS.items()
        for system in range(systems)
    }


def binned(delays_us: list[int]) -> list[dict[str, Any]]:
    counts = Counter(log_linear.bin_index(np.array(delays_us)).tolist())
    indexes = np.array(sorted(counts))
    edges = zip(log_linear.bin_lower_us(indexes).tolist(), log_linear.bin_upper_us(indexes).tolist(), strict=True)
    return [
        {"bin_index": index, "bin_lower_us": lower, "bin_upper_us": upper, "connections": counts[index]}
        for index, (lower, upper) in zip(indexes.tolist(), edges, strict=True)
    ]


def of_hosts(technology: str, hosts: int, above: int) -> dict[str, Any]:
    """The row of hosts with two connections each, of which one is above 100 ms at some of them."""
    return {
        **MADE_UP,
        "period_kind": "all",
        "period": "all",
        "access_technology": technology,
        "threshold_ms": 100.0,
        **dict(zip(SUMS, (hosts, above, 2 * hosts, above), strict=True)),
        **dict(zip(SQUARES, (4 * hosts, 2 * above, above), strict=True)),
        "is_upper_bound": True,
    }


def add_connections(made: Any, delays: Delays) -> None:
    """Add the datasets of connections to a build."""
    month = {"start_month": date(2026, 1, 1), "is_upper_bound": True}
    of_systems = [
        {**month, **MADE_UP, "access_technology": technology, "country": "DE", "asn": asn, **row}
        for (technology, asn), values in delays.items()
        for row in binned(values)
    ]
    of_months = [
        {**month, **MADE_UP, "access_technology": technology, **row}
        for technology in SYSTEMS
        for row in binned([value for (kind, _), values in delays.items() if kind == technology for value in values])
    ]
    of_months += [{**month, **POLLED, "access_technology": "adsl", **row} for row in binned([1_000_000] * 5)]
    key = ["dataset", "access_technology"]
    made.add("connection_queuing_delay_histogram", [*key, "bin_index"], BY_MONTH, of_months)
    made.add("connection_queuing_delay_as_histogram", [*key, "asn", "bin_index"], BY_SYSTEM, of_systems)
    shares = [of_hosts("adsl", 400, 160), of_hosts("all", 609, 205), of_hosts("cable", 200, 40), of_hosts("ftth", 9, 5)]
    made.add("queuing_delay_share", [*key, "threshold_ms"], BY_HOST, shares)
