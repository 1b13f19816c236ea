"""Ingest, compaction and build in 1, 2 and 4 GiB of a control group: they finish, and the kernel ends none."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.verification import verify
from sojourn_snapshot.pointer import read_pointer
from sojourn_snapshot.verification import damages

from .conftest import SOJOURN
from .memory_group import MemoryGroup, NoGroupError, memory_group

GIB = 2**30
ROWS = 1_000_000
FLOWS = 300_000

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.privileged]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write generated connections, and a capture of as many flows as packets."""
    folder = tmp_path_factory.mktemp("memory") / "inputs"
    done = subprocess.run(
        [str(SOJOURN), "generate", "connections", "--rows", str(ROWS), "--days", "14", "--seed", "1", "--out",
         str(folder)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (folder / "flows.pcap").open("wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for number in range(FLOWS):
            header = struct.pack("!BBHHHBBHII", 0x45, 0, 28, 1, 0, 64, 17, 0, 0x0A000000 + number // 60_000, 0xC0A80001)
            frame = bytes(12) + b"\x08\x00" + header + struct.pack("!HHHH", 1024 + number % 60_000, 53, 8, 0)
            capture.write(struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000, len(frame), len(frame)))
            capture.write(frame)
    return folder


@pytest.fixture(scope="module", params=[1, 2, 4])
def group(request: pytest.FixtureRequest) -> Iterator[MemoryGroup]:
    try:
        with memory_group(request.param * GIB) as made:
            yield made
    except NoGroupError as error:
        pytest.skip(str(error))


def test_the_whole_way_in_little_memory(group: MemoryGroup, inputs: Path, tmp_path: Path) -> None:
    var = {"SOJOURN_VAR": str(tmp_path / "var"), "SOJOURN_ADDRESS_KEY": "one", "SOJOURN_FORGET_KEY": "two"}
    peaks = []
    for argv in (["ingest", str(inputs)], ["maintain", "compact"], ["build"]):
        done = group.run([str(SOJOURN), *argv], var)
        peaks.append(f"{' '.join(argv[:2])}: up to {group.peak_bytes / GIB:.2f} GiB")
        assert group.killed == 0
        assert done.returncode == 0, done.stderr[-3000:]
        assert "Traceback" not in done.stderr
        assert verify(Lake(tmp_path / "var" / "lake"), full=True).damages == ()
    snapshots = tmp_path / "var" / "snapshots"
    pointer = read_pointer(snapshots)
    assert pointer is not None
    assert damages(snapshots / pointer.build_id, full=True) == []
    print(f"cgroup v{group.version}, {'; '.join(peaks)}")
