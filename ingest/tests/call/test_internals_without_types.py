"""Dumps of chrome://webrtc-internals before its series had a type: the id's beginning says what a report is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results import read

from sojourn_ingest.formats.call import webrtc_internals


def test_a_dump_of_chrome_86_is_read(shared: Path) -> None:
    path = shared / "data/cases/webrtc/chrome86_internals.json"
    form, tables, reading = read(path)
    assert (form, reading.refused, reading.fault) == ("webrtc_internals", {}, None)
    # The last value of each counter of packets, as the dump lists it.
    stated = {}
    for number, connection in enumerate(json.loads(path.read_text())["PeerConnections"].values()):
        for key, series in connection["stats"].items():
            report, _, field = key.rpartition("-")
            if field in ("packetsReceived", "packetsSent"):
                stated[number, int(report.rpartition("_")[2])] = json.loads(series["values"])[-1]
    last = {(row["peer_connection"], row["ssrc"]): row["packets"] for row in tables["call_poll"]}
    assert last == stated
    assert len(stated) == 6
    assert {(row["direction"], row["media_kind"]) for row in tables["call_poll"]} == {
        ("inbound", "audio"), ("inbound", "video"), ("outbound", "audio"), ("outbound", "video"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "far", "track"),
    [
        ("RTCOutboundRTPVideoStream_7", "RTCRemoteInboundRtpVideoStream_7", "RTCMediaStreamTrack_sender_1"),
        ("RTCOutboundRtpVideoStream_7", "RTCRemoteInboundRTPVideoStream_7", "RTCMediaStreamTrack_local_1"),
        ("RTCOutboundRTPStream_7", "RTCRemoteInboundRTPStream_7", "RTCMediaStreamTrack_sender_9"),
    ],
)
def test_ids_of_other_releases(tmp_path: Path, own: str, far: str, track: str) -> None:
    def series(*values: Any) -> dict[str, str]:
        times = {"startTime": "2020-11-05T18:34:12.741Z", "endTime": "2020-11-05T18:34:13.741Z"}
        return {**times, "values": json.dumps(values)}

    stats = {
        f"{own}-ssrc": series(7, 7), f"{own}-kind": series("video", "video"), f"{own}-packetsSent": series(10, 20),
        f"{own}-trackId": series(track, track), f"{far}-localId": series(own, own), f"{far}-ssrc": series(7, 7),
        f"{far}-roundTripTime": series(0.05, 0.06), f"{track}-frameWidth": series(640, 640),
        "RTCCodec_1-payloadType": series(96, 96), f"{own}-[packetsSent/s]": series(0, 10),
    }  # fmt: skip
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"PeerConnections": {"1-0": {"stats": stats}}, "UserAgent": "x"}))
    _, tables, reading = read(path)
    assert reading.refused == {}
    names = ("ssrc", "direction", "media_kind", "packets", "rtt_ms", "frame_width")
    assert [tuple(row[name] for name in names) for row in tables["call_poll"]] == [
        (7, "outbound", "video", 10, 50.0, 640), (7, "outbound", "video", 20, 60.0, 640),
    ]  # fmt: skip


def dump(path: Path, stats: dict[str, Any]) -> Path:
    times = {"startTime": "2020-11-05T18:34:12.741Z", "endTime": "2020-11-05T18:34:13.741Z"}
    series = {name: {**times, "values": values} for name, values in stats.items()}
    path.write_text(json.dumps({"PeerConnections": {"1-0": {"stats": series}}, "UserAgent": "x"}))
    return path


def test_values_that_take_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "RTCInboundRTPVideoStream_7"
    whole = {f"{own}-ssrc": "[7, 7]", f"{own}-kind": '["video", "video"]', f"{own}-packetsReceived": "[1, 2]"}
    monkeypatch.setattr(webrtc_internals, "LONGEST_SERIES", 100)
    _, tables, reading = read(dump(tmp_path / "dump.json", whole | {f"{own}-x": f"[{'{},' * 50}1]"}))
    assert [row["packets"] for row in tables["call_poll"]] == [1, 2]
    assert reading.refused == {"series: its values are too long": 1}
    for bound, most in (("MOST_VALUES", 6), ("LONGEST_DUMP", 30)):
        with monkeypatch.context() as bounded:
            bounded.setattr(webrtc_internals, bound, most)
            _, tables, reading = read(dump(tmp_path / "dump.json", whole | {f"{own}-jitter": "[1, 2]"}))
        assert [row["packets"] for row in tables["call_poll"]] == [1, 2]
        assert reading.refused == {"series: above the values of a dump": 1}
