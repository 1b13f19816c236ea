"""Files that change while they are read, that are sparse, or deep below."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest import named_points
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.interface import Source
from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.lake import writer as lake_writer
from sojourn_ingest.session import IngestSession, files_below, state


def ingest(root: Path, folder: Path) -> dict[str, Commit]:
    lake = Lake(root)
    with lake.writing():
        attempts = IngestSession(lake, Pseudonymiser(b"key")).run(files_below([folder]), lambda _: None)
    return {attempt.path.name: attempt.commit for attempt in attempts}


def sources_of(lake: Lake) -> set[str]:
    return {text for file in lake.files("flow") for text in pq.read_table(file).column("source_hash").to_pylist()}


def grow(path: Path) -> None:
    with path.open("ab") as handle:
        handle.write(path.read_bytes()[24:])


def replace(path: Path) -> None:
    other = path.with_name("other")
    write_pcap(other, [udp_frame(b"another"), udp_frame(b"content")])
    other.replace(path)


def replace_by_archive(path: Path) -> None:
    other = path.with_name("other")
    with zipfile.ZipFile(other, "w") as archive:
        archive.write(path, "a.pcap")
    other.replace(path)


def shrink(path: Path) -> None:
    os.truncate(path, 30)


@pytest.mark.parametrize("hashed_first_bytes", [0, state.HASHED_FIRST_BYTES])
@pytest.mark.parametrize("change", [grow, replace, replace_by_archive, shrink])
def test_a_file_that_changes_while_it_is_read_gives_no_facts_of_a_content_that_was_never_hashed(
    change: Callable[[Path], None], hashed_first_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    path = write_pcap(folder / "a.pcap", [udp_frame(b"x")] * 3)
    write_pcap(folder / "b.pcap", [udp_frame(b"of another size")])
    read = Capture.read

    def read_after_a_change(self: Capture, source: Source, *arguments: object) -> object:
        if source.path == path and not changed:
            changed.append(True)
            change(path)
        return read(self, source, *arguments)  # type: ignore[arg-type]

    changed: list[bool] = []
    monkeypatch.setattr(state, "HASHED_FIRST_BYTES", hashed_first_bytes)
    monkeypatch.setattr(Capture, "read", read_after_a_change)
    outcomes = ingest(tmp_path / "lake", folder)
    outcome, other = outcomes["a.pcap"], outcomes["b.pcap"]
    assert outcome.status == "rejected"
    assert outcome.reason == ("truncated" if change is shrink else "changed_while_read")
    assert other.status == "ok"
    lake = Lake(tmp_path / "lake")
    assert sources_of(lake) == {other.content_hash}
    assert lake.leftovers() == []
    # As it stands now it is read.
    again = ingest(tmp_path / "lake", folder)["a.pcap"]
    assert again.status == ("partial" if change is shrink else "ok") or again.reason is not None
    if change is not shrink:
        assert sources_of(Lake(tmp_path / "lake")) == {other.content_hash, again.content_hash}


def test_a_folder_far_below_is_read(tmp_path: Path) -> None:
    # More than Python calls functions of one another.
    deep = tmp_path / "inputs"
    for _ in range(1_500):
        deep /= "d"
        deep.mkdir(parents=True)
    write_pcap(deep / "a.pcap", [udp_frame(b"x")])
    try:
        assert ingest(tmp_path / "lake", tmp_path / "inputs")["a.pcap"].status == "ok"
    finally:
        # pytest removes folders recursively.
        subprocess.run(["rm", "-r", tmp_path / "inputs"], check=True)


def test_a_folder_whose_path_is_too_long_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    monkeypatch.chdir(inputs)
    for _ in range(30):
        Path("d" * 200).mkdir()
        monkeypatch.chdir("d" * 200)
    assert ingest(tmp_path / "lake", inputs)["a.pcap"].status == "ok"
    assert "left out, because" in caplog.text
    assert "File name too long" in caplog.text


def test_what_the_kernel_makes_as_it_is_read_is_left_out(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    (tmp_path / "empty.txt").touch()
    (tmp_path / "kernel.txt").symlink_to("/proc/version")
    assert files_below([tmp_path, Path("/proc/version")]) == [tmp_path / "a.pcap", tmp_path / "empty.txt"]


def test_a_full_disk_in_the_middle_of_a_source_is_not_taken_for_a_fault_of_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    write_pcap(folder / "a.pcap", [udp_frame(b"x")] * 3)
    monkeypatch.setattr(lake_writer, "ROW_GROUP_ROWS", 1)
    monkeypatch.setattr(named_points, "reach", named_points.point_of({named_points.FAULT: "enospc@facts.writing:2"}))
    with pytest.raises(OSError, match="No space left on device"):
        ingest(tmp_path / "lake", folder)
    lake = Lake(tmp_path / "lake")
    assert lake.live() == []
    assert lake.leftovers() == []
    monkeypatch.undo()
    assert ingest(tmp_path / "lake", folder)["a.pcap"].status == "ok"


@pytest.mark.parametrize("fault", ["eio", "enospc"])
def test_an_error_of_the_disk_as_the_hash_is_written_ends_the_ingest_and_leaves_nothing(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    write_pcap(folder / "a.pcap", [udp_frame(b"x")] * 3)
    monkeypatch.setattr(state, "HASHED_FIRST_BYTES", 0)
    whole = ingest(tmp_path / "whole", folder)["a.pcap"]
    tables = sum(file.table != "ingest_outcome" for file in whole.files)
    # Rows of all tables are written, then the hash into the file of each.
    for number in range(tables + 1, 2 * tables + 1):
        at = named_points.point_of({named_points.FAULT: f"{fault}@facts.writing:{number}"})
        monkeypatch.setattr(named_points, "reach", at)
        with pytest.raises(OSError, match=r"No space left|Input/output error"):
            ingest(tmp_path / "lake", folder)
        assert (Lake(tmp_path / "lake").live(), Lake(tmp_path / "lake").leftovers()) == ([], [])
    # The fault happened once, and is past.
    assert ingest(tmp_path / "lake", folder)["a.pcap"].status == "ok"
    assert sources_of(Lake(tmp_path / "lake")) == {whole.content_hash}
