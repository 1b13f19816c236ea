"""The runner on both engines: order, contracts, seeds, tests, failures; on DuckDB also that only what changed runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from transforms.tests.running.conftest import OnEngine

from sojourn_ingest.lake import Lake
from sojourn_process import own_folder
from sojourn_transforms.running.data_tests import condition_of
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.statements import ModelError, Statement
from sojourn_transforms.spark.session import SparkError
from sojourn_transforms.spark.sized_sessions import FOR_LITTLE, LITTLE_BYTES, SizedSessions
from sojourn_transforms.spark.tables import SparkTables, empty_warehouse, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

THREE = "select * from (values (1, 'a', 0), (2, 'b', 0), (3, null, 0)) as t(n, m, o)"


def model(name: str, sql: str = "select 1 as n", *after: str, **columns: str) -> Statement:
    return Statement(name, "model", sql, f"marts.{name}", f"marts/{name}.sql", frozenset(after), columns=columns)


def asserted(name: str, sql: str, *after: str, only_warns: bool = False) -> Statement:
    meta = {"warning": "odd rows", "advice": "look at them"}
    return Statement(
        name, "test", sql, f"marts.{name}", f"tests/{name}.sql", frozenset(after), only_warns=only_warns, meta=meta
    )


def test_tables_are_made_after_those_that_they_read(engine: OnEngine, tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "grade.csv").write_text("grade,least\ngood,10\nbad,\n")
    grade = Statement(
        "grade", "seed", "", "marts.grade", "seeds/grade.csv", columns={"grade": "string", "least": "int"}
    )
    graded = model(
        "graded", "select least, grade from marts.grade where least is not null", "grade", grade="string", least="int"
    )
    report = engine.run(asserted("t", "select * from marts.graded where least < 0", "graded"), graded, grade)
    assert (report.models, sorted(report.built), report.tests_passed) == (1, ["grade", "graded"], 1)
    # In the order of the contract.
    assert engine.rows("marts.graded") == [("good", 10)]
    assert (None in {row[1] for row in engine.rows("marts.grade")}) is True
    assert [step.done for step in engine.steps] == [1, 2, 3]
    assert {step.total for step in engine.steps} == {3}


def mart(name: str, sql: str, *after: str, **columns: str) -> Statement:
    return replace(model(name, sql, *after, **columns), kind="mart", storage="view")


JOINED = (
    "select measured.n, described.m, measured.o from marts.rate_measures as measured left join marts.run as described"
)


def test_a_mart_is_a_view_of_its_measures_and_of_what_describes_them(engine: OnEngine) -> None:
    run = model("run", "select * from (values (1, 'codel'), (2, 'pie')) as t(n, m)", n="int", m="string")
    measures = model("rate_measures", "select * from (values (1, 7), (3, 9)) as t(n, o)", n="int", o="int")
    columns = {"n": "int", "m": "string", "o": "int"}
    rate = mart("rate", f"{JOINED} on measured.n = described.n", "rate_measures", "run", **columns)
    passes = asserted("passes", "select * from marts.rate where o < 7", "rate")
    report = engine.run(passes, rate, measures, run)
    assert (report.models, sorted(report.built), report.tests_passed) == (2, ["rate", "rate_measures", "run"], 1)
    assert sorted(engine.rows("marts.rate"), key=str) == [(1, "codel", 7), (3, None, 9)]


def test_what_describes_runs_changes_the_marts_and_not_their_measures(duckdb_engine: OnEngine) -> None:
    run = model("run", "select 1 as n, 'codel' as m")
    measures = model("rate_measures", "select 1 as n, 7 as o")
    rate = mart("rate", f"{JOINED} on measured.n = described.n", "rate_measures", "run")
    before = duckdb_engine.run(rate, measures, run)
    after = duckdb_engine.run(rate, measures, replace(run, sql="select 1 as n, 'pie' as m"))
    assert sorted(after.built) == ["rate", "run"]
    assert before.contents["rate"] != after.contents["rate"]
    assert duckdb_engine.rows("marts.rate") == [(1, "pie", 7)]


def test_a_test_that_fails_ends_the_run_and_shows_five_rows(engine: OnEngine) -> None:
    many = model("many", "select n from (values (1), (2), (3), (4), (5), (6), (7), (8)) as t(n)")
    passes = asserted("passes", "select * from marts.many where n > 8", "many")
    fails = asserted("fails", "select * from marts.many where n > 1", "many")
    with pytest.raises(ModelError, match=r"^fails fails at 7 rows: (n \d; ){4}n \d$"):
        engine.run(many, passes, fails)


def test_a_test_that_only_warns_says_what_it_counts(engine: OnEngine) -> None:
    warns = asserted("warns", "select * from marts.three where n > 1", "three", only_warns=True)
    report = engine.run(model("three", THREE), warns)
    assert (report.tests_passed, report.warnings) == (0, ["odd rows: 2; look at them"])


def test_the_test_that_the_engine_refuses_is_named(engine: OnEngine) -> None:
    passes = asserted("passes", "select * from marts.three where n > 3", "three")
    refused = asserted("refused", "select no_such_column from marts.three", "three")
    with pytest.raises(ModelError, match=r"^refused: .*no_such_column"):
        engine.run(model("three", THREE), passes, refused)


READ_TOGETHER = {
    "of_many": ("select * from marts.three where n > 1", 2),
    "of_columns": ("select n, m\nfrom marts.three\nwhere\n    n > 5 or m is null", 1),
    "in_a_list": ("select m from marts.three where m not in ('a', 'c')", 1),
    "of_a_null": ("select n from marts.three where m > 'a'", 1),
    "with_a_comment": ("-- from marts.four where\nselect n from marts.three where n = 1 /* group by n */", 1),
}
READ_BY_THEMSELVES = {
    "distinct": ("select distinct o from marts.three where n > 0", 1),
    "counted": ("select count(*) as c from marts.three where n > 5", 1),
    "grouped": ("select o from marts.three where n > 0 group by o", 1),
    "within": ("select n from marts.three where n in (select n from marts.three where n > 1)", 2),
    "limited": ("select n from marts.three where n > 0 limit 2", 2),
    "united": ("select n from marts.three where n > 2 union all select n from marts.three", 4),
}


def test_tests_that_look_at_rows_share_a_reading_and_count_the_same(engine: OnEngine) -> None:
    engine.run(model("three", THREE))
    planted = READ_TOGETHER | READ_BY_THEMSELVES
    tests = [asserted(name, sql, "three") for name, (sql, _) in planted.items()]
    assert {test.name for test in tests if condition_of(test) is not None} == READ_TOGETHER.keys()
    counted = dict(zip(planted, engine.tables.failures(tests), strict=True))
    assert counted == {name: failures for name, (_, failures) in planted.items()}
    # Each by itself, the same: what dbt would execute.
    assert counted == {test.name: len(engine.tables.rows(test, 100)) for test in tests}


@pytest.mark.parametrize("columns", [{"n": "bigint"}, {"n": "int", "m": "int"}, {"m": "int"}])
def test_a_model_that_departs_from_its_contract_is_named(engine: OnEngine, columns: dict[str, str]) -> None:
    with pytest.raises(ModelError, match=r"^promised: the columns differ from the contract: .*(?i:int)"):
        engine.run(model("promised", "select 1 as n", **columns))


def test_what_follows_a_failed_model_is_not_begun(engine: OnEngine) -> None:
    failing = model("failing", "select cast(concat('x', n) as int) as n from (values (1)) as t(n)")
    with pytest.raises(ModelError, match=r"^failing: "):
        engine.run(failing, model("after_it", "select 1 as n", "failing"))
    with pytest.raises(Exception, match="after_it"):
        engine.rows("marts.after_it")


class Changing:
    """A chain of tables over a table of the lake whose rows change: few columns of it matter at the end."""

    def __init__(self, engine: OnEngine) -> None:
        self._engine = engine
        engine.connection.execute("create schema lake")

    def run(self, rows: list[tuple[int, int]], **options: Any) -> list[str]:
        listed = ", ".join(f"({n}, {other})" for n, other in rows)
        self._engine.connection.execute(
            f"create or replace table lake.flow as select * from (values {listed}) as t(n, other)"
        )
        self._engine.contents["flow"] = listed
        facts = replace(model("facts", "select n, other from lake.flow"), lake_tables=frozenset({"flow"}))
        kept = Statement(
            "kept", "model", "select n, n * n as square from marts.facts", "marts.kept", "marts/kept.sql",
            frozenset({"facts"}), storage="incremental",
            added_sql="select n, n * n as square from marts.facts where n not in (select n from marts.kept)",
            outdated="n not in (select n from marts.facts)",
        )  # fmt: skip
        of_n = model("of_n", "select n from marts.facts", "facts")
        seen = replace(model("seen", "select n from marts.of_n where n > 1", "of_n"), storage="view")
        total = model("total", "select sum(n) as n from marts.seen", "seen")
        squares = model("squares", "select sum(square) as n from marts.kept", "kept")
        test = asserted("t", "select * from marts.total where n < 0", "total")
        return sorted(self._engine.run(facts, kept, of_n, seen, total, squares, test, **options).built)


def test_a_change_stops_where_it_stops_to_matter(duckdb_engine: OnEngine, tmp_path: Path) -> None:
    world = Changing(duckdb_engine)
    everything = ["facts", "kept", "of_n", "seen", "squares", "total"]
    assert world.run([(1, 0), (2, 0), (3, 0)]) == everything
    assert world.run([(1, 0), (2, 0), (3, 0)]) == []
    # Another order is the same content, of other bytes.
    assert world.run([(3, 0), (2, 0), (1, 0)]) == ["facts"]
    # A column that is not selected.
    assert world.run([(1, 5), (2, 0), (3, 0)]) == ["facts", "kept", "of_n"]
    assert world.run([(0, 5), (2, 0), (3, 0)]) == everything
    assert duckdb_engine.rows("marts.total") == [(5,)]
    assert duckdb_engine.rows("marts.squares") == [(13,)]
    assert world.run([(0, 5), (2, 0), (3, 0)], force=True) == everything


def test_an_incremental_table_continues_and_comes_to_what_it_is_from_scratch(
    duckdb_engine: OnEngine, tmp_path: Path
) -> None:
    world, connection = Changing(duckdb_engine), duckdb_engine.connection
    world.run([(1, 0), (2, 0)])
    connection.execute("update marts.kept set square = -1 where n = 1")
    world.run([(1, 0), (3, 0), (4, 0)])
    # What it held of 1 stands, 2 is gone, 3 and 4 are added.
    assert duckdb_engine.rows("marts.kept") == [(1, -1), (3, 9), (4, 16)]
    connection.execute("update marts.kept set square = 1 where n = 1")
    content = "select content from runner.built where name = 'kept'"
    continued = connection.execute(content).fetchall()
    world.run([(1, 0), (3, 0), (4, 0)], from_scratch=True)
    assert connection.execute(content).fetchall() == continued
    assert duckdb_engine.rows("marts.kept") == [(1, 1), (3, 9), (4, 16)]


def test_another_definition_or_salt_begins_from_scratch(duckdb_engine: OnEngine, tmp_path: Path) -> None:
    world, connection = Changing(duckdb_engine), duckdb_engine.connection
    world.run([(1, 0)])
    connection.execute("update marts.kept set square = -1")
    world.run([(1, 0), (2, 0)], salt="hosts were forgotten")
    assert duckdb_engine.rows("marts.kept") == [(1, 1), (2, 4)]


def test_results_of_tests_stand_with_their_tables(duckdb_engine: OnEngine) -> None:
    three = model("three", THREE)
    warns = asserted("warns", "select * from marts.three where n > 1", "three", only_warns=True)
    passes = asserted("passes", "select * from marts.three where n > 3", "three")
    first = duckdb_engine.run(three, warns, passes)
    again = duckdb_engine.run(three, warns, passes)
    assert duckdb_engine.steps == []
    assert (again.built, again.tests_passed, again.warnings) == ([], first.tests_passed, first.warnings)
    # A test that changed is executed, and nothing else.
    with pytest.raises(ModelError, match=r"^passes fails at 3 rows"):
        duckdb_engine.run(three, warns, replace(passes, sql="select * from marts.three where n > 0"))
    assert duckdb_engine.run(three, warns, passes).built == []


def test_what_another_release_or_nobody_described_is_made_again(duckdb_engine: OnEngine, tmp_path: Path) -> None:
    connection, three = duckdb_engine.connection, model("three", THREE)
    duckdb_engine.run(three)
    connection.execute("create table marts.stray as select 1; create view marts.old as select 1")
    connection.execute("update runner.built set duckdb_version = '0.1'")
    assert duckdb_engine.run(three).built == ["three"]
    relations = connection.sql("select table_name from information_schema.tables where table_schema = 'marts'")
    assert relations.fetchall() == [("three",)]
    # A table that became a view, and back.
    for storage in ("view", "table"):
        assert duckdb_engine.run(replace(three, storage=storage)).built == ["three"]
    connection.execute("drop table marts.three")
    assert duckdb_engine.run(three).built == ["three"]


def test_what_the_project_no_longer_has_is_removed(duckdb_engine: OnEngine) -> None:
    three, four = model("three", THREE), model("four", "select * from marts.three", "three")
    duckdb_engine.run(three, four, asserted("t", "select * from marts.four where n < 0", "four"))
    duckdb_engine.tables.keep_only([three])
    assert duckdb_engine.tables.standing().keys() == {"three"}
    with pytest.raises(duckdb.CatalogException):
        duckdb_engine.rows("marts.four")


def test_a_run_that_ended_halfway_is_taken_up(duckdb_engine: OnEngine, tmp_path: Path) -> None:
    three, four = model("three", THREE), model("four", "select * from marts.three where n < m", "three")
    with pytest.raises(ModelError, match=r"^four: "):
        duckdb_engine.run(three, four)
    again = DuckDbTables(duckdb_engine.connection, tmp_path)
    duckdb_engine.tables = again
    assert duckdb_engine.run(three, replace(four, sql="select * from marts.three")).built == ["four"]


def test_little_data_is_interpreted_and_much_is_not(session: SparkSession) -> None:
    sessions = SizedSessions(session, {"flow": LITTLE_BYTES, "packet": LITTLE_BYTES + 1})
    little, much = model("a"), model("b", "select 1")
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
    # By which the next session knows it, if this one is killed.
    assert (scratch / own_folder.MARKER).is_file()
    for path in lost:
        path.unlink()
    assert sorted(map(tuple, counted.collect())) == before
    assert before == [(k, 100) for k in range(1000)]
    # They have other names: a file is named after the task that wrote it.
    assert list(scratch.rglob("shuffle_*.data"))


def test_a_database_that_a_build_did_not_make_stays(session: SparkSession, tmp_path: Path) -> None:
    SparkTables(session, Lake(tmp_path / "lake"), tmp_path)
    warehouse = warehouse_of(session)
    other, ours = warehouse / "other.db" / "rows.parquet", warehouse / "marts.db"
    other.parent.mkdir()
    other.write_bytes(b"PAR1")
    assert ours.is_dir()
    empty_warehouse(session)
    assert (ours.exists(), other.exists()) == (False, True)
    (ours / "theirs").mkdir(parents=True)
    with pytest.raises(
        SparkError, match=r"/marts\.db has no \.sojourn-tables.*; remove it, or set spark\.sql\.warehouse"
    ):
        empty_warehouse(session)
    assert (ours / "theirs").is_dir()
    shutil.rmtree(ours)
