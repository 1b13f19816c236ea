"""A source is in the lake whole or not at all, and what is live is what no later commit replaces."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_ingest.lake import Commit, DataFile, FactWriter, Lake, LakeBusyError, Outcome
from sojourn_ingest.lake import writer as lake_writer
from sojourn_ingest.lake.commit import RecordingPart
from sojourn_ingest.lake.pack import Pack
from sojourn_ingest.lake.storage import FolderStorage
from sojourn_ingest.schema import table
from sojourn_ingest.schema.column import LONGEST_LABEL


def score_batch(*scores: float) -> pa.RecordBatch:
    unnamed = dict.fromkeys(("session_id", "start_ns", "end_ns", "item", "frame_number"))
    rows = [
        {"score_number": i, "study_id": "s", "scored": f"run/r{i}", "run_id": f"r{i}", **unnamed}
        | {"metric": "brisque", "score": score}
        for i, score in enumerate(scores)
    ]
    declared = table("qoe_score").arrow_schema()
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema([declared.field(name) for name in rows[0]]))


def put(lake: Lake, path: str, content: str, version: str = "v1", scores: tuple[float, ...] = (1.0,)) -> None:
    outcome = Outcome(
        source_path=path, content_hash=content, decoder_version=version, size_bytes=1, modified_ns=1,
        compression="none", format="test", status="ok", records_read=len(scores),
    )  # fmt: skip
    with FactWriter(lake.root, content, version) as writer:
        writer.write("qoe_score", score_batch(*scores))
        lake.commit(outcome, writer.finish())


def scores(lake: Lake) -> list[float]:
    return sorted(
        score for path in lake.files("qoe_score") for score in pq.read_table(path).column("score").to_pylist()
    )


def test_facts_are_visible_only_once_committed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with FactWriter(lake.root, "c1", "v1") as writer:
        writer.write("qoe_score", score_batch(1.0, 2.0))
        writer.finish()
        assert Lake(tmp_path).files("qoe_score") == []
    put(lake, "/a", "c1", scores=(1.0, 2.0))
    assert scores(Lake(tmp_path)) == [1.0, 2.0]


def test_an_outcome_of_a_little_file_takes_little(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c1")
    (path,) = lake.files("ingest_outcome")
    assert path.stat().st_size < 2500
    assert pq.read_schema(path).equals(table("ingest_outcome").arrow_schema())
    (row,) = pq.read_table(path).to_pylist()
    assert (row["source_path"], row["size_bytes"], row["status"]) == ("/a", 1, "ok")


def test_files_have_the_declared_schema_and_provenance(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c1")
    (path,) = lake.files("qoe_score")
    assert pq.read_schema(path).equals(table("qoe_score").arrow_schema(), check_metadata=True)
    assert pq.read_table(path).column("source_hash").to_pylist() == ["c1"]


def test_wide_rows_do_not_wait_in_memory_for_a_full_row_group(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    rows = 12_000
    wide = dict.fromkeys(("study_id", "scored", "run_id", "session_id"), ["s" * LONGEST_LABEL] * rows)
    columns = {name: values * rows for name, values in score_batch(1.0).to_pydict().items()}
    batch = pa.RecordBatch.from_pydict(columns | wide)
    with FactWriter(lake.root, "c1", "v1") as writer:
        for _ in range(9):
            writer.write("qoe_score", batch)
        (file,) = writer.finish()
    groups = pq.ParquetFile(lake.root / file.path).metadata
    # 12 MB a batch, 32 MiB a group; all nine have fewer rows than a full group.
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [3 * rows] * 3


def test_texts_as_dictionaries_are_written_as_texts(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    plain = score_batch(*[1.0] * 3)
    place = plain.schema.get_field_index("metric")
    with FactWriter(lake.root, "c1", "v1") as writer:
        # Each batch has a dictionary of its own, and one comes as plain text.
        for metrics in (["vmaf", "ssim", "vmaf"], ["ssim", "pesq", "ssim"]):
            texts = pa.array(metrics).dictionary_encode()
            writer.write("qoe_score", plain.set_column(place, pa.field("metric", texts.type), texts))
        writer.write("qoe_score", plain)
        (file,) = writer.finish()
    stored = pq.ParquetFile(lake.root / file.path)
    assert stored.schema_arrow.equals(table("qoe_score").arrow_schema(), check_metadata=True)
    metrics_of_plain = plain.column("metric").to_pylist()
    assert stored.read().column("metric").to_pylist() == [
        "vmaf",
        "ssim",
        "vmaf",
        "ssim",
        "pesq",
        "ssim",
        *metrics_of_plain,
    ]


def test_a_row_group_is_full_before_the_next_begins(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    rows = 50_000
    batch = pa.RecordBatch.from_pydict(
        {name: pa.repeat(value[0].as_py(), rows) if value[0].is_valid else pa.nulls(rows, value.type)
         for name, value in zip(score_batch(1.0).schema.names, score_batch(1.0).columns, strict=True)},
        schema=score_batch(1.0).schema,
    )  # fmt: skip
    with FactWriter(lake.root, "c1", "v1") as writer:
        for _ in range(6):
            writer.write("qoe_score", batch)
        (file,) = writer.finish()
    groups = pq.ParquetFile(lake.root / file.path).metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [122_880, 122_880, 54_240]
    assert file.rows == 300_000


@pytest.mark.parametrize("small_bytes", [0, 2**20])
def test_a_hash_that_is_known_at_the_end_gives_the_same_file(
    small_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_writer, "SMALL_BYTES", small_bytes)
    monkeypatch.setattr(lake_writer, "ROW_GROUP_ROWS", 100)
    source_hash = "0123456789abcdef" * 4
    contents = []
    for hash_at_start, folder in ((source_hash, "before"), (None, "after")):
        lake = Lake(tmp_path / folder)
        with FactWriter(lake.root, hash_at_start, "v1") as writer:
            for number in range(5):
                writer.write("qoe_score", score_batch(*(1.0 * place * number for place in range(70))))
            (file,) = writer.finish(source_hash)
        assert file.path.startswith(f"data/qoe_score/{source_hash[:24]}-v1-")
        assert [path.relative_to(lake.root) for path in lake.root.rglob("*.parquet")] == [Path(file.path)]
        contents.append((lake.root / file.path).read_bytes())
    assert contents[0] == contents[1]
    stored = pq.ParquetFile(tmp_path / "after" / file.path)
    assert stored.num_row_groups == 4
    assert stored.read().column("source_hash").unique().to_pylist() == [source_hash]
    columns = {stored.metadata.row_group(0).column(n).path_in_schema: n for n in range(stored.metadata.num_columns)}
    statistics = stored.metadata.row_group(3).column(columns["source_hash"]).statistics
    assert (statistics.min, statistics.max) == (source_hash, source_hash)


@pytest.mark.parametrize(("source_hash", "message"), [(None, "not known"), ("c1", "not as long")])
def test_a_writer_gives_no_file_with_a_provisional_hash(source_hash: str | None, message: str, tmp_path: Path) -> None:
    def write() -> None:
        with FactWriter(tmp_path, None, "v1") as writer:
            writer.write("qoe_score", score_batch(1.0))
            writer.finish(source_hash)

    with pytest.raises(ValueError, match=message):
        write()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_failed_writer_leaves_nothing(tmp_path: Path) -> None:
    def write_and_fail() -> None:
        with FactWriter(tmp_path, "c1", "v1") as writer:
            writer.write("qoe_score", score_batch(1.0))
            writer._flush("qoe_score")
            assert list(tmp_path.rglob("*.parquet"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_writer_refuses_columns_that_are_not_declared(tmp_path: Path) -> None:
    batch = score_batch(1.0).rename_columns(
        ["extra" if name == "score" else name for name in score_batch(1.0).schema.names]
    )
    with (
        FactWriter(tmp_path, "c1", "v1") as writer,
        pytest.raises(ValueError, match=r"\['extra'\] too many, \['score'\] too few"),
    ):
        writer.write("qoe_score", batch)


def test_writer_refuses_null_where_there_is_none(tmp_path: Path) -> None:
    row = {"score_number": 0, "study_id": "s", "run_id": None, "metric": "m", "score": 1.0}
    batch = pa.RecordBatch.from_pylist([row], schema=score_batch(1.0).schema)
    with FactWriter(tmp_path, "c1", "v1") as writer, pytest.raises(ValueError, match="null in column scored"):
        writer.write("qoe_score", batch)


def test_changed_content_replaces_and_changing_back_restores(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "old", scores=(1.0,))
    put(lake, "/a", "new", scores=(2.0,))
    assert scores(lake) == scores(Lake(tmp_path)) == [2.0]
    put(lake, "/a", "old", scores=(1.0,))
    assert scores(lake) == scores(Lake(tmp_path)) == [1.0]
    put(lake, "/a", "new", scores=(2.0,))
    assert scores(lake) == scores(Lake(tmp_path)) == [2.0]


def test_a_newer_decoder_replaces_what_an_older_one_made(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c", "v1", (1.0,))
    put(lake, "/b", "c", "v2", (1.5,))
    assert scores(Lake(tmp_path)) == [1.5]


def test_facts_stay_while_another_path_has_the_same_content(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c", scores=(1.0,))
    duplicate = Outcome(
        source_path="/copy", content_hash="c", decoder_version="v1", size_bytes=1, modified_ns=1,
        compression="none", format="test", status="ok", duplicate_of="/a",
    )  # fmt: skip
    lake.commit(duplicate, ())
    put(lake, "/a", "other", scores=(2.0,))
    assert scores(Lake(tmp_path)) == [1.0, 2.0]


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c", scores=(1.0,))
    orphan = tmp_path / "data" / "qoe_score" / "orphan.parquet"
    orphan.write_bytes(b"cut short")
    unfinished = tmp_path / "commits" / "x.tmp"
    unfinished.write_text("{")
    with lake.writing():
        assert not orphan.exists()
        assert not unfinished.exists()
    assert scores(lake) == [1.0]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        Lake(tmp_path).writing(),
        pytest.raises(LakeBusyError, match="another process"),
        Lake(tmp_path).writing(),
    ):
        pass


class ListingDuringAWriter(FolderStorage):
    """A folder whose next listing of commits has what was made last, and not what was made before."""

    leaves_out: str | None = None

    def names(self, folder: str) -> list[str]:
        names = list(super().names(folder))
        if folder == "commits" and self.leaves_out in names:
            names.remove(str(self.leaves_out))
            self.leaves_out = None
        return names


def test_a_reader_does_not_miss_what_a_listing_left_out(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number in range(4):
        put(lake, f"/{number}", f"c{number}")
    second = next(commit for commit in lake.live() if commit.link and commit.link.number == 2)
    storage = ListingDuringAWriter(tmp_path)
    storage.leaves_out = f"commits/{second.name}.json"
    reader = Lake(storage)
    assert storage.leaves_out is None
    assert (reader.gaps(), len(reader.live())) == ([], 4)
    (tmp_path / "commits" / f"{second.name}.json").unlink()
    assert [gap.name for gap in Lake(storage).gaps()] == [second.name]


def test_fingerprint_changes_with_the_facts_only(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "/a", "c1")
    before = lake.fingerprint()
    assert Lake(tmp_path).fingerprint() == before
    put(lake, "/b", "c2")
    assert lake.fingerprint() != before


def test_the_name_of_a_pack_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Pack((), ())
    name = pack.name
    assert Pack.from_bytes(pack.to_bytes()).name == name
    monkeypatch.setattr(Pack, "_text", None)
    assert pack.name == name


def test_a_statement_is_what_asdict_tells_without_places() -> None:
    part = RecordingPart("/t.pcap", "1" * 64, 10, 20, "ok", None, None, 3)
    file = DataFile("flow", "data/flow/x.parquet", 3, 100, "2" * 64)
    commit = Commit(
        "/t.pcap+continued",
        "3" * 64,
        "v",
        10,
        20,
        "capture_recording",
        "ok",
        True,
        None,
        None,
        3,
        (file,),
        parts=(part,),
    )
    said = asdict(commit)
    for name in ("files", "replaces", "link", "revision"):
        del said[name]
    assert commit.statement() == json.dumps({**said, "rows": [["flow", 3]]}, sort_keys=True)


def test_a_link_that_leads_nowhere_is_no_file_of_the_lake(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "a.json").write_text("{}")
    for name, target in (("loop", "loop"), ("dangling", "nothing")):
        (tmp_path / "commits" / name).symlink_to(tmp_path / "commits" / target)
    storage = FolderStorage(tmp_path)
    assert (storage.names("commits"), storage.names("packs"), storage.names("commits/a.json")) == (
        ["commits/a.json"],
        [],
        [],
    )
