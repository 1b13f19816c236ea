"""Outputs of tools as other systems, releases and wrappers write them: read, or refused with what to do.

Values are those that stand in the outputs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results import Tables, read
from tool_results import iperf3, irtt

from sojourn_ingest.formats.content.time_lines import time_line_ns
from sojourn_ingest.formats.interface import InputError

START_S = 1_700_000_000


def written(folder: Path, text: str) -> Path:
    path = folder / "result"
    path.write_text(text)
    return path


def values(tables: Tables, metric: str, basis: str = "samples") -> list[float | None]:
    rows = [row for row in tables["series"] if (row["metric"], row["sample_basis"]) == (metric, basis)]
    return [row["value"] for row in rows]


# ---------------------------------------------------------------- ping and fping

PING = {
    "FreeBSD 14, IPv6": (
        "PING(56=40+8+8 bytes) 2001:db8::1 --> 2001:db8::2\n"
        "16 bytes from 2001:db8::2, icmp_seq=0 hlim=59 time=10.125 ms\n"
        "16 bytes from 2001:db8::2, icmp_seq=1 hlim=59 time=11.125 ms\n\n"
        "--- 2001:db8::2 ping statistics ---\n2 packets transmitted, 2 packets received, 0.0% packet loss\n"
        "round-trip min/avg/max/stddev = 10.125/10.625/11.125/0.500 ms\n",
        [10.125, 11.125],
        [10.125, 10.625, 11.125],
    ),
    "HP-UX": (
        "PING host.example: 64 byte packets\n64 bytes from 192.0.2.9: icmp_seq=0. time=0. ms\n"
        "64 bytes from 192.0.2.9: icmp_seq=1. time=5. ms\n64 bytes from 192.0.2.9: icmp_seq=3. time=3. ms\n\n"
        "----host.example PING Statistics----\n4 packets transmitted, 3 packets received, 25% packet loss\n"
        "round-trip (ms)  min/avg/max = 0/2/5\n",
        [0, 5, 3, None],
        [0, 2, 5],
    ),
    "Solaris": (
        "PING host.example: 56 data bytes\n64 bytes from host.example (192.0.2.9): icmp_seq=0. time=0.625 ms\n"
        "64 bytes from host.example (192.0.2.9): icmp_seq=1. time=1. ms\n\n----host.example PING Statistics----\n"
        "2 packets transmitted, 2 packets received, 0% packet loss\n"
        "round-trip (ms)  min/avg/max/stddev = 0.625/0.813/1.000/0.26\n",
        [0.625, 1],
        [0.625, 0.813, 1],
    ),
    "toybox": (
        "Ping 8.8.8.8 (8.8.8.8): 56(84) bytes.\n64 bytes from 8.8.8.8: icmp_seq=1 ttl=118 time=9 ms\n"
        "64 bytes from 8.8.8.8: icmp_seq=2 ttl=118 time=10 ms\n\n--- 8.8.8.8 ping statistics ---\n"
        "2 packets transmitted, 2 received, 0% packet loss\nround-trip min/avg/max = 9/9/10 ms\n",
        [9, 10],
        [9, 9, 10],
    ),
    "Cygwin": (
        "PING 192.0.2.9 (192.0.2.9): 56 data bytes\n64 bytes from 192.0.2.9: icmp_seq=0 ttl=55 time=14 ms\n"
        "64 bytes from 192.0.2.9: icmp_seq=1 ttl=55 time=13 ms\n\n----192.0.2.9 PING Statistics----\n"
        "2 packets transmitted, 2 packets received, 0.0% packet loss\n"
        "round-trip (ms)  min/avg/max/med = 13/13.5/14/13\n",
        [14, 13],
        [13, 13.5, 14],
    ),
}


@pytest.mark.parametrize("system", PING)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_ping_of_a_system_is_read(tmp_path: Path, system: str, line_end: str) -> None:
    text, samples, stated = PING[system]
    name, tables, reading = read(written(tmp_path, text.replace("\n", line_end)))
    assert (name, reading.refused, reading.fault) == ("ping", {}, None)
    assert (values(tables, "rtt_ms"), values(tables, "rtt_ms", "total")) == (samples, stated)


def test_fping_names_its_targets_with_addresses_and_begins_with_errors(tmp_path: Path) -> None:
    text = (
        "ICMP Host Unreachable from 192.0.2.254 for ICMP Echo sent to 192.0.2.3\n\n"
        "dns.example (192.0.2.8) : [0], 64 bytes, 10.2 ms (10.2 avg, 0% loss)\n"
        "six.example (2001:db8::8) : [0], 64 bytes, 20.5 ms (20.5 avg, 0% loss)\n"
        "dns.example (192.0.2.8) : [1], timed out (10.2 avg, 50% loss)\n"
        "dns.example (192.0.2.8) : duplicate for [0], 64 bytes, 11.0 ms\n"
    )
    name, tables, reading = read(written(tmp_path, text))
    assert (name, reading.refused, reading.fault) == ("fping", {"duplicate_reply": 1}, None)
    assert [(row["series_name"], row["value"]) for row in tables["series"]] == [
        ("fping 1", 10.2), ("fping 2", 20.5), ("fping 1", None),
    ]  # fmt: skip


# ---------------------------------------------------------------- ss and tc


@pytest.mark.parametrize(
    ("line", "time_ns"),
    [
        ("1700000000", START_S * 10**9),
        ("1700000000.5", START_S * 10**9 + 500_000_000),
        ("# 1700000000,25", START_S * 10**9 + 250_000_000),
        ("Time: 1700000000.000000001", START_S * 10**9 + 1),
        ("1700000000125", START_S * 10**9 + 125_000_000),
        ("1700000000125001", START_S * 10**9 + 125_001_000),
        ("1700000000125001007", START_S * 10**9 + 125_001_007),
        ("2023-11-14T22:13:20,5+00:00", START_S * 10**9 + 500_000_000),
        ("2023-11-14 23:13:20.5+01:00\r", START_S * 10**9 + 500_000_000),
        ("2023-11-14T23:13:20+0100", START_S * 10**9),
        ("2023-11-14T22:13:20", None),
        ("17000000001", None),
        ("9999999999999999999", None),
        ("Tue Nov 14 22:13:20 UTC 2023", None),
        ("", None),
    ],
)
def test_times_of_date_before_a_poll(line: str, time_ns: int | None) -> None:
    assert time_line_ns(line.encode()) == time_ns


def test_ss_without_t_gives_the_tcp_sockets_and_counts_the_others(tmp_path: Path) -> None:
    details = "\t cubic wscale:7,7 rto:220 rtt:17.5/8.7 mss:1448 cwnd:10 bytes_sent:4000 minrtt:16.1"
    text = (
        "1700000000125\nNetid  State  Recv-Q  Send-Q    Local Address:Port      Peer Address:Port  Process\n"
        f"tcp    ESTAB  0       36             10.0.0.5:22          10.0.0.9:52344\n{details}\n"
        f"mptcp  ESTAB  0       36             10.0.0.5:23          10.0.0.9:52345\n{details}\n"
        "udp    UNCONN 0       0              0.0.0.0:68           0.0.0.0:*\n\t skmem:(r0,rb212992)\n"
        f"tcp    ESTAB  0       36             10.0.0.5:24          10.0.0.9:52346\n{details}\n"
    )
    name, tables, reading = read(written(tmp_path, text))
    assert (name, reading.refused, reading.records_read) == ("ss_text", {"socket_of_another_protocol": 2}, 2)
    assert [(row["local_port"], row["srtt_us"], row["poll_start_ns"]) for row in tables["tcp_poll"]] == [
        (22, 17_500, START_S * 10**9 + 125_000_000), (24, 17_500, START_S * 10**9 + 125_000_000),
    ]  # fmt: skip


def test_a_queue_that_holds_less_than_nothing_is_no_backlog(tmp_path: Path) -> None:
    # The kernel counts in 32 bits what is queued, and in 64 what was sent.
    qdisc = {"kind": "fq", "handle": "1:", "bytes": 2**40, "packets": 9, "backlog": 2**32 - 1514, "qlen": 2**32 - 1}
    name, tables, reading = read(written(tmp_path, f"2023-11-14T22:13:20+00:00\n{json.dumps([qdisc])}\n"))
    (row,) = tables["queue_counter"]
    assert (name, row["poll_start_ns"], row["sent_bytes"]) == ("tc_polls", START_S * 10**9, 2**40)
    assert (row["backlog_bytes"], row["backlog_packets"]) == (None, None)
    assert reading.refused == {"counter_out_of_range fq.backlog": 1, "counter_out_of_range fq.qlen": 1}


# ---------------------------------------------------------------- speed tests

NDT7_CLIENT = {
    "ServerFQDN": "ndt.example", "ServerIP": "192.0.2.9", "ClientIP": "192.0.2.1",
    "Download": {"Throughput": {"Value": 95.25, "Unit": "Mbit/s"}, "Latency": {"Value": 12.5, "Unit": "ms"}},
    "Upload": {"Throughput": {"Value": 20.5, "Unit": "Mbit/s"}, "Latency": {"Value": 13.5, "Unit": "ms"}},
}  # fmt: skip
NDT7_CLIENT_BEFORE = {
    "ServerFQDN": "ndt.example", "ServerIP": "192.0.2.9", "DownloadUUID": "x", "MinRTT": {"Value": 12.5, "Unit": "ms"},
    "Download": {"Value": 95.25, "Unit": "Mbit/s"}, "Upload": {"Value": 20.5, "Unit": "Mbit/s"},
}  # fmt: skip
LIBRESPEED = {
    "timestamp": "2023-11-14T22:13:20Z", "server": {"name": "a", "url": "u"}, "client": {"ip": "192.0.2.1"},
    "bytes_sent": 25, "bytes_received": 120, "ping": 12.5, "jitter": 1.5, "upload": 20.5, "download": 95.25,
}  # fmt: skip
FAST = {"downloadSpeed": 95.25, "uploadSpeed": 20.5, "downloaded": 200, "uploaded": 50, "latency": 12.5,
        "bufferBloat": 40, "userLocation": "a", "serverLocations": ["b"], "userIp": "192.0.2.1"}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "result", "delays"),
    [
        ("ndt7-client", NDT7_CLIENT, {"rtt_ms": [12.5, 13.5]}),
        ("ndt7-client", NDT7_CLIENT_BEFORE, {"rtt_ms": [12.5]}),
        ("librespeed-cli", LIBRESPEED, {"rtt_ms": [12.5], "jitter_ms": [1.5]}),
        ("librespeed-cli", [LIBRESPEED], {"rtt_ms": [12.5], "jitter_ms": [1.5]}),
        ("fast-cli", FAST, {"http_latency_ms": [12.5, 40], "sent_bytes": [200e6, 50e6]}),
    ],
)
def test_a_result_of_a_client_is_read_in_its_units(tmp_path: Path, tool: str, result: Any, delays: Any) -> None:
    name, tables, reading = read(written(tmp_path, json.dumps(result, sort_keys=True)))
    assert (name, tables["run"][0]["workload"], reading.refused) == ("speed_test", tool, {})
    rates = {row["direction"]: row["value"] for row in tables["series"] if row["metric"] == "rate_bps"}
    assert rates == {"downlink": 95_250_000, "uplink": 20_500_000}
    assert {metric: values(tables, metric, "total") for metric in delays} == delays


# ---------------------------------------------------------------- documents and what stands around them


def test_what_c_prints_for_no_number_costs_that_value(tmp_path: Path) -> None:
    content = json.loads(json.dumps(iperf3()))
    content["intervals"][0]["streams"][0]["bits_per_second"] = "NONE"
    content["title"] = 'a "nan": nan, -nan'
    for spelling in ("-nan", "nan", "inf", "-inf"):
        _, tables, reading = read(written(tmp_path, json.dumps(content).replace('"NONE"', spelling)))
        assert (reading.refused, reading.fault) == ({"bits_per_second: not a number": 1}, None)
        assert len(values(tables, "rate_bps", "intervals")) == 1
    damaged = json.dumps(content).replace('"NONE"', "nano")
    with pytest.raises(InputError, match="JSON is damaged at character"):
        read(written(tmp_path, damaged))


def test_lines_with_brackets_before_a_document_are_text(tmp_path: Path) -> None:
    said = "[Connecting] connecting to host\n[10.0.0.2] [Connected] connection established\n[1]+  Done   sleep 1\n"
    expected = read(written(tmp_path, json.dumps(irtt())))
    name, tables, reading = read(written(tmp_path, said + json.dumps(irtt())))
    assert (name, tables["series"]) == ("irtt", expected[1]["series"])
    assert reading.refused == {"line_before_the_document": 3}


def test_a_warning_before_a_result_of_ndt_is_counted(tmp_path: Path) -> None:
    polls = [{"TCPInfo": {"RTT": 20_000, "MinRTT": 9_000}}]
    measured = {"StartTime": "2023-11-14T22:13:20Z", "EndTime": "2023-11-14T22:13:30Z", "ServerMeasurements": polls}
    result = {"GitShortCommit": "x", "ClientIP": "192.0.2.1", "Download": measured}
    name, tables, reading = read(written(tmp_path, f"WARNING: gsutil\n{json.dumps(result)}\n"))
    assert (name, reading.refused) == ("ndt7", {"line_before_the_document": 1})
    assert [row["rtt_avg_us"] for row in tables["connection"]] == [20_000]


def get_stats(time_ms: int, packets: int) -> list[dict[str, Any]]:
    stream = {"id": "I", "type": "inbound-rtp", "timestamp": time_ms, "kind": "audio", "ssrc": 7, "jitter": 0.002}
    pair = {"id": "C", "type": "candidate-pair", "timestamp": time_ms}
    return [stream | {"packetsReceived": packets, "packetsLost": 0, "bytesReceived": 10 * packets}, pair]


@pytest.mark.parametrize("form", ["array", "objects", "stats", "stats in lines"])
def test_polls_of_get_stats_may_stand_in_one_array_or_beside_their_time(tmp_path: Path, form: str) -> None:
    polls = [get_stats(START_S * 1000 + 1000 * number, 50 * number) for number in range(4)]
    expected = read(written(tmp_path, "".join(json.dumps(poll) + "\n" for poll in polls)))
    assert len(expected[1]["call_poll"]) == 4
    beside = [{"timestamp": poll[0]["timestamp"], "stats": poll} for poll in polls]
    text = {
        "array": json.dumps(polls, indent=1),
        "objects": json.dumps([{one["id"]: one for one in poll} for poll in polls]),
        "stats": json.dumps(beside),
        "stats in lines": "".join(json.dumps(poll) + "\n" for poll in beside),
    }[form]
    name, tables, reading = read(written(tmp_path, text))
    assert (name, tables, reading.refused) == ("get_stats", expected[1], {})
