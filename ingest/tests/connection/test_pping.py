"""Output of ePPing and pping: one connection for each part of the path, in memory that open flows bound."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from results import Tables, damaged, is_refused_or_read, read
from tool_results import PPING_FORMS, PPING_MACHINE, START_S, pping_samples, pping_sums

from sojourn_ingest.formats.connection import pping
from sojourn_ingest.formats.interface import InputError


def written(folder: Path, content: str | bytes) -> Path:
    """Write an output."""
    path = folder / "pping.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def figures(tables: Tables) -> list[tuple[Any, ...]]:
    """Return data set, samples, smallest, mean and largest RTT of each connection."""
    names = ("dataset", "rtt_samples", "rtt_min_us", "rtt_avg_us", "rtt_max_us")
    return sorted(tuple(row[name] for name in names) for row in tables["connection"])


@pytest.mark.parametrize("form", ["array", "lines"])
def test_each_part_of_the_path_is_a_connection_until_the_flow_closes(tmp_path: Path, form: str) -> None:
    reader, tables, reading = read(written(tmp_path, PPING_FORMS[form]()))
    assert (reader, reading.fault, reading.refused) == ("pping", None, {})
    assert figures(tables) == [
        ("pping-inside", 12, 2000, pytest.approx(2055), 2110),
        ("pping-outside", 1, 20_000, 20_000, 20_000),
        ("pping-outside", 12, 20_000, pytest.approx(25_500), 31_000),
    ]
    first = next(row for row in tables["connection"] if row["dataset"] == "pping-inside")
    # The inner host is the client of the inner part; it has a private address, which is kept.
    assert (first["client_host_key"], first["start_ns"], first["duration_ms"], first["sent_bytes"]) == (
        "192.168.1.2", START_S * 10**9, 1100.0, 900,
    )  # fmt: skip
    assert "8.8.8.8" not in json.dumps(tables)


def test_sums_by_prefix_are_rows_of_a_data_set_of_their_length(tmp_path: Path) -> None:
    _, tables, reading = read(written(tmp_path, PPING_FORMS["prefixes"]()))
    assert figures(tables) == [("pping-prefix-24", 30, 2000, 6000.0, 10_000)]
    assert reading.refused == {"prefix_without_rtt": 1, "prefix_of_all_others": 1}


def test_sums_of_an_hour_beyond_what_models_add_up_are_refused_whole(tmp_path: Path) -> None:
    settings, first, *_ = pping_sums()
    large = first | {"count_rtt": 10**10, "mean_rtt": 6e6}
    _, tables, reading = read(written(tmp_path, json.dumps([settings, large, large, first])))
    assert reading.refused == {"sum_of_hour_too_large": 1}
    assert len(tables["connection"]) == 2
    assert [(row["rtt_samples"], row["rtt_sum_us"]) for row in tables["passive_rtt"]] == [
        (10**10 + 30, 6 * 10**13 + 180_000)
    ]


def test_lines_for_machines_are_read_and_lines_without_a_date_say_what_to_do(tmp_path: Path) -> None:
    _, tables, _ = read(written(tmp_path, PPING_MACHINE))
    assert figures(tables) == [("pping", 1, 1500, 1500.0, 1500), ("pping", 2, 20_000, 35_000.0, 50_000)]
    assert {row["ip_version"] for row in tables["connection"]} == {4, 6}
    for line in (
        "12:34:56 12.3ms 1.20ms 8.8.8.8:443+9.9.9.9:1\n",
        "12:34:56.123456789 5.2 ms 5.1 ms TCP 8.8.8.8:443+9.9.9.9:1\n",
    ):
        with pytest.raises(InputError, match="without dates") as caught:
            read(written(tmp_path, line))
        assert (caught.value.reason, "8.8" in caught.value.message) == ("no_date", False)


def test_flows_beyond_what_is_kept_open_are_given_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pping, "OPEN_FLOWS", 50)
    monkeypatch.setattr(pping, "BATCH_ROWS", 20)
    one = pping_samples()[1]
    flows = [one | {"src_port": n % 400, "timestamp": one["timestamp"] + n} for n in range(1200)]
    _, tables, reading = read(written(tmp_path, "".join(json.dumps(flow) + "\n" for flow in flows)))
    assert reading.records_read == 1200
    assert sum(row["rtt_samples"] for row in tables["connection"]) == 1200
    numbers = [row["connection_number"] for row in tables["connection"]]
    assert numbers == [*range(len(numbers))]


@pytest.mark.parametrize("form", PPING_FORMS)
def test_each_form_cut_or_changed_anywhere_is_refused_or_read(tmp_path: Path, form: str) -> None:
    text = PPING_FORMS[form]().encode()
    step = max(1, len(text) // 40)
    partial = 0
    for place in range(0, len(text), step):
        if is_refused_or_read(written(tmp_path, text[:place])):
            partial += 1
        for byte in b"\0\xff9":
            is_refused_or_read(written(tmp_path, text[:place] + bytes([byte]) + text[place + 1 :]))
    assert partial > 0


def test_a_wrong_value_anywhere_is_refused_or_left_out(tmp_path: Path) -> None:
    for changed in damaged(pping_samples()[1:3]):
        is_refused_or_read(written(tmp_path, json.dumps(changed)))


def test_a_damaged_line_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    lines = PPING_FORMS["lines"]().splitlines(keepends=True)
    _, tables, reading = read(written(tmp_path, "".join([*lines[:4], '{"timestamp": 8.8.8.8\n', *lines[4:]])))
    assert (len(tables["connection"]), reading.refused) == (3, {"malformed_record": 1})
    assert reading.fault is not None
    assert (reading.fault.offset, "8.8" in reading.fault.message) == (len("".join(lines[:4])), False)


@pytest.mark.parametrize("form", ["lines", "prefixes"])
def test_samples_by_a_clock_that_was_not_set_are_in_no_hour_of_1970(tmp_path: Path, form: str) -> None:
    text = re.sub(r"1700000(\d{3})", r"51\1", PPING_FORMS[form]())
    with pytest.raises(InputError, match=r"\d+ clock_not_set") as caught:
        read(written(tmp_path, text))
    assert caught.value.reason == "no_measurement"
