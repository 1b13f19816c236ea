"""Counting only the days that changed gives the same bytes as counting everything again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from transforms.tests.connection_marts.worlds import Installation, day_file, day_of, world_installation, write_day

from sojourn_ingest.synthetic.connection_files import dataset_of
from sojourn_ingest.synthetic.connection_world import ConnectionWorld
from sojourn_transforms.running.statements import ModelError

pytestmark = pytest.mark.integration
DAYS, ROWS = 34, 40_000


@pytest.fixture(scope="module")
def world() -> ConnectionWorld:
    return ConnectionWorld(ROWS, 11)


def fingerprints(installation: Installation) -> dict[str, int]:
    rows = installation.rows("select start_date, inputs_fingerprint from intermediate.int_connection_day")
    return {str(row["start_date"]): row["inputs_fingerprint"] for row in rows}


def test_late_data_and_a_replaced_day_come_to_the_bytes_of_a_full_build(
    tmp_path: Path, repository: Path, world: ConnectionWorld
) -> None:
    installation = world_installation(tmp_path / "var", repository / "models", world, DAYS)
    folder, dataset = tmp_path / "var" / "world", dataset_of(world)
    installation.build()
    before, first = installation.publish(), fingerprints(installation)

    late = tmp_path / "late" / "day.parquet"
    late.parent.mkdir()
    write_day(late, seed=12, day=3, rows=700, dataset=dataset)
    write_day(day_file(folder, 5), seed=13, day=5, rows=900, dataset=dataset)
    write_day(day_file(folder, DAYS), seed=14, day=DAYS, rows=1100, dataset=dataset)
    installation.ingest(folder, late.parent)
    kept = installation.rows("select count(*) as n, min(rowid) as first from intermediate.int_host_day")
    installation.build()
    incremental, second = installation.publish(), fingerprints(installation)

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
    assert installation.publish(full=True) == incremental
    # Tests that a build leaves out because they read everything.
    installation.check_history()
    # Single connections taken off the cube leave nothing: a rest would show the members of a suppressed cell.
    cell = "start_date, access_technology, proximity_class, country, transfer_size_class, ip_version, detail_level"
    counts = installation.rows(
        f"""
        select {cell}, bin_lower_us, any_value(connections) as connections, count(sample.drawn_number) as drawn
        from marts.connection_queuing_delay_histogram as cube
        left join (select *, round(queuing_delay_ms * 1000) as delay_us from marts.connection_sample) as sample
            using ({cell})
        where delay_us is null or (delay_us >= bin_lower_us and delay_us < bin_upper_us)
        group by all
        """
    )
    assert {row["detail_level"] for row in counts} >= {0, 1, 2}
    assert not [row for row in counts if row["drawn"] != row["connections"]]
    bins = installation.value("select count(*) as n from marts.connection_queuing_delay_histogram")
    assert len(counts) == bins
    rows = installation.value("select count(*) as n from marts.connection_sample")
    assert sum(row["drawn"] for row in counts) == rows


def test_months_go_on_from_what_they_hold_and_are_rebuilt_when_a_day_was_replaced(
    tmp_path: Path, repository: Path, world: ConnectionWorld
) -> None:
    installation = world_installation(tmp_path / "var", repository / "models", world, DAYS)
    dataset = dataset_of(world)
    installation.build()

    def told_by_months() -> tuple[int, int, int]:
        tables = ("int_host_month", "int_queuing_delay_month", "int_queuing_delay_as_month")
        statement = "select coalesce(sum(connections), 0) as n from intermediate.{}"
        return tuple(installation.value(statement.format(table)) for table in tables)  # type: ignore[return-value]

    before = told_by_months()
    # Of a day of the last month a row is left in each table: whatever adds up its days again comes to less.
    part = installation.value(
        "select part_fingerprint as part from intermediate.int_connection_part "
        f"where start_date = date '{day_of(DAYS - 1)}'"
    )
    with duckdb.connect(str(installation.paths.warehouse)) as connection:
        for table in ("int_host_day", "int_queuing_delay_day", "int_queuing_delay_as_day"):
            connection.execute(
                f"delete from intermediate.{table} where part_fingerprint = {part} and rowid > "
                f"(select min(rowid) from intermediate.{table} where part_fingerprint = {part})"
            )
    write_day(day_file(tmp_path / "var" / "world", DAYS), seed=14, day=DAYS, rows=1100, dataset=dataset)
    installation.ingest(tmp_path / "var" / "world")
    # Stopped after one of the tables of a month, and taken up again.
    installation.build(models=("int_host_month",))
    with pytest.raises(ModelError, match="every_connection_is_counted_once"):
        installation.build()
    gone_on = told_by_months()
    assert all(now > then for now, then in zip(gone_on, before, strict=True))
    states = "select count(distinct month_part_fingerprint) as n from intermediate.{}"
    assert installation.value(states.format("int_host_month")) == 2
    assert installation.value(states.format("int_connection_month_state")) == 3

    # A day with another fingerprint is not part of what the month held, so its days are added up again, and the loss
    # shows.
    write_day(day_file(tmp_path / "var" / "world", DAYS), seed=15, day=DAYS, rows=1100, dataset=dataset)
    installation.ingest(tmp_path / "var" / "world")
    with pytest.raises(ModelError, match="every_connection_is_counted_once"):
        installation.build()
    assert all(now < then for now, then in zip(told_by_months(), gone_on, strict=True))

    # From nothing, all is right again.
    installation.build(full=True)
    assert all(now > then for now, then in zip(told_by_months(), before, strict=True))
