"""Counting only the days that changed comes to the same bytes as counting all anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from transforms.tests.worlds import Installation, day_file, day_of, world_installation, write_day

from sojourn_ingest.synthetic.snapshot_files import dataset_of
from sojourn_ingest.synthetic.snapshot_world import SnapshotWorld

pytestmark = pytest.mark.integration
DAYS, ROWS = 34, 40_000


@pytest.fixture(scope="module")
def world() -> SnapshotWorld:
    return SnapshotWorld(ROWS, 11)


def marks(installation: Installation) -> dict[str, int]:
    rows = installation.rows("select start_date, inputs_mark from intermediate.int_connection_day")
    return {str(row["start_date"]): row["inputs_mark"] for row in rows}


def test_late_data_and_a_replaced_day_come_to_the_bytes_of_a_full_build(
    tmp_path: Path, repository: Path, world: SnapshotWorld
) -> None:
    installation = world_installation(tmp_path / "var", repository / "models", world, DAYS)
    folder, dataset = tmp_path / "var" / "world", dataset_of(world)
    installation.build()
    before, first = installation.publish(), marks(installation)

    late = tmp_path / "late" / "day.parquet"
    late.parent.mkdir()
    write_day(late, seed=12, day=3, rows=700, dataset=dataset)
    write_day(day_file(folder, 5), seed=13, day=5, rows=900, dataset=dataset)
    write_day(day_file(folder, DAYS), seed=14, day=DAYS, rows=1100, dataset=dataset)
    installation.ingest(folder, late.parent)
    kept = installation.rows("select count(*) as n, min(rowid) as first from intermediate.int_host_day")
    installation.build()
    incremental, second = installation.publish(), marks(installation)

    assert incremental != before
    changed = {day for day in second if first.get(day) != second[day]}
    assert changed == {str(day_of(number)) for number in (3, 5, DAYS)}
    of_a_day = "select connections from intermediate.int_connection_day where start_date = date '{}'"
    usual = ROWS // DAYS + 1
    assert installation.value(of_a_day.format(day_of(3))) in (usual + 700, usual + 699)
    assert installation.value(of_a_day.format(day_of(5))) == 900
    # What was counted before is still where it was: it has not been counted again.
    assert installation.value("select min(rowid) from intermediate.int_host_day") == kept[0]["first"]
    assert installation.value("select max(rowid) from intermediate.int_host_day") >= kept[0]["n"]

    installation.build(full=True)
    assert installation.publish() == incremental
    # Tests that a build leaves out because they read everything.
    installation.build(select="tag:history,test_type:data")
