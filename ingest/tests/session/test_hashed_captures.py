"""A large capture is hashed as it is decoded: same facts and outcomes as if it had been hashed before."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import random
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap
from native_inputs import zstd

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.interface import Source
from sojourn_ingest.lake import Lake
from sojourn_ingest.lake import writer as lake_writer
from sojourn_ingest.remote import as_path
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session import Attempt, IngestSession, files_below, sources, state
from sojourn_ingest.session.draft import Draft

#: Columns that say when something was read, not what it is.
OF_THE_ATTEMPT = {"modified_ns", "started_ns", "duration_ms"}
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "pcap": bytes,
    "pcap.gz": gzip.compress,
    "pcap.zst": zstd,
    "pcap.xz": lzma.compress,
}


@pytest.fixture(autouse=True)
def small_captures_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "HASHED_FIRST_BYTES", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return folder


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Source]:
    """Return the sources of captures as they are decoded."""
    sources: list[Source] = []
    read = Capture.read

    def reading(self: Capture, source: Source, *arguments: Any) -> object:
        sources.append(source)
        return read(self, source, *arguments)

    monkeypatch.setattr(Capture, "read", reading)
    return sources


#: File header, record header, headers of Ethernet, IPv4 and UDP, payload.
HEADER_BYTES, RECORD_BYTES = 24, 16 + 14 + 28 + 200


def with_damaged_record(content: bytes) -> bytes:
    place = HEADER_BYTES + 15 * RECORD_BYTES
    return content[:place] + b"\xff" * 16 + content[place + 16 :]


def cut(content: bytes) -> bytes:
    return content[:-20]


def capture(folder: Path, packets: int = 40) -> bytes:
    # The same bytes each time: by chance, two forms of others have the same size.
    noise = random.Random(0)
    frames = [udp_frame(noise.randbytes(200), ("10.0.0.1", 1000 + number)) for number in range(packets)]
    return write_pcap(folder / "plain", frames, gap_ns=60_000_000).read_bytes()


def ingest(var: Path, folder: Path, forgotten: ForgottenHosts | None = None) -> dict[str, Attempt]:
    lake = Lake(var / "lake")
    pseudonymiser = Pseudonymiser(b"key", forgotten=forgotten or ForgottenHosts())
    with lake.writing():
        attempts = IngestSession(lake, pseudonymiser).run(files_below([folder]), lambda _: None)
    assert [name for name in Lake(var / "lake").leftovers() if "ingest_outcome" not in name] == []
    return {attempt.path.name: attempt for attempt in attempts}


def lake_files(var: Path) -> list[Path]:
    return Lake(var / "lake").files("ingest_outcome")


def rows(var: Path) -> dict[str, list[str]]:
    """Return the rows of the lake, in an order of their own, without what differs between two attempts."""
    lake = Lake(var / "lake")
    tables = {name: [row for path in lake.files(name) for row in pq.read_table(path).to_pylist()] for name in TABLES}
    return {
        name: sorted(repr({key: row[key] for key in sorted(row) if key not in OF_THE_ATTEMPT}) for row in held)
        for name, held in tables.items()
    }


def test_rows_and_outcomes_are_the_same_as_of_a_capture_that_was_hashed_before(
    tmp_path: Path, folder: Path, decoded: list[Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_writer, "ROW_GROUP_ROWS", 7)
    plain = capture(tmp_path, packets=60)
    kinds: dict[str, Callable[[bytes], bytes]] = {
        "whole": bytes,
        "cut": cut,
        "damaged_record": with_damaged_record,
        "old_version": lambda content: content[:4] + b"\1\0\2\0" + content[8:],
    }
    contents = (plain[: HEADER_BYTES + packets * RECORD_BYTES] for packets in range(60, 16, -1))
    sizes: set[int] = set()

    def write(name: str, *steps: Callable[[bytes], bytes]) -> None:
        """Write another content for each file, of another stored size, else they might be copies."""
        each = (reduce(lambda content, step: step(content), steps, content) for content in contents)
        stored = next(stored for stored in each if len(stored) not in sizes)
        sizes.add(len(stored))
        (folder / name).write_bytes(stored)

    def damaged(stored: bytes) -> bytes:
        half = len(stored) // 2 + 40
        return stored[:half] + bytes(30) + stored[half + 30 :]

    for suffix, compress in FORMS.items():
        for kind, spoil in kinds.items():
            write(f"{kind}.{suffix}", spoil, compress)
        write(f"cut_stream.{suffix}", cut, compress, cut)
        write(f"damaged_stream.{suffix}", cut, compress, damaged)
    files = sorted(folder.iterdir())
    ingest(tmp_path / "late", folder)
    # Of a block of Zstandard that is cut nothing can be read, not even what tells the format.
    assert {source.path for source in decoded} == set(files) - {folder / "cut_stream.pcap.zst"}
    assert all(source.to_hash for source in decoded)
    decoded.clear()
    monkeypatch.setattr(state, "HASHED_FIRST_BYTES", 2**40)
    ingest(tmp_path / "first", folder)
    assert not any(source.to_hash for source in decoded)
    late, first = rows(tmp_path / "late"), rows(tmp_path / "first")
    assert late == first
    assert len(late["flow"]) > 300
    statuses = [row["status"] for path in lake_files(tmp_path / "late") for row in pq.read_table(path).to_pylist()]
    assert {status: statuses.count(status) >= 4 for status in statuses} == dict.fromkeys(
        ("ok", "partial", "rejected"), True
    )


def test_a_forgotten_host_is_left_out_where_it_had_been_written(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_writer, "ROW_GROUP_ROWS", 3)
    ends = [("8.8.8.8", 1000), ("9.9.9.9", 1000)]
    write_pcap(folder / "a.pcap", [udp_frame(b"x" * 100, ends[n % 2]) for n in range(40)], gap_ns=60_000_000)
    forgotten = ForgottenHosts(b"forget", host_keys=frozenset({Pseudonymiser(b"key").keys("8.8.8.8")[0]}))
    for kind, least_bytes in (("late", 0), ("first", 2**40)):
        monkeypatch.setattr(state, "HASHED_FIRST_BYTES", least_bytes)
        ingest(tmp_path / kind, folder, forgotten)
    late = rows(tmp_path / "late")
    assert late == rows(tmp_path / "first")
    assert (len(late["flow"]), len(late["flow_interval"])) == (1, 20)


def test_the_hash_is_of_all_content_also_behind_damage(tmp_path: Path, folder: Path) -> None:
    content = with_damaged_record(capture(tmp_path))
    (folder / "a.pcap.gz").write_bytes(gzip.compress(content))
    commit = ingest(tmp_path, folder)["a.pcap.gz"].commit
    assert (commit.status, commit.content_hash) == ("partial", hashlib.sha256(content).hexdigest())


def test_of_one_content_under_several_compressions_there_is_one_source_of_facts(
    tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    plain = capture(tmp_path)
    sizes: set[int] = set()
    for suffix, compress in FORMS.items():
        stored = compress(plain)
        while len(stored) in sizes:
            # A stream without content gives the file another size.
            stored += compress(b"")
        sizes.add(len(stored))
        (folder / f"a.{suffix}").write_bytes(stored)
    attempts = ingest(tmp_path, folder)
    assert [source.to_hash for source in decoded] == [True] * 4
    holders = [attempt.path for attempt in attempts.values() if attempt.commit.duplicate_of is None]
    copies = [attempt.commit for attempt in attempts.values() if attempt.commit.duplicate_of is not None]
    assert len(holders) == 1
    assert {commit.duplicate_of for commit in copies} == {str(holders[0])}
    assert {(commit.status, commit.records_read) for commit in copies} == {("ok", 40)}
    assert len(rows(tmp_path)["flow"]) == 40
    decoded.clear()
    assert {attempt.disposition for attempt in ingest(tmp_path, folder).values()} == {"unchanged"}
    assert decoded == []


def test_a_copy_in_a_later_ingest_is_found_after_it_was_decoded(
    tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    plain = capture(tmp_path)
    (folder / "a.pcap").write_bytes(plain)
    ingest(tmp_path, folder)
    (folder / "b.pcap.gz").write_bytes(gzip.compress(plain))
    commit = ingest(tmp_path, folder)["b.pcap.gz"].commit
    assert (commit.duplicate_of, commit.status, commit.holds_facts) == (str(folder / "a.pcap"), "ok", False)
    assert [source.path.name for source in decoded] == ["a.pcap", "b.pcap.gz"]
    assert len(rows(tmp_path)["flow"]) == 40


@pytest.mark.parametrize("at_once", [True, False])
def test_what_has_the_size_of_another_file_is_hashed_first_and_a_copy_not_decoded(
    at_once: bool, tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    plain = capture(tmp_path)
    (folder / "a.pcap").write_bytes(plain)
    if not at_once:
        ingest(tmp_path, folder)
    (folder / "b.pcap").write_bytes(plain)
    attempts = ingest(tmp_path, folder)
    assert sorted(str(attempt.commit.duplicate_of is None) for attempt in attempts.values()) == ["False", "True"]
    assert [source.to_hash for source in decoded] == [not at_once]


def test_a_capture_of_the_size_that_the_part_of_a_recording_has_is_hashed_first(
    tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    frames = [udp_frame(b"x" * 100)] * 10
    write_pcap(folder / "a.pcap0", frames)
    write_pcap(folder / "a.pcap1", frames, first_ns=1_700_000_000_020_000_000)
    ingest(tmp_path, folder)
    (folder / "copy.pcap").write_bytes((folder / "a.pcap1").read_bytes())
    commit = ingest(tmp_path, folder)["copy.pcap"].commit
    assert commit.duplicate_of == str(folder / "a.pcap1")
    assert "copy.pcap" not in {source.path.name for source in decoded}


def test_a_capture_that_is_only_newer_is_hashed_and_not_decoded(
    tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    (folder / "a.pcap").write_bytes(capture(tmp_path))
    ingest(tmp_path, folder)
    os.utime(folder / "a.pcap", ns=(1, 1))
    decoded.clear()
    assert ingest(tmp_path, folder)["a.pcap"].disposition == "unchanged"
    assert decoded == []


def test_a_capture_that_is_compressed_anew_is_hashed_and_not_decoded(
    tmp_path: Path, folder: Path, decoded: list[Source]
) -> None:
    plain = capture(tmp_path)
    (folder / "a.pcap.gz").write_bytes(gzip.compress(plain, 0))
    stored_bytes = ingest(tmp_path, folder)["a.pcap.gz"].commit.size_bytes
    (folder / "a.pcap.gz").write_bytes(gzip.compress(plain, 9))
    assert (folder / "a.pcap.gz").stat().st_size < stored_bytes
    for _ in range(2):
        assert ingest(tmp_path, folder)["a.pcap.gz"].disposition == "unchanged"
    assert [source.to_hash for source in decoded] == [True]


def test_a_capture_that_grows_while_it_is_decoded_is_rejected_and_leaves_nothing(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = capture(tmp_path)
    path = folder / "a.pcap"
    path.write_bytes(plain)
    read = Capture.read

    def read_and_grow(self: Capture, *arguments: Any) -> Any:
        yield from read(self, *arguments)
        with path.open("ab") as handle:
            handle.write(plain[24:])

    monkeypatch.setattr(Capture, "read", read_and_grow)
    commit = ingest(tmp_path, folder)["a.pcap"].commit
    assert (commit.status, commit.reason) == ("rejected", "changed_while_read")
    monkeypatch.undo()
    assert ingest(tmp_path, folder)["a.pcap"].commit.status == "ok"
    assert len(rows(tmp_path)["flow"]) == 40


def test_what_cannot_be_read_any_more_is_rejected_as_what_never_could(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a.pcap"
    path.write_bytes(capture(tmp_path))
    read = Capture.read

    def remove_and_read(self: Capture, *arguments: Any) -> Any:
        path.unlink()
        yield from read(self, *arguments)

    monkeypatch.setattr(Capture, "read", remove_and_read)
    commit = ingest(tmp_path, folder)["a.pcap"].commit
    assert (commit.status, commit.reason, commit.format, commit.content_hash) == ("rejected", "unreadable", None, "")


def test_an_archive_and_a_text_are_hashed_before_whatever_their_size(folder: Path) -> None:
    path = folder / "a.pcap"
    for content in (b"", b"PK\3\4" + bytes(100_000), b"text " * 50_000):
        path.write_bytes(content)
        opened = sources.open_file(path, Capture.hashed_magics)
        assert (opened.content_hash, opened.source.to_hash) == (hashlib.sha256(content).hexdigest(), False)


def test_an_object_is_hashed_when_its_copy_is_made(tmp_path: Path) -> None:
    session = IngestSession(Lake(tmp_path / "lake"), Pseudonymiser(b"key"))
    local = Draft(tmp_path / "a.pcap", size_bytes=10)
    assert session.files._state.hashed_by_reader(local) == Capture.hashed_magics
    assert session.files._state.hashed_by_reader(Draft(as_path("s3a://bucket/a.pcap"), size_bytes=10)) == frozenset()


@pytest.mark.parametrize("suffix", FORMS)
def test_of_a_capture_only_the_head_is_read_before_it_is_decoded(suffix: str, folder: Path) -> None:
    plain = write_pcap(folder / "plain", [udp_frame(bytes(1000))] * 200).read_bytes()
    path = folder / f"a.{suffix}"
    path.write_bytes(FORMS[suffix](plain))
    head = _native.fingerprint(str(path), head_bytes=300, head_only=list(Capture.hashed_magics))
    assert (head.sha256, head.plain_bytes, head.head) == ("", 301, plain[:300])
    decoder = _native.CaptureDecoder(str(path), hashed=True)
    assert sum(batch.num_rows for table, batch in decoder if table == "flow") == 1
    assert decoder.content_hash() == hashlib.sha256(plain).hexdigest()
    unhashed = _native.CaptureDecoder(str(path))
    list(unhashed)
    assert unhashed.content_hash() is None
