"""A capture that goes on with zeros, as a file that was preallocated does, is not read to its end."""

from pathlib import Path

from captures import udp_frame, write_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import Attempt, IngestSession

#: A header of a record, without time and length.
RECORD_BYTES = 16
#: In a row.
MOST_RECORDS = 4096


def ingested(folder: Path, zeros: int, runs: int = 1) -> tuple[Attempt, int]:
    """Return what became of a capture with runs of records of zeros, each behind ten packets, and its size."""
    path = write_pcap(folder / "a.pcap", [udp_frame(b"x" * 20) for _ in range(10)])
    content = path.read_bytes()
    path.write_bytes(content[:24] + (content[24:] + bytes(RECORD_BYTES * zeros)) * runs)
    lake = Lake(folder / "lake")
    with lake.writing():
        (attempt,) = IngestSession(lake, Pseudonymiser(b"key")).run([path], lambda _: None)
    return attempt, path.stat().st_size


def test_a_run_of_records_of_zeros_ends_the_reading_and_is_on_record(tmp_path: Path) -> None:
    attempt, size_bytes = ingested(tmp_path, 100_000)
    commit = attempt.commit
    assert (commit.status, commit.reason, commit.records_read) == ("partial", "corrupt_record", 10)
    assert attempt.refused == MOST_RECORDS
    end = size_bytes - RECORD_BYTES * (100_000 - MOST_RECORDS)
    assert f"{MOST_RECORDS} records of zeros end at offset {end}" in str(commit.message)


def test_what_follows_shorter_runs_is_read(tmp_path: Path) -> None:
    attempt, _ = ingested(tmp_path, MOST_RECORDS, runs=3)
    assert (attempt.commit.status, attempt.commit.records_read, attempt.refused) == ("ok", 30, 3 * MOST_RECORDS)
