"""Generated connections are the same bytes whoever writes them, and say of themselves that they are made up."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from sojourn_ingest.synthetic.connection_files import FIRST_DAY, dataset_of, truth_path, write_world
from sojourn_ingest.synthetic.connection_rows import BLOCK_ROWS, day_batches, rows_of_day
from sojourn_ingest.synthetic.connection_world import ConnectionWorld

DAYS = 3
# More than a block a day, and not the same number of connections every day.
WORLD = ConnectionWorld(DAYS * BLOCK_ROWS + 2000, 9)


def written(folder: Path, workers: int, world: ConnectionWorld = WORLD) -> dict[str, bytes]:
    write_world(world, DAYS, folder, workers, lambda _: None)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return {**files, "truth": truth_path(folder).read_bytes()}


def test_the_bytes_depend_on_the_seed_and_not_on_the_number_of_workers(tmp_path: Path) -> None:
    one = written(tmp_path / "one", 1)
    assert len(one) == DAYS + 1
    assert written(tmp_path / "three", 3) == one
    other = written(tmp_path / "other", 3, ConnectionWorld(WORLD.rows, 10))
    assert all(other[name] != content for name, content in one.items())
    for path in (tmp_path / "one").iterdir():
        assert pq.read_schema(path).metadata[b"synthetic"] == b"true"
        table = pq.read_table(path)
        assert table["synthetic"].unique().to_pylist() == [True]
        assert table["dataset"].unique().to_pylist() == [dataset_of(WORLD)]
    assert dataset_of(WORLD).startswith("synthetic")


def test_a_block_is_the_same_whatever_was_drawn_before_it() -> None:
    rows = rows_of_day(WORLD.rows, DAYS, 1)
    first, second = day_batches(WORLD, "d", FIRST_DAY, 1, rows)
    assert (first.num_rows, second.num_rows) == (BLOCK_ROWS, rows - BLOCK_ROWS)
    # A day that ends sooner has the same connections up to there.
    (shorter,) = day_batches(WORLD, "d", FIRST_DAY, 1, 1000)
    assert shorter.equals(first.slice(0, 1000))
    assert (
        not second.slice(0, 100)
        .drop_columns(["connection_number"])
        .equals(first.slice(0, 100).drop_columns(["connection_number"]))
    )
