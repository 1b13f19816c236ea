"""Which files of a folder are complete, with files that are really open, renamed, compressed and rotated."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn_transforms.watching import arrivals
from sojourn_transforms.watching.arrivals import Arrivals, WatchedFolders, is_being_written


class Clock:
    """Looks at one folder, a second later each time."""

    def __init__(self, folder: Path, quiet_s: float = 60.0) -> None:
        self.folders = WatchedFolders([folder], quiet_s, left_out=[folder / "var"])
        self.now_s = 0.0

    def look(self, seconds: float = 1.0) -> Arrivals:
        self.now_s += seconds
        return self.folders.look(self.now_s)

    def complete(self, seconds: float = 1.0) -> list[str]:
        return [path.name for path in self.look(seconds).complete]


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS: nobody can say whether a file is open for writing."""
    monkeypatch.setattr(arrivals, "is_being_written", lambda _: None)


def test_the_kernel_says_who_writes(tmp_path: Path) -> None:
    path = tmp_path / "t.pcap"
    with path.open("wb"):
        assert is_being_written(path) is True
    with path.open("rb"):
        assert is_being_written(path) is False
    with path.open("ab"):
        assert is_being_written(path) is True
    assert is_being_written(tmp_path / "missing") is None


def test_an_open_file_is_never_complete_however_long_it_is_quiet(tmp_path: Path, clock: Clock) -> None:
    with (tmp_path / "t.pcap").open("wb", buffering=0) as file:
        file.write(b"x")
        for _ in range(5):
            seen = clock.look(seconds=1000)
            assert (seen.complete, seen.written) == ((), 1)
    assert clock.complete() == ["t.pcap"]


def test_a_file_is_complete_at_the_second_look_and_comes_again_when_it_changed(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.pcap"
    path.write_bytes(b"x")
    assert clock.look().unsettled == 1
    assert clock.complete() == ["t.pcap"]
    clock.folders.take([path])
    assert clock.complete() == []
    with path.open("ab") as file:
        file.write(b"y")
    assert clock.complete() == []
    assert clock.complete() == ["t.pcap"]
    clock.folders.take([path])
    path.chmod(0o600)
    clock.look()
    assert clock.complete() == ["t.pcap"]


def test_what_was_not_taken_stays_complete(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "t.pcap").write_bytes(b"x")
    clock.look()
    assert clock.complete() == clock.complete() == ["t.pcap"]


def test_unfinished_and_hidden_files_wait_for_their_names(tmp_path: Path, clock: Clock) -> None:
    for name in ("a.pcap.part", ".b.pcap.X1", "var/c.pcap", ".git/d.pcap"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    clock.look()
    assert clock.look() == Arrivals((), 0, 0, ())
    (tmp_path / "a.pcap.part").rename(tmp_path / "a.pcap")
    (tmp_path / ".b.pcap.X1").rename(tmp_path / "b.pcap")
    clock.look()
    assert clock.complete() == ["a.pcap", "b.pcap"]


def test_a_file_waits_while_its_compressed_copy_is_written(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.pcap"
    path.write_bytes(b"x")
    with (tmp_path / "t.pcap.gz").open("wb"):
        clock.look()
        assert clock.complete() == []
    path.unlink()
    assert clock.complete() == ["t.pcap.gz"]


@pytest.mark.usefixtures("unknown")
def test_where_nobody_knows_a_file_has_to_be_quiet(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"x")
    assert clock.complete() == clock.complete(59.5) == []
    path.write_bytes(b"xy")
    assert clock.complete() == clock.complete(59.5) == []
    assert clock.complete() == ["results.json"]


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(lambda number: f"t-2026112112{number:02}00.pcap", id="tcpdump -G"),
        pytest.param(lambda number: f"t.pcap{number or ''}", id="tcpdump -C"),
        pytest.param(lambda number: f"t_{number + 1:05}_2026112112{number:02}00.pcapng", id="dumpcap -b"),
    ],
)
def test_where_nobody_knows_the_next_file_of_a_rotation_tells(
    tmp_path: Path, clock: Clock, name: Callable[[int], str]
) -> None:
    for number in range(2):
        (tmp_path / name(number)).write_bytes(b"x")
        os.utime(tmp_path / name(number), ns=(0, 10**18 + number * 10**9))
    clock.look()
    assert clock.complete() == [name(0)]
    # A ring begins anew: the file that comes first by its name is being written, whatever comes after it.
    clock.folders.take([tmp_path / name(0)])
    (tmp_path / name(0)).write_bytes(b"y")
    os.utime(tmp_path / name(0), ns=(0, 10**18 + 2 * 10**9))
    clock.look()
    assert clock.complete() == []


def test_a_folder_that_is_gone_is_named_and_comes_back(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "mounted")
    assert clock.look().unreadable == (f"{tmp_path}/mounted: No such file or directory",)
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "t.pcap").write_bytes(b"x")
    assert clock.look().unreadable == ()
    assert clock.complete() == ["t.pcap"]


def test_a_link_to_itself_or_to_a_log_of_the_kernel_hides_no_other_file(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "below-a-file").symlink_to(tmp_path / "t.pcap" / "x")
    (tmp_path / "kernel").symlink_to("/proc/version")
    (tmp_path / "t.pcap").write_bytes(b"x")
    assert clock.look().unreadable == ()
    assert clock.complete() == ["t.pcap"]
