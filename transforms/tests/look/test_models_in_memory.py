"""Single models in memory: every one of the project over an empty lake, and a name that is not one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn_ingest.lake import Lake
from sojourn_transforms.models_in_memory import ModelsInMemory, UnknownModelError
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.duckdb_tables import DuckDbTables


@pytest.fixture(scope="module")
def models(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelsInMemory]:
    made = ModelsInMemory(repository / "models", Lake(tmp_path_factory.mktemp("lake")))
    yield made
    made.close()


def test_every_mart_can_be_computed_and_has_the_declared_columns(models: ModelsInMemory, repository: Path) -> None:
    marts = compiled_project(repository / "models", "duckdb").marts
    declared = {mart.name: [column.name for column in mart.columns] for mart in marts}
    of_dbt = {path.stem for path in (repository / "models" / "marts").rglob("*.sql")}
    assert len(of_dbt) > 50
    for name in sorted(of_dbt):
        relation = models.table(name)
        columns = [row[0] for row in models.connection.execute(f"describe {relation}").fetchall()]
        assert sorted(columns) == sorted(declared[name]), name
        assert models.layer(name) == "marts"


def test_every_data_test_passes_over_a_lake_without_a_row(models: ModelsInMemory, repository: Path) -> None:
    compiled = compiled_project(repository / "models", "duckdb")
    for each in compiled.statements:
        if each.kind != "test":
            models.table(each.name)
    tests = [each for each in compiled.statements if each.kind == "test"]
    assert len(tests) > 500
    failures = DuckDbTables(models.connection, repository / "models").failures(tests)
    assert [test.name for test, n in zip(tests, failures, strict=True) if n] == []


def test_seeds_have_the_rows_of_their_file_with_the_declared_types(models: ModelsInMemory, repository: Path) -> None:
    lines = (repository / "models" / "seeds" / "distribution_quantile.csv").read_text().splitlines()
    rows = models.rows("distribution_quantile")
    assert [row["quantile_per_mille"] for row in rows] == sorted(int(line) for line in lines[1:])


def test_a_run_of_any_length_has_each_of_its_seconds_once(repository: Path, tmp_path: Path) -> None:
    models = ModelsInMemory(repository / "models", Lake(tmp_path))
    lengths = (0, 1, 999, 1000, 1001, 86_400)
    models.put(
        "int_run_described",
        "select 's' as study_id, 'r' || s as run_id, 5 as window_start_ns, "
        "5 + cast(s as bigint) * 1000000000 as window_end_ns, true as has_queue_log, false as has_capture_after "
        f"from unnest([{', '.join(map(str, lengths))}]) as t(s)",
    )
    counted = models.select(
        "select count(*) as seconds, count(distinct second) as different, max(second) as last from {int_run_second} "
        "group by run_id order by seconds",
        "int_run_second",
    )
    models.close()
    assert [tuple(row.values()) for row in counted] == [(each, each, each - 1) for each in lengths if each]


def test_an_unknown_name_is_refused(models: ModelsInMemory) -> None:
    with pytest.raises(UnknownModelError, match="no_such_mart"):
        models.table("no_such_mart")
