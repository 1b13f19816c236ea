"""What releases of tools write in other forms than the newest: each is read, or the refusal says what to do."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from results import Tables, is_refused_or_read, read
from tool_results import IPERF2, IPERF2_UDP, SPEED_TESTS, START_S, iperf3

from sojourn_ingest.formats.interface import InputError


def written(folder: Path, text: str, name: str = "result") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def values(tables: Tables, metric: str, basis: str | None = None) -> list[float | None]:
    rows = [row for row in tables["series"] if row["metric"] == metric]
    return [row["value"] for row in rows if basis in (None, row["sample_basis"])]


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read(path)
    return caught.value


# ---------------------------------------------------------------- iperf3


def stream_of(content: dict[str, Any]) -> str:
    """Return a result as --json-stream writes it."""
    events = [
        ("start", content["start"]),
        *(("interval", one) for one in content["intervals"]),
        ("end", content["end"]),
    ]
    return "".join(json.dumps({"event": event, "data": data}) + "\n" for event, data in events)


def test_iperf3_before_3_2_has_neither_rtt_nor_a_way_of_each_stream(tmp_path: Path) -> None:
    content = json.loads(json.dumps(iperf3()))
    content["start"]["version"] = "iperf 3.0.11"
    stated = [stream for interval in content["intervals"] for stream in interval["streams"]]
    ends = [side for stream in content["end"]["streams"] for side in stream.values()]
    for one in (*stated, *ends, content["end"]["sum_sent"], content["end"]["sum_received"]):
        for key in ("rtt", "rttvar", "sender", "min_rtt", "mean_rtt"):
            one.pop(key, None)
    _, tables, reading = read(written(tmp_path, json.dumps(content)))
    assert (reading.refused, reading.fault) == ({}, None)
    assert values(tables, "rate_bps", "intervals") == [1e7, 8e6]
    assert {row["direction"] for row in tables["series"]} == {"uplink"}
    assert values(tables, "srtt_ms") == []


def test_a_stream_that_repeats_the_test_as_a_document_is_read_once(tmp_path: Path) -> None:
    content = iperf3()
    plain = read(written(tmp_path, stream_of(content)))[1]
    _, tables, reading = read(written(tmp_path, stream_of(content) + json.dumps(content, indent="\t") + "\n"))
    assert (reading.refused, reading.fault) == ({}, None)
    assert tables["series"] == plain["series"]


def test_further_tests_of_a_server_are_counted_and_not_added(tmp_path: Path) -> None:
    content = iperf3()
    plain = read(written(tmp_path, stream_of(content)))[1]
    _, tables, reading = read(written(tmp_path, stream_of(content) * 3))
    assert (reading.refused, reading.fault) == ({"further_test": 2}, None)
    assert tables["series"] == plain["series"]
    error = refusal(written(tmp_path, json.dumps(content, indent="\t") * 2))
    assert error.reason == "several_results"
    assert "separate file" in error.message


def test_a_test_that_was_interrupted_keeps_what_it_measured(tmp_path: Path) -> None:
    start, *intervals, end = stream_of(iperf3()).splitlines(keepends=True)
    said = json.dumps({"event": "error", "data": "interrupt - the client has terminated"}) + "\n"
    _, tables, reading = read(written(tmp_path, start + intervals[0] + said + end))
    assert (reading.refused, reading.fault) == ({"test_ended_with_an_error": 1}, None)
    assert values(tables, "rate_bps", "intervals") == [1e7]
    error = refusal(written(tmp_path, said + '{"event":"end","data":{}}\n'))
    assert (error.reason, "failed before its first interval" in error.message) == ("no_measurement", True)


# ---------------------------------------------------------------- iperf 2

#: From the documents and programs of those who read them; hosts and numbers are made up.
IPERF_2_1_9 = (
    "+0000:20240908113035.128,192.168.9.3,58256,192.168.9.4,5001,1,0.0-1.0,1250000,10000000,-1,-1,-1,-1,0,0\n"
    "+0000:20240908113036.128,192.168.9.3,58256,192.168.9.4,5001,1,1.0-2.0,1000000,8000000,-1,-1,-1,-1,0,0\n"
)
IPERF_2_2 = (
    "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,writecnt,writeerr,tcpretry,tcpcwnd,"
    "tcppcwnd,tcprtt,tcprttvar\n"
    "-0800:20260218111259.511098,10.1.0.2,51018,10.2.0.2,5001,4,0.0,1.0,1250000,10000000,582,0,3,29,21,58228,1847\n"
    "-0800:20260218111300.511098,10.1.0.2,51018,10.2.0.2,5001,4,1.0,2.0,1000000,8000000,582,0,1,-1,4294967295,0,0\n"
    "-0800:20260218111300.511098,10.1.0.2,51018,10.2.0.2,5001,4,0.0,2.0,2250000,9000000,582,0,4,29,21,60000,1847\n"
    "-0800:20260218111259.511098,10.1.0.2,0,10.2.0.2,5001,-1,0.0,1.0,2500000,20000000,4293,0,21,0,0,0,0\n"
)
IPERF_2_2_UDP = (
    "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,jitter,errors,datagrams,errpercent,"
    "outoforder,readcnt,readtimeo,readerrlen,pps\n"
    "+0200:20240622141050.655,10.1.0.2,0,10.2.0.2,5001,1,0.0,10.0,1250000,1000000,0.250,4,890,0.449,0,890,0,0,89.1\n"
)


def test_iperf2_with_more_columns_gives_the_rates_of_every_version(tmp_path: Path) -> None:
    form, tables, reading = read(written(tmp_path, IPERF_2_1_9))
    assert (form, reading.refused, reading.fault) == ("iperf2", {}, None)
    assert [(row["metric"], row["value"]) for row in tables["series"]] == [("rate_bps", 1e7), ("rate_bps", 8e6)]
    udp = "+0000:20240908113035.128,10.1.0.2,1,10.2.0.2,5001,1,0.0-1.0,125000,1000000,0.250,2,90,2.222,0,90,0,90.1\n"
    _, tables, reading = read(written(tmp_path, udp))
    assert (reading.refused, values(tables, "jitter_ms"), values(tables, "lost_packets")) == ({}, [0.25], [2.0])


def test_iperf2_with_a_header_gives_the_columns_that_it_names(tmp_path: Path) -> None:
    form, tables, reading = read(written(tmp_path, IPERF_2_2))
    assert (form, reading.refused, reading.fault) == ("iperf2", {}, None)
    rows = [(row["series_name"], row["sample_basis"], row["value"]) for row in tables["series"]]
    # Of the sum over transfers 0 is no round trip and no window, and of the closed socket 2^32 - 1 is no window.
    assert rows == [
        ("transfer 4 rate_bps", "intervals", 1e7), ("transfer 4 retransmitted_packets", "intervals", 3.0),
        ("transfer 4 cwnd_packets", "polls", 21.0), ("transfer 4 srtt_ms", "polls", 58.228),
        ("transfer 4 rttvar_ms", "polls", 1.847), ("transfer 4 rate_bps", "intervals", 8e6),
        ("transfer 4 retransmitted_packets", "intervals", 1.0), ("transfer 4 rate_bps", "total", 9e6),
        ("transfer 4 retransmitted_packets", "total", 4.0), ("transfer 4 srtt_ms", "total", 60.0),
        ("transfer 4 rttvar_ms", "total", 1.847), ("sum rate_bps", "intervals", 2e7),
        ("sum retransmitted_packets", "intervals", 21.0),
    ]  # fmt: skip
    assert {row["workload"] for row in tables["run"]} == {"iperf2_tcp"}
    _, tables, _ = read(written(tmp_path, IPERF_2_2_UDP))
    assert {row["metric"]: row["value"] for row in tables["series"]} == {
        "rate_bps": 1e6, "jitter_ms": 0.25, "lost_packets": 4.0, "sent_packets": 890.0,
    }  # fmt: skip


def separated(text: str, delimiter: str, *, decimal: str = ".", quote: str = "") -> str:
    """Return lines as a spreadsheet saves them; addresses keep their points."""

    def field(value: str) -> str:
        is_number = re.fullmatch(r"-?\d+\.\d+(-\d+\.\d+)?", value) is not None
        return f"{quote}{value.replace('.', decimal) if is_number else value}{quote}"

    return "".join(delimiter.join(map(field, line.split(","))) + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("delimiter", "decimal", "quote"),
    [
        (";", ",", ""),
        (";", ".", ""),
        ("\t", ".", ""),
        ("\t", ",", ""),
        ("|", ".", ""),
        (",", ",", '"'),
        (";", ",", '"'),
    ],
)
@pytest.mark.parametrize("text", [IPERF_2_1_9, IPERF_2_2, IPERF_2_2_UDP, IPERF2, IPERF2_UDP])
def test_iperf2_as_a_spreadsheet_saves_it_gives_the_same(
    tmp_path: Path, text: str, delimiter: str, decimal: str, quote: str
) -> None:
    expected = read(written(tmp_path, text))
    reread = read(written(tmp_path, separated(text, delimiter, decimal=decimal, quote=quote)))
    assert reread[1]["series"] == expected[1]["series"]
    assert (reread[2].records_read, reread[2].refused, reread[2].fault) == (expected[2].records_read, {}, None)
    _, _, reading = read(written(tmp_path, IPERF_2_2 + IPERF_2_1_9))
    assert reading.refused == {"not a line of a report": 2}


@pytest.mark.parametrize("text", [IPERF_2_1_9, IPERF_2_2, IPERF_2_2_UDP])
def test_a_report_with_more_columns_cut_or_changed_anywhere_is_refused_or_read(tmp_path: Path, text: str) -> None:
    content, path = text.encode(), tmp_path / "result"
    for place in range(0, len(content), 3):
        for changed in (content[:place], *(content[:place] + bytes([b]) + content[place + 1 :] for b in b"\0\xff9,")):
            path.write_bytes(changed)
            is_refused_or_read(path)


# ---------------------------------------------------------------- ping


def replies(line: str, count: int = 3) -> str:
    return "".join(line.format(n=n, ms=12.5 + n) for n in range(count))


MAC = "--- a.example.org ping statistics ---\n3 packets transmitted, 3 packets received, 0.0% packet loss\n"
PINGS = {
    "macOS": (
        "PING a.example.org (8.8.8.8): 56 data bytes\n"
        + replies("64 bytes from 8.8.8.8: icmp_seq={n} ttl=56 time={ms:.3f} ms\n") + "\n" + MAC
    ),
    "macOS --apple-time": (
        "PING a.example.org (8.8.8.8): 56 data bytes\n"
        + replies("13:44:4{n}.123456 64 bytes from 8.8.8.8: icmp_seq={n} ttl=56 time={ms:.3f} ms\n") + "\n" + MAC
    ),
    "ping6 of BSD": (
        "PING6(56=40+8+8 bytes) 2001:db8::1 --> 2001:db8::2\n"
        + replies("16 bytes from 2001:db8::2, icmp_seq={n} hlim=56 time={ms:.3f} ms\n") + "\n" + MAC
    ),
    "busybox": (
        "PING 8.8.8.8 (8.8.8.8): 56 data bytes\n"
        + replies("64 bytes from 8.8.8.8: seq={n} ttl=56 time={ms:.3f} ms\n") + "\n" + MAC
    ),
    "iputils -a": (
        "PING fd99::2 (fd99::2) 56 data bytes\n"
        + replies("64 bytes from fd99::2%eth0: icmp_seq={n} ttl=64 time={ms:.3f} ms\a\n")
    ),
    "iputils -v": (
        "ai->ai_family: AF_INET, ai->ai_canonname: 'a.example.org'\nPING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n"
        + replies("64 bytes from 8.8.8.8: icmp_seq={n} ident=23042 ttl=64 time={ms:.3f} ms\n")
        + "\n--- 8.8.8.8 ping statistics ---\n3 packets transmitted, 3 received, 0% packet loss, time 406ms\n"
    ),
    "iputils -D -6": (
        "PING a.example.org(a.example.org (2001:db8::2)) 56 data bytes\n"
        + replies("[170000000{n}.123456] 64 bytes from a.example.org (2001:db8::2): icmp_seq={n} ttl=56 time={ms} ms\n")
        + "\n--- a.example.org ping statistics ---\n3 packets transmitted, 3 received, 0% packet loss, time 2003ms\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("release", PINGS)
def test_replies_of_every_ping_are_read(tmp_path: Path, release: str) -> None:
    form, tables, reading = read(written(tmp_path, PINGS[release]))
    assert (form, reading.refused, reading.fault) == ("ping", {}, None)
    assert values(tables, "rtt_ms", "samples") == [12.5, 13.5, 14.5]
    times = [row["time_ns"] for row in tables["series"]]
    # The time of day alone, in a zone that is not said, is no time.
    assert (times.count(None) == 0) == release.startswith("iputils -D")


def test_a_line_that_is_down_is_a_measurement(tmp_path: Path) -> None:
    down = (
        "PING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n\n--- 8.8.8.8 ping statistics ---\n{} packets transmitted, {}\n"
    )
    _, tables, reading = read(written(tmp_path, down.format(5, "0 received, 100% packet loss, time 4100ms")))
    assert values(tables, "rtt_ms") == [None] * 5
    assert reading.fault is None
    # Of an output that lists no reply (-q), what was received is not known one by one.
    error = refusal(written(tmp_path, down.format(5, "4 received, 20% packet loss, time 4100ms")))
    assert error.reason == "no_measurement"


# ---------------------------------------------------------------- speed tests


def test_networkquality_with_long_lists_is_known_by_its_first_keys(tmp_path: Path) -> None:
    # The keys that all releases share stand behind the lists, outside the part that recognition sees.
    requests = [float(n) for n in range(1, 20_001)]
    content = {
        "lud_foreign_h2_req_resp": requests, "lud_self_ul_h2": [80.0], "responsiveness": 97, "ul_throughput": 14e6,
    }  # fmt: skip
    form, tables, reading = read(written(tmp_path, json.dumps(content, indent=2)))
    assert (form, reading.refused, reading.fault) == ("speed_test", {}, None)
    assert values(tables, "http_latency_ms") == [*requests, 80.0]
    assert values(tables, "rate_bps") == [14e6]


def test_lines_of_ooklas_progress_hold_one_result(tmp_path: Path) -> None:
    result = SPEED_TESTS["speedtest"]
    begun = {"type": "testStart", "timestamp": "2023-11-14T22:13:10Z", "isp": "Example"}
    lines: list[dict[str, Any]] = [begun, {"type": "ping", "ping": {"latency": 99.0, "progress": 0.2}}]
    lines += [{"type": "download", "download": {"bandwidth": n}} for n in range(5000)]
    plain = read(written(tmp_path, json.dumps(result)))[1]
    text = "".join(json.dumps(line) + "\n" for line in (*lines, result))
    assert read(written(tmp_path, text))[1]["series"] == plain["series"]
    assert refusal(written(tmp_path, text + json.dumps(result) + "\n")).reason == "several_results"
    error = refusal(
        written(tmp_path, '{"type":"log","timestamp":"2023-11-14T22:13:10Z","level":"error"}\n{"error":"x"}\n')
    )
    assert (error.reason, "failed or was aborted" in error.message) == ("no_measurement", True)


# ---------------------------------------------------------------- qlog


def qlog(form: str) -> str:
    """Return twelve RTT samples and a loss, as an implementation of QUIC writes them; its values are made up."""
    start_ms = START_S * 1000
    updates = [
        {"latest_rtt": 22.0 + n, "smoothed_rtt": 21.0 + n, "min_rtt": 20.0, "congestion_window": 40_000 + n}
        for n in range(12)
    ]
    events = [{"time": 10.0 * n, "name": "recovery:metrics_updated", "data": one} for n, one in enumerate(updates)]
    events.append({"time": 200.0, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 7}}})
    client = {"type": "client"}
    if form == "aioquic":
        absolute = [event | {"time": start_ms + event["time"]} for event in events]
        trace = {"common_fields": {"ODCID": "ab"}, "events": absolute, "vantage_point": client | {"name": "aioquic"}}
        return json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]})
    if form == "picoquic":
        rows = [
            [int(one["time"] * 1000), 0, *one["name"].split(":"),
             {key: int(value * 1000) if key.endswith("rtt") else value for key, value in one["data"].items()
              if key != "congestion_window"} | ({"cwnd": 40_000} if "latest_rtt" in one["data"] else {})]
            for one in events
        ]  # fmt: skip
        trace = {
            "vantage_point": client, "event_fields": ["relative_time", "path_id", "category", "event", "data"],
            "configuration": {"time_units": "us"}, "events": rows,
            "common_fields": {"reference_time": str(start_ms * 1000)},
        }  # fmt: skip
        return json.dumps({"qlog_version": "draft-00", "title": "picoquic", "traces": [trace]})
    common: dict[str, Any] = {"group_id": "ab", "reference_time": float(start_ms), "time_format": "relative"}
    head: dict[str, Any] = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ"}
    if form == "quic-go":
        head |= {"title": "quic-go qlog", "configuration": {"code_version": "v0.48.1"}}
    elif form == "0.4":
        head["qlog_version"] = "0.4"
    elif form == "ngtcp2":
        common["protocol_type"] = ["QUIC"]
    elif form == "newest draft":
        head = {"file_schema": "urn:ietf:params:qlog:file:sequential",
                "serialization_format": "application/qlog+json-seq"}  # fmt: skip
        common["reference_time"] = {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"}
        common.pop("time_format")
        events = [event | {"time": start_ms + event["time"]} for event in events]
    records = [head | {"trace": {"vantage_point": client, "common_fields": common}}, *events]
    return "".join(f"\x1e{json.dumps(record)}\n" for record in records)


@pytest.mark.parametrize("form", ["aioquic", "picoquic", "quic-go", "neqo", "0.4", "ngtcp2", "newest draft"])
def test_what_implementations_of_quic_log_gives_the_same_connection(tmp_path: Path, form: str) -> None:
    _, tables, reading = read(written(tmp_path, qlog(form)))
    assert (reading.refused, reading.fault) == ({}, None)
    assert values(tables, "rtt_ms", "samples") == [22.0 + n for n in range(12)]
    assert Counter(row["metric"] for row in tables["series"]) == {
        "rtt_ms": 24, "srtt_ms": 12, "cwnd_bytes": 12, "lost_packets": 1,
    }  # fmt: skip
    (connection,) = tables["connection"]
    assert [connection[name] for name in ("dataset", "start_ns", "rtt_samples", "rtt_min_us", "rtt_max_us")] == [
        "qlog-client", START_S * 10**9, 12, 22_000, 33_000,
    ]  # fmt: skip


def mvfst(form: str) -> str:
    """Return twelve RTT samples, a window and a loss of three packets, as three ages of mvfst write them.

    The form is that of ``quic/logging/FileQLogger.cpp`` and ``QLoggerTypes.cpp``; the values are made up. The clock is
    a steady one, so that no file has a date.
    """
    rows: list[tuple[int, str, str, dict[str, Any]]] = [
        (
            5_000_000_000 + 10_000 * n,
            "recovery",
            "metric_update",
            {"latest_rtt": 22_000 + 1000 * n, "min_rtt": 20_000, "smoothed_rtt": 21_000 + n, "ack_delay": 5},
        )
        for n in range(12)
    ]
    congestion = {"bytes_in_flight": 1200, "current_cwnd": 40_000, "congestion_event": "cubic loss", "state": "Steady"}
    lost = {"largest_lost_packet_num": 9, "lost_bytes": 3600, "lost_packets": 3}
    rows.append((5_000_200_000, "metric_update", "congestion_metric_update", congestion))
    rows.append((5_000_300_000, "loss", "packets_lost", lost))
    trace: dict[str, Any] = {
        "configuration": {"time_offset": 0, "time_units": "us"},
        "common_fields": {"reference_time": "0", "dcid": "ab", "scid": "cd", "protocol_type": "QUIC_HTTP3"},
        "title": "mvfst qlog from single connection",
        "vantage_point": {"type": "client", "name": "client"},
    }
    document: dict[str, Any] = {"summary": {"trace_count": 1, "max_duration": 0, "total_event_count": len(rows)}}
    if form == "2019":
        trace["event_fields"] = ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"]
        trace["events"] = [[str(us), kind.upper(), name.upper(), "DEFAULT", data] for us, kind, name, data in rows]
        return json.dumps({"qlog_version": "draft-00", **document, "traces": [trace]})
    if form == "2025":
        stated = {"metric_update": "recovery_metrics_updated", "packets_lost": "packet_lost"}
        trace["events"] = [
            {"time": us / 1000, "name": f"quic:{stated[name]}",
             "data": {key: value / 1000 if key.endswith("rtt") else value for key, value in data.items()}
             | ({"congestion_window": 40_000, "bytes_in_flight": 1200} if n == 0 else {})}
            for n, (us, _, name, data) in enumerate(rows) if name in stated
        ]  # fmt: skip
        del trace["configuration"]
        trace["common_fields"] = {
            "odcid": "ab", "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        }  # fmt: skip
        schema = "urn:ietf:params:qlog:file:contained"
        return json.dumps({"description": "Converted from file", "file_schema": schema, "traces": [trace]})
    trace["event_fields"] = ["relative_time", "category", "event", "data"]
    trace["events"] = [[str(us), kind, name, data] for us, kind, name, data in rows]
    # Keys that are not sorted: the version may come last.
    return json.dumps({"traces": [trace], **document, "qlog_version": "draft-00"})


@pytest.mark.parametrize("form", ["2019", "2021", "2025"])
def test_what_mvfst_logs_gives_series_and_no_connection_because_it_has_no_date(tmp_path: Path, form: str) -> None:
    format_name, tables, reading = read(written(tmp_path, mvfst(form)))
    assert (format_name, reading.fault) == ("qlog", None)
    assert values(tables, "rtt_ms", "samples") == [22.0 + n for n in range(12)]
    assert [values(tables, "cwnd_bytes", "polls"), values(tables, "in_flight_bytes", "polls")] == [[40_000], [1200]]
    assert values(tables, "lost_packets", "samples") == [3]
    assert (tables["connection"], reading.refused) == ([], {"start_ns: missing": 1})
    assert {row["time_ns"] for row in tables["series"]} == {None}
    assert min(row["time_s"] for row in tables["series"]) == 0


# ---------------------------------------------------------------- texts for people

TEXTS = {
    "Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 40000 connected\n": "run it with -J",
    "-----------------------\nServer listening on 5201 (test #1)\n-----------------------\n": "run it with -J",
    "------------------------\nClient connecting to 10.0.0.2, TCP port 5001\n": "-y C",
    "------------------------\nServer listening on UDP port 5001\n": "-y C",
    "Nov 14 22:13:20 PING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\nNov 14 22:13:20 64 bytes from\n": "ping -D",
    "8.8.8.8 is alive\n": "-D -c 100",
    "[2024-10-22T15:30:00+0200] 8.8.8.8 : [0], 64 bytes, 0.059 ms (0.059 avg, 0% loss)\n": "--timestamp-format",
    "[Tue Oct 22 15:30:00 2024] 8.8.8.8 : [0], 64 bytes, 0.059 ms (0.059 avg, 0% loss)\n": "--timestamp-format",
    '{"resp": {"host": "8.8.8.8", "seq": 0, "size": 64, "rtt": 0.05}}\n': "without -J",
    "\n   Speedtest by Ookla\n\n      Server: Example\n": "--format=json",
    "Retrieving speedtest.net configuration...\n": "--json",
    "==== SUMMARY ====\nUplink capacity: 14.696 Mbps\n": "run it with -c",
    "[Connecting] connecting to 10.0.0.2\n": "-o result.json",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_for_people_is_refused_with_what_to_do(tmp_path: Path, text: str) -> None:
    error = refusal(written(tmp_path, text))
    assert error.reason == "unrecognised_format"
    assert TEXTS[text] in error.message
