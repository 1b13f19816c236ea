"""``sojourn watch`` as a process over a folder that fills: how soon an answer has a capture, kills, and a long day."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sojourn_ingest.lake import Lake
from sojourn_snapshot.documents import read_build
from sojourn_snapshot.pointer import read_pointer

from .conftest import SOJOURN, serving

#: One-minute captures of the day, and after how many seconds the next one comes.
MINUTES = 1440
EVERY_S = 0.5
#: The first minute of the day.
BEGIN_S = 1_795_564_800
#: A capture is in an answer so soon after it was closed, with the bundled sample as history.
IN_AN_ANSWER_S = 10
#: Real one-minute captures come so far apart: what comes last on a day is published before the next one is there.
MINUTE_S = 60
PEAK_MIB = 1500
PATIENCE_S = 600

pytestmark = [pytest.mark.integration, pytest.mark.long]


def frame(client: str, forward: bool, sequence: int, payload: bytes) -> bytes:
    """Return a segment of a connection of a client."""
    ends = socket.inet_aton(client), socket.inet_aton("198.51.100.7")
    ports = (5001, 443) if forward else (443, 5001)
    segment = struct.pack("!HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, 1, 5 << 4, 0x18, 65535, 0, 0) + payload
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + header + b"".join(ends if forward else ends[::-1]) + segment


def capture(begin_s: int, packets: int, seconds: int = 60) -> bytes:
    """Return a capture of one connection that goes on for days and one of this capture, packet by packet in turn."""
    content = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    own = f"93.184.{begin_s // 60 // 250 % 250}.{begin_s // 60 % 250}"
    for number in range(packets):
        time_s, time_ns = divmod(number * seconds * 10**9 // packets, 10**9)
        client = "93.184.255.1" if number % 4 < 2 else own
        data = frame(client, number % 2 == 0, number // 4 * 100, b"x" * 100 if number % 2 == 0 else b"")
        content.append(struct.pack("<IIII", begin_s + time_s, time_ns, len(data), len(data)) + data)
    return b"".join(content)


def minute(number: int) -> str:
    return f"t-{datetime.fromtimestamp(BEGIN_S + 60 * number, UTC):%Y%m%d%H%M%S}.pcap"


@dataclass
class Watching:
    """A watch that runs: its process and what it has said."""

    process: subprocess.Popen[bytes]
    log: Path
    peak_mib: int = field(default=0)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def ingested(self) -> int:
        return sum(int(count.replace(",", "")) for count in re.findall(r"([\d,]+) files? read", self.said()))

    def measure(self) -> None:
        (peak,) = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        self.peak_mib = int(peak) // 1024

    def wait_for(self, files: int) -> None:
        """Wait until so many files were ingested and what they changed was published."""
        deadline = time.monotonic() + PATIENCE_S
        while self.ingested() < files or "published" not in self.said().splitlines()[-1]:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            self.measure()
            time.sleep(0.1)


def environment(var: Path) -> dict[str, str]:
    return {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one", "SOJOURN_FORGET_KEY": "two"}


@contextmanager
def watching(var: Path, folder: Path, log: Path) -> Iterator[Watching]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(SOJOURN), "watch", str(folder)], env=environment(var), stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield Watching(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def sojourn(var: Path, *arguments: str | Path) -> None:
    done = subprocess.run(
        [str(SOJOURN), *map(str, arguments)], env=environment(var), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "captures").mkdir()
    return tmp_path / "captures"


def test_a_capture_is_in_an_answer_seconds_after_it_was_closed(tmp_path: Path, folder: Path, sample: Path) -> None:
    var = tmp_path / "var"
    sojourn(var, "ingest", sample)
    sojourn(var, "build")
    with serving(var) as service, watching(var, folder, tmp_path / "log") as watch:

        def recordings() -> int:
            listed = service.rows("capture_recording", select="dataset")
            return sum(row["dataset"] == f"captures:{folder.name}" for row in listed)

        content = capture(BEGIN_S, 100_000)
        for count, name in enumerate(("first.pcap", "second.pcap"), 1):
            with (folder / name).open("wb") as file:
                file.write(content[:-1_000_000])
                file.flush()
                time.sleep(5)
                assert recordings() == count - 1
                file.write(content[-1_000_000:])
                if name == "second.pcap":
                    # Another content, so that it is no copy of the first.
                    file.write(capture(BEGIN_S + 90, 2)[24:])
            closed = time.monotonic()
            while recordings() < count:
                assert time.monotonic() - closed < PATIENCE_S, watch.said()
                time.sleep(0.1)
            took_s = time.monotonic() - closed
        # The first one also pays for what is loaded once.
        print(f"second capture: in an answer after {took_s:.1f} s")
        assert took_s < IN_AN_ANSWER_S, watch.said()
        assert "partial" not in watch.said()


def test_tcpdump_that_rotates_gives_whole_captures(tmp_path: Path, folder: Path) -> None:
    if shutil.which("tcpdump") is None or os.geteuid() != 0:
        pytest.skip("needs tcpdump, and root to capture")
    with watching(tmp_path / "var", folder, tmp_path / "log") as watch:
        ping = subprocess.Popen(["ping", "-q", "-i", "0.05", "127.0.0.1"], stdout=subprocess.DEVNULL)
        pattern = str(folder / "t-%Y%m%d%H%M%S.pcap")
        tcpdump = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-Z", "root", "-G", "2", "-w", pattern, "icmp"], stderr=subprocess.DEVNULL
        )
        time.sleep(20)
        tcpdump.send_signal(signal.SIGINT)
        tcpdump.wait()
        ping.terminate()
        ping.wait()
        files = sorted(folder.iterdir())
        assert len(files) > 5
        watch.wait_for(len(files))
    live = Lake(tmp_path / "var" / "lake").live()
    assert {commit.status for commit in live} == {"ok"}
    assert sum(max(1, len(commit.parts)) for commit in live) == len(files)
    counted = sum(
        int(subprocess.run(["tcpdump", "--count", "-r", file], capture_output=True, check=True).stdout.split()[0])
        for file in files
    )
    assert sum(commit.records_read for commit in live) == counted


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_lose_nothing_and_count_nothing_twice(tmp_path: Path, folder: Path, seed: int) -> None:
    var, other = tmp_path / "var", tmp_path / "other"
    chance = random.Random(seed)
    for number in range(8):
        for part in range(3):
            (folder / minute(3 * number + part)).write_bytes(capture(BEGIN_S + 60 * (3 * number + part), 200))
        with (tmp_path / "log").open("ab") as log:
            watch = subprocess.Popen([str(SOJOURN), "watch", str(folder)], env=environment(var), stdout=log, stderr=log)
            time.sleep(chance.uniform(2, 12))
            watch.kill()
            watch.wait()
    sojourn(var, "watch", "--once", folder)
    sojourn(other, "watch", "--once", folder)
    assert Lake(var / "lake").fingerprint() == Lake(other / "lake").fingerprint()
    assert published(var) == published(other)
    sojourn(var, "maintain", "verify", "--hashes")


def published(var: Path) -> object:
    """Return the fingerprint of what a served build was made of."""
    pointer = read_pointer(var / "snapshots")
    assert pointer is not None
    return read_build(var / "snapshots" / pointer.build_id)["fingerprint"]


def test_a_day_of_one_minute_captures_does_not_fall_behind(tmp_path: Path, folder: Path) -> None:
    var = tmp_path / "var"
    with watching(var, folder, tmp_path / "log") as watch:
        for number in range(MINUTES):
            began = time.monotonic()
            (folder / minute(number)).write_bytes(capture(BEGIN_S + 60 * number, 1000))
            watch.measure()
            time.sleep(max(0.0, EVERY_S - (time.monotonic() - began)))
        watch.wait_for(MINUTES)
        # The last one comes alone, as each does on a real day.
        (folder / minute(MINUTES)).write_bytes(capture(BEGIN_S + 60 * MINUTES, 1000))
        began = time.monotonic()
        watch.wait_for(MINUTES + 1)
        took_s = time.monotonic() - began
        print(f"last of {MINUTES + 1} captures: published after {took_s:.1f} s; peak {watch.peak_mib} MiB")
    assert took_s < MINUTE_S, watch.said()
    assert watch.peak_mib < PEAK_MIB
    assert not re.search("partial|rejected|paused", watch.said())
    live = Lake(var / "lake").live()
    assert sum(commit.records_read for commit in live) == 1000 * (MINUTES + 1)
    assert max(len(commit.parts) for commit in live) == min(60, MINUTES + 1)
