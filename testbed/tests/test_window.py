"""Runs leave the guest by shared memory: what the host makes of it."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

from sojourn_testbed.backend.window import Window


def packed(run_id: str, files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{run_id}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_a_run_is_seen_when_the_guest_says_that_it_is_whole(tmp_path: Path) -> None:
    window = Window(tmp_path / "window")
    assert window.unpack(tmp_path) == []
    at = 4096
    for run_id in ("first", "second"):
        archive = packed(run_id, {"result.json": b"{}", "after.pcap": run_id.encode() * 1000})
        with window.path.open("r+b") as handle:
            handle.seek(at)
            handle.write(struct.pack("<Q", len(archive)) + archive)
            handle.flush()
            assert window.unpack(tmp_path) == []
            at += 8 + len(archive)
            handle.seek(0)
            handle.write(struct.pack("<Q", at))
        assert window.unpack(tmp_path) == [tmp_path / run_id]
        assert (tmp_path / run_id / "after.pcap").read_bytes() == run_id.encode() * 1000
        assert window.unpack(tmp_path) == []
    # Two gigabytes that are nearly all hole.
    assert window.path.stat().st_blocks * 512 < 2**20
