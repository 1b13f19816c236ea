"""What dbt is told of the lake is what the lake declares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from sojourn_ingest.schema import TABLES
from sojourn_ingest.schema.column import Column
from sojourn_transforms.dbt.generated import MARK, write_generated
from sojourn_transforms.dbt.staging import (
    GIVEN_BY_SOURCE,
    GIVEN_ONCE,
    PARENTS,
    RENAMED,
    RUN_TABLES,
    SOURCES_FILE,
    SQL_HEADER,
    SUBJECTS,
    rendered_files,
    staging_columns,
    staging_folder,
    staging_key,
)
from sojourn_transforms.project import project_fingerprint


def test_what_a_checkout_lacks_is_written_before_it_is_compiled(project: Path, manifest: dict[str, Any]) -> None:
    models = {path.relative_to(project) for path in (project / "staging").rglob("*") if path.is_file()}
    assert models == set(rendered_files())
    assert {name for name in TABLES if f"model.sojourn.stg_lake__{name}" in manifest["nodes"]} == set(TABLES)


def test_a_changed_column_of_the_lake_compiles_the_project_anew(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project_fingerprint(project)
    changed = replace(TABLES["run"], columns=(*TABLES["run"].columns, Column("lane", pa.string(), "Lane.")))
    monkeypatch.setitem(TABLES, "run", changed)
    assert project_fingerprint(project) != before


def test_sources_declare_every_column_with_its_unit() -> None:
    declared = yaml.safe_load(rendered_files()[SOURCES_FILE])["sources"][0]
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
    for name in RUN_TABLES:
        assert {"study_id", "run_id"} <= set(staging_columns(TABLES[name]))


def test_rows_that_belong_together_are_kept_apart_by_source() -> None:
    assert not set(GIVEN_BY_SOURCE) & set(GIVEN_ONCE)
    for name in GIVEN_BY_SOURCE:
        assert staging_key(TABLES[name]) == ["source_hash", *TABLES[name].key]
    for name in GIVEN_ONCE:
        assert "source_hash" not in staging_key(TABLES[name])


def test_regenerating_restores_a_changed_file_and_removes_an_abandoned_one(tmp_path: Path) -> None:
    write_generated(tmp_path)
    changed = tmp_path / staging_folder("run") / "stg_lake__run.sql"
    changed.write_text("select 1", encoding="utf-8")
    abandoned = tmp_path / staging_folder("run") / "stg_lake__gone.sql"
    abandoned.write_text(f"{SQL_HEADER}select 1", encoding="utf-8")
    theirs = tmp_path / staging_folder("run") / "stg_own.sql"
    theirs.write_text("select 1", encoding="utf-8")
    assert write_generated(tmp_path) == [changed.relative_to(tmp_path), abandoned.relative_to(tmp_path)]
    assert (abandoned.exists(), theirs.exists()) == (False, True)
    assert write_generated(tmp_path) == []


def test_each_generated_file_is_marked() -> None:
    assert {name for name, text in rendered_files().items() if MARK not in text.splitlines()[0]} == set()


def test_every_table_has_one_subject() -> None:
    assert sorted(table for tables in SUBJECTS.values() for table in tables) == sorted(TABLES)
