"""No reader takes a value that no network can have: it is refused, counted and named, and the others are read."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from results import read
from tool_results import (
    FPING,
    IPERF2,
    IPERF2_UDP,
    IPUTILS,
    PPING_MACHINE,
    SPEED_TESTS,
    crusader,
    flent_document,
    iperf3,
    irtt,
    pping_samples,
    pping_sums,
    qlog_document,
)

from sojourn_ingest.formats.series.bounds import BOUNDS, refusal_of
from sojourn_ingest.schema.series_tables import SERIES_METRICS

CENTURIES_MS = 9e15
HOUR_MS = 3_600_000


def changed(document: Any, path: tuple[Any, ...], value: Any) -> str:
    """Return a document as JSON with another value at a place."""
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return json.dumps(document)


def crusader_of_two_hours() -> bytes:
    """Return a result of version 0 with one round trip of two hours, where 10 ms were."""
    took = struct.pack("<BQI", 1, 0, 10 * 10**6)
    assert crusader(0).count(took) == 1
    return crusader(0).replace(took, struct.pack("<BQI", 1, 7200, 0))


#: A result of each tool with one value that cannot be, and as what that is refused.
CASES: dict[str, tuple[str, Callable[[], str | bytes], str]] = {
    "flent": (
        "a.flent",
        lambda: changed(flent_document(), ("raw_values", "Ping (ms) ICMP", 3, "val"), CENTURIES_MS),
        "rtt_ms: above 3600000",
    ),
    "flent, rate": (
        "a.flent",
        lambda: changed(flent_document(), ("raw_values", "TCP upload", 0, "val"), 1e8),
        "rate_bps: above 10000000000000",
    ),
    "iperf3": (
        "a.json",
        lambda: changed(iperf3(), ("intervals", 0, "streams", 0, "rtt"), 9e15),
        "srtt_ms: above 3600000",
    ),
    "iperf3, below": (
        "a.json",
        lambda: changed(iperf3(), ("intervals", 0, "streams", 0, "snd_cwnd"), -5),
        "cwnd_bytes: below 0",
    ),
    "iperf2": ("a.csv", lambda: IPERF2.replace(",10000000\n", ",90000000000000\n"), "rate_bps: above 10000000000000"),
    "iperf2, UDP": ("a.csv", lambda: IPERF2_UDP.replace(",0.25,", ",999999999999,"), "jitter_ms: above 3600000"),
    "iperf3, sum at the end": (
        "a.json",
        lambda: changed(iperf3(), ("end", "sum_sent", "bits_per_second"), None),
        "bits_per_second: not a number",
    ),
    "iperf2, rate": (
        "a.csv", lambda: IPERF2.replace("8000000", "99999999999999999999", 1), "rate_bps: larger than any measurement",
    ),
    "irtt, one way": (
        "a.json",
        lambda: changed(irtt(), ("round_trips", 0, "delay", "send"), "1 ms"),
        "send delay: not a number",
    ),
    "irtt": (
        "a.json",
        lambda: changed(irtt(), ("round_trips", 0, "delay", "rtt"), 4 * 10**15),
        "rtt_ms: above 3600000",
    ),
    "irtt, below": ("a.json", lambda: changed(irtt(), ("round_trips", 0, "delay", "rtt"), -1), "rtt_ms: below 0"),
    "crusader": ("a.crr", crusader_of_two_hours, "rtt_ms: above 3600000"),
    "ping": ("a.txt", lambda: IPUTILS.replace("time=10.5 ms", "time=9000000000 ms"), "rtt_ms: above 3600000"),
    "fping": ("a.txt", lambda: FPING.replace("5.1 ms (", "9000000000 ms ("), "rtt_ms: above 3600000"),
    "networkQuality": (
        "a.json",
        lambda: json.dumps(SPEED_TESTS["networkQuality"] | {"base_rtt": CENTURIES_MS}),
        "rtt_ms: above 3600000",
    ),
    "speedtest": (
        "a.json",
        lambda: changed(json.loads(json.dumps(SPEED_TESTS["speedtest"])), ("ping", "high"), CENTURIES_MS),
        "rtt_ms: above 3600000",
    ),
    "cloudflare": (
        "a.json",
        lambda: json.dumps(SPEED_TESTS["cloudflare"] | {"downLoadedLatency": CENTURIES_MS}),
        "rtt_ms: above 3600000",
    ),
    "qlog": (
        "a.qlog",
        lambda: changed(qlog_document("02"), ("traces", 0, "events", 1, "data", "latest_rtt"), CENTURIES_MS),
        "rtt_ms: above 3600000",
    ),
    "ePPing": (
        "a.json", lambda: changed(pping_samples(), (1, "rtt"), 9 * 10**15), "rtt_longer_than_an_hour",
    ),
    "ePPing, sums": (
        "a.json",
        lambda: json.dumps([*pping_sums(), pping_sums()[1] | {"max_rtt": 9 * 10**15}]),
        "rtt_longer_than_an_hour",
    ),
    "pping": ("a.txt", lambda: PPING_MACHINE.replace(" 0.050000 ", " 99999.0 "), "rtt_longer_than_an_hour"),
}  # fmt: skip


@pytest.mark.parametrize("tool", CASES)
def test_a_value_that_cannot_be_is_refused_and_counted_and_the_rest_is_read(tmp_path: Path, tool: str) -> None:
    name, content, reason = CASES[tool]
    stored = content()
    path = tmp_path / name
    path.write_bytes(stored if isinstance(stored, bytes) else stored.encode())
    _, tables, reading = read(path)
    assert reading.refused.get(reason, 0) >= 1, reading.refused
    delays = [row for row in tables.get("series", []) if row["unit"] == "ms" and row["metric"] != "one_way_delay_ms"]
    assert all(row["value"] is None or abs(row["value"]) <= HOUR_MS for row in delays)
    for row in (*tables.get("connection", []), *tables.get("passive_rtt", [])):
        # Of passive_rtt, rtt_sum_us is the sum of several.
        rtts = [row.get(column) for column in ("rtt_min_us", "rtt_avg_us", "rtt_max_us")]
        assert all(rtt is None or rtt <= HOUR_MS * 1000 for rtt in rtts)
    assert sum(len(rows) for table, rows in tables.items() if table not in ("run", "run_source")) > 0


def test_a_time_after_a_start_that_no_test_has_is_left_out(tmp_path: Path) -> None:
    """Models subtract it from a date in 64 bits."""
    trips = [
        {"timestamps": {"client": {"send": {"wall": wall}}}, "delay": {"rtt": 10**7}, "lost": "false"}
        for wall in (2**63 - 1, 1_777_629_600 * 10**9)
    ]
    path = tmp_path / "irtt.json"
    path.write_text(json.dumps({"version": {"irtt": "0.9", "json_format": 1}, "round_trips": trips}))
    _, tables, reading = read(path)
    assert [(row["time_ns"], row["time_s"]) for row in tables["series"]] == [(None, 0), (1_777_629_600 * 10**9, None)]
    assert reading.refused == {"clock_not_set": 1}


def test_every_metric_has_bounds_that_hold_at_both_ends() -> None:
    assert set(BOUNDS) == set(SERIES_METRICS)
    for metric, (smallest, largest) in BOUNDS.items():
        assert (refusal_of(metric, smallest) is None) == (metric != "srtt_ms")
        assert refusal_of(metric, largest) is None
        assert str(refusal_of(metric, smallest - max(1, abs(smallest) / 1000))).startswith(f"{metric}: below ")
        assert str(refusal_of(metric, largest * 1.001)).startswith(f"{metric}: above ")


def test_a_smoothed_round_trip_of_zero_is_none_that_was_measured() -> None:
    assert refusal_of("srtt_ms", 0.0) == "srtt_ms: 0, no round trip was measured"
    assert refusal_of("srtt_ms", 0.001) is None
    # A probe's is rounded by its tool.
    assert refusal_of("rtt_ms", 0.0) is None


def test_the_bounds_are_those_that_the_page_of_inputs_states(repository: Path) -> None:
    page = (repository / "docs" / "inputs.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `") and "..." in line]
    stated = {}
    for line in rows:
        metrics, bounds = (cell.strip() for cell in line.strip("|").split("|")[:2])
        low, high = (float(end.replace(",", "")) for end in bounds.split("..."))
        for metric in metrics.split(","):
            stated[metric.strip(" `")] = (low, high)
    assert stated == {metric: bounds for metric, bounds in BOUNDS.items() if metric != "other"}
