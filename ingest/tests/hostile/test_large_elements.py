"""Parts of streamed inputs that are larger than any genuine ones: what is around them is read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from results import read
from tool_results import iperf3

from sojourn_ingest.formats.call import numbered_dump, stream_rows
from sojourn_ingest.formats.connection import ss_polls
from sojourn_ingest.formats.content import nesting
from sojourn_ingest.formats.interface import InputError, Reading
from sojourn_ingest.formats.queue import tc_poll_stream, tc_polls
from sojourn_ingest.formats.series import ping, series_rows, windows_ping

TIME = 1_700_000_000
SAMPLE = {
    "timestamp": TIME * 10**9, "src_ip": "10.0.0.1", "src_port": 1, "dest_ip": "10.0.0.2", "dest_port": 2,
    "protocol": "TCP", "rtt": 10**6,
}  # fmt: skip
EVENT = {"time": TIME * 1000, "name": "recovery:metrics_updated", "data": {"latest_rtt": 20}}
LARGE = {"z": [{}] * 2**20}


def qlog(*events: Any, **header: Any) -> dict[str, Any]:
    common = {"time_format": "absolute", "reference_time": 0}
    trace = {"vantage_point": {"type": "client"}, "common_fields": common, **header, "events": events}
    return {"qlog_version": "0.3", "qlog_format": "JSON", "title": "x", "traces": [trace]}


@pytest.mark.parametrize(
    ("name", "content", "table"),
    [
        ("pping.json", [SAMPLE, SAMPLE, LARGE], "connection"),
        ("a.qlog", qlog(EVENT, {**EVENT, "data": LARGE}), "series"),
    ],
)
def test_an_element_that_takes_memory_ends_its_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: Any, table: str
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    _, tables, reading = read(path)
    assert reading.fault is None
    monkeypatch.setattr(nesting, "LARGEST_ELEMENT_BYTES", 2**20)
    _, bounded, reading = read(path)
    assert reading.fault is not None
    assert reading.fault.reason == "too_large"
    assert len(bounded[table]) == len(tables[table]) > 0


def test_the_texts_of_headers_count(tmp_path: Path) -> None:
    path = tmp_path / "a.qlog"
    content = qlog(EVENT, configuration={"z": ["a" * 2**20] * 10})
    path.write_text(json.dumps({**content, "traces": content["traces"] * 2}))
    _, _, reading = read(path)
    assert reading.fault is not None
    assert "the headers of its traces are too large" in reading.fault.message


def test_long_names_are_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "rtcstats.json"
    stats = {"type": "inbound-rtp", "ssrc": 7, "kind": "audio", "packetsReceived": 7}
    rows = [
        ["getstats", connection, {name: stats}, TIME * 1000 + number]
        for number, (connection, name) in enumerate([("PC_0", "a"), ("P" * 300, "a"), ("PC_0", "a" * 300)])
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    _, tables, reading = read(path)
    assert len(tables["call_poll"]) == 1
    assert reading.refused == {
        "poll: the name of its connection is too long": 1,
        "report: its name is too long": 1,
    }


def test_a_prefix_is_as_long_as_an_address(tmp_path: Path) -> None:
    path = tmp_path / "pping.json"
    sums = {"timestamp": TIME * 10**9, "count_rtt": 1, "mean_rtt": 10**6, "min_rtt": 10**6, "max_rtt": 10**6}
    prefixes = ("192.0.2.0/24", f"{'a' * 70}/24")
    path.write_text("".join(f"{json.dumps({**sums, 'ip_prefix': prefix})}\n" for prefix in prefixes))
    _, tables, reading = read(path)
    assert len(tables["connection"]) == 1
    assert reading.refused == {"malformed_record": 1}


@pytest.mark.parametrize("change", [{"dev": "d" * 300}, {"options": {"z": "a" * tc_poll_stream.MAX_DISCIPLINE_BYTES}}])
def test_a_discipline_is_of_some_kilobytes(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "tc.jsonl"
    discipline = {"kind": "fq_codel", "handle": "1:", "dev": "eth0", "root": True, "options": {}, "packets": 1}
    polls = [
        {"ts_ns": (TIME + number) * 10**9, "ts_end_ns": (TIME + number) * 10**9 + 5, "qdiscs": [each]}
        for number, each in enumerate([discipline, {**discipline, **change}])
    ]
    path.write_text("".join(f"{json.dumps(poll)}\n" for poll in polls))
    _, tables, reading = read(path)
    assert len(tables["queue_counter"]) == 1
    assert reading.fault is not None


@pytest.mark.parametrize("is_json", [True, False])
@pytest.mark.parametrize(("bound", "most"), [("MOST_LINES", 5), ("LARGEST_POLL", 600)])
def test_a_poll_of_sockets_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_json: bool, bound: str, most: int
) -> None:
    socket = "ESTAB 0 0 10.0.0.1:1 10.0.0.2:{}\n\t cubic rtt:20/1 bytes_sent:5"
    polls = ["\n".join(socket.format(port) for port in range(1, count)) for count in (2, 40, 2)]
    path = tmp_path / "ss"
    if is_json:
        lines = [
            json.dumps({"ts_ns": (TIME + n) * 10**9, "ts_end_ns": (TIME + n) * 10**9 + 1, "raw": poll})
            for n, poll in enumerate(polls)
        ]
    else:
        lines = [f"{TIME + n}.0\n{poll}" for n, poll in enumerate(polls)]
    path.write_text("\n".join(lines) + "\n")
    _, tables, reading = read(path)
    assert (len(tables["tcp_poll"]), reading.refused) == (41, {})
    monkeypatch.setattr(ss_polls, bound, most)
    _, tables, reading = read(path)
    first_and_last = {TIME * 10**9, (TIME + 2) * 10**9}
    assert first_and_last <= {row["poll_start_ns"] for row in tables["tcp_poll"]}
    assert sum(reading.refused.values()) > 0


PING = "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data."


def tc_poll(path: Path, *disciplines: dict[str, Any]) -> tuple[int, Any]:
    """Return how many rows polls with such disciplines, and one with a plain one, have, and how they were read."""
    plain = {"kind": "pfifo", "handle": "9:", "dev": "eth0", "packets": 1}
    polls = [{"ts_ns": TIME * 10**9, "qdiscs": each} for each in (list(disciplines), [plain])]
    path.write_text("".join(f"{json.dumps(poll)}\n" for poll in polls))
    _, tables, reading = read(path)
    return len(tables["queue_counter"]), reading


def test_a_poll_has_so_many_disciplines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disciplines = [{"kind": "pfifo", "handle": f"{number}:", "dev": "eth0"} for number in range(5)]
    assert tc_poll(tmp_path / "tc.jsonl", *disciplines)[0] == 6
    monkeypatch.setattr(tc_polls, "MOST_DISCIPLINES", 4)
    rows, reading = tc_poll(tmp_path / "tc.jsonl", *disciplines)
    assert (rows, "it has more than 4 disciplines" in reading.fault.message) == (1, True)


def test_keys_without_a_column_cost_no_more_for_each_discipline(tmp_path: Path) -> None:
    keys = {f"key{number}": 0 for number in range(900)}
    beyond = {"host.example.com": 2**70}
    disciplines = [{"kind": "pfifo", "handle": f"{number}:", "dev": "eth0", **beyond} for number in range(20_000)]
    began = time.process_time()
    rows, reading = tc_poll(
        tmp_path / "tc.jsonl", {"kind": "pfifo", "handle": "a:", "dev": "eth0"} | keys, *disciplines
    )
    # To look at all keys each time takes 20 s more.
    assert time.process_time() - began < 12
    assert (rows, len(reading.refused)) == (20_002, 901 + 1)
    assert reading.refused["counter_out_of_range"] == 20_000
    many = {f"key{number}": 0 for number in range(1_001)}
    rows, reading = tc_poll(tmp_path / "tc.jsonl", {"kind": "pfifo", "handle": "a:", "dev": "eth0"} | many)
    assert (rows, "more than 1,000 keys" in reading.fault.message) == (1, True)


def reply(number: int) -> str:
    return f"64 bytes from 10.0.0.1: icmp_seq={number} ttl=64 time=0.5 ms"


def test_headings_of_ping_cost_no_more_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    path.write_text(f"{PING}\n{reply(1)}\n" * 20_000)
    began = time.process_time()
    _, tables, reading = read(path)
    # To look at all probes before each takes minutes.
    assert time.process_time() - began < 30
    assert (len(tables["series"]), reading.refused) == (20_000, {})
    assert tables["series"][-1]["series_name"] == "ping 20000"


def test_gaps_of_ping_become_no_more_rows_than_are_credible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping, "MOST_IN_GAPS", 70_000)
    path = tmp_path / "ping.txt"
    # Beyond what wait for a late answer, losses are given in the order of their numbers.
    path.write_text("\n".join([PING, *(reply(number * 30_000 % 65_536) for number in range(10))]))
    began = time.process_time()
    _, tables, reading = read(path)
    assert time.process_time() - began < 20
    lost = [row for row in tables["series"] if row["value"] is None]
    assert (len(lost), len(tables["series"])) == (2 * 29_999, 2 * 29_999 + 10)
    assert reading.refused == {"lost probe: too many for so few answers": 7 * 29_999}


def test_statistics_of_ping_stand_for_no_more_probes_than_are_credible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ping, "MOST_IN_GAPS", 70_000)
    path = tmp_path / "ping.txt"
    down = f"{PING}\n--- 10.0.0.1 ping statistics ---\n30000 packets transmitted, 0 received, 100% packet loss\n"
    path.write_text(down * 10)
    _, tables, reading = read(path)
    assert [row["value"] for row in tables["series"]] == [None] * 60_000
    assert reading.refused == {"lost probe: too many for so few answers": 8 * 30_000}


def test_digits_of_windows_ping_are_read_in_one_way() -> None:
    line = b"=111111111" * 6_500
    began = time.process_time()
    assert [windows_ping.stated_ms(line) for _ in range(20)] == [None] * 20
    # With all ways to part the digits, each takes 0.15 s.
    assert time.process_time() - began < 1.5
    assert windows_ping.stated_ms(b"Minimum = 1ms, Maximum = 30ms, Average = 2ms") == (1, 2, 30)


def test_long_names_of_targets_and_sockets_are_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "fping.txt"
    lines = [f"{target} : [0], 64 bytes, 0.05 ms (0.05 avg, 0% loss)" for target in ("10.0.0.1", "a" * 300)]
    path.write_text("\n".join(lines))
    _, tables, reading = read(path)
    assert (len(tables["series"]), reading.refused) == (1, {"the name of its target is too long": 1})
    result = iperf3()
    for interval in result["intervals"]:
        for stream in interval["streams"]:
            stream["socket"] = 10**4000
    path = tmp_path / "iperf3.json"
    path.write_text(json.dumps(result))
    _, tables, reading = read(path)
    assert {row["series_name"] for row in tables["series"] if "stream" in row["series_name"]} >= {
        "stream bits_per_second"
    }


REPORT = {"type": 1, "10": 7, "11": "audio", "14": 7}


def polls_of(path: Path, *rows: Any) -> tuple[int, Any]:
    """Return how many rows a numbered dump of rtcstats with such lines has, and how it was read."""
    lines = ["RTCStatsDump", json.dumps({"fileFormat": 3}), *map(json.dumps, rows)]
    path.write_text("\n".join(lines) + "\n")
    _, tables, reading = read(path)
    return len(tables["call_poll"]), reading


def test_connections_of_a_dump_cost_no_more_one_after_the_other(tmp_path: Path) -> None:
    rows = [["g", f"PC_{number}", {"a": REPORT}, 1] for number in range(30_000)]
    began = time.process_time()
    count, reading = polls_of(tmp_path / "rtcstats.txt", *rows)
    # To add up the reports of all connections each time takes minutes.
    assert time.process_time() - began < 30
    assert (count, reading.fault) == (30_000, None)


def test_a_line_of_a_dump_does_not_stand_for_many_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_dump, "MOST_UNCHANGED", 40)
    rows = [["g", "PC_0", {f"a{number}": REPORT | {"10": number} for number in range(10)}, 1]]
    count, reading = polls_of(tmp_path / "rtcstats.txt", *rows, *[["g", "PC_0", {}, 1]] * 9)
    assert count == 50
    assert "more than 40 reports that polls do not change" in reading.fault.message


def test_a_connection_has_so_many_reports_of_the_far_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_rows, "MOST_FAR_ENDS", 3)
    remote = {"type": 3, "10": 7, "15": 1}
    rows = [["g", "PC_0", {"a": REPORT, f"r{number}": remote}, 1] for number in range(6)]
    count, reading = polls_of(tmp_path / "rtcstats.txt", *rows)
    assert count == 3
    assert "more than 3 reports of the far end" in reading.fault.message


def test_an_impossible_time_ends_a_dump(tmp_path: Path) -> None:
    rows = [["g", "PC_0", {"a": REPORT}, span] for span in (1, 10**400)]
    count, reading = polls_of(tmp_path / "rtcstats.txt", *rows)
    assert (count, reading.fault.reason) == (1, "corrupt_record")


def test_a_dump_has_so_many_peer_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_rows, "MOST_CONNECTIONS", 3)
    rows = [["g", f"PC_{number % 5}", {"a": REPORT}, 1] for number in (0, 1, 2, 1, 3, 4)]
    count, reading = polls_of(tmp_path / "rtcstats.txt", *rows)
    assert count == 4
    assert "more than 3 peer connections" in reading.fault.message


def test_a_group_that_all_events_share_is_looked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.qlog"
    content = qlog(*[EVENT] * 3_000)
    content["traces"][0]["common_fields"]["group_id"] = "g" * 2**22
    path.write_text(json.dumps(content))
    began = time.process_time()
    _, tables, _ = read(path)
    # To hash it for each event takes 8 s and more.
    assert time.process_time() - began < 6
    assert len(tables["series"]) == 1, "a sample that is repeated is one"


@pytest.mark.parametrize(
    "header",
    [
        {"event_fields": ["C" * 2**22, "time", "category", "event", "data"]},
        {"vantage_point": {"type": "V" * 2**22}},
    ],
)
def test_a_header_that_all_events_share_is_looked_at_once(tmp_path: Path, header: dict[str, Any]) -> None:
    path = tmp_path / "a.qlog"
    events = [["x", TIME * 1000, "recovery", "metrics_updated", {"latest_rtt": 20}] for number in range(3_000)]
    of_groups = [{**EVENT, "group_id": number} for number in range(3_000)]
    path.write_text(json.dumps(qlog(*(events if "event_fields" in header else of_groups), **header)))
    began = time.process_time()
    _, tables, reading = read(path)
    # In small letters, it takes 2 ms and more each time.
    assert time.process_time() - began < 5
    assert (len(tables["series"]), reading.refused) == (1 if "event_fields" in header else 3_000, {})


def test_a_report_that_a_poll_has_twice_is_one(tmp_path: Path) -> None:
    stats = [{"id": "a", "ssrc": 7, "packetsReceived": number} for number in (1, 2)]
    poll = {"pcid": "b", "timestamp": TIME * 1000, "iceCandidatePairStats": [], "inboundRtpStreamStats": stats}
    path = tmp_path / "about.json"
    path.write_text(json.dumps(poll))
    _, tables, reading = read(path)
    assert [row["packets"] for row in tables["call_poll"]] == [1]
    assert reading.refused == {"report: its name is that of another report of the same poll": 1}


def test_polls_without_sockets_cost_no_look_at_all_that_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ss_polls, "OPEN_CONNECTIONS", 10_000)
    sockets = [f"ESTAB 0 0 10.0.0.1:{1 + number} 10.0.0.2:443 cubic rtt:1/1" for number in range(20_000)]
    polls = ["\n".join(sockets), *[""] * 10_000, sockets[-1]]
    path = tmp_path / "ss.jsonl"
    path.write_text(
        "".join(
            f"{json.dumps({'ts_ns': (TIME + n) * 10**9, 'ts_end_ns': (TIME + n) * 10**9, 'raw': poll})}\n"
            for n, poll in enumerate(polls)
        )
    )
    began = time.process_time()
    _, tables, _ = read(path)
    # A look takes 3 ms.
    assert time.process_time() - began < 15
    assert (len(tables["tcp_poll"]), len(tables["connection"])) == (20_001, 20_000)


def test_totals_of_iperf3_are_of_the_sender_or_the_receiver(tmp_path: Path) -> None:
    result = iperf3()
    (stream,) = result["end"]["streams"]
    result["end"]["streams"] = [stream | {"a" * 250: stream["sender"], "b": stream["sender"]}]
    path = tmp_path / "iperf3.json"
    path.write_text(json.dumps(result))
    _, tables, reading = read(path)
    assert not [row for row in tables["series"] if "aaa" in row["series_name"]]
    assert reading.refused["end: totals of neither the sender nor the receiver"] == 2


def test_names_of_series_take_so_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_rows, "MOST_NAME_BYTES", 10_000)
    for letter, most in (("a", 51), ("\U0001f600", 13)):
        rows = series_rows.SeriesRows(Reading())
        kind = series_rows.SeriesKind(letter * 100, "rtt_ms", "samples", letter * 100)
        assert [rows.begin(kind) for _ in range(most)] == list(range(most))
        with pytest.raises(InputError, match="their names are too long"):
            rows.begin(kind)
