"""Times of reports: in any unit in which they are a date, by a clock of their own, and by one that is set meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from call_polls import START_MS, Row, dump, inbound, ingested


def lines(times: list[Any]) -> bytes:
    """Results of getStats, one a line, in each of which ten packets more have come."""
    polls: list[list[Row]] = [[{"id": "a", "timestamp": time, **inbound(7, packetsReceived=10 * n)}]
                              for n, time in enumerate(times)]  # fmt: skip
    return "\n".join(map(json.dumps, polls)).encode()


def test_polls_of_a_clock_that_was_not_set_are_kept_without_a_date_and_start_a_new_stream_when_it_is(
    tmp_path: Path,
) -> None:
    """Of a page's own clock, then set, then beyond 2099, then set again: no time is known from one to the next."""
    times = [0.25, 1_000.5, START_MS, START_MS + 1000, 4_200_000_000_000, START_MS + 2000, 3_000]
    rows, outcome = ingested(tmp_path, lines(times))
    assert [(row["poll_ns"] / 1e6, row["clock"], row["stream_number"], row["packets"]) for row in rows] == [
        (0.25, "unset", 0, 0),
        (1_000.5, "unset", 0, 10),
        (START_MS, "utc", 1, 20),
        (START_MS + 1000, "utc", 1, 30),
        (4_200_000_000_000, "unset", 2, 40),
        (START_MS + 2000, "utc", 3, 50),
    ]
    assert (outcome["records_read"], json.loads(outcome["refused_by_reason"])) == (
        6,
        {"clock_not_set": 1, "poll: its time runs backwards": 1},
    )


@pytest.mark.parametrize(
    "written",
    [
        lambda ms: ms,
        lambda ms: ms * 1000,
        lambda ms: ms / 1000,
        lambda ms: ms * 1_000_000,
        lambda ms: datetime.fromtimestamp(ms / 1000, UTC).isoformat(),
    ],
    ids=("ms", "us", "s", "ns", "text"),
)
def test_times_of_reports_are_dates_in_their_own_unit(tmp_path: Path, written: Callable[[int], Any]) -> None:
    times = [START_MS + 1000 * n for n in range(3)]
    rows, outcome = ingested(tmp_path, lines([written(time) for time in times]))
    assert [(row["poll_ns"], row["clock"]) for row in rows] == [(time * 1_000_000, "utc") for time in times]
    assert json.loads(outcome["refused_by_reason"]) == {}


def test_a_dump_of_rtcstats_may_call_its_polls_as_the_method_is_called(tmp_path: Path) -> None:
    content = dump((0, {"a": inbound(7, packetsReceived=1)}), (1000, {"a": {"packetsReceived": 5}}))
    rows, _ = ingested(tmp_path, content.replace(b"getstats", b"getStats"))
    assert [row["packets"] for row in rows] == [1, 5]
