"""What a build reads stays where it is, whatever is ingested, compacted or forgotten meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_ingest.lake import FactWriter, Lake, LakeDamagedError, Outcome, readers
from sojourn_ingest.lake.storage import StorageError
from sojourn_ingest.schema import table


def put(lake: Lake, content: str, score: float) -> None:
    outcome = Outcome(
        source_path="/a", content_hash=content, decoder_version="v1", size_bytes=1, modified_ns=1,
        compression="none", format="test", status="ok", records_read=1,
    )  # fmt: skip
    with FactWriter(lake.storage, content, "v1") as writer:
        declared = [f for f in table("qoe_score").arrow_schema() if f.name not in ("source_hash", "decoder_version")]
        row = dict.fromkeys(field.name for field in declared)
        row |= {
            "score_number": 0,
            "study_id": "s",
            "scored": "run/a",
            "run_id": "a",
            "metric": "brisque",
            "score": score,
        }
        writer.write("qoe_score", pa.RecordBatch.from_pylist([row], schema=pa.schema(declared)))
        lake.commit(outcome, writer.finish())


def scores(lake: Lake) -> list[float]:
    return [s for path in lake.files("qoe_score") for s in pq.read_table(path).column("score").to_pylist()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    lake = Lake(root)
    with lake.writing():
        put(lake, "c1", 1.0)
    return root


def test_files_that_a_reader_holds_outlive_their_replacement_until_the_writer_after(root: Path) -> None:
    reader, writer = Lake(root), Lake(root)
    with reader.reading():
        with writer.writing():
            put(writer, "c2", 2.0)
        with Lake(root).writing():
            pass
        assert scores(reader) == [1.0]
        assert scores(Lake(root)) == [2.0]
    assert len(list((root / "data" / "qoe_score").iterdir())) == 2
    with Lake(root).writing():
        assert len(list((root / "data" / "qoe_score").iterdir())) == 1
    assert list((root / "readers").iterdir()) == []


def test_what_a_reader_looks_at_is_never_written_over(root: Path) -> None:
    reader = Lake(root)
    with reader.reading():
        (held,) = reader.files("qoe_score")
        before = held.stat().st_mtime_ns
        for content in ("c2", "c1"):
            writer = Lake(root)
            with writer.writing():
                put(writer, content, 3.0)
        assert scores(reader) == [1.0]
        assert held.stat().st_mtime_ns == before


def test_what_a_reader_looks_at_is_not_written_over_by_a_writer_that_began_before_it(root: Path) -> None:
    writer, reader = Lake(root), Lake(root)
    with writer.writing():
        put(writer, "c2", 2.0)
        put(writer, "c1", 1.0)
        with reader.reading():
            (held,) = reader.files("qoe_score")
            before = held.stat().st_mtime_ns
            put(writer, "c2", 2.0)
            put(writer, "c1", 3.0)
            assert scores(reader) == [1.0]
            assert held.stat().st_mtime_ns == before
            assert scores(Lake(root)) == [3.0]


def test_a_reader_sees_what_is_live_when_it_begins(root: Path) -> None:
    reader = Lake(root)
    writer = Lake(root)
    with writer.writing():
        put(writer, "c2", 2.0)
    with reader.reading():
        assert scores(reader) == [2.0]


class Clock:
    """A time that only the test moves on."""

    def __init__(self) -> None:
        self.now_s = time.time()

    def time(self) -> float:
        return self.now_s


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for another thread, which a loaded machine may keep waiting long."""
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_hold_is_renewed_and_that_of_a_killed_reader_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(readers, "time", clock)
    lake = Lake(root)
    with readers.holding_files(lake.storage, renew_s=0.05):
        first = set(lake.storage.names("readers"))
        clock.now_s += readers.HOLD_S - 1
        assert lake.is_read()
        wait_until(lambda: not first & set(lake.storage.names("readers")))
        # The time of the first one is over, that of the later one is not.
        clock.now_s += 2
        assert lake.is_read()
    # One that was killed leaves its hold, which is over some time later.
    lake.storage.create("readers/1-killed", b"")
    assert not lake.is_read()
    with Lake(root).writing():
        assert lake.storage.names("readers") == []


def test_a_hold_of_a_clock_that_was_wrong_ends_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(readers, "time", clock)
    lake = Lake(root)
    put(lake, "c1", 2.0)
    with readers.holding_files(lake.storage, renew_s=0.05):
        first = set(lake.storage.names("readers"))
        clock.now_s -= 800 * 86_400
        # Whoever still reads renews its hold by the new time.
        wait_until(lambda: not first & set(lake.storage.names("readers")))
        assert lake.is_read()
    lake.storage.create(f"readers/{int((clock.now_s + 800 * 86_400) * 1000)}-killed", b"")
    assert not lake.is_read()
    assert lake.leftovers()
    with Lake(root).writing():
        assert lake.storage.names("readers") == []
        assert lake.leftovers() == []
    # The clock of another machine may be a little fast.
    lake.storage.create(f"readers/{int((clock.now_s + readers.HOLD_S + 60) * 1000)}-fast", b"")
    assert lake.is_read()


def test_a_store_that_is_away_when_a_build_ends_neither_fails_it_nor_hides_its_fault(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    monkeypatch.setattr(readers, "time", clock)
    lake = Lake(root)

    def away(name: str) -> None:
        raise OSError("the store is away")

    monkeypatch.setattr(lake.storage, "delete", away)
    with lake.reading():
        pass
    assert "the store is away" in caplog.text
    with pytest.raises(ZeroDivisionError), lake.reading():
        raise ZeroDivisionError
    # What they left ends by itself.
    assert Lake(root).is_read()
    clock.now_s += readers.HOLD_S + 1
    assert not Lake(root).is_read()


def test_a_lake_that_refuses_the_hold_is_told_in_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(root)

    def refused(name: str, content: bytes) -> bool:
        raise RuntimeError("access denied\nand what the client says of it")

    monkeypatch.setattr(lake.storage, "create", refused)
    with pytest.raises(StorageError) as error, lake.reading():
        pass
    assert str(error.value).startswith(lake.storage.uri)
    assert str(error.value).endswith("which was refused: access denied")


def test_commits_that_vanish_while_they_are_read_are_looked_for_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(root)
    listed = lake.storage.names
    ghosts = ["commits/ghost.json"]

    def names(folder: str) -> list[str]:
        return listed(folder) + ([ghosts.pop()] if folder == "commits" and ghosts else [])

    monkeypatch.setattr(lake.storage, "names", names)
    lake.refresh()
    assert scores(lake) == [1.0]
    assert ghosts == []
    monkeypatch.setattr(lake.storage, "names", lambda folder: [*listed(folder), f"{folder}/ghost.json"])
    with pytest.raises(LakeDamagedError, match="cannot be found"):
        lake.refresh()
