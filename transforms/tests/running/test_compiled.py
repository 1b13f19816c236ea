"""dbt compiles a project into statements that say what they read, once for each state of its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sojourn_transforms.dbt import compilation
from sojourn_transforms.running.compiled import bundled_name, compiled_project
from sojourn_transforms.running.statements import MINIMUM_HOSTS, Compiled, ModelError

pytestmark = pytest.mark.integration

PROJECT = {
    "dbt_project.yml": """
        name: sojourn
        version: 1.0.0
        profile: p
        model-paths: [marts]
        seed-paths: [seeds]
        macro-paths: [macros]
        seeds: {sojourn: {+schema: marts}}
        """,
    "profiles.yml": """
        p:
          target: "{{ env_var('SOJOURN_DBT_ENGINE') }}"
          outputs:
            duckdb: {type: duckdb, path: "{{ env_var('SOJOURN_WAREHOUSE') }}", schema: marts}
            spark: {type: spark, method: session, host: in-process, schema: marts}
        """,
    "macros/names.sql": "{% macro generate_schema_name(name, node) %}{{ name or 'marts' }}{% endmacro %}",
    "seeds/grade.csv": "grade,least\ngood,10\nbad,\n",
    "seeds/seeds.yml": "seeds: [{name: grade, config: {column_types: {grade: string, least: int}}}]",
    "marts/doubled.sql": """
        {{ config(materialized='ephemeral') }}
        select grade, least * 2 as least from {{ ref('grade') }}
        """,
    "marts/graded.sql": """
        {{ config(materialized='table') }}
        select least, grade from {{ ref('doubled') }} where least is not null
        """,
    "marts/graded.yml": """
        sources: [{name: lake, schema: global_temp, tables: [{name: flow}]}]
        models:
          - name: graded
            config: {contract: {enforced: true}, meta: {grain: one grade, key: [grade]}}
            columns:
              - {name: grade, data_type: string, data_tests: [unique, {not_null: {config: {severity: warn,
                  meta: {warning: grades without a name, advice: name them}}}}]}
              - {name: least, data_type: int}
          - {name: flows, config: {meta: {grain: one flow, key: [flow_id]}}}
          - {name: kept, config: {meta: {grain: one, key: [least]}}}
        """,
    "macros/is_incremental.sql": """
        {% macro is_incremental() %}{{ return(env_var('SOJOURN_DBT_ADDS') == 'yes') }}{% endmacro %}
        """,
    "marts/kept.sql": """
        {{ config(materialized='incremental', meta={'outdated': 'least < 5'}) }}
        select least from {{ ref('graded') }}
        where least > {{ var('minimum_hosts') }} {% if is_incremental() %} and least > 7 {% endif %}
        """,
    "marts/flows.sql": "{{ config(materialized='table') }} select flow_id from {{ source('lake', 'flow') }}",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(dedent(text).lstrip())
    return folder


@pytest.fixture(scope="module")
def compiled(project: Path) -> Compiled:
    return compiled_project(project, "duckdb")


def test_statements_say_what_they_are_and_read(compiled: Compiled) -> None:
    by_name = {each.name: each for each in compiled.statements}
    assert "doubled" not in by_name
    graded = by_name["graded"]
    assert graded.after == {"grade"}
    assert "__dbt__cte__doubled" in graded.sql
    assert "from marts.grade" in graded.sql
    assert list(graded.columns.items()) == [("grade", "string"), ("least", "int")]
    assert by_name["flows"].lake_tables == {"flow"}
    assert by_name["grade"].columns == {"grade": "string", "least": "int"}
    tests = [each for each in compiled.statements if each.kind == "test"]
    assert {each.after for each in tests} == {frozenset({"graded"})}
    assert sorted(each.only_warns for each in tests) == [False, True]
    assert [mart.name for mart in compiled.marts] == ["flows", "graded", "kept"]


def test_an_incremental_model_has_what_it_holds_and_what_it_adds(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_MINIMUM_HOSTS", "3")
    (kept,) = (each for each in compiled_project(project, "duckdb").statements if each.name == "kept")
    assert (kept.storage, kept.outdated, kept.outdated_after) == ("incremental", "least < 5", False)
    assert "least > 7" not in kept.sql
    assert "least > 7" in kept.added_sql
    # A setting of the build, not of the compiler.
    assert MINIMUM_HOSTS not in kept.sql
    assert "least > 3" in kept.sql


def test_a_part_of_a_project_is_what_some_models_need_with_its_tests(compiled: Compiled) -> None:
    part = compiled.of(["graded"])
    assert {each.name for each in part.statements if each.kind != "test"} == {"grade", "graded"}
    assert len([each for each in part.statements if each.kind == "test"]) == 2
    assert [mart.name for mart in part.marts] == ["graded"]
    assert {each.name for each in compiled.below("marts").statements} == {each.name for each in compiled.statements}


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the engines for which dbt compiled."""
    engines: list[str] = []
    compile_project: Callable[..., Any] = compilation.compile_project

    def counted(project: Path, engine: Any) -> Any:
        engines.append(engine)
        return compile_project(project, engine)

    monkeypatch.setattr(compilation, "compile_project", counted)
    return engines


def test_dbt_compiles_again_when_the_project_changed(tmp_path: Path, project: Path, compilations: list[str]) -> None:
    copied = tmp_path / "project"
    shutil.copytree(project, copied, ignore=shutil.ignore_patterns("target"))
    first = compiled_project(copied, "duckdb")
    assert compiled_project(copied, "duckdb") == first
    assert compilations == ["duckdb"]
    path = copied / "marts" / "flows.sql"
    path.write_text(path.read_text().replace("flow_id", "flow_id + 1 as flow_id"))
    (flows,) = (each for each in compiled_project(copied, "duckdb").statements if each.name == "flows")
    assert "flow_id + 1" in flows.sql
    assert compilations == ["duckdb", "duckdb"]
    # A part of a file, as a full disk leaves it, is not read.
    kept = copied / "target" / "compiled-duckdb.json"
    kept.write_bytes(kept.read_bytes()[:1000])
    compiled_project(copied, "duckdb")
    assert len(compilations) == 3


def test_what_a_wheel_has_beside_the_project_needs_no_dbt(
    tmp_path: Path, project: Path, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = tmp_path / "project"
    shutil.copytree(project, copied, ignore=shutil.ignore_patterns("target"))
    shutil.copy(project / "target" / "compiled-duckdb.json", copied / bundled_name("duckdb"))
    monkeypatch.setitem(__import__("sys").modules, "sojourn_transforms.dbt.compilation", None)
    assert compiled_project(copied, "duckdb").statements == compiled.statements
    (copied / "marts" / "flows.sql").write_text("select 1")
    with pytest.raises(ModelError, match=r"are not compiled, and dbt is not installed: pip install 'sojourn\[dbt\]'"):
        compiled_project(copied, "duckdb")


def test_a_project_at_fault_is_named_with_the_fault(tmp_path: Path, project: Path) -> None:
    copied = tmp_path / "project"
    shutil.copytree(project, copied, ignore=shutil.ignore_patterns("target"))
    (copied / "marts" / "flows.sql").write_text("select * from {{ ref('no_such_model') }}")
    with pytest.raises(ModelError, match="no_such_model"):
        compiled_project(copied, "duckdb")
