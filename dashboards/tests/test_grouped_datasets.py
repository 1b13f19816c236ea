"""Datasets of a query, over planted rows in SQLite."""

from __future__ import annotations

import sqlite3

import pytest

from sojourn_superset import assets
from sojourn_superset.settings import ASSETS

FILES = assets.read(ASSETS)


RECORDING = {"dataset": "captures:a", "source_hash": "h", "measurement": "capture", "run_id": None, "packets": 1000}
RECORDING |= {"flows": 3, "records_refused": 0}


def test_active_flows_have_a_number_for_each_protocol_wherever_one_changes() -> None:
    sql = next(asset["sql"] for path, asset in FILES.items() if path.endswith("/capture_active_flows_filled.yaml"))
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE capture_active_flows (dataset, recording_name, source_hash, protocol, second, active_flows)"
    )
    rows = [("udp", 0, 1), ("tcp", 2, 2), ("tcp", 5, 1), ("udp", 9, 0), ("tcp", 9, 0)]
    connection.executemany("INSERT INTO capture_active_flows VALUES ('d', 'r', 'h', ?, ?, ?)", rows)
    connection.execute("INSERT INTO capture_active_flows VALUES ('d', 'other', 'i', 'tcp', 3, 7)")
    counts = connection.execute(
        f"SELECT protocol, second, active_flows FROM ({sql}) WHERE recording_name = 'r' ORDER BY 1 DESC, 2"
    ).fetchall()
    connection.close()
    assert counts == [
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
    means = connection.execute(query, ("voice",)).fetchall()
    # Spaces sort before letters, and the first line is at the bottom.
    assert [line.strip() for line in sorted({line for line, _, _ in means})] == [
        "downlink, noBG, n = 1", "downlink, long-few, n = 1",
        "uplink, noBG, n = 2", "uplink, short-few, n = 3", "uplink, long-many, n = 7",
    ]  # fmt: skip
    cells = {(line.strip().split(", n")[0], size): mean for line, size, mean in means}
    assert cells[("uplink, long-many", 256)] == 2800.0
    assert cells[("uplink, short-few", 256)] is None
    assert ("uplink, long-many", 64) not in cells


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
    services = {(row["captured"], row["protocol"]): dict(row) for row in connection.execute(sql)}
    connection.close()
    assert set(services) == {
        ("before the bottleneck", "tcp"), ("after the bottleneck", "tcp"), ("after the bottleneck", "udp"), ("", "udp"),
    }  # fmt: skip
    before, after = services["before the bottleneck", "tcp"], services["after the bottleneck", "tcp"]
    assert (before["flows"], before["packets"], before["bytes"], before["recordings"]) == (1, 40, 4000, 1)
    assert (after["flows"], after["packets"], after["recordings"]) == (2, 100, 1)
    # Weighted by packets: 3 of 40, and 3 + 12 of 100.
    assert before["retransmitted_ratio"] == pytest.approx(3 / 40)
    assert after["retransmitted_ratio"] == pytest.approx(15 / 100)
    assert before["out_of_order_ratio"] == pytest.approx(2 / 40)
    assert before["ecn_ce_packets"] == 3
    assert services["after the bottleneck", "udp"]["retransmitted_ratio"] is None
    assert services["", "udp"] == {**SERVICE, "captured": ""}
