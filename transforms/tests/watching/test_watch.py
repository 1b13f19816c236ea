"""The loop of the watch over a real lake: what comes is ingested once, faults are on record, and nothing stops it."""

from __future__ import annotations

import errno
import io
import os
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sojourn_ingest import disk_space, named_points
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.paths import Paths
from sojourn_transforms.build import BuildError, BuildReport
from sojourn_transforms.watching import arrivals, watch
from sojourn_transforms.watching.arrivals import WatchedFolders
from sojourn_transforms.watching.command import spoken
from sojourn_transforms.watching.watch import Reading, Watch

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)


def capture(number: int) -> bytes:
    """Return a capture of one UDP packet, different for each number."""
    ends = bytes((10, 0, 0, 1, 10, 0, 0, 2))
    udp = struct.pack("!HHHH", 1000 + number, 2000, 9, 0) + b"x"
    frame = bytes(12) + b"\x08\x00" + struct.pack("!BBHHHBBH", 0x45, 0, 29, 1, 0, 64, 17, 0) + ends + udp
    return HEADER + struct.pack("<IIII", 1_700_000_000 + number, 0, len(frame), len(frame)) + frame


DESCRIPTION = """
sojourn_connections: 1
dataset: made-up
title: Connections of nobody
licence: CC0-1.0
synthetic: true
tables:
  - name: rtt
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: time, unit: rfc3339 }
      client_address: { from: client }
      rtt_avg_us: { from: rtt, unit: ms }
"""


class Ended(Exception):  # noqa: N818 - it ends a loop that has no other end
    """The test has seen enough."""


class Watched:
    """A watch of the folder ``in`` whose builds are counted, and which never sleeps."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths = Paths(tmp_path / "var")
        self.folder = tmp_path / "in"
        self.folder.mkdir(exist_ok=True)
        self.said: list[str] = []
        self.builds = 0
        self.on_build: Callable[[], None] = lambda: None
        self.slept: list[float] = []
        self.on_sleep: list[Callable[[], None]] = []
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.on_sleep:
            self.on_sleep.pop(0)()

    def _publish(self) -> BuildReport:
        self.on_build()
        self.builds += 1
        return BuildReport(f"b{self.builds}", built=True)

    def run(self, *, once: bool = True) -> None:
        reading = Reading(lambda: Pseudonymiser(b"key"), Enrichment(), "registrable", 1)
        folders = WatchedFolders([self.folder], 60, [self.paths.var])
        Watch(self.paths, folders, reading, self._publish, lambda: False, self.said.append, lambda _: None).run(
            once=once
        )

    def outcomes(self) -> dict[str, tuple[str, str | None]]:
        live = self.paths.open_lake().live()
        return {Path(commit.source_path).name: (commit.status, commit.reason) for commit in live}


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(tmp_path, monkeypatch)


def test_what_is_complete_is_ingested_and_built_once(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))
    with (watched.folder / "b.pcap").open("wb") as file:
        file.write(capture(2)[:-9])
        file.flush()
        watched.run()
    assert watched.outcomes() == {"a.pcap": ("ok", None)}
    assert watched.builds == 1
    assert watched.said == [
        "1 file read; behind by 0 files, 1 being written, 0 not settled yet",
        "build b1 published in 0.0 s",
    ]


def test_the_next_watch_reads_only_what_is_new(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))
    watched.run()
    (watched.folder / "b.pcap").write_bytes(capture(2))
    names = {commit.name for commit in watched.paths.open_lake().live()}
    watched.said.clear()
    watched.run()
    assert names < {commit.name for commit in watched.paths.open_lake().live()}
    # A real build at the start does nothing if nothing is new.
    assert [line.partition(";")[0] for line in watched.said[1:]] == ["1 file read", "build b3 published in 0.0 s"]


def test_with_once_nothing_new_is_said(watched: Watched) -> None:
    watched.run()
    assert watched.said == ["nothing new to ingest or publish"]


def test_bad_files_are_outcomes_and_stop_nothing(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))
    (watched.folder / "cut.pcap").write_bytes(capture(2) + capture(3)[24:-9])
    (watched.folder / "what.bin").write_bytes(b"\0\1\2")
    watched.run()
    outcomes = watched.outcomes()
    assert outcomes["a.pcap"] == ("ok", None)
    assert outcomes["cut.pcap"] == ("partial", "truncated")
    assert outcomes["what.bin"][0] == "rejected"
    assert watched.said[-2].startswith("3 files read (1 partial, 1 rejected); behind by 0 files")
    assert any(line.startswith("rejected ") and "what.bin" in line for line in watched.said)


def test_a_full_disk_pauses_the_watch_and_nothing_is_lost(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))

    def full(point: str, file: Path | None = None) -> None:
        if point == "data.flushing":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

    monkeypatch.setattr(named_points, "reach", full)

    def room() -> None:
        monkeypatch.setattr(named_points, "reach", lambda *_: None)

    def enough() -> None:
        raise Ended

    # One look before the file has settled, two that fail, one that succeeds.
    watched.on_sleep = [lambda: None, lambda: None, room, enough]
    with pytest.raises(Ended):
        watched.run(once=False)
    paused, done, _ = watched.said
    assert paused.startswith("paused: ")
    assert "no space left on the disk" in paused
    assert paused.endswith("behind by 1 file")
    assert done.startswith("1 file read; behind by 0 files")
    assert watched.slept[1:3] == [watch.RETRY_S] * 2
    assert watched.outcomes() == {"a.pcap": ("ok", None)}


def test_a_batch_that_would_fill_the_disk_waits_for_room(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))
    free = iter([10, 20, 10**9])
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: next(free))

    def enough() -> None:
        raise Ended

    watched.on_sleep = [lambda: None, lambda: None, lambda: None, enough]
    with pytest.raises(Ended):
        watched.run(once=False)
    assert [line.partition(" ")[0] for line in watched.said] == ["paused:", "1", "build"]
    assert "10 bytes are free" in watched.said[0]


def test_with_once_a_file_that_never_settles_is_left(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    path = watched.folder / "grows.txt"
    path.write_text("")
    seconds = iter(range(0, 1000, 5))
    monkeypatch.setattr(arrivals, "is_being_written", lambda _: None)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))

    def grow() -> None:
        with path.open("a") as file:
            file.write("x")

    watched.on_sleep = [grow] * 100
    watched.run()
    assert watched.outcomes() == {}


def test_a_build_that_failed_is_tried_again_without_another_ingest(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))

    def fails() -> None:
        raise BuildError("a test failed")

    def repaired() -> None:
        watched.on_build = lambda: None

    def enough() -> None:
        raise Ended

    watched.on_build = fails
    watched.on_sleep = [lambda: None, repaired, enough]
    with pytest.raises(Ended):
        watched.run(once=False)
    said = [line.partition(";")[0] for line in watched.said]
    assert said == ["1 file read", "paused: a test failed", "build b1 published in 0.0 s"]


def test_with_once_a_failure_is_raised(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))

    def fails() -> None:
        raise BuildError("a test failed")

    watched.on_build = fails
    with pytest.raises(BuildError):
        watched.run()


def test_a_kill_between_ingest_and_build_leaves_the_build_to_the_next_watch(watched: Watched) -> None:
    (watched.folder / "a.pcap").write_bytes(capture(1))

    def killed() -> None:
        raise Ended

    watched.on_build = killed
    with pytest.raises(Ended):
        watched.run()
    assert watched.outcomes() == {"a.pcap": ("ok", None)}
    watched.on_build = lambda: None
    watched.run()
    assert watched.builds == 1
    assert watched.said[-1] == "build b1 published in 0.0 s"
    assert [line for line in watched.said if "read" in line] == watched.said[:1]


def test_a_long_backlog_is_published_bit_by_bit(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BATCH_FILES", 2)
    for number in range(5):
        (watched.folder / f"c{number}.txt").write_text(f"{number}")
    watched.run()
    assert [line.rpartition("behind by ")[2].partition(",")[0] for line in watched.said if "read" in line] == [
        "3 files",
        "1 file",
        "0 files",
    ]
    assert watched.builds == 3


def test_small_files_of_the_lake_are_put_together(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOSE_COMMITS", 3)
    for number in range(4):
        (watched.folder / f"unlike-{'abcd'[number]}.pcap").write_bytes(capture(number))
    watched.run()
    lake = watched.paths.open_lake()
    assert len(lake.live()) == 4
    assert [len(pack.commits) for pack in lake.packs()] == [4]
    assert len(lake.objects("ingest_outcome")) == 1


def test_what_was_ingested_is_published_although_its_files_could_not_be_put_together(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOSE_COMMITS", 1)
    (watched.folder / "a.pcap").write_bytes(capture(1))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def enough() -> None:
        raise Ended

    monkeypatch.setattr(watch, "compact", full)
    watched.on_sleep = [lambda: None, lambda: None, enough]
    with pytest.raises(Ended):
        watched.run(once=False)
    assert [line.partition(" ")[0] for line in watched.said] == ["paused:", "build"]


def test_a_description_that_comes_later_has_its_table_read(watched: Watched) -> None:
    (watched.folder / "rtt.csv").write_text("time,client,rtt\n2026-11-01T12:00:00Z,192.0.2.17,24.5\n")
    watched.run()
    assert watched.outcomes()["rtt.csv"][0] == "rejected"

    def describe() -> None:
        (watched.folder / "rtt.yaml").write_text(DESCRIPTION)

    def enough() -> None:
        raise Ended

    watched.on_sleep = [lambda: None, lambda: None, describe, lambda: None, lambda: None, lambda: None, enough]
    with pytest.raises(Ended):
        watched.run(once=False)
    assert watched.outcomes()["rtt.csv"] == ("ok", None)


def test_a_file_that_went_meanwhile_was_not_rejected(watched: Watched) -> None:
    lake = watched.paths.open_lake()
    assert watch._was_rejected(lake, watched.folder / "gone.csv") is False


@pytest.mark.parametrize(
    ("number", "options", "status"),
    [(signal.SIGINT, ["--once"], 130), (signal.SIGTERM, ["--once"], 143), (signal.SIGTERM, [], 0)],
)
def test_only_a_watch_that_has_an_end_fails_if_a_signal_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, options: list[str], status: int
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "new.pcap").write_bytes(capture(1))

    def end(_: float) -> None:
        signal.raise_signal(number)

    # The file is not settled, so the watch waits before it is read.
    monkeypatch.setattr(time, "sleep", end)
    command = ["watch", str(tmp_path / "in"), "--var", str(tmp_path / "var"), *options]
    done = CliRunner().invoke(application(), command)
    assert (done.exit_code, "stopped; committed files are kept" in done.output) == (status, True), done.output


def test_a_name_moves_no_cursor_and_is_no_markup() -> None:
    out = io.StringIO()
    with spoken(Console(file=out, width=40)) as (say, _):
        say("rejected /in/[red]a\x1b[2J\nb.pcap: text of no known format")
    assert out.getvalue() == "rejected /in/[red]a\\x1b[2J\\nb.pcap: text of no known format\n"
