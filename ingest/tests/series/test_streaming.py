"""What a player of adaptive streaming logs, segment by segment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from results import Tables, damaged, is_refused_or_read, read
from tool_results import START_S, streamed

from sojourn_ingest.formats.interface import InputError


def written(folder: Path, text: str) -> Path:
    path = folder / "streaming.jsonl"
    path.write_text(text)
    return path


def values(tables: Tables, metric: str) -> list[tuple[float, float | None, float]]:
    """Return time after the first request in s, length in s, and value of each row of one metric."""
    return [(row["time_s"], row["duration_s"], row["value"]) for row in tables["series"] if row["metric"] == metric]


def test_rates_buffer_stalls_and_start_up_are_those_of_the_log(tmp_path: Path) -> None:
    form, tables, reading = read(written(tmp_path, streamed()))
    assert (form, reading.records_read, reading.refused, reading.fault) == ("streamed_segments", 4, {}, None)
    assert values(tables, "media_rate_bps") == [(1, 2, 150_000), (2, 2, 300_000), (6, 2, 500_000)]
    assert values(tables, "media_buffer_ms") == [(1, None, 2000), (2, None, 3000), (6, None, 2000), (10, None, 0)]
    assert values(tables, "stalls") == [(1, 1, 0), (2, 1, 0), (6, 4, 1), (10, 4, 1)]
    assert values(tables, "stalled_ms") == [(1, 1, 0), (2, 1, 0), (6, 4, 1000), (10, 4, 2000)]
    assert values(tables, "startup_ms") == [(1, None, 1000)]
    assert {row["time_ns"] for row in tables["series"]} == {(START_S + second) * 10**9 for second in (1, 2, 6, 10)}
    assert [(row["application"], row["direction"], row["start_ns"]) for row in tables["run"]] == [
        ("player", "downlink", START_S * 10**9)
    ]


def test_lines_that_go_back_are_refused_and_the_rest_stands(tmp_path: Path) -> None:
    lines = streamed().splitlines()
    _, tables, reading = read(
        written(tmp_path, "\n".join([lines[0], lines[2], lines[1], lines[3], "{", '{"segment": 9}']))
    )
    assert reading.refused == {
        "line: times or counts go back": 1,
        "line: not JSON": 1,
        "line: playing is not true or false": 1,
    }
    assert [value for _, _, value in values(tables, "media_rate_bps")] == [150_000, 500_000]


@pytest.mark.parametrize(
    ("stalled_s", "kept_ms", "refused"),
    [
        (4.05, [0, 0, 4000, 0], {}),
        (1e6, [0, 0], {"line: stalled_s grows by more than the time since the line before": 2}),
    ],
)
def test_a_player_stalls_for_no_longer_than_has_passed(
    tmp_path: Path, stalled_s: float, kept_ms: list[float], refused: dict[str, int]
) -> None:
    lines = [json.loads(line) for line in streamed().splitlines()]
    lines[2]["stalled_s"] = lines[3]["stalled_s"] = stalled_s
    _, tables, reading = read(written(tmp_path, "".join(json.dumps(line) + "\n" for line in lines)))
    assert [value for _, _, value in values(tables, "stalled_ms")] == kept_ms
    assert reading.refused == refused


def test_a_log_that_begins_during_the_playback_has_the_stalls_since_then(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in streamed().splitlines()]
    later = [line | {"stalls": line["stalls"] + 5, "stalled_s": line["stalled_s"] + 60} for line in lines]
    _, tables, reading = read(written(tmp_path, "".join(json.dumps(line) + "\n" for line in later)))
    assert [value for _, _, value in values(tables, "stalled_ms")] == [0, 0, 1000, 2000]
    assert [value for _, _, value in values(tables, "stalls")] == [0, 0, 1, 1]
    assert reading.refused == {}


def test_a_log_without_a_segment_that_can_be_read_is_refused(tmp_path: Path) -> None:
    first = json.loads(streamed().splitlines()[0])
    with pytest.raises(InputError, match="no segment in the log of the player"):
        read(written(tmp_path, json.dumps(first | {"end_ns": first["start_ns"] - 1})))


def test_a_log_with_damage_of_any_kind_is_refused_or_read(tmp_path: Path) -> None:
    text = streamed()
    for length in range(0, len(text), 3):
        is_refused_or_read(written(tmp_path, text[:length] or "\n"))
    first, *rest = [json.loads(line) for line in text.splitlines()]
    for changed in damaged(first):
        is_refused_or_read(written(tmp_path, "".join(json.dumps(line) + "\n" for line in (changed, *rest))))
