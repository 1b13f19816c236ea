"""Lists, objects and long names where a dump of WebRTC has plain values cost a value, and no file or memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import call_files
import pytest
from results import read

from sojourn_ingest.formats.call import webrtc_internals


def polls_of(path: Path, content: str) -> tuple[list[dict[str, Any]], Any]:
    path.write_text(content)
    _, tables, reading = read(path)
    return tables["call_poll"], reading


@pytest.mark.parametrize("value", [[], {}, [[]]])
def test_a_list_or_object_where_a_text_stands_is_no_value(tmp_path: Path, value: Any) -> None:
    lines = [
        {**report, "a": {**report["a"], "qualityLimitationReason": value, "kind": value}}
        for report in map(json.loads, call_files.get_stats().splitlines())
    ]
    rows, reading = polls_of(tmp_path / "a.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    assert (len(rows), reading.fault) == (4, None)
    dump = json.loads(call_files.webrtc_internals())
    dump["PeerConnections"]["7-1"]["stats"]["b-x"] = {"statsType": value, "values": "[1]"}
    rows, reading = polls_of(tmp_path / "dump.json", json.dumps(dump))
    assert (len(rows), reading.fault) == (4, None)


def test_series_of_lists_are_refused_and_those_of_objects_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = json.loads(call_files.webrtc_internals())
    stats = dump["PeerConnections"]["7-1"]["stats"]
    span = {name: stats["a-ssrc"][name] for name in ("statsType", "startTime", "endTime")}
    durations = [{"bandwidth": second, "cpu": 0} for second in range(4)]
    nested = {"a-x": [[1]] * 4, "a-y": [{"b": {}}] * 4, "a-qualityLimitationDurations": durations}
    stats |= {name: {**span, "values": json.dumps(values)} for name, values in nested.items()}
    rows, reading = polls_of(tmp_path / "dump.json", json.dumps(dump))
    assert [row["bandwidth_limited_ms"] for row in rows] == [0, 1_000, 2_000, 3_000]
    assert reading.refused == {"series: its values are lists, or objects within objects": 2}
    monkeypatch.setattr(webrtc_internals, "MOST_VALUES", 4 * 4 + 4 * 7 - 1)
    rows, reading = polls_of(tmp_path / "dump.json", json.dumps(dump))
    assert [row["bandwidth_limited_ms"] for row in rows] == [None] * 4
    assert reading.refused["series: above the values of a dump"] == 1


def test_long_names_of_a_numbered_dump_are_refused(tmp_path: Path) -> None:
    first, second, *rows = call_files.numbered_rtcstats().splitlines()
    long = "n" * 300
    report = {"type": 1, "10": 9, "14": 1}
    more = [["g", "PC_0", {long: report}, 0], ["g", long, {"0": report}, 0], ["g", 10**30, {"0": report}, 0]]
    content = "\n".join([first, second, *rows, *map(json.dumps, more)]) + "\n"
    polls, reading = polls_of(tmp_path / "dump.txt", content)
    assert {row["ssrc"] for row in polls} == {7}
    assert reading.refused == {
        "report: its name is too long": 1,
        "poll: the name of its connection is too long": 1,
        "line: the row names no peer connection": 1,
    }


def test_a_number_of_thousands_of_digits_is_not_json(tmp_path: Path) -> None:
    content = call_files.get_stats() + '{"a": ' + "9" * 5_000 + "}\n"
    polls, reading = polls_of(tmp_path / "a.jsonl", content)
    assert (len(polls), reading.refused) == (4, {"line: not JSON": 1})
