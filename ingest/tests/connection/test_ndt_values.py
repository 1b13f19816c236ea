"""Values in results of NDT that are none: null, not set, and longer than an hour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results import read

from sojourn_ingest.formats.interface import InputError


def ndt7(*polls: Any) -> str:
    """A result with what the server polled in the download, which began an hour east of UTC."""
    times = {"StartTime": "2023-11-14T23:13:20+01:00", "EndTime": "2023-11-14T23:13:30+01:00"}
    download = {"UUID": "x", **times, "ServerMeasurements": polls, "ClientMeasurements": None}
    server = {"GitShortCommit": "abc", "ServerIP": "192.0.2.9", "ClientIP": "198.51.100.7"}
    return json.dumps({**server, "Download": download, "Upload": None})


def test_polls_that_are_null_or_of_the_application_are_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "ndt7.json"
    path.write_text(
        ndt7(
            None,
            {"TCPInfo": None, "BBRInfo": None},
            {"AppInfo": {"NumBytes": 5}},
            {"TCPInfo": {"RTT": 0, "MinRTT": 2**32 - 1}},
            {"TCPInfo": {"RTT": 21_000, "MinRTT": 19_000, "BytesAcked": 2**64 - 1}},
        )
    )
    _, tables, _ = read(path)
    (row,) = tables["connection"]
    assert (row["start_ns"], row["duration_ms"]) == (1_700_000_000 * 10**9, 10_000.0)
    assert (row["rtt_samples"], row["rtt_min_us"], row["rtt_max_us"], row["kernel_min_rtt_us"]) == (
        1,
        21_000,
        21_000,
        19_000,
    )
    assert row["acked_bytes"] is None


def test_a_connection_with_a_round_trip_of_more_than_an_hour_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ndt7.json"
    path.write_text(ndt7({"TCPInfo": {"RTT": 20_000}}, {"TCPInfo": {"RTT": 3_700_000_000}}))
    with pytest.raises(InputError, match="1 rtt_max_us: longer than an hour"):
        read(path)
