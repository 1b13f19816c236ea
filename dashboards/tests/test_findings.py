"""The sentence with which a page begins, from planted rows in SQLite: does it say what they say, and no more?"""

from __future__ import annotations

import re
import sqlite3
from statistics import median
from typing import Any

import pytest

from sojourn_superset import assets
from sojourn_superset.settings import ASSETS

FILES = assets.read(ASSETS)


class Median:
    """The aggregate that the adapter's SQLite has."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def step(self, value: float | None) -> None:
        """Take one value."""
        if value is not None:
            self.values.append(value)

    def finalize(self) -> float | None:
        """Return the median, or None of nothing."""
        return median(self.values) if self.values else None


def findings(name: str, **tables: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return each finding of a dataset with its context, without marks of HTML, over tables of these rows."""
    sql = next(asset["sql"] for path, asset in FILES.items() if path.endswith(f"/{name}.yaml"))
    connection = sqlite3.connect(":memory:")
    connection.create_aggregate("MEDIAN", 1, Median)  # type: ignore[arg-type]
    for table, rows in tables.items():
        columns = list(rows[0])
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        marks = ", ".join("?" for _ in columns)
        rows = [row for row in rows if any(value is not None for value in row.values())]
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [[row[c] for c in columns] for row in rows])
    found = connection.execute(f"SELECT finding, context FROM ({sql})").fetchall()
    connection.close()
    return [(re.sub(r"<[^>]*>", "", finding), re.sub(r"<[^>]*>", " ", context)) for finding, context in found]


def none(*columns: str) -> list[dict[str, Any]]:
    """Return what makes a table of these columns without rows."""
    return [dict.fromkeys(columns)]


def site(name: str, lines: int, lower: float | None, middle: float, upper: float | None, **more: Any) -> dict[str, Any]:
    row = {"dataset": "pping-inside", "day": "2026-01-01", "synthetic": 0, "period_kind": "day", "hour_of_day": None}
    row |= {"group_kind": "site", "group_name": name, "metric": "rtt_increase", "lines": lines, "hosts": lines}
    return row | {"rtt_samples": 10 * lines, "lower_ms": lower, "median_ms": middle, "upper_ms": upper} | more


ALL = site("all", 60, 6, 7, 8, group_kind="all")


def test_a_site_is_the_worst_only_if_its_interval_is_above_those_of_all_others() -> None:
    near = [site("a", 20, 41, 45, 49), site("b", 20, 10, 12, 40), site("c", 20, 9, 11, 13)]
    hour = site("a", 20, 50, 52, 60, period_kind="hour", hour_of_day=20)
    ((finding, context),) = findings("access_finding", access_delay=[ALL, *near, hour])
    assert finding == (
        "Site a is the worst: the RTT of half of its 20 lines rises by 45 ms or more [41–49], "
        "against 12 ms at b, the next. Its worst hour begins at 20:00 UTC: 52 ms [50–60]."
    )
    assert "SYNTHETIC" not in context
    # The third's interval reaches above that of the first, though the second's does not.
    ((finding, _),) = findings("access_finding", access_delay=[ALL, *near[:2], site("c", 7, 1, 300, 420)])
    assert finding == (
        "Site a has the largest rise that is certain: the RTT of half of its 20 lines rises by 45 ms or more "
        "[41–49]. c may be worse: its 7 lines leave [1.0–420]."
    )
    ((finding, _),) = findings("access_finding", access_delay=[ALL, *near[:2], site("c", 7, 9, 11, 42)])
    assert finding.startswith("No site is the worst for certain: the interval of a [41–49 ms, 20 lines] overlaps that")


def test_a_site_is_not_compared_with_nothing_and_generated_samples_are_named() -> None:
    alone = [ALL | {"synthetic": 1}, site("a", 20, 41, 45, 49, synthetic=1)]
    alone += [site("withheld", 9, 60, 70, 80, synthetic=1), site("unknown", 9, 60, 70, 80, synthetic=1)]
    ((finding, context),) = findings("access_finding", access_delay=alone)
    assert finding.startswith("Nothing to compare: only site a has six lines.")
    assert "SYNTHETIC, not measured" in context
    ((finding, _),) = findings("access_finding", access_delay=[ALL, site("a", 4, None, 45, None)])
    assert finding.startswith("No site to tell of:")
    assert "rises by 7.0 ms" in finding


RECORDING = {"dataset": "captures:a", "source_hash": "h", "measurement": "capture", "run_id": None, "packets": 1000}
RECORDING |= {"flows": 3, "records_refused": 0}
DELAY = {"dataset": "captures:a", "leg": "responder", "service": "https", "delay_kind": "queuing_delay"}
DELAY |= {"p05_ms": None, "p25_ms": None, "p75_ms": None}
STREAM = {"dataset": "captures:a", "source_hash": "h", "loss_ratio": 0.02}
FLOW = {"dataset": "study:s", "source_hash": "h", "service": "other", "handshake_rtt_ms": 50.0}
FLOW |= {f"{leg}_{kind}_ms": None for leg in ("initiator", "responder") for kind in ("smoothed_rtt", "queuing_delay")}


def of_captures(delays: list[dict[str, Any]], streams: list[dict[str, Any]]) -> str:
    delays = delays or none(*DELAY, "connections", "median_ms", "p95_ms")
    streams = streams or none(*STREAM)
    ((finding, _),) = findings(
        "capture_finding",
        capture_recording=[RECORDING],
        capture_service_delay=delays,
        capture_flow=none(*FLOW),
        capture_rtp_stream=streams,
    )
    return finding


def test_a_run_that_was_captured_before_and_after_its_bottleneck_counts_once_and_by_point() -> None:
    recordings, flows, streams = [], [], []
    for number in range(20):
        for point, delay, loss in (("before", 90.0 + number, 0.0), ("after", 1.0, 0.02)):
            each = {"dataset": "study:s", "source_hash": f"{number}{point}"}
            recordings.append(RECORDING | each | {"run_id": f"r{number}", "measurement": f"capture_{point}"})
            flows.append(FLOW | each | {"responder_queuing_delay_ms": delay})
            streams.append(each | {"loss_ratio": loss})
    alone = {"dataset": "study:s", "source_hash": "alone"}
    recordings.append(RECORDING | alone | {"run_id": "alone", "measurement": "capture_before"})
    streams.append(alone | {"loss_ratio": 0.0})
    # What the service's table pools over both points is of no study.
    pooled = DELAY | {"dataset": "study:s", "connections": 40, "median_ms": 45.0, "p95_ms": 999.0}
    ((finding, context),) = findings(
        "capture_finding",
        capture_recording=recordings,
        capture_service_delay=[pooled],
        capture_flow=flows,
        capture_rtp_stream=streams,
    )
    assert finding == (
        "The RTT of 5 % of the connections rises by 108 ms or more on the path to the responder, and of half by 100 ms "
        "or more (20 connections captured before the bottleneck, service “other”). 20 of 21 RTP streams lose more "
        "than 1 % of their packets."
    )
    assert "41 recordings · 63 flows, each once" in context
    assert "20 runs were captured before and after their bottleneck" in context


def test_a_percentile_needs_twenty_connections() -> None:
    many = DELAY | {"connections": 20, "median_ms": 17.02, "p95_ms": 395.3}
    few = DELAY | {"leg": "initiator", "connections": 19, "median_ms": 5.34, "p95_ms": 900.0}
    assert of_captures([few, many], []) == (
        "The RTT of 5 % of the connections rises by 395 ms or more on the path to the responder, and of half by 17 ms "
        "or more (20 connections, service “https”)."
    )
    assert of_captures([few], []) == (
        "The RTT of half of the connections rises by 5.3 ms or more on the path to the initiator (19 connections with "
        "10 RTT samples, service “https”)."
    )


def test_without_delays_the_loss_of_streams_is_told_and_without_both_that() -> None:
    streams = [STREAM, STREAM | {"loss_ratio": 0.01}, STREAM | {"loss_ratio": None}]
    assert of_captures([], streams) == (
        "No queuing delay to tell of: no TCP connection has 10 RTT samples. 1 of 3 RTP streams lose more than 1 % of "
        "their packets."
    )
    assert of_captures([], []).startswith("No delay or loss to tell of:")


def test_trust_counts_what_was_not_read_and_which_runs_disagree() -> None:
    outcome = {"status": "ok", "format": "manifest", "records_read": 10, "records_refused": 0}
    run = {"reconciliation_verdict": "agree", "exclusion_reason": None, "start_ns": 1_767_225_600_000_000_000}
    build = {
        "build_id": "b",
        "published_at": "2026-01-02T03:04:05Z",
        "age_s": 7200.0,
        "tests_passed": 9,
        "is_served": 1,
    }
    earlier = build | {"build_id": "a", "is_served": 0}

    def found(outcomes: list[dict[str, Any]], runs: list[dict[str, Any]]) -> tuple[str, str]:
        (row,) = findings(
            "trust_finding",
            ingest_outcome=outcomes,
            run=runs,
            service_build=[build, earlier],
            connection_count=connections,
            access_delay=passive,
        )
        return row[0], re.sub(r"\d+ days ago", "some days ago", row[1])

    connections = none("connections", "served_detail")
    passive = none("synthetic", "period_kind", "group_kind", "metric", "rtt_samples")

    finding, context = found([outcome, outcome], [run])
    assert finding == (
        "All 2 sources were read to their end. Queue log, captures and counters agree within their bounds in "
        "the one run that has two of them."
    )
    finding, _ = found([outcome], [run, run, *[run | {"reconciliation_verdict": "single"}] * 3])
    assert finding.endswith("in all 2 runs that have two of them; 3 have one and nothing to compare it with.")
    assert context == (
        "Build b, published 2026-01-02 03:04:05 UTC, 2 hours ago, after 9 tests of its tables passed · "
        "20 records read, those of capture pairs counted once, none refused "
        "By the clock of its testbed, which may start at any date, the newest run is of 2026-01-01"
    )
    damaged = [outcome, outcome | {"status": "partial", "records_refused": 3}, outcome | {"status": "rejected"}]
    finding, context = found(damaged, [run, run | {"reconciliation_verdict": "disagree", "exclusion_reason": "x"}])
    assert finding == (
        "2 of 3 sources were not read whole: 1 refused, 1 read in part. Queue log, captures and counters of 1 of 2 "
        "runs disagree. Aggregates leave 1 run out."
    )
    assert "30 records read, those of capture pairs counted once, 3 refused" in context
    # The packets of a pair are those of its captures, and what was generated or does not count is said first.
    connections = [
        {"connections": 50, "served_detail": "refused"},
        {"connections": 9, "served_detail": "withheld"},
        {"connections": 141, "served_detail": "0"},
    ]
    several = [outcome, outcome | {"format": "capture_pair"}, outcome | {"format": "synthetic_connections"}]
    finding, context = found(several, none(*run))
    assert finding == (
        "All 3 sources were read to their end. 10 of 20 records are synthetic, generated and never measured. Of 200 "
        "connections, 50 have too few RTT samples or none and do not count, and 9 count but are withheld."
    )
    assert "20 records read" in context
    # Passive RTT says by sample that it is synthetic; each sample is in both metrics, in every group and hour.
    whole = {"synthetic": 1, "period_kind": "day", "group_kind": "all", "metric": "rtt", "rtt_samples": 7}
    others = [{"metric": "rtt_increase"}, {"period_kind": "hour"}, {"group_kind": "site"}, {"synthetic": 0}]
    passive = [whole, *(whole | other for other in others)]
    finding, _ = found(several, none(*run))
    assert " 17 of 20 records are synthetic" in finding
    passive = none(*whole)
    connections = none("connections", "served_detail")
    finding, _ = found([outcome], none(*run))
    assert finding == "All 1 sources were read to their end."


def test_active_flows_have_a_number_for_each_protocol_wherever_one_changes() -> None:
    sql = next(asset["sql"] for path, asset in FILES.items() if path.endswith("/capture_active_flows_filled.yaml"))
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE capture_active_flows (dataset, recording_name, source_hash, protocol, second, active_flows)"
    )
    rows = [("udp", 0, 1), ("tcp", 2, 2), ("tcp", 5, 1), ("udp", 9, 0), ("tcp", 9, 0)]
    connection.executemany("INSERT INTO capture_active_flows VALUES ('d', 'r', 'h', ?, ?, ?)", rows)
    connection.execute("INSERT INTO capture_active_flows VALUES ('d', 'other', 'i', 'tcp', 3, 7)")
    found = connection.execute(
        f"SELECT protocol, second, active_flows FROM ({sql}) WHERE recording_name = 'r' ORDER BY 1 DESC, 2"
    ).fetchall()
    connection.close()
    assert found == [
        ("udp", 0, 1), ("udp", 2, 1), ("udp", 5, 1), ("udp", 9, 0),
        ("tcp", 0, 0), ("tcp", 2, 2), ("tcp", 5, 1), ("tcp", 9, 0),
    ]  # fmt: skip


def test_the_heat_maps_of_buffers_have_the_uplink_above_the_downlink_and_no_background_at_the_bottom() -> None:
    sql = next(asset["sql"] for path, asset in FILES.items() if path.endswith("/buffer_delay.yaml"))
    columns = "study_id, testbed, direction, workload, congested_direction, queue_limit_packets, mean_ms, runs, role"
    columns += ", application"
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE configuration_queuing_delay ({columns})")
    rows = [
        ("s", "access", "uplink", "noBG", "none", 8, 0.5, 2, "all"),
        ("s", "access", "downlink", "noBG", None, 8, 0.25, 1, "all"),
        ("s", "access", "uplink", "long-many", "upstream", 8, 90.0, 3, "all"),
        ("s", "access", "uplink", "long-many", "upstream", 256, 2800.0, 4, "all"),
        ("s", "access", "uplink", "short-few", "upstream", 8, 40.0, 1, "all"),
        ("s", "access", "downlink", "long-few", "upstream", 8, 2.0, 1, "all"),
        # Two configurations of one cell, of which neither is the other's.
        ("s", "access", "uplink", "short-few", "upstream", 256, 400.0, 1, "all"),
        ("s", "access", "uplink", "short-few", "upstream", 256, 900.0, 1, "all"),
        ("s", "access", "uplink", "long-many", "upstream", 64, 1.0, 0, "all"),
        ("s", "access", "uplink", "long-many", "upstream", 64, 1.0, 3, "app"),
        ("s", "access", "uplink", "long-many", "upstream", None, 1.0, 3, "all"),
        ("other", None, "uplink", "noBG", "none", 8, 7.0, 1, "all"),
    ]
    connection.executemany(f"INSERT INTO configuration_queuing_delay VALUES ({', '.join('?' * 9)}, 'voice')", rows)
    # Pages loaded beside the same background are another heat map, and take no cell of this one.
    connection.execute(
        "INSERT INTO configuration_queuing_delay "
        "VALUES ('s', 'access', 'uplink', 'long-many', 'upstream', 256, 2500.0, 4, 'all', 'web')"
    )
    query = f"SELECT line, queue_limit_packets, mean_ms FROM ({sql}) WHERE application = ?"
    assert [tuple(row)[1:] for row in connection.execute(query, ("web",))] == [(256, 2500.0)]
    found = connection.execute(query, ("voice",)).fetchall()
    # Spaces sort before letters, and the first line is at the bottom.
    assert [line.strip() for line in sorted({line for line, _, _ in found})] == [
        "downlink, noBG, n = 1", "downlink, long-few, n = 1",
        "uplink, noBG, n = 2", "uplink, short-few, n = 3", "uplink, long-many, n = 7",
    ]  # fmt: skip
    cells = {(line.strip().split(", n")[0], size): mean for line, size, mean in found}
    assert cells[("uplink, long-many", 256)] == 2800.0
    assert cells[("uplink, short-few", 256)] is None
    assert ("uplink, long-many", 64) not in cells


SHARE = {
    "dataset": "ndt", "synthetic": 0, "rtt_basis": "tcp_info", "sample_basis": "rtt_samples", "period_kind": "all",
    "access_technology": "all", "threshold_ms": 100.0, "connections": 1234, "hosts": 400, "connections_above": 56,
}  # fmt: skip
QUANTILE = {key: SHARE[key] for key in list(SHARE)[:6]} | {"quantile_ratio": 0.5, "queuing_delay_ms": 17.4}


@pytest.mark.parametrize(
    ("share", "quantile", "expected"),
    [
        ({}, {}, "Half of the 1,234 measured connections wait at most 17 ms. "
            "At most 56 of them (4.5 %) wait longer than 100 ms."),
        ({"connections_above": 1}, {"queuing_delay_ms": 3.14},
            "Half of the 1,234 measured connections wait at most 3.1 ms. At most 1 of them (0.1 %) waits "
            "longer than 100 ms."),
        ({"connections_above": None}, {}, "Half of the 1,234 measured connections wait at most 17 ms."),
        ({}, {"quantile_ratio": 0.95}, "No median to tell of. At most 56 of them (4.5 %) wait longer than 100 ms."),
    ],
)  # fmt: skip
def test_half_of_the_connections_in_the_wild_wait_at_most_their_median(
    share: dict[str, Any], quantile: dict[str, Any], expected: str
) -> None:
    # Shares of a part, and above another threshold, are of no use here.
    others = [SHARE | {"access_technology": "adsl", "connections": 9999, "connections_above": 9999}]
    others += [SHARE | {"threshold_ms": 500.0, "connections_above": 2}]
    ((finding, context),) = findings(
        "wild_finding",
        queuing_delay_share=[SHARE | share, *others],
        connection_queuing_delay_quantile=[QUANTILE | quantile],
    )
    assert finding == expected
    assert context.startswith("ndt · 1,234 connections of 400 hosts · 1,234 of 1,234 measured connections remain")


def test_data_sets_and_bases_in_the_wild_are_not_pooled_and_each_says_what_part_of_all_it_is() -> None:
    polls = {"sample_basis": "polls", "connections": 10}
    found = findings(
        "wild_finding",
        queuing_delay_share=[SHARE, SHARE | polls, SHARE | {"dataset": "other", "connections": 20}],
        connection_queuing_delay_quantile=[QUANTILE, QUANTILE | {"sample_basis": "polls", "queuing_delay_ms": 900.0}],
    )
    assert [finding.partition(" measured")[0] for finding, _ in found] == [
        "Half of the 10", "Half of the 1,234",
        "No median to tell of. At most 56 of them (280.0 %) wait longer than 100 ms.",
    ]  # fmt: skip
    remain = [re.search(r"([\d,]+) of ([\d,]+) measured connections remain", context) for _, context in found]
    assert [each.groups() for each in remain if each] == [("10", "1,264"), ("1,234", "1,264"), ("20", "1,264")]


CAPTURE_FLOW = {
    "dataset": "study:s", "source_hash": "h", "service": "https", "protocol": "tcp", "fwd_packets": 30,
    "rev_packets": 10, "fwd_bytes": 3000, "rev_bytes": 1000, "fwd_retransmitted_ratio": 0.1,
    "rev_retransmitted_ratio": 0.0, "fwd_out_of_order_ratio": None, "rev_out_of_order_ratio": 0.2,
    "fwd_ecn_ce_packets": 2, "rev_ecn_ce_packets": 1,
}  # fmt: skip
SERVICE = {
    "dataset": "captures:a", "service": "dns", "protocol": "udp", "recordings": 1, "flows": 5, "packets": 10,
    "bytes": 900, "retransmitted_ratio": None, "out_of_order_ratio": None, "ecn_ce_packets": 0,
}  # fmt: skip


def test_services_of_a_study_are_counted_by_capture_point_and_others_as_they_are() -> None:
    sql = next(asset["sql"] for path, asset in FILES.items() if path.endswith("/capture_point_service.yaml"))
    points = [
        RECORDING | {"dataset": "study:s", "source_hash": point, "run_id": "r", "measurement": f"capture_{point}"}
        for point in ("before", "after")
    ]
    udp = {"protocol": "udp", "fwd_retransmitted_ratio": None, "rev_retransmitted_ratio": None}
    tables = {
        "capture_recording": points,
        "capture_flow": [
            *(CAPTURE_FLOW | {"source_hash": point} for point in ("before", "after")),
            CAPTURE_FLOW
            | {"source_hash": "after", "fwd_packets": 60, "rev_packets": 0, "fwd_retransmitted_ratio": 0.2},
            CAPTURE_FLOW | {"source_hash": "after"} | udp,
        ],
        # What the mart pools over both points is of no study.
        "capture_service": [SERVICE, SERVICE | {"dataset": "study:s", "packets": 9999}],
    }
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    for table, rows in tables.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(rows[0])})")
        connection.executemany(
            f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", [list(row.values()) for row in rows]
        )
    found = {(row["captured"], row["protocol"]): dict(row) for row in connection.execute(sql)}
    connection.close()
    assert set(found) == {
        ("before the bottleneck", "tcp"), ("after the bottleneck", "tcp"), ("after the bottleneck", "udp"), ("", "udp"),
    }  # fmt: skip
    before, after = found["before the bottleneck", "tcp"], found["after the bottleneck", "tcp"]
    assert (before["flows"], before["packets"], before["bytes"], before["recordings"]) == (1, 40, 4000, 1)
    assert (after["flows"], after["packets"], after["recordings"]) == (2, 100, 1)
    # Weighted by packets: 3 of 40, and 3 + 12 of 100.
    assert before["retransmitted_ratio"] == pytest.approx(3 / 40)
    assert after["retransmitted_ratio"] == pytest.approx(15 / 100)
    assert before["out_of_order_ratio"] == pytest.approx(2 / 40)
    assert before["ecn_ce_packets"] == 3
    assert found["after the bottleneck", "udp"]["retransmitted_ratio"] is None
    assert found["", "udp"] == {**SERVICE, "captured": ""}


LOADED = {"delay_basis": "iperf3_srtt_ms_polls", "queue_label": "CoDel", "run_id": "r", "idle_median_ms": None}
LOADED |= {"loaded_median_ms": 40.0, "median_increase_ms": None}


def loaded(*rows: dict[str, Any]) -> str:
    """Return what the page of results of tools begins with, of runs with one kind of delay, without marks of HTML."""
    chart = FILES["charts/tool_results/finding.yaml"]
    (column,) = chart["sojourn"]["columns"]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE run_load_delay ({', '.join(LOADED)})")
    marks = ", ".join("?" * len(LOADED))
    connection.executemany(
        f"INSERT INTO run_load_delay VALUES ({marks})", [list((LOADED | row).values()) for row in rows]
    )
    ((finding,),) = connection.execute(f"SELECT {column['sql']} FROM run_load_delay GROUP BY delay_basis")
    connection.close()
    return re.sub(r"<[^>]*>", "", finding.replace("</div>", " ")).strip()


def test_results_of_tools_begin_with_the_shortest_and_the_longest_delay_under_load() -> None:
    long = {"queue_label": "tail-drop", "loaded_median_ms": 505.4}
    basis = (
        " As the tool measures its own packets, the path without a queue included: not the wait of another application."
    )
    unknown = " No run has a value from before the load, so what the load adds is not known."
    assert loaded({}, long, {"loaded_median_ms": 9.84}) == (
        "The runs' medians under load are 9.8 to 505 ms, over 3 runs: the shortest with CoDel, the longest with "
        "tail-drop." + basis + unknown
    )
    before = {"idle_median_ms": 10.0, "median_increase_ms": 30.0}
    assert loaded(before, long) == (
        "The runs' medians under load are 40 to 505 ms, over 2 runs: the shortest with CoDel, the longest with "
        "tail-drop. Before the load it is up to 30 ms shorter." + basis
    )
    assert loaded({"idle_median_ms": 50.0, "median_increase_ms": -10.0}, {}).endswith(
        "It is not shorter before the load." + basis
    )
    assert "the shortest and the longest with CoDel." in loaded({}, {"loaded_median_ms": 70.0})


def test_one_result_is_told_by_its_name_where_no_queue_is_named() -> None:
    one = loaded({"queue_label": None, "run_id": "a<b>&c.json", "loaded_median_ms": 1234.5})
    assert one.startswith("Half of the values under load are at least 1235 ms (a&lt;b>&amp;c.json).")
