"""Captures in several files: which names belong together, and what the lake holds of them as files come and go."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.capture.rotation import parse, recordings_among
from sojourn_ingest.formats.interface import recording_hash
from sojourn_ingest.lake import Lake, find, forget
from sojourn_ingest.session import Attempt, IngestSession, files_below

SECOND = 10**9
START = 1_700_000_000 * SECOND


def ingest(var: Path, *paths: Path) -> dict[str, Attempt]:
    lake = Lake(var / "lake")
    session = IngestSession(lake, Pseudonymiser(b"key"))
    with lake.writing():
        return {attempt.path.name: attempt for attempt in session.run(files_below(paths), lambda attempt: None)}


def rows(var: Path, name: str) -> list[dict[str, Any]]:
    return [row for path in Lake(var / "lake").files(name) for row in pq.read_table(path).to_pylist()]


def packets_of_flows(var: Path) -> list[int]:
    return sorted(row["fwd_packets"] + row["rev_packets"] for row in rows(var, "flow"))


def outcomes(var: Path) -> dict[str, dict[str, Any]]:
    return {Path(row["source_path"]).name: row for row in rows(var, "ingest_outcome")}


def part(folder: Path, name: str, number: int, packets: int = 10, gap_ns: int = SECOND // 10) -> Path:
    """Write the file of that number of one recording of packets 0.1 s apart, each packet another payload."""
    frames = [udp_frame(f"{number} {n}".encode()) for n in range(packets)]
    folder.mkdir(exist_ok=True)
    return write_pcap(folder / name, frames, START + number * packets * gap_ns, gap_ns)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return folder


# --- names


@pytest.mark.parametrize(
    "names",
    [
        ["t.pcap", "t.pcap1", "t.pcap2"],
        ["t.pcap8", "t.pcap9", "t.pcap10"],
        ["t.pcap00", "t.pcap01"],
        ["t_00001_20261121120000.pcapng", "t_00002_20261121120500.pcapng"],
        ["t_20261121120000_00001.pcapng", "t_20261121120500_00002.pcapng"],
        ["t-20261121120000.pcap", "t-20261121120500.pcap"],
        ["t_2026-11-21_12-00-00.pcap", "t_2026-11-21_12-05-00.pcap"],
        ["20261121-1200.pcap", "20261121-1205.pcap"],
        ["t-1700000000.pcap", "t-1700000001.pcap"],
        ["t-20261121120000.pcap", "t-20261121120000.pcap1"],
        ["t", "t1", "t2"],
    ],
)
def test_names_of_tcpdump_and_dumpcap_are_one_recording_in_their_order(inputs: Path, names: list[str]) -> None:
    parts = [part(inputs, name, number) for number, name in enumerate(names)]
    assert recordings_among(reversed(parts)) == [tuple(parts)]


@pytest.mark.parametrize(
    "names",
    [
        ["t.pcap", "t.pcap2"],  # one is missing between them
        ["t.pcap", "u.pcap1"],
        ["t_00001_20261121120000.pcapng", "u_00002_20261121120500.pcapng"],
        ["t_00001_20261121120000.pcapng", "t_00003_20261121120500.pcapng"],
        ["run1", "run2"],
        ["run1.pcap", "run2.pcap"],  # people number their runs like that
        ["before.pcap", "after.pcap"],
    ],
)
def test_other_names_are_captures_of_their_own(inputs: Path, names: list[str]) -> None:
    assert recordings_among([part(inputs, name, number) for number, name in enumerate(names)]) == []


def test_a_gap_in_the_numbers_parts_two_recordings(inputs: Path) -> None:
    parts = [part(inputs, f"t.pcap{number}", number) for number in (1, 2, 4, 5)]
    assert recordings_among(parts) == [tuple(parts[:2]), tuple(parts[2:])]


def test_files_that_do_not_follow_on_in_time_or_link_are_not_one(inputs: Path) -> None:
    assert recordings_among([part(inputs, "a.pcap", 1), part(inputs, "a.pcap1", 0)]) == []
    assert recordings_among([part(inputs, "b.pcap", 0), part(inputs, "b.pcap1", 700)]) == []
    # A name by time is one that people use too: there, 3 s of silence are an end.
    times = [part(inputs, f"c-2026112112000{n}.pcap", n * 4) for n in (0, 1)]
    assert recordings_among(times) == []
    assert recordings_among([part(inputs, "d.pcap", 0), part(inputs, "d.pcap1", 4)]) != []
    raw = part(inputs, "e.pcap1", 1)
    content = bytearray(raw.read_bytes())
    content[20] = 101
    raw.write_bytes(content)
    assert recordings_among([part(inputs, "e.pcap", 0), raw]) == []
    empty = part(inputs, "f.pcap1", 1, packets=0)
    assert recordings_among([part(inputs, "f.pcap", 0), empty]) == []
    (inputs / "g.pcap1").write_text("no capture")
    assert recordings_among([part(inputs, "g.pcap", 0), inputs / "g.pcap1"]) == []


def test_folders_are_kept_apart_and_compressed_copies_take_no_second_place(inputs: Path) -> None:
    one, two = part(inputs, "t.pcap", 0), part(inputs / "other", "t.pcap1", 1)
    assert recordings_among([one, two]) == []
    second = part(inputs, "t.pcap1", 1)
    copy = inputs / "t.pcap1.gz"
    copy.write_bytes(gzip.compress(second.read_bytes()))
    assert recordings_among([one, second, copy]) == [(one, second)]


def test_a_name_says_its_place() -> None:
    for name in ("t.txt.gz", "t.json", "manifest.yaml", "README.md"):
        assert parse(name) is None
    parsed = parse("before_00003_20261121120000.pcapng")
    assert parsed is not None
    assert (parsed.stem, parsed.place, parsed.weak) == ("before", (3,), False)
    assert recording_hash(["a"]) == "a"
    assert recording_hash(["a", "b"]) != recording_hash(["b", "a"])


# --- in the lake


def test_rotated_files_are_one_flow_and_each_has_its_outcome(tmp_path: Path, inputs: Path) -> None:
    for number, name in enumerate(["t.pcap", "t.pcap1", "t.pcap2"]):
        part(inputs, name, number)
    write_pcap(inputs / "alone.pcap", [udp_frame(b"x")] * 3)
    attempts = ingest(tmp_path, inputs)
    assert packets_of_flows(tmp_path) == [3, 30]
    outcome_of = outcomes(tmp_path)
    recording = outcome_of["t.pcap+continued"]
    assert (recording["format"], recording["records_read"], recording["part_of"]) == ("capture_recording", 30, None)
    for name in ("t.pcap", "t.pcap1", "t.pcap2"):
        assert outcome_of[name]["part_of"] == recording["source_path"]
        assert (outcome_of[name]["format"], outcome_of[name]["records_read"], outcome_of[name]["status"]) == (
            "capture",
            10,
            "ok",
        )
        assert attempts[name].commit.records_read == 10
    assert outcome_of["alone.pcap"]["part_of"] is None
    parts = [outcome_of[name]["content_hash"] for name in ("t.pcap", "t.pcap1", "t.pcap2")]
    assert recording["content_hash"] == recording_hash(parts)
    assert recording["content_hash"] in {row["source_hash"] for row in rows(tmp_path, "flow")}
    again = ingest(tmp_path, inputs)
    assert {attempt.disposition for attempt in again.values()} == {"unchanged"}
    assert outcomes(tmp_path) == outcome_of


def test_a_file_that_comes_later_joins_those_before_it(tmp_path: Path, inputs: Path) -> None:
    part(inputs, "t.pcap", 0)
    ingest(tmp_path, inputs)
    assert packets_of_flows(tmp_path) == [10]
    second, third = part(inputs, "t.pcap1", 1), inputs / "t.pcap2"
    ingest(tmp_path, second)
    assert packets_of_flows(tmp_path) == [20]
    part(inputs, "t.pcap2", 2)
    ingest(tmp_path, third)
    assert packets_of_flows(tmp_path) == [30]
    assert set(outcomes(tmp_path)) == {"t.pcap", "t.pcap1", "t.pcap2", "t.pcap+continued"}
    whole = tmp_path / "whole"
    ingest(whole, inputs)
    assert _comparable(rows(whole, "flow")) == _comparable(rows(tmp_path, "flow"))


def _comparable(rows_of_table: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows_of_table)


def test_an_earlier_file_that_comes_later_joins_too(tmp_path: Path, inputs: Path) -> None:
    part(inputs, "t.pcap1", 1)
    part(inputs, "t.pcap2", 2)
    ingest(tmp_path, inputs)
    ingest(tmp_path, part(inputs, "t.pcap", 0))
    assert packets_of_flows(tmp_path) == [30]
    assert set(outcomes(tmp_path)) == {"t.pcap", "t.pcap1", "t.pcap2", "t.pcap+continued"}


def test_a_file_that_changed_so_that_it_follows_no_more_stands_alone(tmp_path: Path, inputs: Path) -> None:
    part(inputs, "t.pcap", 0)
    second = part(inputs, "t.pcap1", 1)
    ingest(tmp_path, inputs)
    part(inputs, "t.pcap1", 5000, packets=4)
    os.utime(second, ns=(START, START))
    ingest(tmp_path, second)
    assert packets_of_flows(tmp_path) == [4, 10]
    assert {name: row["part_of"] for name, row in outcomes(tmp_path).items()} == {"t.pcap": None, "t.pcap1": None}


def test_files_that_were_alone_and_then_one_can_be_alone_again(tmp_path: Path, inputs: Path) -> None:
    first, second = part(inputs, "t.pcap", 0), part(inputs, "t.pcap1", 1)
    ingest(tmp_path, first)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(second, elsewhere / "t.pcap1")
    second.rename(inputs / "later")
    ingest(tmp_path, elsewhere)
    assert packets_of_flows(tmp_path) == [10, 10]
    (inputs / "later").rename(second)
    ingest(tmp_path, second)
    assert packets_of_flows(tmp_path) == [20]
    assert outcomes(tmp_path)["t.pcap+continued"]["records_read"] == 20
    hashes = {name: row["content_hash"] for name, row in outcomes(tmp_path).items()}
    listed = {"before.pcap": {"sha256": hashes["t.pcap"]}}
    for name in ("t.pcap", "t.pcap1"):
        (inputs / name).rename(inputs / name.replace("t", "before"))
    # Under their new names they are copies of the recording that the lake holds of the old ones.
    ingest(tmp_path, inputs)
    assert packets_of_flows(tmp_path) == [20]
    for _ in range(2):
        part(inputs, "before.pcap1", 1, packets=7)
        ingest(tmp_path, manifest(inputs, files=listed), inputs)
        assert sum(packets_of_flows(tmp_path)) == 27


def test_a_recording_stays_when_a_file_of_it_is_gone_and_later_files_begin_another(
    tmp_path: Path, inputs: Path
) -> None:
    for number in range(3):
        part(inputs, f"t_{number + 1:05}_2026112112000{number}.pcap", number)
    ingest(tmp_path, inputs)
    (inputs / "t_00001_20261121120000.pcap").unlink()
    for number in (3, 4):
        part(inputs, f"t_{number + 1:05}_2026112112000{number}.pcap", number)
    for _ in range(2):
        attempts = ingest(tmp_path, inputs)
        assert packets_of_flows(tmp_path) == [20, 30]
        assert len(outcomes(tmp_path)) == 7
    assert {attempt.disposition for attempt in attempts.values()} == {"unchanged"}


def test_copies_count_once_whichever_comes_first(tmp_path: Path, inputs: Path) -> None:
    first, second = part(inputs, "t.pcap", 0), part(inputs, "t.pcap1", 1)
    copies = tmp_path / "copies"
    copies.mkdir()
    shutil.copy(first, copies / "one.pcap")
    (copies / "two.pcap.gz").write_bytes(gzip.compress(second.read_bytes()))
    shutil.copytree(inputs, tmp_path / "twice")
    orders = [(inputs, copies, tmp_path / "twice"), (copies, tmp_path / "twice", inputs)]
    for place, order in enumerate(orders):
        var = tmp_path / f"var{place}"
        for _ in range(2):
            for folder in order:
                ingest(var, folder)
            assert packets_of_flows(var) == [20]
        outcome_rows = rows(var, "ingest_outcome")
        assert len(outcome_rows) == 7
        assert sum(row["duplicate_of"] is not None for row in outcome_rows) == 4
        assert all(row["status"] == "ok" for row in outcome_rows)


def test_a_recording_that_is_part_of_another_is_a_copy(tmp_path: Path, inputs: Path) -> None:
    for number in range(3):
        part(inputs, f"t.pcap{number or ''}", number)
    fewer = tmp_path / "fewer"
    fewer.mkdir()
    for name in ("t.pcap", "t.pcap1"):
        shutil.copy(inputs / name, fewer / name)
    for place, order in enumerate([(inputs, fewer), (fewer, inputs)]):
        var = tmp_path / f"var{place}"
        for folder in (*order, *order):
            ingest(var, folder)
        assert packets_of_flows(var) == [30]
        assert sum(row["duplicate_of"] is not None for row in rows(var, "ingest_outcome")) == 2


def test_a_damaged_part_loses_only_its_own_rest(tmp_path: Path, inputs: Path) -> None:
    part(inputs, "t.pcap", 0)
    second = part(inputs, "t.pcap1", 1)
    second.write_bytes(second.read_bytes()[:-5])
    part(inputs, "t.pcap2", 2)
    ingest(tmp_path, inputs)
    assert packets_of_flows(tmp_path) == [29]
    outcome_of = outcomes(tmp_path)
    assert [outcome_of[name]["status"] for name in ("t.pcap", "t.pcap1", "t.pcap2")] == ["ok", "partial", "ok"]
    assert outcome_of["t.pcap1"]["fault_offset_bytes"] is not None
    assert outcome_of["t.pcap+continued"]["status"] == "partial"
    assert outcome_of["t.pcap+continued"]["message"].startswith("t.pcap1: ")


def test_forgetting_a_host_keeps_the_outcomes_of_the_parts(tmp_path: Path, inputs: Path) -> None:
    for number in range(2):
        part(inputs, f"t.pcap{number or ''}", number)
    ingest(tmp_path, inputs)
    lake = Lake(tmp_path / "lake")
    with lake.writing():
        forget(lake, find(lake, {"10.0.0.1"}))
    assert rows(tmp_path, "flow") == []
    assert set(outcomes(tmp_path)) == {"t.pcap", "t.pcap1", "t.pcap+continued"}
    assert {attempt.disposition for attempt in ingest(tmp_path, inputs).values()} == {"unchanged"}


# --- runs


def manifest(folder: Path, **more: Any) -> Path:
    content = {
        "schema": "testbed-manifest/1",
        "run_id": "r",
        "study": "s",
        "bandwidth_bps": 1_000_000,
        "rtt_ms": 10,
        "queue": {"discipline": "bfifo"},
        "order": "solo",
        "app": "probe",
        **more,
    }
    path = folder / "manifest.json"
    path.write_text(json.dumps(content))
    return path


def bound(var: Path) -> set[str]:
    """Measurements of runs of which the lake holds flows."""
    flows = {row["source_hash"] for row in rows(var, "flow")}
    return {row["measurement"] for row in rows(var, "run_source") if row["measurement_hash"] in flows}


def rotated_run(folder: Path, names: tuple[str, str, str]) -> None:
    for number, name in enumerate(names):
        for point, late_ns in (("before", 0), ("after", SECOND // 50)):
            frames = [udp_frame(f"{number} {n}".encode()) for n in range(10)]
            if point == "after" and number == 1:
                frames.pop()
            write_pcap(folder / f"{point}{name}", frames, START + number * SECOND + late_ns, SECOND // 10)


@pytest.mark.parametrize(
    "names",
    [
        (".pcap", ".pcap1", ".pcap2"),
        ("_00001_20261121120000.pcap", "_00002_20261121120001.pcap", "_00003_20261121120002.pcap"),
        ("-20261121120000.pcap", "-20261121120001.pcap", "-20261121120002.pcap"),
    ],
)
def test_rotated_captures_of_a_run_are_bound_to_it_and_paired(
    tmp_path: Path, inputs: Path, names: tuple[str, str, str]
) -> None:
    rotated_run(inputs, names)
    manifest(inputs)
    for _ in range(2):
        attempts = ingest(tmp_path, inputs)
        assert bound(tmp_path) == {"capture_before", "capture_after"}
        (pair,) = rows(tmp_path, "capture_pair")
        assert (pair["sent_packets"], pair["dropped_packets"], pair["delivered_packets"]) == (30, 1, 29)
        assert pair["before_hash"] in {row["source_hash"] for row in rows(tmp_path, "flow")}
    assert {attempt.disposition for attempt in attempts.values()} == {"unchanged"}


def test_a_manifest_lists_the_parts_of_a_capture_under_any_names(tmp_path: Path, inputs: Path) -> None:
    rotated_run(inputs, (".pcap", ".pcap1", ".pcap2"))
    for number, old in enumerate([".pcap", ".pcap1", ".pcap2"]):
        for point in ("before", "after"):
            (inputs / f"{point}{old}").rename(inputs / f"{point}-{'abc'[number]}.cap")
    hashes = {name: attempt.commit.content_hash for name, attempt in ingest(tmp_path, inputs).items()}
    assert packets_of_flows(tmp_path) == [9, 10, 10, 10, 10, 10]
    before = [{"name": f"before-{letter}.cap", "sha256": hashes[f"before-{letter}.cap"]} for letter in "abc"]
    after = [f"after-{letter}.cap" for letter in "abc"]
    # The manifest alone is given: the captures beside it are known, and are read again as it says.
    ingest(tmp_path, manifest(inputs, files={"before.pcap": {"parts": before}, "after.pcap": {"parts": after}}))
    assert packets_of_flows(tmp_path) == [29, 30]
    assert bound(tmp_path) == {"capture_before", "capture_after"}
    (pair,) = rows(tmp_path, "capture_pair")
    assert (pair["sent_packets"], pair["dropped_packets"]) == (30, 1)


def test_parts_in_a_wrong_order_are_refused_with_what_to_mend_and_read_alone(tmp_path: Path, inputs: Path) -> None:
    rotated_run(inputs, (".pcap", ".pcap1", ".pcap2"))
    manifest(inputs, files={"before.pcap": {"parts": ["before.pcap1", "before.pcap", "before.pcap2"]}})
    attempts = ingest(tmp_path, inputs)
    refused = attempts["before.pcap1+continued"].commit
    assert (refused.status, refused.reason) == ("rejected", "not_contiguous")
    assert "list the parts in chronological order" in (refused.message or "")
    assert packets_of_flows(tmp_path) == [10, 10, 10, 29]
    assert bound(tmp_path) == {"capture_after"}


def test_what_a_manifest_lists_as_one_file_stands_alone(tmp_path: Path, inputs: Path) -> None:
    rotated_run(inputs, (".pcap", ".pcap1", ".pcap2"))
    hashes = {name: attempt.commit for name, attempt in ingest(tmp_path, inputs).items()}
    assert packets_of_flows(tmp_path) == [29, 30]
    manifest(inputs, files={"before.pcap": {"sha256": hashes["before.pcap"].content_hash}})
    ingest(tmp_path, inputs)
    # What is left of the numbered files is still one series.
    assert packets_of_flows(tmp_path) == [10, 20, 29]
    assert bound(tmp_path) == {"capture_before", "capture_after"}


@pytest.mark.parametrize(
    "files", [{"before.pcap": {}}, {"before.pcap": {"parts": []}}, {"before.pcap": {"parts": ["../x"]}}]
)
def test_a_listed_file_without_hash_or_parts_is_a_message(tmp_path: Path, inputs: Path, files: Any) -> None:
    manifest(inputs, files=files)
    attempt = ingest(tmp_path, inputs)["manifest.json"]
    assert attempt.commit.reason == "corrupt_record"
    assert "files/before.pcap" in (attempt.commit.message or "")


# --- a kill


@pytest.mark.integration
def test_a_kill_between_recordings_leaves_a_lake_that_the_next_run_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", "one key for both lakes")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for series in range(8):
        for number in range(4):
            part(inputs / f"s{series:02}", f"t.pcap{number or ''}", number, packets=50 + series)
    command = [str(Path(sys.executable).parent / "sojourn"), "ingest", str(inputs), "--var"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    # First the files but the last of each series, so that the kills fall on recordings that replace others.
    firsts = [path for path in files_below([inputs]) if not path.name.endswith("3")]
    subprocess.run(
        [command[0], "ingest", *map(str, firsts), "--var", str(killed)], check=True, stdout=subprocess.DEVNULL
    )
    for point in ("commit.published:2", "facts.written:2", "commit.published:3"):
        environment = {**os.environ, "SOJOURN_FAULT": f"kill@{point}"}
        done = subprocess.run([*command, str(killed)], env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
        # Each packet once, in the old recordings or in the new ones.
        assert all(packets % 3 == 0 or packets % 4 == 0 for packets in packets_of_flows(killed))
        assert len(packets_of_flows(killed)) == 8
    subprocess.run([*command, str(killed)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, str(whole)], check=True, stdout=subprocess.DEVNULL)
    for name in ("flow", "flow_interval", "ingest_outcome"):
        assert _table(killed, name).equals(_table(whole, name)), name
    assert len(_table(whole, "ingest_outcome")) == 40


def _table(var: Path, name: str) -> pa.Table:
    whole = pa.concat_tables([pq.read_table(path) for path in Lake(var / "lake").files(name)])
    if name == "ingest_outcome":
        return whole.drop_columns(["started_ns", "duration_ms"]).sort_by("source_path")
    return whole.sort_by([("source_hash", "ascending"), ("flow_id", "ascending")])
