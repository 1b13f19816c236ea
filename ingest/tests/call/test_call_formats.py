"""Statistics of WebRTC become streams by poll, the same in each form; what contradicts itself is counted."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from call_polls import DUMPS, START_MS, Row, compared_columns, connections_of, dump, inbound, ingested, whole_polls

RESULTS = "data/public/jitsi__rtcstats-server/src/test/results"


EXPECTED = [
    ("chrome-standard-multiple-p2p", "chrome-standard-multiple-p2p"),
    ("chrome-standard-pc-reconnect", "chrome-standard-pc-reconnect"),
    ("chrome96-standard-stats-p2p-add-transceiver", "chrome96-standard-stats-p2p-add-transceiver-result"),
    ("firefox-standard-stats-sfu", "firefox-standard-stats-sfu-result"),
    ("google-standard-stats-p2p", "google-standard-stats-p2p-result"),
    ("undefined-ice-candidate", "undefined-ice-candidate-result"),
]
"""Dumps with the results that the server's own tests expect; those of its legacy dumps are empty."""


@pytest.mark.parametrize(("name", "result"), EXPECTED)
def test_streams_of_public_dumps_are_those_of_the_server_that_collects_them(
    tmp_path: Path, shared: Path, name: str, result: str
) -> None:
    """Packets, losses, the last poll and concealment of every track that the server's own test expects.

    It has tracks that are not here: ``remote-outbound-rtp`` and ``remote-inbound-rtp``, which are what the far end says
    of streams that are here, and which it lists in the other direction. It leaves out streams without a packet, and
    does not begin a track before the first poll with one.
    """
    content = (shared / DUMPS / name).read_bytes()
    rows, outcome = ingested(tmp_path, content)
    assert (outcome["status"], outcome["format"]) == ("ok", "rtcstats")
    streams: dict[tuple[int, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        streams[row["peer_connection"], row["direction"], row["ssrc"]].append(row)
    names = connections_of(content)
    expected = expected_tracks(aggregates_of(shared / RESULTS / f"{result}.json"), names)
    ours = {
        key: (of_stream[-1]["packets"], of_stream[-1]["lost_packets"] or 0, of_stream[-1]["poll_ns"] // 10**6)
        for key, of_stream in streams.items()
    }
    compared = 0
    for key, track in expected.items():
        connection, direction, ssrc = key
        other = (connection, "outbound" if direction == "inbound" else "inbound", ssrc)
        if key not in ours:
            assert other in ours, key  # The far end's report of a stream of the other direction.
            continue
        if track[0] == 0 and ours[key][0] > 0:
            assert name.startswith("firefox")  # Its expected figures of what is sent are 0, as nobody could hear it.
            continue
        assert ours[key][:2] == track[:2], key
        assert abs(ours[key][2] - track[2]) <= 1, key  # It takes the time of its own receipt.
        last = streams[key][-1]
        if direction == "inbound" and last["media_kind"] == "audio" and last["received_samples"]:
            assert round(100 * last["concealed_samples"] / last["received_samples"], 2) == pytest.approx(
                track[3], abs=0.01
            )
        compared += 1
    assert compared >= (0 if name == "undefined-ice-candidate" else 3)
    left = {key for key in ours if key not in expected}
    assert all(ours[key][0] == 0 for key in left), left


def aggregates_of(path: Path) -> dict[str, Any]:
    """What the server's test expects of each peer connection."""
    (aggregates,) = [
        part["features"]["aggregates"]
        for part in json.loads(path.read_text())
        if "aggregates" in part.get("features", {})
    ]
    return dict(aggregates)


def expected_tracks(
    aggregates: dict[str, Any], names: list[str]
) -> dict[tuple[int, str, int], tuple[int, int, int, float]]:
    return {
        (names.index(name), direction, int(track["ssrc"])): (
            track["packets"], track["packetsLost"], track["endTime"], track["concealedPercentage"],
        )
        for name, content in aggregates.items()
        for side, direction in (("receiverTracks", "inbound"), ("senderTracks", "outbound"))
        for track in content["tracks"][side]
    }  # fmt: skip


@pytest.mark.parametrize(("name", "result"), EXPECTED)
def test_figures_of_peer_connections_are_those_of_the_server(
    tmp_path: Path, shared: Path, name: str, result: str
) -> None:
    """Packets received and their losses, mean height of the smallest and largest picture over polls, and mean RTT.

    Not compared, because they are others: its frame rates are the browser's own figure at each poll and ours of frames
    counted; what it counts as sent has the far end's reports of what was received; it counts a connection's length
    from its creation.
    """
    content = (shared / DUMPS / name).read_bytes()
    rows, _ = ingested(tmp_path, content)
    names = connections_of(content)
    for connection, expected in aggregates_of(shared / RESULTS / f"{result}.json").items():
        if connection not in names:
            assert expected["trackAggregates"]["totalPacketsReceived"] == 0
            continue
        mine = [row for row in rows if row["peer_connection"] == names.index(connection)]
        last = {row["ssrc"]: row for row in mine if row["direction"] == "inbound"}
        received = sum(row["packets"] or 0 for row in last.values())
        total = expected["trackAggregates"]["totalPacketsReceived"]
        # Firefox: the far end's reports of what was sent are among what it takes for received.
        assert received < total if name.startswith("firefox") else received == total
        assert (
            sum(row["lost_packets"] or 0 for row in last.values())
            == expected["trackAggregates"]["totalReceivedPacketsLost"]
        )
        heights: dict[int, list[int]] = defaultdict(list)
        for row in mine:
            if row["direction"] == "inbound" and row["media_kind"] == "video" and row["frame_height"]:
                heights[row["poll_ns"]].append(row["frame_height"])
        seen = expected.get("inboundVideoExperience")
        assert bool(heights) == (seen is not None)
        for bound, which in (("lowerBoundAggregates", min), ("upperBoundAggregates", max)):
            if seen is not None:
                assert round(fmean(which(of_poll) for of_poll in heights.values()), 2) == seen[bound]["meanFrameHeight"]
        # 0 is what Chrome reports until the far end has answered; the marts take it for unknown too.
        round_trips = [row["rtt_ms"] for row in mine if row["rtt_ms"]]
        if round_trips:
            # Of RTCP here, of the pair of candidates there: equal to its two digits of seconds.
            assert round(fmean(round_trips) / 1000, 2) == expected["transportAggregates"]["meanRtt"]


@pytest.mark.parametrize(("ssrc", "frozen_ms", "ratio"), [(3475661459, 11_798, 0.0986), (3859036835, None, 0.0952)])
def test_freeze_ratio_of_a_public_dump(
    tmp_path: Path, shared: Path, ssrc: int, frozen_ms: int | None, ratio: float
) -> None:
    rows, _ = ingested(tmp_path, (shared / DUMPS / "chrome-relay").read_bytes())
    of_stream = [row for row in rows if row["ssrc"] == ssrc]
    frozen = of_stream[-1]["freezes_duration_ms"] - of_stream[0]["freezes_duration_ms"]
    span = (of_stream[-1]["poll_ns"] - of_stream[0]["poll_ns"]) / 1e6
    assert round(frozen / span, 4) == ratio
    if frozen_ms is not None:
        assert (round(frozen), round(span)) == (frozen_ms, 119_687)


@pytest.mark.parametrize("name", ["google-legacy-stats-sfu", "google-legacy-screenshare-msessions"])
def test_legacy_reports_have_their_values_in_the_units_of_the_table(tmp_path: Path, shared: Path, name: str) -> None:
    rows, outcome = ingested(tmp_path, (shared / DUMPS / name).read_bytes())
    assert outcome["status"] == "ok"
    assert {row["stats_format"] for row in rows} == {"legacy"}
    assert max(row["rtt_ms"] or 0 for row in rows) > 1
    assert max(row["frame_height"] or 0 for row in rows) >= 180
    assert {row["limited_by"] for row in rows if row["direction"] == "outbound" and row["media_kind"] == "video"} <= {
        "none", "bandwidth", "cpu",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["jvb-sample", "jigasi-sample"])
def test_dumps_of_servers_are_rejected_and_say_so(tmp_path: Path, shared: Path, name: str) -> None:
    rows, outcome = ingested(tmp_path, (shared / DUMPS / name).read_bytes())
    assert rows == []
    assert (outcome["status"], outcome["reason"]) == ("rejected", "unsupported_version")
    assert "of a server" in outcome["message"]


@pytest.mark.parametrize("form", ["array", "object", "pairs"])
def test_reports_of_get_stats_give_what_the_dump_gives(tmp_path: Path, shared: Path, form: str) -> None:
    content = (shared / DUMPS / "chrome-relay").read_bytes()
    expected, _ = ingested(tmp_path, content)
    lines = []
    for time, reports in whole_polls(content):
        each = [{**report, "id": name, "timestamp": time} for name, report in reports.items()]
        forms = {
            "array": each,
            "object": {report["id"]: report for report in each},
            "pairs": [[report["id"], report] for report in each],
        }
        lines.append(json.dumps(forms[form]))
    (tmp_path / "other").mkdir()
    rows, outcome = ingested(tmp_path / "other", "\n".join(lines).encode())
    assert (outcome["status"], outcome["format"]) == ("ok", "get_stats")
    assert compared_columns(rows) == compared_columns(expected)
    assert [row["poll_ns"] for row in rows] == [row["poll_ns"] for row in expected]


def test_the_page_of_chrome_gives_what_the_dump_gives(tmp_path: Path, shared: Path) -> None:
    content = (shared / DUMPS / "chrome-relay").read_bytes()
    expected, _ = ingested(tmp_path, content)
    stats: dict[str, Row] = {}
    polls = whole_polls(content)
    for name in {name for _, reports in polls for name in reports}:
        of_report = [(time, reports[name]) for time, reports in polls if name in reports]
        for field in {field for _, report in of_report for field in report} - {"type", "timestamp"}:
            points = [(time, report[field]) for time, report in of_report if field in report]
            stats[f"{name}-{field}"] = {
                "startTime": iso(points[0][0]), "endTime": iso(points[-1][0]), "statsType": of_report[0][1].get("type"),
                "values": json.dumps([value for _, value in points]),
            }  # fmt: skip
    page = {"getUserMedia": [], "PeerConnections": {"7-1": {"pid": 7, "url": "https://room.example", "stats": stats}}}
    (tmp_path / "other").mkdir()
    rows, outcome = ingested(tmp_path / "other", json.dumps(page).encode())
    assert (outcome["status"], outcome["format"]) == ("ok", "webrtc_internals")
    assert compared_columns(rows) == compared_columns(expected)
    # The page has the times of the first and last value alone: polls lie evenly between them.
    assert max(abs(row["poll_ns"] - other["poll_ns"]) for row, other in zip(rows, expected, strict=True)) < 1e9


def iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def test_an_absent_field_is_unchanged_and_names_are_not_kept(tmp_path: Path) -> None:
    content = dump(
        (0, {"a": inbound(7, packetsReceived=10, jitter=0.004, trackIdentifier="someone"), "timestamp": 5}),
        (1000, {"a": {"timestamp": 0, "packetsReceived": 30}}),
        (2000, {"a": {"timestamp": 0}}),
    )
    rows, outcome = ingested(tmp_path, content)
    assert [(row["packets"], row["jitter_ms"]) for row in rows] == [(10, 4.0), (30, 4.0), (30, 4.0)]
    assert outcome["records_read"] == 3
    assert not {"someone", "secret-room"} & set(json.dumps(rows, default=str).split('"'))


def test_time_that_runs_backwards_is_refused_and_its_changes_count(tmp_path: Path) -> None:
    content = dump(
        (1000, {"a": inbound(7, packetsReceived=10)}),
        (500, {"a": {"packetsReceived": 20, "packetsLost": 1}}),
        (2000, {"a": {"packetsReceived": 30}}),
    )
    rows, outcome = ingested(tmp_path, content)
    assert [(row["packets"], row["lost_packets"]) for row in rows] == [(10, None), (30, 1)]
    assert json.loads(outcome["refused_by_reason"]) == {"poll: its time runs backwards": 1}


def test_a_counter_that_falls_starts_a_new_stream(tmp_path: Path) -> None:
    content = dump(
        (0, {"a": inbound(7, packetsReceived=10, packetsLost=3)}),
        (1000, {"a": {"packetsReceived": 12, "packetsLost": 2}}),
        (2000, {"a": {"packetsReceived": 1}}),
        (3000, {"a": inbound(8, packetsReceived=5)}),
        (4000, {"a": inbound(7, packetsReceived=5)}),
    )
    rows, _ = ingested(tmp_path, content)
    # Losses may fall, when packets that were taken for lost come late.
    assert [(row["ssrc"], row["stream_number"]) for row in rows] == [(7, 0), (7, 0), (7, 1), (8, 0), (7, 1)]


def test_mixed_ssrcs_and_impossible_values_are_refused_and_counted(tmp_path: Path) -> None:
    content = dump(
        (0, {"a": inbound(7, packetsReceived=1), "b": inbound(7, packetsReceived=9), "c": inbound(2**40)}),
        (1000, {"a": {"packetsReceived": -5, "jitter": "x", "qpSum": 10**400, "framesDecoded": True}}),
    )
    rows, outcome = ingested(tmp_path, content)
    assert [(row["ssrc"], row["packets"]) for row in rows] == [(7, 1), (7, None)]
    assert json.loads(outcome["refused_by_reason"]) == {
        "stream: it has no SSRC": 1,
        "stream: its SSRC is that of another stream of the same poll": 1,
        "value: not a number": 2,
        "value: out of its range": 2,
    }


@pytest.mark.parametrize(
    ("member", "column", "largest"),
    [
        ("packetsReceived", "packets", 2**40),
        ("bytesReceived", "payload_bytes", 2**44),
        ("freezeCount", "freeze_count", 2**40),
        ("totalFreezesDuration", "freezes_duration_ms", 10**7),
    ],
)
def test_values_that_models_add_up_are_bounded(tmp_path: Path, member: str, column: str, largest: int) -> None:
    """A duration in nanoseconds where seconds are due would not fit 64 bits once it is nanoseconds of nanoseconds."""
    content = dump((0, {"a": inbound(7, **{member: largest})}), (1000, {"a": {member: largest + 1}}))
    rows, outcome = ingested(tmp_path, content)
    assert [row[column] is None for row in rows] == [False, True]
    assert json.loads(outcome["refused_by_reason"]) == {"value: out of its range": 1}


def test_damage_keeps_what_came_before_and_quotes_nothing(tmp_path: Path) -> None:
    content = dump(*((time, {"a": inbound(7, packetsReceived=time)}) for time in (0, 1000, 2000)))
    rows, outcome = ingested(tmp_path, content[:-20])
    assert len(rows) == 2
    assert (outcome["status"], outcome["reason"]) == ("partial", "corrupt_record")
    assert json.loads(outcome["refused_by_reason"]) == {"line: not JSON": 1}
    assert "7" not in outcome["message"].partition(":")[2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (dump(), "no_measurement"),
        (dump((0, {"a": "x"}))[:-20], "corrupt_record"),
        (b'{"getUserMedia": [], "PeerConnections": {"1": {"stats": {}}}}', "no_measurement"),
        (b'{"getUserMedia": [], "PeerConnections": {"1": {"stats"', "corrupt_record"),
        (b'{"getUserMedia": [], "PeerConnections": []}', "corrupt_record"),
    ],
)
def test_what_holds_no_stream_is_rejected_with_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    rows, outcome = ingested(tmp_path, content)
    assert rows == []
    assert (outcome["status"], outcome["reason"]) == ("rejected", reason)


def test_a_series_of_the_page_whose_time_runs_backwards_is_refused(tmp_path: Path) -> None:
    series = {"statsType": "inbound-rtp", "startTime": iso(START_MS), "endTime": iso(START_MS + 1000)}
    stats = {
        "I-ssrc": {**series, "values": "[7, 7]"},
        "I-packetsReceived": {**series, "values": "[1, 2]"},
        "I-packetsLost": {**series, "endTime": iso(START_MS - 1000), "values": "[1, 2]"},
        "I-qpSum": {**series, "values": "[1, "},
    }
    rows, outcome = ingested(tmp_path, json.dumps({"PeerConnections": {"1": {"stats": stats}}}).encode())
    assert [(row["packets"], row["lost_packets"]) for row in rows] == [(1, None), (2, None)]
    assert json.loads(outcome["refused_by_reason"]) == {
        "series: its time runs backwards": 1, "series: its values are not JSON": 1,
    }  # fmt: skip
