"""`sojourn merge`: the lakes of two labs become the lake of all their files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap
from ingested_files import rows_of
from typer.testing import CliRunner

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.forgotten import ForgottenHosts, add_to_list, complete_in_list
from sojourn_ingest.lake import Lake, LakeDamagedError, find, forget
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.merge import MergePlan, merge
from sojourn_ingest.lake.readers import reader_names
from sojourn_ingest.lake.verification import verify
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session import IngestSession, files_below

HOST, OTHER = "8.8.8.8", "9.9.9.9"


def capture(path: Path, *sources: str, packets: int = 4) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_pcap(path, [udp_frame(b"x" * 20, (source, 1000)) for source in sources for _ in range(packets)])


@pytest.fixture
def labs(tmp_path: Path) -> tuple[Path, Path]:
    """Return the data of two labs: one capture in both, one of each alone, and a file that nothing reads."""
    a, b = tmp_path / "data" / "a", tmp_path / "data" / "b"
    capture(a / "shared.pcap", HOST, OTHER)
    capture(b / "copy.pcap", HOST, OTHER)
    capture(a / "own.pcap", HOST, packets=7)
    capture(b / "own.pcap", OTHER, packets=9)
    (b / "notes.bin").write_bytes(b"\x00nothing that is read")
    return a, b


def ingest(var: Path, *folders: Path, key: bytes = b"key") -> Lake:
    lake = Lake(var / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(key)).run(files_below(folders), lambda _: None)
    return Lake(var / "lake")


def merged(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(application(), ["merge", *map(str, arguments)])
    assert done.exit_code == status, (done.output, done.exception)
    return f"{done.output}{done.exception or ''}"


def facts(lake: Lake) -> dict[str, list[str]]:
    """Return the rows of every table but the outcomes, in an order that does not depend on files."""
    return {
        table: sorted(str(row) for path in lake.files(table) for row in pq.read_table(path).to_pylist())
        for table in TABLES
        if table != "ingest_outcome"
    }


def outcomes(lake: Lake) -> list[tuple[object, ...]]:
    rows = [row for path in lake.files("ingest_outcome") for row in pq.read_table(path).to_pylist()]
    names = ("source_path", "content_hash", "decoder_version", "status", "reason", "duplicate_of", "modified_ns")
    return sorted((tuple(row[name] for name in names) for row in rows), key=str)


def test_a_merged_lake_is_that_of_all_files(labs: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = ingest(tmp_path / "one", labs[0]), ingest(tmp_path / "two", labs[1])
    union = ingest(tmp_path / "union", *labs)
    before = (one.fingerprint(), two.fingerprint())
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    lake = Lake(tmp_path / "all" / "lake")
    # The build follows from the fingerprint: the same one is the same build.
    assert lake.fingerprint() == union.fingerprint()
    assert facts(lake) == facts(union)
    assert outcomes(lake) == outcomes(union)
    assert "1 with the same content as another path" in said
    assert [row[3] for row in outcomes(lake)].count("rejected") == 1
    assert (Lake(tmp_path / "one" / "lake").fingerprint(), Lake(tmp_path / "two" / "lake").fingerprint()) == before
    assert reader_names(one.storage) == ([], [])


def test_an_ingest_into_a_merged_lake_finds_everything_read(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    lake = Lake(tmp_path / "all" / "lake")
    state = lake.fingerprint()
    assert ingest(tmp_path / "all", *labs).fingerprint() == state


def test_compacted_lakes_give_the_same(labs: tuple[Path, Path], tmp_path: Path) -> None:
    one = ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    with one.writing():
        compact(one, plan_compaction(one))
    assert one.packs()
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert facts(Lake(tmp_path / "all" / "lake")) == facts(ingest(tmp_path / "union", *labs))


def test_hosts_of_two_keys_are_never_one_host(tmp_path: Path) -> None:
    capture(tmp_path / "data" / "a" / "a.pcap", HOST, packets=5)
    capture(tmp_path / "data" / "b" / "b.pcap", HOST, packets=6)
    one = ingest(tmp_path / "one", tmp_path / "data" / "a", key=b"of lab a")
    two = ingest(tmp_path / "two", tmp_path / "data" / "b", key=b"of lab b")
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert "different address keys" in said
    of = [lake.values("flow", "initiator_host_key") for lake in (one, two, Lake(tmp_path / "all" / "lake"))]
    assert all(str(key).startswith("hk-") for key in of[2])
    assert of[2] == of[0] | of[1]
    assert len(of[2]) == 2


def test_a_capture_of_both_labs_is_there_once_under_the_key_of_the_first(
    labs: tuple[Path, Path], tmp_path: Path
) -> None:
    one = ingest(tmp_path / "one", labs[0], key=b"of lab a")
    ingest(tmp_path / "two", labs[1], key=b"of lab b")
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    lake = Lake(tmp_path / "all" / "lake")
    (shared,) = (commit for commit in one.live() if commit.source_path.endswith("shared.pcap"))
    (holder,) = lake.holding_facts(shared.content_hash)
    assert (holder.source_path, holder.decoder_version) == (shared.source_path, shared.decoder_version)


@pytest.mark.parametrize("gone", [["commits/{last}.json"], ["commits", "heads"]])
def test_a_lake_without_some_of_its_commits_is_refused(
    labs: tuple[Path, Path], tmp_path: Path, gone: list[str]
) -> None:
    one = ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    for name in gone:
        path = tmp_path / "one" / "lake" / name.format(last=one.live()[0].name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert "missing; run sojourn maintain repair" in said
    assert not (tmp_path / "all").exists()


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("table", ["flow_interval", "ingest_outcome"])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_flipped_bit_gets_no_hash_of_its_own(
    labs: tuple[Path, Path], tmp_path: Path, table: str, compacted: bool
) -> None:
    ingest(tmp_path / "one", labs[0])
    two = ingest(tmp_path / "two", labs[1])
    if compacted:
        with two.writing():
            compact(two, plan_compaction(two))
    for place in two.objects(table):
        flip(tmp_path / "two" / "lake" / place)
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert f"/two/lake/data/{table}/" in said
    assert "does not have the bytes that were written (facts of " in said
    # What was written before is whole, and goes on once the file is back.
    assert verify(Lake(tmp_path / "all" / "lake"), full=True).damages == ()
    for place in two.objects(table):
        flip(tmp_path / "two" / "lake" / place)
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert facts(Lake(tmp_path / "all" / "lake")) == facts(ingest(tmp_path / "union", *labs))


def test_a_dry_run_writes_nothing(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    before = sorted(tmp_path.rglob("*"))
    assert "5 sources" in merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", "--dry-run")
    assert sorted(tmp_path.rglob("*")) == before


def kill_merge(folder: Path, commits: int) -> list[str]:
    """Kill a merge of two lakes after some commits; return the command."""
    command = [sys.executable, "-m", "sojourn_ingest.cli", "merge", "one", "two", "--into", "all"]
    killed = subprocess.run(
        command, cwd=folder, env={**os.environ, "SOJOURN_FAULT": f"kill@commit.published:{commits}"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(Lake(folder / "all" / "lake").live()) == commits
    return command


def test_a_killed_merge_goes_on_where_it_stopped(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    command = kill_merge(tmp_path, 2)
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.count("3 sources added to ") == 1
    lake = Lake(tmp_path / "all" / "lake")
    assert lake.fingerprint() == ingest(tmp_path / "union", *labs).fingerprint()
    assert lake.leftovers() == []
    with lake.writing():
        compact(lake, plan_compaction(lake))
    assert "0 sources added" in merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")


def forget_everywhere(folder: Path, *names: str) -> None:
    """Forget the host in installations, and put it on their lists."""
    pseudonymiser = Pseudonymiser(b"key", forgotten=ForgottenHosts(b"forget"))
    fingerprint, (host_key, _) = pseudonymiser.forget_fingerprint(HOST), pseudonymiser.keys(HOST)
    for name in names:
        lake = Lake(folder / name / "lake")
        for left in (folder / name / "lake" / "readers").glob("*"):
            # Of the merge that was killed.
            left.unlink()
        with lake.writing():
            forget(lake, find(lake, {str(host_key)}))
        add_to_list(folder / name / "forgotten.jsonl", fingerprint=fingerprint, host_keys=(), forgotten_ns=1, rows={})


@pytest.mark.parametrize("killed", [True, False])
def test_a_host_that_was_forgotten_after_a_merge_is_not_listed_beside_its_rows(
    labs: tuple[Path, Path], tmp_path: Path, killed: bool
) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    arguments = (tmp_path / "one", tmp_path / "two", "--into")
    if killed:
        kill_merge(tmp_path, 4)
    else:
        merged(*arguments, tmp_path / "all")
    forget_everywhere(tmp_path, "one", "two")
    for option in ([], ["--forgotten-checked"], ["--dry-run"]):
        said = merged(*arguments, tmp_path / "all", *option, status=1)
        assert "as when a host was forgotten since; give a new folder, and delete this one" in said
        assert not (tmp_path / "all" / "forgotten.jsonl").exists()
    merged(*arguments, tmp_path / "new")
    host_key, _ = Pseudonymiser(b"key").keys(HOST)
    assert (tmp_path / "new" / "forgotten.jsonl").exists()
    assert find(Lake(tmp_path / "new" / "lake"), {str(host_key)}) == []


@pytest.mark.parametrize("is_missed", [False, True])
def test_a_merge_that_was_suspended_while_a_host_was_forgotten_does_not_succeed(
    labs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_missed: bool
) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    arguments = (tmp_path / "one", tmp_path / "two", "--into")

    def merge_and_wait(plan: MergePlan, target: Lake) -> int:
        written = merge(plan, target)
        # The holds end meanwhile.
        forget_everywhere(tmp_path, "one", "two")
        if is_missed:
            raise LakeDamagedError("a file is missing")
        return written

    with monkeypatch.context() as patch:
        patch.setattr("sojourn_ingest.cli.merging.merge", merge_and_wait)
        said = merged(*arguments, tmp_path / "all", status=1)
    assert said.endswith(
        f"a host was forgotten in {tmp_path / 'one'} during the merge: give a new folder, and delete "
        f"{tmp_path / 'all'}, which may have rows of the host"
    )
    assert "give a new folder, and delete this one" in merged(*arguments, tmp_path / "all", status=1)
    merged(*arguments, tmp_path / "new")


def test_a_host_that_the_merged_installation_forgot_does_not_come_back(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    kill_merge(tmp_path, 1)
    forget_everywhere(tmp_path, "all")
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert "forgotten.jsonl has hosts that the installations have not forgotten" in said


def test_a_lake_that_is_being_written_when_the_merge_begins_is_refused(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    two = ingest(tmp_path / "two", labs[1])
    with two.writing():
        said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert f"another process is writing to {tmp_path / 'two' / 'lake'}" in said
    assert not (tmp_path / "all").exists()
    assert reader_names(two.storage) == ([], [])


def test_a_path_with_other_content_in_each_lake_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data" / "a.pcap"
    capture(data, HOST, packets=3)
    ingest(tmp_path / "one", data)
    capture(data, HOST, packets=4)
    ingest(tmp_path / "two", data)
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert "paths whose content differs between the lakes (1): " in said
    assert "--root" in said
    assert not (tmp_path / "all").exists()


def recording(folder: Path, *parts: int) -> Path:
    """Write files of one recording of three, of four packets each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in parts:
        frames = [udp_frame(bytes([number] * 20), (HOST, 1000)) for _ in range(4)]
        write_pcap(folder / f"t.pcap0{number}", frames, first_ns=(1_700_000_000 + number) * 10**9)
    return folder


@pytest.mark.parametrize("parts", [((0, 1), (0, 1, 2)), ((0, 1, 2), (0, 1)), ((0, 1), (1, 2)), ((1,), (0, 1))])
def test_recordings_that_share_files_and_differ_are_refused(
    tmp_path: Path, parts: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    a, b = (recording(tmp_path / "data" / name, *of) for name, of in zip("ab", parts, strict=True))
    ingest(tmp_path / "one", a)
    ingest(tmp_path / "two", b)
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert f"recordings that share files and differ between the lakes (2): {a / 't.pcap0'}" in said
    assert said.endswith("; ingest all files of the recording into both")
    assert not (tmp_path / "all").exists()
    whole = recording(tmp_path / "data" / "c", 0, 1, 2)
    ingest(tmp_path / "one", whole)
    ingest(tmp_path / "two", whole)
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    lake = Lake(tmp_path / "all" / "lake")
    assert sum(row["fwd_packets"] for row in rows_of(lake, "flow")) == 12
    assert facts(lake) == facts(ingest(tmp_path / "union", a, b, whole))


def test_a_recording_of_both_labs_is_there_once(tmp_path: Path) -> None:
    folders = [recording(tmp_path / "data" / name, 0, 1, 2) for name in "ab"]
    for name, folder in zip(("one", "two"), folders, strict=True):
        ingest(tmp_path / name, folder)
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert "1 with the same content as another path" in said
    assert facts(Lake(tmp_path / "all" / "lake")) == facts(ingest(tmp_path / "union", *folders))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_facts_that_stayed_for_a_copy_are_merged_with_those_of_the_copy(tmp_path: Path, order: tuple[int, int]) -> None:
    data = tmp_path / "data"
    for name in "pq":
        capture(data / name, HOST, packets=3)
        ingest(tmp_path / "0", data)
    capture(data / "p", HOST, packets=5)
    for name in "01":
        ingest(tmp_path / name, data)
    merged(*(tmp_path / str(number) for number in order), "--into", tmp_path / "both")
    lake = Lake(tmp_path / "both" / "lake")
    assert sum(row["fwd_packets"] for row in rows_of(lake, "flow")) == 8
    assert sorted(Path(row["source_path"]).name for row in rows_of(lake, "ingest_outcome")) in (
        ["p", "q"],
        ["p", "p", "q"],
    )
    capture(data / "q", HOST, packets=6)
    lake = ingest(tmp_path / "both", data)
    assert sum(row["fwd_packets"] for row in rows_of(lake, "flow")) == 11
    assert sorted(Path(row["source_path"]).name for row in rows_of(lake, "ingest_outcome")) == ["p", "q"]


def test_a_lake_with_other_sources_is_not_written_to(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    capture(tmp_path / "more" / "c.pcap", OTHER, packets=2)
    before = ingest(tmp_path / "all", tmp_path / "more").fingerprint()
    said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", status=1)
    assert "has 1 source that is in none of the lakes" in said
    assert Lake(tmp_path / "all" / "lake").fingerprint() == before


def test_hosts_that_one_lab_forgot_must_be_forgotten_in_the_other(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    of_host = Pseudonymiser(b"key", forgotten=ForgottenHosts(b"forget")).forget_fingerprint(HOST)
    add_to_list(tmp_path / "one" / "forgotten.jsonl", fingerprint=of_host, host_keys=(), forgotten_ns=1, rows={})
    arguments = (tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert "forgotten different hosts" in merged(*arguments, status=1)
    assert not (tmp_path / "all").exists()
    merged(*arguments, "--forgotten-checked")
    (line,) = (tmp_path / "all" / "forgotten.jsonl").read_text().splitlines()
    assert json.loads(line)["fingerprint"] == of_host


@pytest.mark.parametrize("left", ["one", "two", "all"])
def test_a_lake_that_may_have_rows_of_a_listed_host_is_not_merged(
    labs: tuple[Path, Path], tmp_path: Path, left: str
) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    for name in ("one", "two", "all"):
        add_to_list(
            tmp_path / name / "forgotten.jsonl", fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={},
            pending="key-1" if name == left else None,
        )  # fmt: skip
    path = tmp_path / left / "forgotten.jsonl"
    for option in ([], ["--forgotten-checked"], ["--dry-run"]):
        said = merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", *option, status=1)
        assert (
            said == f"{path}:1: rows of this host may be left: run sojourn forget again for the same host, "
            "which had rows under the key key-1"
        )
        assert not (tmp_path / "all" / "lake").exists()
    complete_in_list(path, {"fm-1"}, set())
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")


def test_what_a_merge_left_of_the_list_is_written_over(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    forget_everywhere(tmp_path, "one", "two")
    command = [sys.executable, "-m", "sojourn_ingest.cli", "merge", "one", "two", "--into", "all"]
    for fault in ("kill@list.renaming", "enospc@list.writing"):
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "SOJOURN_FAULT": fault}, check=False)
        assert not (tmp_path / "all" / "forgotten.jsonl").exists()
    assert not list((tmp_path / "all").glob(".forgotten*"))
    for name in ("one", "two"):
        for hold in (tmp_path / name / "lake" / "readers").glob("*"):
            hold.unlink()
    merged(tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["forgotten.jsonl", "lake"]


@pytest.mark.parametrize("line", [b"garb", b"[1]", b"\xff\xfe", b"{}"])
@pytest.mark.parametrize("damaged", ["one", "all"])
def test_a_damaged_list_of_forgotten_hosts_is_told_and_nothing_is_merged(
    labs: tuple[Path, Path], tmp_path: Path, damaged: str, line: bytes
) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "two", labs[1])
    path = tmp_path / damaged / "forgotten.jsonl"
    for name in ("one", "two", "all"):
        add_to_list(tmp_path / name / "forgotten.jsonl", fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={})
    content = path.read_bytes() + line + b"\n"
    path.write_bytes(content)
    for option in ([], ["--forgotten-checked"], ["--dry-run"]):
        arguments = ("merge", tmp_path / "one", tmp_path / "two", "--into", tmp_path / "all", *option)
        done = CliRunner().invoke(application(), [*map(str, arguments)])
        assert isinstance(done.exception, OperatorError)
        assert str(done.exception).startswith(f"{path}:2: not an entry of the list of forgotten hosts; restore")
        assert path.read_bytes() == content
        assert not (tmp_path / "all" / "lake").exists()


def test_what_is_no_installation_is_named_with_what_to_give(tmp_path: Path, labs: tuple[Path, Path]) -> None:
    ingest(tmp_path / "one", labs[0])
    (tmp_path / "empty").mkdir()
    for folder, said in (
        ("missing", "no such folder"),
        ("one/lake", f"this is a lake; give its parent folder, {tmp_path / 'one'}"),
        ("empty", "it contains no lake; give the folder that `sojourn ingest --var` filled"),
    ):
        assert f"error: Invalid value for VAR: {tmp_path / folder}: {said}" in merged(
            tmp_path / "one", tmp_path / folder, "--into", tmp_path / "all", status=2
        )


def test_a_merge_writes_into_no_folder_of_a_source_nor_around_one(labs: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "one", labs[0])
    ingest(tmp_path / "in" / "two", labs[1])
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "lake").symlink_to(tmp_path / "one" / "lake")
    before = sorted(tmp_path.rglob("*"))
    for into in ("one/lake", "one/new", "in", "in/two/lake/data", "linked"):
        said = merged(tmp_path / "one", tmp_path / "in" / "two", "--into", tmp_path / into, status=2)
        assert f"error: Invalid value for --into: {tmp_path / into} overlaps " in said
    assert sorted(tmp_path.rglob("*")) == before
    merged(tmp_path / "one", tmp_path / "in" / "two", "--into", tmp_path / "in" / "all")
