"""CTEs that are selected from twice are computed once: which they are, and that Spark gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn_ingest.paths import Paths
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.spark.session import SparkSettings, spark_session
from sojourn_transforms.spark.shared_ctes import Cte, chosen, frame_of, pieces, shared, split, without_comments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROLLED_UP = """
    -- Of each kind the rows, and how many there are ), by 'kind'.
    with numbers as (
        select /*+ coalesce(1) */
            id, case when id % 3 = 0 then ')' when id % 3 = 1 then "(it's" else 'it\\'s (' end as kind
        from range(30)
    ),
    counted as (
        select kind, count(*) as rows_of_kind /* of a kind ( */ from numbers group by kind
    ),
    largest as (select max(rows_of_kind) as most from counted)
    select counted.kind, counted.rows_of_kind, largest.most
    from counted
    cross join largest
"""


def test_outermost_ctes_are_split_at_their_parentheses_and_not_at_those_of_texts_or_comments() -> None:
    ctes, query = split(without_comments(ROLLED_UP))
    assert [cte.name for cte in ctes] == ["numbers", "counted", "largest"]
    assert "/*+ coalesce(1) */" in ctes[0].query
    assert "'it\\'s ('" in ctes[0].query
    assert "of a kind" not in ctes[1].query
    assert query.startswith("select counted.kind")


@pytest.mark.parametrize(
    "sql", ["select 1", "with numbers as (select 1", "with numbers(id) as (select 1) select id from numbers"]
)
def test_a_statement_that_is_not_understood_stays_whole(sql: str) -> None:
    assert split(sql) == ([], sql)


def test_a_cte_is_shared_if_it_is_selected_from_twice_and_costs_something() -> None:
    listed = Cte("listed", "select id from flows")
    joined = Cte("joined", "select id from listed inner join flows using (id)")
    counted = Cte("counted", "select id, count(*) as n from joined group by id")
    query = (
        "select * from counted inner join joined using (id) inner join counted as others using (id) cross join listed"
    )
    assert shared([listed, joined, counted], query, reads_little=True) == {"joined", "counted"}
    assert shared([listed, joined, counted], query, reads_little=False) == {"counted"}
    assert shared([listed, joined, counted], "select * from counted", reads_little=True) == set()


def test_a_column_or_table_of_the_same_name_is_not_the_cte() -> None:
    counted = Cte("counted", "select id, count(*) as n from flows group by id")
    assert shared([counted], "select counted from counted where counted > 1", reads_little=True) == set()
    assert shared([counted], "select n from counted union all select n from marts.counted", reads_little=True) == set()
    assert shared([counted], "select n from counted union all select n from counted.t", reads_little=True) == set()


def test_a_name_that_an_inner_query_gives_again_is_left_to_spark() -> None:
    counted = Cte("counted", "select id, count(*) as n from flows group by id")
    inner = Cte("inner", "with counted as (select 1 as n) select n from counted")
    query = "select n from counted union all select n from inner union all select n from counted"
    assert shared([counted, inner], query, reads_little=True) == set()


FEW = """
    with few as (select kind from facts group by kind having count(distinct host) < 3),
    hosts as (select facts.kind, facts.host from facts inner join few on facts.kind = few.kind)
    select kind, count(distinct host) as hosts from hosts group by kind
"""


def test_groups_that_are_chosen_and_joined_with_are_computed_first() -> None:
    ctes, query = split(FEW)
    assert chosen(ctes, query) == {"few"}
    assert chosen(ctes[:1], "select * from few") == set()
    assert chosen([Cte("few", "select kind from facts")], "select * from facts join few using (kind)") == set()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = SparkSettings("local[2]", {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"})
    with spark_session(Paths(tmp_path_factory.mktemp("spark")), settings) as held:
        yield held


@pytest.mark.integration
def test_spark_gives_the_same_rows_reads_once_and_keeps_nothing(session: SparkSession) -> None:
    expected = sorted(session.sql(ROLLED_UP).collect())
    with frame_of(session, ROLLED_UP, reads_little=True) as frame:
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert sorted(frame.collect()) == expected
        assert "InMemoryTableScan" in plan
    assert len(expected) == 3
    assert not session.catalog.listTables()
    assert session._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.integration
def test_rows_of_few_groups_are_found_where_they_are(session: SparkSession) -> None:
    rows = (
        "select id % 1000 as kind, case when id % 1000 = 7 then id div 1000 % 2 else id end as host from range(100000)"
    )
    session.sql(rows).createOrReplaceTempView("facts")
    # All groups would be too many to send to every task, as those of many connections are.
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "50000")
    try:
        assert "SortMergeJoin" in session.sql(FEW)._jdf.queryExecution().executedPlan().toString()
        with frame_of(session, FEW, reads_little=False) as frame:
            plan = frame._jdf.queryExecution().executedPlan().toString()
            assert [tuple(row) for row in frame.collect()] == [(7, 2)]
        assert "BroadcastHashJoin" in plan
        assert "SortMergeJoin" not in plan
    finally:
        session.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        session.catalog.dropTempView("facts")
    assert session._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.integration
def test_nothing_is_kept_after_a_failure(session: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    refused = ROLLED_UP.replace("cross join largest", "cross join absent")
    with pytest.raises(AnalysisException, match="absent"), frame_of(session, refused, reads_little=True):
        pass
    assert not session.catalog.listTables()
    assert session._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.integration
@pytest.mark.parametrize("reads_little", [False, True])
def test_a_shared_cte_with_ctes_of_its_own_stands_behind_those_that_it_reads(
    session: SparkSession, reads_little: bool
) -> None:
    statement = """
        with facts as (select id, id % 3 as kind from range(30)),
        counted as (
            with few as (select kind, id from facts where id < 20)
            select kind, count(*) as n from few group by kind having count(*) > 6
        )
        select facts.kind, count(*) as of_kind, max(counted.n) as n
        from facts
        inner join counted on facts.kind = counted.kind
        inner join counted as again on facts.kind = again.kind
        group by facts.kind order by kind
    """
    with frame_of(session, statement, reads_little=reads_little) as frame:
        assert [tuple(row) for row in frame.collect()] == [(0, 10, 7), (1, 10, 7)]


@pytest.mark.integration
def test_spark_understands_every_statement_taken_apart(session: SparkSession, repository: Path) -> None:
    parser = session._jsparkSession.sessionState().sqlParser()
    statements = compiled_project(repository / "models", "spark").statements
    parsed = 0
    for statement in statements:
        for reads_little in (True, False) if statement.kind == "model" else ():
            for piece in pieces(statement.sql, reads_little=reads_little):
                parser.parsePlan(piece.sql)
                parsed += 1
    assert parsed > 2 * 290
