"""Parts of streamed inputs that are larger than any genuine ones: what is around them is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results import read

from sojourn_ingest.formats.connection import ss_polls
from sojourn_ingest.formats.content import nesting
from sojourn_ingest.formats.queue import tc_poll_stream

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
