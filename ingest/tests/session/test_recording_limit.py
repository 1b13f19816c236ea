"""A recording limit: a folder that never ceases to fill gives recordings of a bounded length."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.capture import rotation
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, sources
from sojourn_ingest.session.plan import RecordingLimit, plan

SECOND_NS = 10**9
LIMIT = RecordingLimit(files=3, size_bytes=2**20)


def minute(folder: Path, number: int, packets: int = 60) -> Path:
    """Write a minute of one flow, as tcpdump -G 60 names it; the next minute continues it."""
    path = folder / f"t-2026112112{number:02}00.pcap"
    first_ns = (1_700_000_000 + 60 * number) * SECOND_NS
    return write_pcap(path, [udp_frame(b"x" * 20)] * packets, first_ns, 60 * SECOND_NS // packets)


def ingest(var: Path, *files: Path, limit: RecordingLimit | None = LIMIT) -> None:
    lake = Lake(var / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key"), recording_limit=limit).run(list(files), lambda _: None)


def recorded(var: Path) -> list[tuple[int, int]]:
    """Return files and packets of each live commit, in the order of their paths."""
    live = sorted(Lake(var / "lake").live(), key=lambda commit: commit.source_path)
    return [(max(1, len(commit.parts)), commit.records_read) for commit in live]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inputs").mkdir()
    return tmp_path / "inputs"


def test_files_one_by_one_become_the_recordings_that_all_of_them_become(tmp_path: Path, folder: Path) -> None:
    files = [minute(folder, number) for number in range(8)]
    for file in files:
        ingest(tmp_path / "one-by-one", file)
    ingest(tmp_path / "together", *files)
    expected = [(3, 180), (3, 180), (2, 120)]
    assert recorded(tmp_path / "one-by-one") == recorded(tmp_path / "together") == expected
    rows = [pq.read_table(file) for file in Lake(tmp_path / "one-by-one" / "lake").files("flow")]
    assert sum(table.num_rows for table in rows) == 3


def test_size_completes_a_recording_too(tmp_path: Path, folder: Path) -> None:
    files = [minute(folder, number) for number in range(5)]
    by_size = RecordingLimit(files=100, size_bytes=2 * files[0].stat().st_size)
    for file in files:
        ingest(tmp_path, file, limit=by_size)
    assert recorded(tmp_path) == [(2, 120), (2, 120), (1, 60)]


def test_only_the_end_of_a_long_row_is_looked_at(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [minute(folder, number) for number in range(8)]
    for file in files[:7]:
        ingest(tmp_path, file)
    looked_at: list[str] = []

    def span(path: Path) -> rotation.Span:
        looked_at.append(path.name)
        return rotation.capture_span(path)

    monkeypatch.setattr(Capture, "recordings_among", lambda _, paths: rotation.recordings_among(paths, span))
    lake = Lake(tmp_path / "lake")
    made = plan([files[7]], lake, Registry(), limit=LIMIT)
    assert looked_at == [files[6].name, files[7].name]
    assert [recording.parts for recording in made.recordings] == [(files[6], files[7])]
    assert made.also == set()


def test_a_part_that_is_as_it_was_is_not_hashed_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [minute(folder, number) for number in range(3)]
    for file in files[:2]:
        ingest(tmp_path, file)
    hashed: list[str] = []

    def fingerprint(path: str, head_only: Sequence[bytes]) -> _native.Fingerprint:
        hashed.append(Path(path).name)
        return _native.fingerprint(path, head_only=head_only)

    monkeypatch.setattr(sources, "_native", SimpleNamespace(fingerprint=fingerprint, DecodeError=_native.DecodeError))
    ingest(tmp_path, files[2])
    assert recorded(tmp_path) == [(3, 180)]
    assert hashed == [files[2].name]


@pytest.mark.parametrize("name", ["none", "gzip", "zstd", "xz", "zstd, skippable frame first"])
def test_compression_is_what_the_native_reader_finds(tmp_path: Path, name: str) -> None:
    content = {
        "none": b"plain",
        "gzip": gzip.compress(b"plain"),
        "zstd": pa.compress(b"plain", codec="zstd", asbytes=True),
        "xz": lzma.compress(b"plain"),
        "zstd, skippable frame first": b"\x53\x2a\x4d\x18\1\0\0\0x" + pa.compress(b"plain", codec="zstd", asbytes=True),
    }[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    assert sources.compression_of(path) == _native.fingerprint(str(path)).compression == name.partition(",")[0]


def test_a_changed_part_of_a_complete_recording_is_read_with_the_others(tmp_path: Path, folder: Path) -> None:
    files = [minute(folder, number) for number in range(4)]
    ingest(tmp_path, *files)
    minute(folder, 1, packets=30)
    ingest(tmp_path, files[1])
    assert recorded(tmp_path) == [(3, 150), (1, 60)]


def test_a_part_that_was_removed_leaves_its_recording_as_it_is(tmp_path: Path, folder: Path) -> None:
    files = [minute(folder, number) for number in range(4)]
    for file in files[:2]:
        ingest(tmp_path, file)
    files[0].unlink()
    for file in files[2:]:
        ingest(tmp_path, file)
    assert recorded(tmp_path) == [(2, 120), (2, 120)]
