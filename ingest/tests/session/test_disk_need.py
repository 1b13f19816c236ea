"""What an ingest will write is estimated and said first, and refused if it cannot fit."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from captures import udp_frame, write_pcap
from typer.testing import CliRunner

from sojourn_ingest import disk_space
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.disk_space import DiskTooSmallError, free_bytes, refuse_too_small_a_disk, size_text
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession
from sojourn_ingest.session.disk_need import SOURCE_BYTES, disk_need


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    write_pcap(folder / "a.pcap", [udp_frame(b"%d" % number) for number in range(2000)])
    return folder


def ingest(lake: Lake, files: list[Path]) -> None:
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files, lambda _: None)


def written(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def test_an_estimate_covers_what_is_written_and_known_files_need_nothing(folder: Path, tmp_path: Path) -> None:
    plain = folder / "a.pcap"
    packed = folder / "b.pcap.gz"
    packed.write_bytes(gzip.compress((write_pcap(tmp_path / "b", [udp_frame(b"b" * 200)] * 900)).read_bytes()))
    lake = Lake(tmp_path / "lake")
    need = disk_need(lake, [plain, packed], packets=False)
    assert (need.files, need.read_bytes) == (2, plain.stat().st_size + packed.stat().st_size)
    assert need.needed_bytes > disk_need(lake, [packed], packets=False).needed_bytes > SOURCE_BYTES
    assert disk_need(lake, [plain], packets=True).needed_bytes > disk_need(lake, [plain], packets=False).needed_bytes
    ingest(lake, [plain, packed])
    assert need.needed_bytes >= written(tmp_path / "lake")
    assert disk_need(Lake(tmp_path / "lake"), [plain, packed], packets=False).files == 0
    os.utime(plain, (1, 1))
    assert disk_need(Lake(tmp_path / "lake"), [plain, packed], packets=False).files == 1


def test_the_parts_of_a_recording_that_is_known_need_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    parts = [folder / "t.pcap", folder / "t.pcap1"]
    for number, path in enumerate(parts):
        write_pcap(path, [udp_frame(b"%d" % number)] * 3, first_ns=1_700_000_000_000_000_000 + number * 10**7)
    lake = Lake(tmp_path / "lake")
    ingest(lake, parts)
    assert lake.recording_with(str(parts[1])) is not None
    assert disk_need(Lake(tmp_path / "lake"), parts, packets=False).files == 0


def with_hole(path: Path, size: int) -> Path:
    """Write a capture of one packet and a hole behind it."""
    write_pcap(path, [udp_frame(b"before the hole")])
    with path.open("r+b") as handle:
        handle.truncate(size)
    return path


def test_holes_of_a_file_need_no_disk_and_count_as_what_is_read(tmp_path: Path) -> None:
    path = with_hole(tmp_path / "sparse.pcap", 2**40)
    need = disk_need(Lake(tmp_path / "lake"), [path], packets=False)
    assert need.needed_bytes < 2**20
    assert need.read_bytes == 2**40


def test_a_file_of_holes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, [with_hole(tmp_path / "sparse.pcap", 2**40), with_hole(tmp_path / "little.pcap", 2**20)])
    outcomes = {Path(commit.source_path).name: commit for commit in lake.live()}
    sparse, little = outcomes["sparse.pcap"], outcomes["little.pcap"]
    assert (sparse.status, sparse.reason) == ("rejected", "expands_too_far")
    assert sparse.message is not None
    assert "1,099,511,627,776 bytes" in sparse.message
    # Little is read to its end, where a record is cut.
    assert (little.status, little.records_read) == ("partial", 1)


def test_it_is_said_first_and_refused_in_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["ingest", str(folder), "--var", str(tmp_path / "var"), "--workers", "1"]
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 1000)
    refused = CliRunner().invoke(application(), argv)
    assert isinstance(refused.exception, DiskTooSmallError)
    assert "\n" not in str(refused.exception)
    assert "1.0 kB are free" in str(refused.exception)
    assert "--ignore-disk (SOJOURN_IGNORE_DISK=1)" in str(refused.exception)
    assert Lake(tmp_path / "var" / "lake").live() == []
    for extra, environment in ((["--ignore-disk"], {}), ([], {"SOJOURN_IGNORE_DISK": "1"})):
        assert CliRunner(env=environment).invoke(application(), [*argv, *extra]).exit_code == 0
    assert len(Lake(tmp_path / "var" / "lake").live()) == 1
    # What is in the lake already needs nothing, on a disk however full.
    assert CliRunner().invoke(application(), argv).exit_code == 0


def test_what_is_free_is_that_of_the_nearest_folder_there_is(tmp_path: Path) -> None:
    assert abs(free_bytes(tmp_path / "a" / "b") - free_bytes(tmp_path)) < 2**30
    said: list[str] = []
    refuse_too_small_a_disk("a build", 10, tmp_path / "a", said.append)
    assert said[0].startswith("disk: a build needs about 10 bytes; ")
    with pytest.raises(DiskTooSmallError, match="free some space"):
        refuse_too_small_a_disk("a build", 2**70, tmp_path, said.append)
    assert [size_text(count) for count in (1, 1500, 2_340_000, 5 * 10**9, 3 * 10**12)] == [
        "1 bytes", "1.5 kB", "2.3 MB", "5.0 GB", "3.0 TB",
    ]  # fmt: skip
