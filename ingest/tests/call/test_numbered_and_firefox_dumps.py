"""Numbered dumps of rtcstats and what Firefox saves give what the plain dump gives, and damage is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from call_polls import DUMPS, START_MS, Row, compared_columns, connections_of, ingested, whole_polls

NUMBERS = {
    "payloadType": 4, "transportId": 5, "ssrc": 10, "kind": 11, "codecId": 12, "packetsReceived": 14, "packetsLost": 15,
    "jitter": 16, "trackIdentifier": 17, "mid": 18, "remoteId": 19, "framesDecoded": 20, "framesDropped": 22,
    "frameWidth": 23, "frameHeight": 24, "framesPerSecond": 25, "qpSum": 26, "freezeCount": 32,
    "totalFreezesDuration": 33, "bytesReceived": 41, "nackCount": 42, "firCount": 43, "pliCount": 44,
    "jitterBufferDelay": 47, "jitterBufferEmittedCount": 49, "totalSamplesReceived": 51, "concealedSamples": 52,
    "localId": 74, "roundTripTime": 75, "packetsSent": 79, "bytesSent": 80, "framesEncoded": 91,
    "qualityLimitationReason": 95, "qualityLimitationDurations": 96,
}  # fmt: skip
"""Numbers of properties, from the table of rtcstats-js (packages/rtcstats-shared/compression.js)."""
TYPE_NUMBERS = {"inbound-rtp": 1, "outbound-rtp": 2, "remote-inbound-rtp": 3, "remote-outbound-rtp": 4}
HEADER = b'RTCStatsDump\n{"fileFormat":3}\n'


def numbered_dump(polls: list[tuple[int, dict[str, Row]]]) -> bytes:
    """A dump with file format 3, compressed as rtcstats-js does: numbers for names and reports, and what changed."""
    lines: list[Any] = [["create", "PC_0", {}, polls[0][0]]]
    ids: dict[str, str] = {}
    before: dict[str, Row] = {}
    last = polls[0][0]
    for time, reports in polls:
        for name in reports:
            ids.setdefault(name, str(len(ids)))
        delta: dict[str, Any] = {"t": time}
        for name, report in reports.items():
            old = before.get(name, {})
            changed = {key: value for key, value in report.items() if key != "timestamp" and old.get(key) != value}
            short = {
                str(NUMBERS.get(key, key)): TYPE_NUMBERS.get(value, value) if key == "type" else
                ids.get(value, value) if key.endswith("Id") and isinstance(value, str) else value
                for key, value in changed.items()
            }  # fmt: skip
            if short:
                delta[ids[name]] = short
        delta |= {ids[name]: None for name in before if name not in reports}
        lines.append(["g" if len(lines) % 2 else "getStats", "PC_0", delta, time - last])
        before, last = reports, time
    return HEADER + "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_a_numbered_dump_gives_what_the_dump_gives(tmp_path: Path, shared: Path) -> None:
    content = (shared / DUMPS / "chrome-relay").read_bytes()
    polls = whole_polls(content)
    (tmp_path / "other").mkdir()
    lines = [json.dumps([{**report, "id": name, "timestamp": time} for name, report in reports.items()])
             for time, reports in polls]  # fmt: skip
    expected, _ = ingested(tmp_path, "\n".join(lines).encode())
    rows, outcome = ingested(tmp_path / "other", numbered_dump(polls))
    assert (outcome["status"], outcome["format"], outcome["refused_by_reason"]) == ("ok", "rtcstats_numbered", "{}")
    assert compared_columns(rows) == compared_columns(expected)
    assert [row["poll_ns"] for row in rows] == [row["poll_ns"] for row in expected]


def test_the_numbered_dump_of_chromes_page_has_whole_reports(tmp_path: Path, shared: Path) -> None:
    polls = whole_polls((shared / DUMPS / "chrome-relay").read_bytes())
    expected, _ = ingested(tmp_path, numbered_dump(polls))
    lines: list[Any] = [["create", "18-4", {}, "https://room.example/", polls[0][0]]]
    last = polls[0][0]
    for time, reports in polls:
        whole = {name: {**report, "id": name} for name, report in reports.items()}
        lines += [["onicecandidate", "18-4", "someone", 0], ["getStats", "18-4", whole, time - last]]
        last = time
    (tmp_path / "other").mkdir()
    content = HEADER + "\n".join(json.dumps(line) for line in lines).encode()
    rows, outcome = ingested(tmp_path / "other", content, "rtcstats_dump")
    assert (outcome["status"], outcome["format"]) == ("ok", "rtcstats_numbered")
    assert compared_columns(rows) == compared_columns(expected)
    assert [row["poll_ns"] for row in rows] == [row["poll_ns"] for row in expected]


def test_a_stream_without_a_change_is_still_there_and_one_that_is_null_is_gone(tmp_path: Path) -> None:
    lines = [
        ["g", "PC_0", {"0": {"type": 1, "10": 7, "14": 5}, "1": {"type": 2, "10": 8, "79": 1}, "t": 1}, START_MS],
        ["g", "PC_0", {"t": 2}, 1000],
        ["g", "PC_0", {"0": None, "1": {"79": 4}, "t": 3}, 1000],
    ]
    rows, _ = ingested(tmp_path, HEADER + "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert [(row["poll_index"], row["ssrc"], row["packets"]) for row in rows] == [
        (0, 7, 5), (0, 8, 1), (1, 7, 5), (1, 8, 1), (2, 8, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "fault", ['["g","PC_0",{"0":{"14":9}},', '["g","PC_0",{"0":{"14":9}},null]', '["g","PC_0"]', "{"]
)
def test_after_damage_a_numbered_dump_has_no_times(tmp_path: Path, fault: str) -> None:
    first = ["g", "PC_0", {"0": {"type": 1, "10": 7, "14": 5}}, START_MS]
    content = HEADER + f'{json.dumps(first)}\n{fault}\n["g","PC_0",{{"0":{{"14":9}}}},1000]\n'.encode()
    rows, outcome = ingested(tmp_path, content)
    assert [row["packets"] for row in rows] == [5]
    assert (outcome["status"], outcome["reason"]) == ("partial", "corrupt_record")
    assert outcome["fault_offset_bytes"] == len(HEADER) + len(json.dumps(first)) + 1


@pytest.mark.parametrize(
    ("second", "reason", "message"),
    [
        ('{"fileFormat":2}', "unsupported_version", "file format 2"),
        ("{}", "unsupported_version", "file format none"),
        ('{"fileFormat"', "corrupt_record", "second line is not JSON"),
    ],
)
def test_a_numbered_dump_of_another_format_is_rejected(tmp_path: Path, second: str, reason: str, message: str) -> None:
    rows, outcome = ingested(tmp_path, f'RTCStatsDump\n{second}\n["create","7-1",{{}},1]\n'.encode())
    assert rows == []
    assert (outcome["status"], outcome["reason"]) == ("rejected", reason)
    assert message in outcome["message"]


FIREFOX_LISTS = {
    "inbound-rtp": "inboundRtpStreamStats", "outbound-rtp": "outboundRtpStreamStats",
    "remote-inbound-rtp": "remoteInboundRtpStreamStats", "remote-outbound-rtp": "remoteOutboundRtpStreamStats",
    "candidate-pair": "iceCandidatePairStats", "codec": "codecStats",
}  # fmt: skip
"""Names of Firefox's lists, from dictionary RTCStatsCollection of its RTCStatsReport.webidl."""


def firefox_report(time: int, reports: dict[str, Row]) -> Row:
    lists: dict[str, Any] = {name: [] for name in ("bandwidthEstimations", *sorted(FIREFOX_LISTS.values()))}
    for name, report in reports.items():
        if report.get("type") in FIREFOX_LISTS:
            lists[FIREFOX_LISTS[report["type"]]].append({**report, "id": name, "timestamp": time})
    pcid = "1700000000000000 (id=93 url=https://someone.example/secret)"
    return {**lists, "browserId": 93, "closed": False, "pcid": pcid, "sdpHistory": [], "timestamp": time}


def test_the_history_that_firefox_copies_gives_what_the_dump_gives(tmp_path: Path, shared: Path) -> None:
    content = (shared / DUMPS / "firefox-standard-stats-sfu").read_bytes()
    connection = connections_of(content)[0]
    own = b"".join(line + b"\n" for line in content.splitlines() if json.loads(line)[1] == connection)
    polls = whole_polls(own)
    lines = [json.dumps([{**report, "id": name, "timestamp": time} for name, report in reports.items()])
             for time, reports in polls]  # fmt: skip
    expected, _ = ingested(tmp_path, "\n".join(lines).encode())
    assert len(expected) > 100
    history = {"reports": [firefox_report(*poll) for poll in polls], "sdpHistories": []}
    (tmp_path / "other").mkdir()
    rows, outcome = ingested(tmp_path / "other", json.dumps(history, indent=2).encode())
    assert (outcome["status"], outcome["format"]) == ("ok", "about_webrtc")
    assert compared_columns(rows) == compared_columns(expected)
    assert [row["poll_ns"] for row in rows] == [row["poll_ns"] for row in expected]
    assert "someone" not in json.dumps(rows, default=str)
    # "Copy Report" copies the last one alone.
    (tmp_path / "one").mkdir()
    one, outcome = ingested(tmp_path / "one", json.dumps(history["reports"][-1], indent=2).encode())
    assert (outcome["status"], outcome["format"]) == ("ok", "about_webrtc")
    assert [row["ssrc"] for row in one] == [row["ssrc"] for row in rows if row["poll_ns"] == rows[-1]["poll_ns"]]


@pytest.mark.parametrize(
    ("content", "reason", "message"),
    [
        ('<div id="content"><section><h3 data-l10n-id="about-webrtc-', "unsupported_version", "Copy Report History"),
        ('{"reports": [{"bandwidthEstimations": [], "timestamp"', "corrupt_record", "damaged"),
        ('{"reports": [{"bandwidthEstimations": [], "pcid": "a"}]}', "no_measurement", "no poll"),
        ('{"reports": [5], "codecStats": []}', "no_measurement", "no poll"),
    ],
)
def test_what_firefox_saves_without_a_poll_is_rejected(tmp_path: Path, content: str, reason: str, message: str) -> None:
    rows, outcome = ingested(tmp_path, content.encode())
    assert rows == []
    assert (outcome["status"], outcome["format"], outcome["reason"]) == ("rejected", "about_webrtc", reason)
    assert message in outcome["message"]
