"""A project of dbt becomes statements, and Spark runs them: in their order, checked, and named when they fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_transforms.dbt import compilation
from sojourn_transforms.dbt.compilation import Statement, Test, compiled_statements
from sojourn_transforms.dbt.results import DbtError
from sojourn_transforms.spark.session import SparkSettings, spark_session
from sojourn_transforms.spark.sized_sessions import FOR_LITTLE, LITTLE_BYTES, SizedSessions
from sojourn_transforms.spark.statements import run_statements
from sojourn_transforms.spark.tests_at_once import asked_at_once, condition_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
          target: spark
          outputs: {spark: {type: spark, method: session, host: in-process, schema: marts}}
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
            config: {contract: {enforced: true}}
            columns:
              - {name: grade, data_type: string, data_tests: [unique, {not_null: {config: {severity: warn,
                  meta: {warning: grades without a name, advice: name them}}}}]}
              - {name: least, data_type: int}
          - name: flows
        """,
    "marts/flows.sql": "{{ config(materialized='table') }} select flow_id from {{ source('lake', 'flow') }}",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = SparkSettings("local[2]", {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"})
    with spark_session(Paths(tmp_path_factory.mktemp("spark")), settings) as held:
        yield held


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Statement]:
    project = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(dedent(text).lstrip())
    statements = compiled_statements(project, project / "dbt", "spark")
    return {statement.name: statement for statement in statements}


def test_dbt_is_asked_again_when_the_project_changed(
    tmp_path: Path, compiled: dict[str, Statement], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    # Without what was compiled there.
    shutil.copytree(compiled["grade"].file.parents[1], project, ignore=shutil.ignore_patterns("dbt"))
    asked: list[list[str]] = []
    results_of = compilation.results_of

    def counted(*arguments: Any) -> list[Any]:
        asked.append(arguments[2])
        return results_of(*arguments)

    monkeypatch.setattr(compilation, "results_of", counted)
    first = compiled_statements(project, project / "dbt", "spark")
    assert compiled_statements(project, project / "dbt", "spark") == first
    assert len(asked) == 1
    path = project / "marts" / "flows.sql"
    path.write_text(path.read_text().replace("flow_id", "flow_id + 1 as flow_id"))
    again = {statement.name: statement for statement in compiled_statements(project, project / "dbt", "spark")}
    assert "flow_id + 1" in again["flows"].sql
    assert len(asked) == 2


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def model(name: str, sql: str, *after: str, **columns: str) -> Statement:
    return Statement(name, "model", sql, f"made.{name}", f"{name}.sql", frozenset(after), frozenset(), columns)


def asked(name: str, sql: str, *after: str, only_warns: bool = False) -> Statement:
    told = {"warning": "odd rows", "advice": "look at them"}
    test = Test(only_warns=only_warns)
    return Statement(
        name, "test", sql, f"made.{name}", f"{name}.sql", frozenset(after), frozenset(), test=test, meta=told
    )


def test_a_project_becomes_statements_that_say_what_they_read(compiled: dict[str, Statement]) -> None:
    assert "doubled" not in compiled
    assert compiled["graded"].after == {"grade"}
    assert "__dbt__cte__doubled" in compiled["graded"].sql
    assert compiled["graded"].columns == {"grade": "string", "least": "int"}
    assert compiled["flows"].lake_tables == {"flow"}
    assert compiled["flows"].columns == {}
    tests = {name: statement for name, statement in compiled.items() if statement.kind == "test"}
    assert {statement.after for statement in tests.values()} == {frozenset({"graded"})}
    assert sorted(statement.test.only_warns for statement in tests.values()) == [False, True]


def test_statements_give_the_tables_of_the_project(
    session: SparkSession, lake: Lake, compiled: dict[str, Statement]
) -> None:
    chosen = [statement for name, statement in compiled.items() if name != "flows"]
    steps: list[str] = []
    report = run_statements(session, lake, chosen, steps.append)
    assert (report.models, report.tests_passed, report.warnings) == (1, 2, [])
    assert len(steps) == 3
    assert [tuple(row) for row in session.table("marts.graded").collect()] == [("good", 20)]
    assert session.table("marts.grade").where("least is null").count() == 1


def test_a_test_that_fails_ends_the_build_and_is_named(session: SparkSession, lake: Lake) -> None:
    made = model("three", "select explode(sequence(1, 3)) as n")
    passes = asked("passes", "select * from made.three where n > 3", "three")
    fails = asked("fails", "select * from made.three where n > 1", "three")
    with pytest.raises(DbtError, match=r"^fails: Got 2 results, configured to fail if != 0$"):
        run_statements(session, lake, [made, passes, fails], lambda _: None)


def test_a_test_that_only_warns_says_what_it_counts(session: SparkSession, lake: Lake) -> None:
    made = model("three", "select explode(sequence(1, 3)) as n")
    warns = asked("warns", "select * from made.three where n > 1", "three", only_warns=True)
    report = run_statements(session, lake, [made, warns], lambda _: None)
    assert (report.tests_passed, report.warnings) == (0, ["odd rows: 2; look at them"])


def test_of_tests_asked_at_once_the_one_that_spark_refuses_is_named(session: SparkSession, lake: Lake) -> None:
    made = model("three", "select explode(sequence(1, 3)) as n")
    passes = asked("passes", "select * from made.three where n > 3", "three")
    refused = asked("refused", "select no_such_column from made.three", "three")
    with pytest.raises(DbtError, match=r"^refused: .*no_such_column"):
        run_statements(session, lake, [made, passes, refused], lambda _: None)


READ_TOGETHER = {
    "of_many": ("select * from made.three where n > 1", 2),
    "of_columns": ("select n, m\nfrom made.three\nwhere\n    n > 5 or m is null", 1),
    "in_a_list": ("select m from made.three where m not in ('a', 'c')", 1),
    "of_a_null": ("select n from made.three where m > 'a'", 1),
    "with_a_comment": ("-- from made.four where\nselect n from made.three where n = 1 /* group by n */", 1),
}
READ_BY_THEMSELVES = {
    "distinct": ("select distinct o from made.three where n > 0", 1),
    "counted": ("select count(*) as c from made.three where n > 5", 1),
    "grouped": ("select o from made.three where n > 0 group by o", 1),
    "within": ("select n from made.three where n in (select n from made.three where n > 1)", 2),
    "limited": ("select n from made.three where n > 0 limit 2", 2),
    "united": ("select n from made.three where n > 2 union all select n from made.three", 4),
}


def test_tests_that_look_at_rows_share_a_reading_and_count_the_same(session: SparkSession) -> None:
    rows = "select * from values (1, 'a', 0), (2, 'b', 0), (3, null, 0) as t(n, m, o)"
    session.sql("create database if not exists made")
    session.sql(rows).write.mode("overwrite").saveAsTable("made.three")
    tests = [asked(name, sql, "three") for name, (sql, _) in (READ_TOGETHER | READ_BY_THEMSELVES).items()]
    assert {test.name for test in tests if condition_of(test) is not None} == READ_TOGETHER.keys()
    answers = {row.number: row for row in session.sql(asked_at_once(tests)).collect()}
    counted = {test.name: answers[number].failures for number, test in enumerate(tests)}
    assert counted == {name: failures for name, (_, failures) in (READ_TOGETHER | READ_BY_THEMSELVES).items()}
    assert all(row.is_failed and row.is_warned for row in answers.values())
    # Each by itself, the same: what dbt would ask.
    assert counted == {test.name: session.sql(test.sql).count() for test in tests}


def test_a_test_with_a_threshold_of_its_own_is_judged_by_it(session: SparkSession) -> None:
    session.sql("create database if not exists made")
    session.sql("select explode(sequence(1, 3)) as n").write.mode("overwrite").saveAsTable("made.three")
    sql = "select n from made.three where n > 1"
    lenient = replace(asked("lenient", sql, "three"), test=Test(warn_if="> 1", error_if="> 2"))
    capped = replace(asked("capped", sql, "three"), test=Test(limit=1))
    summed = replace(asked("summed", sql, "three"), test=Test(count="sum(n)"))
    answers = {row.number: row for row in session.sql(asked_at_once([lenient, capped, summed])).collect()}
    assert (answers[0].failures, answers[0].is_warned, answers[0].is_failed) == (2, True, False)
    assert answers[1].failures == 1
    assert answers[2].failures == 5


@pytest.mark.parametrize("columns", [{"n": "bigint"}, {"n": "int", "m": "int"}, {"m": "int"}])
def test_a_model_that_departs_from_its_contract_is_named(
    session: SparkSession, lake: Lake, columns: dict[str, str]
) -> None:
    with pytest.raises(DbtError, match=r"^promised: the columns differ from the contract in .*int"):
        run_statements(session, lake, [model("promised", "select 1 as n", **columns)], lambda _: None)


def test_what_follows_a_failed_model_is_not_begun(session: SparkSession, lake: Lake) -> None:
    failing = model("failing", "select 1 div (id - id) as n from range(1)")
    with pytest.raises(DbtError, match=r"^failing: .*DIVIDE_BY_ZERO"):
        run_statements(session, lake, [failing, model("after_it", "select 1 as n", "failing")], lambda _: None)
    assert not session.catalog.tableExists("made.after_it")


def test_little_data_is_interpreted_and_much_is_not(session: SparkSession) -> None:
    sessions = SizedSessions(session, {"flow": LITTLE_BYTES, "packet": LITTLE_BYTES + 1})
    little, much = model("a", "select 1"), model("b", "select 1")
    little, much = replace(little, lake_tables=frozenset({"flow"})), replace(much, lake_tables=frozenset({"packet"}))
    assert sessions.session_of(much) is session
    assert sessions.session_of(little, much) is session
    chosen = sessions.session_of(little)
    assert {name: chosen.conf.get(name) for name in FOR_LITTLE} == FOR_LITTLE
    assert session.conf.get("spark.sql.codegen.wholeStage") == "true"


def test_shuffled_files_that_are_lost_are_made_again(session: SparkSession) -> None:
    plain = session.newSession()
    # With adaptive execution, what the driver has learned of a shuffle would be planned again.
    plain.conf.set("spark.sql.adaptive.enabled", "false")
    counted = plain.sql("select id % 1000 as k, count(*) as n from range(0, 100000, 1, 4) group by id % 1000")
    before = sorted(map(tuple, counted.collect()))
    scratch = Path(str(session.sparkContext.getConf().get("spark.local.dir")))
    lost = [path for path in scratch.rglob("shuffle_*") if path.suffix in (".data", ".index")]
    assert lost
    for path in lost:
        path.unlink()
    assert sorted(map(tuple, counted.collect())) == before
    assert before == [(k, 100) for k in range(1000)]
    # They have other names: a file is named after the task that wrote it.
    assert list(scratch.rglob("shuffle_*.data"))
