"""A counter of a WebRTC stream that grows by more than it can starts a new stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import call_polls
import pytest
from results import read

Polls = list[tuple[int, dict[str, Any]]]


def streams_of(path: Path, polls: Polls, kind: str = "inbound-rtp") -> tuple[list[int], dict[str, int]]:
    """Numbers of the stream at each poll, and what was refused."""
    stream = {"type": kind, "kind": "video", "ssrc": 7}
    path.write_bytes(call_polls.dump(*((time, {"0": {**stream, **values}}) for time, values in polls)))
    _, tables, reading = read(path)
    return [row["stream_number"] for row in tables["call_poll"]], reading.refused


@pytest.mark.parametrize(
    ("column", "possible", "impossible"),
    [
        ("payload_bytes", {"bytesReceived": 1_250_000_000_000}, {"bytesReceived": 1_250_000_000_001}),
        ("packets", {"packetsReceived": 1_000_000}, {"packetsReceived": 1_000_001}),
        ("lost_packets", {"packetsLost": -1_000}, {"packetsLost": -1_001}),
        ("frames", {"framesDecoded": 1_000_000}, {"framesDecoded": 1_000_001}),
        ("nack_count", {"nackCount": 1_000_000}, {"nackCount": 1_000_001}),
        (
            "concealed_samples",
            {"concealedSamples": 48_000, "totalSamplesReceived": 48_000},
            {"concealedSamples": 48_001, "totalSamplesReceived": 48_000},
        ),
        ("qp_sum", {"qpSum": 255, "framesDecoded": 1}, {"qpSum": 256, "framesDecoded": 1}),
        (
            "jitter_buffer_delay_ms",
            {"jitterBufferDelay": 3_600, "jitterBufferEmittedCount": 1},
            {"jitterBufferDelay": 3_600.1, "jitterBufferEmittedCount": 1},
        ),
        ("freeze_count", {"freezeCount": 8}, {"freezeCount": 9}),
        ("freezes_duration_ms", {"totalFreezesDuration": 2}, {"totalFreezesDuration": 2.1}),
    ],
)
def test_growth_beyond_a_bound_starts_a_new_stream(
    tmp_path: Path, column: str, possible: dict[str, Any], impossible: dict[str, Any]
) -> None:
    first = dict.fromkeys(possible, 0)
    assert streams_of(tmp_path / "a.jsonl", [(0, first), (1_000, possible)]) == ([0, 0], {})
    numbers, refused = streams_of(tmp_path / "b.jsonl", [(0, first), (1_000, impossible), (2_000, impossible)])
    assert numbers == [0, 1, 1]
    assert refused == {f"interval: {column} grew by more than it can, so that a new stream starts": 1}


def test_a_long_freeze_that_ends_counts_and_a_second_one_as_long_does_not(tmp_path: Path) -> None:
    polls: Polls = [(second * 1_000, {"totalFreezesDuration": 0}) for second in range(20)]
    polls += [(20_000, {"totalFreezesDuration": 19}), (21_000, {"totalFreezesDuration": 38})]
    assert streams_of(tmp_path / "a.jsonl", polls)[0] == [0] * 21 + [1]


def test_time_limited_by_bandwidth_cannot_exceed_the_time_of_the_polls(tmp_path: Path) -> None:
    limited = [{"qualityLimitationDurations": {"bandwidth": seconds, "cpu": 0}} for seconds in (0, 2, 4)]
    polls = [(time, values) for time, values in zip((0, 1_000, 2_000), limited, strict=True)]
    assert streams_of(tmp_path / "a.jsonl", polls, "outbound-rtp")[0] == [0, 0, 1]


def test_losses_that_the_far_end_reports_late_count_up_to_a_bound(tmp_path: Path) -> None:
    def numbers_with(lost: int) -> list[int]:
        stream, far_end = {"type": "outbound-rtp", "ssrc": 7}, {"type": "remote-inbound-rtp", "ssrc": 7}
        polls = [
            (time, {"0": {**stream, "packetsSent": sent}, "1": {**far_end, "packetsLost": late}})
            for time, sent, late in ((0, 5_000, 0), (1_000, 5_010, lost))
        ]
        path = tmp_path / f"{lost}.jsonl"
        path.write_bytes(call_polls.dump(*polls))
        return [row["stream_number"] for row in read(path)[1]["call_poll"]]

    # A packet for each one sent, and ten.
    assert (numbers_with(30), numbers_with(31)) == ([0, 0], [0, 1])


def test_no_more_packets_are_found_after_all_than_came(tmp_path: Path) -> None:
    polls = [
        (second * 1_000, {"packetsReceived": second, "packetsLost": -lost})
        for second, lost in enumerate((0, 900, 1_002))
    ]
    assert streams_of(tmp_path / "a.jsonl", polls)[0] == [0, 0, 0]
    polls = [
        (second * 1_000, {"packetsReceived": second, "packetsLost": -lost})
        for second, lost in enumerate((0, 900, 1_003))
    ]
    assert streams_of(tmp_path / "b.jsonl", polls)[0] == [0, 0, 1]


def test_growth_between_polls_of_one_time_is_in_no_interval(tmp_path: Path) -> None:
    polls = [(0, {"packetsReceived": 0}), (0, {"packetsReceived": 9}), (1_000, {"packetsReceived": 20})]
    assert streams_of(tmp_path / "a.jsonl", polls) == ([0, 0, 0], {})
    late = [(0, {"packetsReceived": 0}), (1, {"packetsReceived": 9}), (1, {"packetsReceived": 2_000})]
    assert streams_of(tmp_path / "b.jsonl", late)[0] == [0, 0, 1]


@pytest.mark.parametrize(("name", "seconds"), [("jitter", 3_600), ("roundTripTime", 3_600)])
def test_a_delay_of_more_than_an_hour_is_no_value(tmp_path: Path, name: str, seconds: int) -> None:
    far_end = {"type": "remote-inbound-rtp", "ssrc": 7}
    polls = [
        (time, {"0": {"type": "outbound-rtp", "ssrc": 7}, "1": {**far_end, name: value}})
        for time, value in ((0, seconds), (1_000, seconds + 0.1))
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes(call_polls.dump(*polls))
    _, tables, reading = read(path)
    column = {"jitter": "jitter_ms", "roundTripTime": "rtt_ms"}[name]
    assert [row[column] for row in tables["call_poll"]] == [3_600_000, None]
    assert reading.refused == {"value: out of its range": 1}
