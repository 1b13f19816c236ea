"""What dbt is told of the lake is what the lake declares."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sojourn_ingest.schema import TABLES
from sojourn_transforms.dbt.staging import (
    GIVEN_BY_SOURCE,
    GIVEN_ONCE,
    OF_A_RUN,
    PARENTS,
    RENAMED,
    SOURCES_FILE,
    SUBJECTS,
    regenerate,
    rendered_files,
    staging_columns,
    staging_folder,
    staging_key,
)

REGENERATE = "run `make docs`"


def test_derived_files_are_those_of_the_schema(project: Path) -> None:
    for relative, text in rendered_files().items():
        path = project / relative
        assert path.exists(), f"{relative} is missing: {REGENERATE}"
        assert path.read_text(encoding="utf-8") == text, f"{relative} differs from the schema: {REGENERATE}"


def test_no_staging_model_without_its_table(project: Path) -> None:
    models = {path.relative_to(project) for path in (project / "staging").rglob("*") if path.is_file()}
    assert models == set(rendered_files())


def test_sources_declare_every_column_with_its_unit(project: Path) -> None:
    declared = yaml.safe_load((project / SOURCES_FILE).read_text(encoding="utf-8"))["sources"][0]
    assert declared["name"] == "lake"
    assert declared["schema"] == "{{ 'global_temp' if target.type == 'spark' else 'lake' }}"
    tables = {table["name"]: table for table in declared["tables"]}
    assert list(tables) == list(TABLES)
    for name, table in TABLES.items():
        columns = tables[name]["columns"]
        assert [column["name"] for column in columns] == [column.name for column in table.columns]
        for column, expected in zip(columns, table.columns, strict=True):
            assert column["description"] == expected.description
            assert column.get("config", {}).get("meta", {}).get("unit", "") == expected.unit
        assert tables[name]["config"]["meta"]["key"] == list(table.key)


@pytest.mark.parametrize("mapping", [RENAMED, PARENTS])
def test_what_is_said_of_single_columns_is_of_columns_there_are(mapping: dict[tuple[str, str], object]) -> None:
    for table, column in mapping:
        assert column in {declared.name for declared in TABLES[table].columns}, (table, column)


def test_tables_of_a_run_name_their_run() -> None:
    for name in OF_A_RUN:
        assert {"study_id", "run_id"} <= set(staging_columns(TABLES[name]))


def test_rows_that_belong_together_are_kept_apart_by_source() -> None:
    assert not set(GIVEN_BY_SOURCE) & set(GIVEN_ONCE)
    for name in GIVEN_BY_SOURCE:
        assert staging_key(TABLES[name]) == ["source_hash", *TABLES[name].key]
    for name in GIVEN_ONCE:
        assert "source_hash" not in staging_key(TABLES[name])


def test_regenerating_restores_a_changed_file_and_removes_an_abandoned_one(tmp_path: Path) -> None:
    regenerate(tmp_path)
    changed = tmp_path / staging_folder("run") / "stg_lake__run.sql"
    changed.write_text("select 1", encoding="utf-8")
    abandoned = tmp_path / staging_folder("run") / "stg_lake__gone.sql"
    abandoned.write_text("select 1", encoding="utf-8")
    assert regenerate(tmp_path) == [changed.relative_to(tmp_path), abandoned.relative_to(tmp_path)]
    assert not abandoned.exists()
    assert regenerate(tmp_path) == []


def test_every_table_has_one_subject() -> None:
    assert sorted(table for tables in SUBJECTS.values() for table in tables) == sorted(TABLES)
