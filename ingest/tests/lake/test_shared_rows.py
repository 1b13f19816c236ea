"""A merge reads a file that many sources share once for many of them, and never all of its rows at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import FactWriter, Lake, Outcome, shared_rows
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.merge import merge, plan_merge
from sojourn_ingest.lake.shared_rows import SharedRows, is_interleaved, write_sorted_by_source
from sojourn_ingest.schema import table
from sojourn_ingest.session import IngestSession, files_below


def compacted(root: Path) -> Lake:
    lake = Lake(root)
    with lake.writing():
        compact(lake, plan_compaction(lake))
    return lake


def merged(lake: Lake, into: Path) -> Lake:
    target = Lake(into)
    with target.writing():
        merge(plan_merge([lake]), target)
    return target


def reads_of_shared_files(folder: Path, sources: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often a merge opens the compacted file of each table; half of the sources are refused."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    for number in range(sources):
        write_pcap(inputs / f"{number}.pcap", [udp_frame(b"x" * (number + 1), ("8.8.8.8", 1000))])
        (inputs / f"{number}.bin").write_bytes(bytes([0, number]))
    lake = Lake(folder / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files_below([inputs]), lambda _: None)
    compacted(folder / "lake")
    opened: Counter[str] = Counter()

    def counting(what: Any) -> Any:
        def count(path: Path, *arguments: Any, **options: Any) -> Any:
            if Path(path).name.startswith("compacted-"):
                opened[Path(path).parent.name] += 1
            return what(path, *arguments, **options)

        return count

    with monkeypatch.context() as patch:
        for name in ("ParquetFile", "read_table"):
            patch.setattr(pq, name, counting(getattr(pq, name)))
        target = merged(Lake(folder / "lake"), folder / "merged")
    assert target.fingerprint() == Lake(folder / "lake").fingerprint()
    return opened


def test_a_shared_file_is_not_read_more_often_for_more_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (reads_of_shared_files(tmp_path / str(n), n, monkeypatch) for n in (5, 20))
    assert few == many
    assert few["ingest_outcome"] == 1
    # The footer twice, and the rows.
    assert set(few.values()) == {1, 3}


def test_the_memory_of_a_merge_does_not_grow_with_the_rows_of_a_file(tmp_path: Path) -> None:
    rows = 700_000
    values: dict[str, Any] = dict.fromkeys(table("flow_interval").arrow_schema().names, 1)
    declared = pa.schema(
        [
            field
            for field in table("flow_interval").arrow_schema()
            if field.name not in ("source_hash", "decoder_version")
        ]
    )
    columns = [pa.repeat(pa.scalar(values[field.name]).cast(field.type), rows) for field in declared]
    lake = Lake(tmp_path / "lake")
    for source in "ab":
        outcome = Outcome(
            source_path=f"/{source}", content_hash=source * 64, decoder_version="v1", size_bytes=1, modified_ns=1,
            compression="none", format="test", status="ok",
        )  # fmt: skip
        with FactWriter(lake.root, source * 64, "v1") as writer:
            writer.write("flow_interval", pa.RecordBatch.from_arrays(columns, schema=declared))
            lake.commit(outcome, writer.finish())
    lake = compacted(tmp_path / "lake")
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        target = merged(lake, tmp_path / "merged")
    finally:
        pa.set_memory_pool(before)
    assert target.fingerprint() == lake.fingerprint()
    assert 0 < pool.max_memory() < 48 * 2**20


SOURCES = [("b" * 8, "v1"), ("a" * 8, "v2"), ("a" * 8, "v1"), ("c" * 8, "v1"), ("d" * 8, "v1")]


@pytest.mark.parametrize("has_statistics", [True, False])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("held", [{}, {"HELD_ROWS": 70}, {"HELD_BYTES": 2_000}, {"HELD_BYTES": 10}, {"HELD_ROWS": 1}])
def test_each_source_gets_its_rows_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: dict[str, int], is_sorted: bool, has_statistics: bool
) -> None:
    for name, value in {"BATCH_ROWS": 7, "ROW_GROUP_ROWS": 25, **held}.items():
        monkeypatch.setattr(shared_rows, name, value)
    # 30 rows each; of the last source there are none.
    keys = [SOURCES[number % 4] for number in range(120)]
    if is_sorted:
        keys.sort()
    hashes, versions = zip(*keys, strict=True)
    content = {"source_hash": hashes, "decoder_version": versions, "number": range(120)}
    path = tmp_path / "shared.parquet"
    pq.write_table(pa.table(content), path, row_group_size=40, write_statistics=has_statistics)
    for order in (SOURCES, SOURCES[::-1], sorted(SOURCES)):
        rows = SharedRows(path, dict.fromkeys(order, 30))
        # The third is there already.
        for source in (*order[:2], *order[3:]):
            rows.write(source, tmp_path / "one.parquet")
            written = pq.read_table(tmp_path / "one.parquet")
            assert written.schema == pq.read_schema(path)
            assert written.column("number").to_pylist() == [n for n, key in enumerate(keys) if key == source]


def test_interleaved_sources_are_sorted_once_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = table("connection").arrow_schema()
    declared = pa.schema([field for field in fields if field.name not in ("source_hash", "decoder_version")])
    rows = 150_000
    # DuckDB would take the folders for a column and a pattern.
    folder = tmp_path / "country=DE" / "[a]?"
    lake = Lake(folder / "lake")
    for number in range(5):
        columns = [pa.repeat(pa.scalar(1).cast(field.type), rows) for field in declared]
        columns[declared.names.index("start_ns")] = pa.array(range(number, rows * 5, 5), pa.int64())
        outcome = Outcome(
            source_path=f"/{number}", content_hash=str(number) * 64, decoder_version="v1", size_bytes=1, modified_ns=1,
            compression="none", format="test", status="ok",
        )  # fmt: skip
        with FactWriter(lake.root, outcome.content_hash, "v1") as writer:
            writer.write("connection", pa.RecordBatch.from_arrays(columns, schema=declared))
            lake.commit(outcome, writer.finish())
    lake = compacted(folder / "lake")
    (shared,) = (lake.root / place for place in lake.objects("connection"))
    assert is_interleaved(shared)
    copies = []

    def sorting(path: Path, target: Path) -> None:
        write_sorted_by_source(path, target)
        assert not is_interleaved(target)
        copies.append(target)

    monkeypatch.setattr("sojourn_ingest.lake.merge.write_sorted_by_source", sorting)
    target = merged(lake, folder / "merged")
    assert target.fingerprint() == lake.fingerprint()
    assert len(copies) == 1
    for place in target.objects("connection"):
        written = pq.read_table(target.root / place, columns=["source_hash", "start_ns", "country"])
        assert set(written["country"].to_pylist()) == {"1"}
        number = int(written["source_hash"][0].as_py()[0])
        assert written["start_ns"].to_pylist() == list(range(number, rows * 5, 5))
    assert not copies[0].exists()
