"""ping, fping, iperf 2 and iperf3 on the loopback interface: what is read equals what they say of the same packets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from results import read

RECORDINGS = Path(__file__).with_name("recordings")


def series_of(name: str) -> list[dict[str, Any]]:
    """Return the series of a recording, which is read whole."""
    _, tables, reading = read(RECORDINGS / name)
    assert reading.fault is None
    assert not reading.refused
    return tables["series"]


def total(rows: list[dict[str, Any]], metric: str) -> float:
    """Return the value of a metric over the whole transfer."""
    (value,) = (row["value"] for row in rows if row["metric"] == metric and row["sample_basis"] == "total")
    return float(value)


def report(name: str) -> re.Match[str]:
    """Return the last line of a text of iperf 2: bytes and bit/s, and of UDP jitter, lost and all packets."""
    pattern = r"sec +(\d+) Bytes +(\d+) bits/sec(?: +([\d.]+) ms (\d+)/(\d+))?"
    return list(re.finditer(pattern, (RECORDINGS / name).read_text()))[-1]


def test_probes_of_fping_are_those_of_its_summary() -> None:
    rows = series_of("fping.txt")
    summary = re.findall(
        r"xmt/rcv/%loss = (\d+)/(\d+)/\d+%, min/avg/max = ([\d.]+)/([\d.]+)/([\d.]+)",
        (RECORDINGS / "fping-summary.txt").read_text(),
    )
    assert len(summary) == 2
    for number, (sent, answered, least, mean, most) in enumerate(summary, start=1):
        probes = [row["value"] for row in rows if row["series_name"] == f"fping {number}"]
        values = [value for value in probes if value is not None]
        assert (len(probes), len(values)) == (int(sent), int(answered))
        assert (min(values), max(values)) == (float(least), float(most))
        assert sum(values) / len(values) == pytest.approx(float(mean), abs=0.001)


def test_a_receiver_of_udp_says_what_it_tells_its_sender() -> None:
    rows, stated = series_of("iperf2-udp-server.csv"), report("iperf2-udp-client.txt")
    assert total(rows, "rate_bps") == int(stated[2])
    assert total(rows, "jitter_ms") == float(stated[3])
    assert (total(rows, "lost_packets"), total(rows, "sent_packets")) == (int(stated[4]), int(stated[5]))


def test_a_sender_of_udp_has_neither_jitter_nor_loss() -> None:
    rows, stated = series_of("iperf2-udp-client.csv"), report("iperf2-udp-server.txt")
    assert {row["metric"] for row in rows} == {"rate_bps", "sent_packets"}
    assert total(rows, "rate_bps") == pytest.approx(int(stated[2]), rel=0.001)
    # Of the last packets, which tell the receiver that the transfer ends, it counts fewer.
    sent = sum(row["value"] for row in rows if row["metric"] == "sent_packets")
    assert sent == pytest.approx(int(stated[5]), abs=2)


def test_a_sender_of_tcp_sends_what_arrives() -> None:
    rows, stated = series_of("iperf2-tcp-client.csv"), report("iperf2-tcp-server.txt")
    assert total(rows, "rate_bps") == pytest.approx(int(stated[2]), rel=0.01)
    assert len([row for row in rows if row["sample_basis"] == "intervals"]) == 3


@pytest.mark.parametrize(
    ("name", "workload", "direction", "ways"),
    [
        ("solo", "iperf3_tcp", "uplink", {"stream 5": "uplink"}),
        ("solo-down", "iperf3_tcp", "downlink", {"stream 5": "downlink"}),
        ("two", "iperf3_tcp streams=2", "uplink", {"stream 5": "uplink", "stream 7": "uplink"}),
        ("ways", "iperf3_tcp bidir", None, {"stream 5": "uplink", "stream 7": "downlink"}),
    ],
)
def test_flows_of_iperf3_have_their_own_way_and_the_bytes_of_their_intervals(
    name: str, workload: str, direction: str | None, ways: dict[str, str]
) -> None:
    path = RECORDINGS / f"iperf3-{name}.json"
    format_name, tables, reading = read(path)
    # The client of a download states 0 for the smallest, mean and largest RTT of the server.
    refused = {"srtt_ms: 0, no round trip was measured": 3} if name == "solo-down" else {}
    assert (format_name, reading.refused, reading.fault) == ("iperf3", refused, None)
    (run,) = tables["run"]
    assert (run["workload"], run["direction"], run["bandwidth_bps"], run["aqm"]) == (
        workload, direction, 20_000_000, "tail-drop",
    )  # fmt: skip
    rates = [row for row in tables["series"] if row["metric"] == "rate_bps" and row["sample_basis"] == "intervals"]
    assert {row["flow_name"]: row["direction"] for row in rates} == ways
    assert_bytes_of_intervals(path, rates)


def assert_bytes_of_intervals(path: Path, rates: list[dict[str, Any]]) -> None:
    """Hold the rates of each flow against the bytes that iperf3 states for its intervals."""
    for flow in {row["flow_name"] for row in rates}:
        stated = [
            stream["bytes"]
            for interval in json.loads(path.read_text())["intervals"]
            for stream in interval["streams"]
            if f"stream {stream['socket']}" == flow
        ]
        read_bytes = [row["value"] * row["duration_s"] / 8 for row in rates if row["flow_name"] == flow]
        assert read_bytes == pytest.approx(stated, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "direction", "ways"),
    [
        ("udp-down", "downlink", {"stream 5": "downlink"}),
        ("udp-two", "uplink", {"stream 5": "uplink", "stream 7": "uplink"}),
        ("udp-ways", None, {"stream 5": "uplink", "stream 7": "downlink"}),
    ],
)
def test_flows_of_udp_have_their_own_way_and_the_loss_of_their_receiver(
    name: str, direction: str | None, ways: dict[str, str]
) -> None:
    path = RECORDINGS / f"iperf3-{name}.json"
    _, tables, _ = read(path)
    rows = series_of(path.name)
    (run,) = tables["run"]
    assert run["direction"] == direction
    rates = [row for row in rows if row["metric"] == "rate_bps" and row["sample_basis"] == "intervals"]
    assert {row["flow_name"]: row["direction"] for row in rates} == ways
    assert_bytes_of_intervals(path, rates)
    ends = {f"stream {end['udp']['socket']}": end["udp"] for end in json.loads(path.read_text())["end"]["streams"]}
    assert set(ends) == set(ways)
    for flow, end in ends.items():
        of_flow = [row for row in rows if row["flow_name"] == flow]
        assert (total(of_flow, "lost_packets"), total(of_flow, "sent_packets")) == (end["lost_packets"], end["packets"])
        assert total(of_flow, "jitter_ms") == pytest.approx(end["jitter_ms"])


@pytest.mark.parametrize("name", ["ping-DOp.txt", "ping-A.txt", "ping-6D.txt"])
def test_probes_of_ping_are_those_of_its_summary(name: str) -> None:
    values = [row["value"] for row in series_of(name) if row["sample_basis"] == "samples"]
    summary = re.search(
        r"(\d+) packets transmitted, (\d+) received.*= ([\d.]+)/([\d.]+)/([\d.]+)/",
        (RECORDINGS / name).read_text(),
        re.DOTALL,
    )
    assert summary is not None
    answered = [value for value in values if value is not None]
    assert (len(values), len(answered)) == (int(summary[1]), int(summary[2]))
    assert (min(answered), max(answered)) == (float(summary[3]), float(summary[5]))
    assert sum(answered) / len(answered) == pytest.approx(float(summary[4]), abs=0.001)
