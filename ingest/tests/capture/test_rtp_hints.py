"""RTP as a run's manifest declares it: what looks would not tell, and what they would mistake."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import Attempt, IngestSession, files_below

SOURCE, DESTINATION = ("10.0.0.1", 1000), ("10.0.0.2", 2000)
Hint = tuple[str, int, str, int, bool, int | None, int | None]


def rtp(number: int, ssrc: int = 7, payload_type: int = 96, version: int = 2) -> bytes:
    return struct.pack("!BBHII", version << 6, payload_type, number, number // 2 * 3000, ssrc) + bytes(88)


def streams(path: Path, *hints: Hint) -> list[dict[str, Any]]:
    decoder = _native.CaptureDecoder(str(path), rtp_hints=hints)
    return [row for name, batch in decoder for row in batch.to_pylist() if name == "rtp_stream"]


def hint(is_rtp: bool, ssrc: int | None = None, payload_type: int | None = None) -> Hint:
    return (*SOURCE, *DESTINATION, is_rtp, ssrc, payload_type)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcap"


def test_a_short_stream_is_one_when_it_is_declared_with_its_rates(path: Path) -> None:
    write_pcap(path, [udp_frame(rtp(number)) for number in range(4)], gap_ns=10_000_000)
    assert streams(path) == []
    (stream,) = streams(path, hint(True, 7))
    assert (stream["ssrc"], stream["packets"], stream["expected_packets"], stream["frames"]) == (7, 4, 4, 2)
    assert stream["recognised_by"] == "declared"
    # 4 packets of 100 bytes and two frames within 30 ms.
    assert stream["rate_bps"] == pytest.approx(4 * 100 * 8 / 0.03)
    assert stream["frame_rate_fps"] == pytest.approx(1 / 0.03)
    assert streams(path, hint(True, 8)) == []


def test_odd_versions_and_payload_types_of_rtcp_are_taken_where_they_are_declared(path: Path) -> None:
    frames = [udp_frame(rtp(number, version=0)) for number in range(8)]
    frames += [udp_frame(rtp(number, ssrc=9, payload_type=72 | 0x80)) for number in range(8)]
    write_pcap(path, frames)
    assert streams(path) == []
    hinted = streams(path, hint(True, 7), hint(True, None, 72))
    assert [(stream["ssrc"], stream["packets"], stream["payload_type"]) for stream in hinted] == [
        (7, 8, 96),
        (9, 8, 72),
    ]


def test_a_flow_declared_not_to_be_rtp_has_no_stream_whatever_it_looks_like(path: Path) -> None:
    frames = [udp_frame(rtp(number)) for number in range(8)]
    frames += [udp_frame(rtp(number), ("10.0.0.3", 5), ("10.0.0.4", 6)) for number in range(8)]
    write_pcap(path, frames)
    assert len(streams(path)) == 2
    (stream,) = streams(path, hint(False))
    assert stream["flow_id"] == 1
    assert stream["recognised_by"] == "heuristics"


def test_hints_that_make_no_sense_are_refused(path: Path) -> None:
    write_pcap(path, [udp_frame(b"x")])
    with pytest.raises(ValueError, match="rtp_hints"):
        streams(path, ("nowhere", 1, "10.0.0.1", 2, True, None, None))


# --- from the manifest


def ingest(var: Path, *paths: Path, packets: bool = False) -> dict[str, Attempt]:
    lake = Lake(var / "lake")
    session = IngestSession(lake, Pseudonymiser(b"key"), packets=packets)
    with lake.writing():
        return {attempt.path.name: attempt for attempt in session.run(files_below(paths), lambda attempt: None)}


def rows(var: Path, name: str) -> list[dict[str, Any]]:
    return [row for path in Lake(var / "lake").files(name) for row in pq.read_table(path).to_pylist()]


def manifest(folder: Path, **flow: Any) -> Path:
    ends = {"src": SOURCE[0], "sport": SOURCE[1], "dst": DESTINATION[0], "dport": DESTINATION[1]}
    content = {
        "schema": "testbed-manifest/1", "run_id": "r", "study": "s", "bandwidth_bps": 1_000_000, "rtt_ms": 10,
        "queue": {"discipline": "bfifo"}, "order": "solo", "app": "probe",
        "flows": [{"role": "app", "proto": "udp", **ends, **flow}],
    }  # fmt: skip
    path = folder / "manifest.json"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    write_pcap(folder / "after.pcap", [udp_frame(rtp(number)) for number in range(4)])
    write_pcap(folder / "other.pcap", [udp_frame(rtp(number), ("10.0.0.9", 1)) for number in range(6)])
    return folder


def stored_streams(var: Path) -> list[tuple[int, int, str]]:
    return sorted((row["ssrc"], row["packets"], row["recognised_by"]) for row in rows(var, "rtp_stream"))


OTHER = (7, 6, "heuristics")


def test_a_manifest_that_changes_its_mind_has_the_captures_decoded_again(tmp_path: Path, run: Path) -> None:
    ingest(tmp_path, run)
    assert stored_streams(tmp_path) == [OTHER]
    ingest(tmp_path, manifest(run, ssrc=7))
    assert stored_streams(tmp_path) == [(7, 4, "declared"), OTHER]
    assert {attempt.disposition for attempt in ingest(tmp_path, run).values()} == {"unchanged"}
    # A capture alone: the manifest that the lake holds of its folder still counts.
    assert ingest(tmp_path, run / "after.pcap")["after.pcap"].disposition == "unchanged"
    ingest(tmp_path, manifest(run, rtp=False))
    assert stored_streams(tmp_path) == [OTHER]
    attempts = ingest(tmp_path, manifest(run))
    assert attempts["after.pcap"].disposition == "new"
    assert stored_streams(tmp_path) == [OTHER]
    assert len(rows(tmp_path, "flow")) == 2
    assert len({row["source_path"] for row in rows(tmp_path, "ingest_outcome")}) == 3


def test_hints_and_packets_do_not_undo_one_another(tmp_path: Path, run: Path) -> None:
    manifest(run, ssrc=7)
    ingest(tmp_path, run, packets=True)
    assert (len(rows(tmp_path, "packet")), len(stored_streams(tmp_path))) == (10, 2)
    assert {attempt.disposition for attempt in ingest(tmp_path, run).values()} == {"unchanged"}


def test_copies_share_what_one_manifest_declares_and_settle(tmp_path: Path, run: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(run / "after.pcap", bare / "copy.pcap")
    manifest(run, ssrc=7)
    second = tmp_path / "second"
    shutil.copytree(run, second)
    manifest(second, ssrc=7, rtp_payload_type=96)
    for place, order in enumerate([(run, bare, second), (bare, second, run), (second, run, bare)]):
        var = tmp_path / f"var{place}"
        for _ in range(2):
            attempts = [attempt for folder in order for attempt in ingest(var, folder).values()]
        assert {attempt.disposition for attempt in attempts} == {"unchanged"}
        assert stored_streams(var) == [(7, 4, "declared"), OTHER]
        captures = [row for row in rows(var, "ingest_outcome") if row["format"] == "capture"]
        assert (len(captures), sum(row["duplicate_of"] is None for row in captures)) == (5, 2)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_captures_that_are_swapped_are_read_as_declared_where_they_are(tmp_path: Path, order: tuple[str, str]) -> None:
    for number, name in enumerate("ab"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        write_pcap(folder / "after.pcap", [udp_frame(rtp(packet)) for packet in range(4 + number)])
        manifest(folder, ssrc=7, **({"rtp_payload_type": 96} if name == "b" else {}))
    first, second = (tmp_path / "runs" / name / "after.pcap" for name in order)
    ingest(tmp_path, tmp_path / "runs")
    between = first.rename(tmp_path / "between")
    second.rename(first)
    between.rename(second)
    ingest(tmp_path, tmp_path / "runs")
    ingest(tmp_path / "fresh", tmp_path / "runs")
    evolved, fresh = (
        sorted((row["packets"], row["decoder_version"]) for row in rows(var, "rtp_stream"))
        for var in (tmp_path, tmp_path / "fresh")
    )
    assert evolved == fresh
    assert {attempt.disposition for attempt in ingest(tmp_path, tmp_path / "runs").values()} == {"unchanged"}


def test_a_capture_that_is_moved_is_read_as_declared_where_it_is(tmp_path: Path, run: Path) -> None:
    manifest(run, ssrc=7)
    ingest(tmp_path, run)
    assert stored_streams(tmp_path) == [(7, 4, "declared"), OTHER]
    second = tmp_path / "second"
    second.mkdir()
    manifest(second, rtp=False)
    (run / "after.pcap").rename(second / "after.pcap")
    ingest(tmp_path, run, second)
    assert stored_streams(tmp_path) == [OTHER]
    assert {attempt.disposition for attempt in ingest(tmp_path, run, second).values()} == {"unchanged"}
