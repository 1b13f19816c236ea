"""Groups and aggregates that the API makes: the same rows as SQLite over all rows, and few rows over the wire."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from contract_server import Contract, serving
from many_rows import ManyRows, Median
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from test_agreement import condition, numbers

from sojourn_client import ApiError
from sojourn_superset import request_size
from sojourn_superset.catalogue_memory import forget_catalogue, types_of
from sojourn_superset.pushdown import MOST_DATASETS, rewrite

ROWS = 1_000_000


def engine_of(contract: Contract) -> Engine:
    """Return an engine that reads the contract's server."""
    arguments = {"sojourn": {"base_url": contract.url, "page_size": 10_000}}
    return create_engine("shillelagh+safe://", adapters=["sojourn"], adapter_kwargs=arguments)


def query(chance: random.Random) -> str:
    """Return a random question for groups, each with a total order."""
    parts = [condition(chance) for _ in range(chance.randrange(3))]
    where = "WHERE " + f" {chance.choice(['AND', 'AND', 'OR'])} ".join(parts) if parts else ""
    group = chance.choice(["aqm", "study_id", "aqm, study_id", "study_id, synthetic", "aqm || '!'", ""])
    functions = [
        "COUNT(*)",
        "COUNT(harm_ratio)",
        "MIN(packets)",
        "MAX(harm_ratio)",
        "MAX(aqm)",
        "AVG(harm_ratio)",
        "MEDIAN(harm_ratio)",
        "SUM(CASE WHEN synthetic THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN aqm = 'codel' AND packets > 20 THEN packets END)",
        "MAX(CASE aqm WHEN 'codel' THEN harm_ratio WHEN 'tail-drop' THEN packets ELSE 3 END)",
        "MIN(CASE WHEN harm_ratio IS NULL THEN packets END)",
    ]
    values = ", ".join(chance.sample(functions, 3))
    return f"SELECT {values}{', ' + group if group else ''} FROM run_harm {where}" + (
        f" GROUP BY {group} ORDER BY {group}" if group else ""
    )


def rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave out what the order of a sum of doubles decides."""
    return [tuple(round(value, 12) if isinstance(value, float) else value for value in row) for row in rows]


@pytest.mark.parametrize("values", [1_000, 2])
def test_groups_of_the_api_are_those_of_sqlite(
    contract: Contract, plain: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    monkeypatch.setattr(request_size, "MOST_VALUES", values)
    plain.create_aggregate("MEDIAN", 1, Median)  # type: ignore[arg-type]
    chance, changed = random.Random(22), 0
    with engine_of(contract).connect() as connection:
        for number in range(150):
            sql = query(chance)
            pushed = rewrite(sql, types_of)
            changed += pushed != sql
            ours = numbers(connection.execute(text(pushed.replace(":", "\\:"))).fetchall())
            theirs = plain.execute(sql).fetchall()
            assert rounded(ours) == rounded(theirs), f"query {number}: {sql}\n{pushed}"
    assert changed > 75, "too few of the questions reach the API as groups for this test to mean anything"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT aqm, harm_ratio FROM run_harm",  # no groups
        "SELECT aqm, packets FROM run_harm GROUP BY aqm",  # a value of any row
        "SELECT MAX(CASE WHEN aqm = 'codel' THEN -packets END) FROM run_harm GROUP BY study_id",
        "SELECT AVG(CASE WHEN aqm = 'codel' THEN packets END) FROM run_harm GROUP BY study_id",
        "SELECT SUM(CASE WHEN aqm = 'codel' THEN 0.5 END) FROM run_harm GROUP BY study_id",
        "SELECT aqm, COUNT(DISTINCT run_id) FROM run_harm GROUP BY aqm",
        "SELECT a.aqm, COUNT(*) FROM run_harm AS a JOIN run_harm AS b ON a.run_id = b.run_id GROUP BY a.aqm",
        "SELECT aqm || '!', MEDIAN(packets) FROM run_harm GROUP BY aqm || '!'",  # a median does not follow from medians
        "WITH t AS (SELECT 1 AS a) SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT 1 FROM",
    ],
)
def test_what_the_api_has_no_words_for_stays(sql: str) -> None:
    assert rewrite(sql, types_of) == sql


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT COUNT(*) FROM run_harm", ["COUNT(*)"]),
        ("SELECT aqm, COUNT(*), MEDIAN(packets) FROM run_harm GROUP BY aqm", ["aqm", "COUNT(*)", "MEDIAN(packets)"]),
        # As SQL Lab writes a median.
        ("SELECT PERCENTILE_CONT(packets, 0.5) FROM run_harm", ["MEDIAN(packets)"]),
        ("SELECT aqm || '!', PERCENTILE_CONT(packets, 0.5) AS m FROM run_harm GROUP BY 1", ["aqm || '!'", "m"]),
        ("SELECT 1 + MAX(packets), SUM(packets) FROM run_harm", ["1 + MAX(packets)", "SUM(packets)"]),
        ('SELECT "COUNT(*)" FROM (SELECT aqm, COUNT(*) FROM run_harm GROUP BY aqm) AS q', ["COUNT(*)"]),
    ],
)
def test_columns_have_the_names_that_the_sql_gives_them(contract: Contract, sql: str, names: list[str]) -> None:
    pushed = rewrite(sql, types_of)
    assert pushed != sql
    with engine_of(contract).connect() as connection:
        answer = connection.execute(text(pushed))
        assert list(answer.keys()) == names
        assert answer.fetchall()


NUMBERS = [
    *(sign * number for number in (2**53 - 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1) for sign in (1, -1)),
    -(2**63),
    1,
]


@pytest.mark.parametrize("condition", ["= {0}", "<> {0}", "< {0}", ">= {0}", "IN ({0}, 7)", "BETWEEN {0} AND {0}"])
@pytest.mark.parametrize("column", ["i", "f"])
def test_large_integers_stay_exact(contract: Contract, column: str, condition: str) -> None:
    rows = [{"k": number, "i": value, "f": float(value)} for number, value in enumerate(NUMBERS)]
    contract.add("r", {"k": "BIGINT", "i": "BIGINT", "f": "DOUBLE"}, ["k"], rows)
    with engine_of(contract).connect() as connection, sqlite3.connect(":memory:") as plain:
        plain.execute("CREATE TABLE r (k INTEGER, i INTEGER, f REAL)")
        plain.executemany("INSERT INTO r VALUES (:k, :i, :f)", rows)
        for number in [*NUMBERS, 2**63]:
            sql = f"SELECT COUNT(*) FROM r WHERE {column} {condition.format(number)}"
            assert connection.execute(text(rewrite(sql, types_of))).fetchall() == plain.execute(sql).fetchall(), sql


TYPES = {
    "k": "BIGINT", "s": "VARCHAR", "t": "VARCHAR", "i": "INTEGER", "f": "DOUBLE", "b": "BOOLEAN", "format": "VARCHAR",
    "n": "BIGINT",
}  # fmt: skip
AFFINITIES = {"VARCHAR": "TEXT", "BIGINT": "INTEGER", "INTEGER": "INTEGER", "DOUBLE": "REAL", "BOOLEAN": "INTEGER"}


@pytest.fixture
def of_both(contract: Contract) -> Iterator[Callable[[str], None]]:
    """Return what compares the answer to a statement with that of SQLite over the same rows."""
    texts = ("codel", "Codel", "CODEL", "1", "1.0", "01", " 1", "", "true", "20200318", "1M", None)
    rows = [
        {
            "k": k, "s": f"s{k % 3}", "t": texts[k % 12], "i": (1, 16, 5, None)[k % 4],
            "f": (0.5, 1.0, 50.0, None)[k % 4], "n": k % 5,
            "b": (True, False, None)[k % 3], "format": ("csv", "pcap")[k % 2],
        }
        for k in range(60)
    ]  # fmt: skip
    contract.add("r", TYPES, ["k"], rows)
    with engine_of(contract).connect() as connection, sqlite3.connect(":memory:") as plain:
        plain.create_aggregate("MEDIAN", 1, Median)  # type: ignore[arg-type]
        plain.execute(f"CREATE TABLE r ({', '.join(f'{name} {AFFINITIES[kind]}' for name, kind in TYPES.items())})")
        plain.executemany(f"INSERT INTO r VALUES ({', '.join(f':{name}' for name in TYPES)})", rows)

        def compare(sql: str) -> None:
            ours = numbers(connection.execute(text(rewrite(sql, types_of))).fetchall())
            assert sorted(rounded(ours), key=repr) == sorted(rounded(plain.execute(sql).fetchall()), key=repr)

        yield compare


@pytest.mark.parametrize(
    "sql",
    [
        # An alias is the name of what the API counts, or of a column.
        "SELECT s, COUNT(*) AS n FROM r WHERE t LIKE '%' GROUP BY s HAVING n > 3",
        "SELECT s, SUM(i) AS n FROM r GROUP BY s HAVING n > 60",
        "SELECT i AS n, COUNT(*) AS c FROM r GROUP BY n",
        "SELECT s, MAX(i) AS max_i FROM r WHERE f > 0.7 GROUP BY s HAVING max_i > 10",
        "SELECT s, COUNT(*) AS n FROM r GROUP BY s ORDER BY n * 1 DESC LIMIT 2",
        'SELECT s, SUM(i) AS "sum of i" FROM r GROUP BY s HAVING "sum of i" > 100',
        'SELECT s, COUNT(*) AS "rows of the group" FROM r WHERE f > 0.7 GROUP BY s HAVING "rows of the group" > 9',
        "SELECT s AS t, AVG(f) FROM r GROUP BY t",
        "SELECT s AS t, t AS s, COUNT(*) FROM r GROUP BY s, t",
        "SELECT s, AVG(f) AS f FROM r GROUP BY s HAVING f > 20",
        "SELECT s, AVG(f) AS f FROM r GROUP BY s ORDER BY f DESC LIMIT 1",
        "SELECT s, COUNT(*) AS c, MAX(i) AS C FROM r GROUP BY s HAVING c > 3",
        "SELECT b AS T, MIN(i) FROM r WHERE 5.5 >= i GROUP BY T",
        "SELECT s AS x, i AS x, COUNT(*) FROM r GROUP BY x",
        "SELECT n, COUNT(*), SUM(n) FROM r GROUP BY n",
        "SELECT format, COUNT(*) FROM r WHERE format = 'pcap' GROUP BY format",
        "SELECT COUNT(*) FROM r WHERE format IN ('pcap', 'x')",
        "SELECT s, COUNT(*) AS n FROM r WHERE n = 2 GROUP BY s",
        # SQLite compares texts otherwise than the API.
        "SELECT COUNT(*) FROM r WHERE t = 'codel' COLLATE NOCASE",
        "SELECT k FROM r WHERE t COLLATE NOCASE = 'CODEL'",
        "SELECT k FROM r WHERE t COLLATE NOCASE IN ('codel', 'x')",
        "SELECT k FROM r WHERE t < 'D' COLLATE NOCASE",
        "SELECT COUNT(*), SUM(i) FROM r GROUP BY t COLLATE NOCASE",
        # A value is of another type than its column.
        *(
            f"SELECT COUNT(*), MIN(k) FROM r WHERE t {each}"
            for each in ("= 1", "= 1.0", "IN (1.0, 2)", "= TRUE", "> 1")
        ),
        *(f"SELECT COUNT(*) FROM r WHERE t = '{each}'" for each in ("", "1", " 1", "1.0", "true", "20200318", "1M")),
        *(f"SELECT COUNT(*) FROM r WHERE i {each}" for each in ("= 1.0", "= '1'", "= '1M'", "> 0x10", "< 3000000000")),
        "SELECT k FROM r WHERE i < 3000000000",
        *(f"SELECT COUNT(*) FROM r WHERE f {each}" for each in ("= 1", "= '50ms'", "= '50'", "< 0.6", "IN (1, 50)")),
        *(f"SELECT COUNT(*) FROM r WHERE b {each}" for each in ("= 1.0", "> 0", "= 2", "= TRUE", "<> 1", "IS TRUE")),
        *(f"SELECT COUNT(*) FROM r WHERE b {each}" for each in ("= NOT 1", "= -1", "= ~0", "IN (-1, 0)")),
        "SELECT k FROM r WHERE t IN (SELECT i FROM r)",
        "SELECT COUNT(*) FROM r WHERE t IN (SELECT t FROM r WHERE s IN (SELECT s FROM r WHERE k < 0))",
        "SELECT k FROM r WHERE t IN (SELECT t FROM r WHERE k < 0)",
        "SELECT k FROM r WHERE t IN (SELECT t FROM r WHERE t > x'31')",
        "SELECT COUNT(*) FROM r WHERE k < 9 AND t NOT IN (SELECT t FROM r WHERE k < 0)",
        "SELECT COUNT(*) FROM r WHERE t IN (SELECT k FROM r UNION SELECT '1.0')",
        "SELECT COUNT(*) FROM r WHERE t IN (SELECT t FROM r WHERE k < 0 EXCEPT SELECT 2)",
        "SELECT COUNT(*) FROM r WHERE i IN (5, 16) AND t IN (SELECT HEX(t) FROM r WHERE k < 0)",
        "SELECT k FROM r UNION ALL SELECT k FROM r WHERE t IN (SELECT CAST(t AS NUMERIC) FROM r WHERE k < 0)",
        "WITH none AS (SELECT t FROM r WHERE k < 0) SELECT k FROM r WHERE i = 5 AND t IN none",
        "SELECT s, SUM(CAST(i AS INT)) FROM r WHERE t IN (SELECT t FROM r WHERE k < 0) GROUP BY s",
        # Of no rows there are no groups, and no constants.
        "SELECT MAX(CASE WHEN 1 = 1 THEN 5 END), SUM(CASE 1 WHEN 1 THEN 1 ELSE 0 END) FROM r WHERE s = 'none'",
        *(
            f"SELECT {key} AS c, COUNT(*) FROM r WHERE s = 'none' GROUP BY {key}"
            for key in ("date('2026-01-01')", "NULL", "1 + 1", "('all')")
        ),
        # Functions that the API has not, or not of the type.
        "SELECT AVG(b), SUM(b), MAX(b) FROM r",
        "SELECT SUM(CASE WHEN b THEN b END) FROM r",
        "SELECT s, TOTAL(1) FROM r GROUP BY s",
        "SELECT s, json_group_array(s) FROM r GROUP BY s",
        "SELECT s, COUNT(*) FILTER (WHERE s = 's1') FROM r GROUP BY s",
        "SELECT s, printf('%d', COUNT(*)) FROM r GROUP BY s",
        "SELECT b, COUNT(*) FROM r GROUP BY b UNION ALL SELECT 'all', COUNT(*) FROM r",
        "SELECT b, s FROM r UNION ALL SELECT 7, 8",
        # sqlglot would write something else.
        "SELECT COUNT(*) FROM r WHERE +t = 1",
        "SELECT COUNT(*) FROM r WHERE +i = '5'",
        "SELECT s, MOD(AVG(f), 7) FROM r GROUP BY s",
        "SELECT k FROM r WHERE MOD(f, 0.3) > 0.1 AND t IN (SELECT t FROM r) ORDER BY k LIMIT 5",
        "SELECT CAST(i AS NUMERIC) / 2, COUNT(*) FROM r GROUP BY CAST(i AS NUMERIC) / 2",
        # Names that SQLite finds elsewhere, or not as they are written.
        "SELECT S, COUNT(*) FROM r WHERE T = 'codel' GROUP BY S",
        'SELECT COUNT(*) FROM r WHERE t = "codel"',
        "SELECT s AS a, COUNT(*) FROM r WHERE a = 's1' GROUP BY s",
        "SELECT o.k, (SELECT COUNT(*) FROM r x WHERE x.i = o.i AND o.s = 's1') FROM r o WHERE o.k < 9",
        "SELECT o.k, (SELECT COUNT(*) FROM r WHERE r.i = o.i) FROM r o WHERE o.k < 9",
    ],
)
def test_a_statement_means_what_it_means_to_sqlite(of_both: Callable[[str], None], sql: str) -> None:
    of_both(sql)


@pytest.mark.parametrize(
    ("condition", "is_pushed"),
    [
        ("t = '20200318'", True), ("t = ''", True), ("t = 1", False), ("i = 5", True), ("i = 3000000000", False),
        ("i = '5'", False), ("f = 9007199254740993", False), ("b = 1", True), ("b = 2", False), ("b > 0", False),
    ],
)  # fmt: skip
def test_the_api_tests_conditions_that_mean_the_same_to_it(condition: str, is_pushed: bool) -> None:
    pushed = rewrite(f"SELECT COUNT(*) FROM r WHERE {condition}", {"r": TYPES}.get)
    assert (f"group={condition[0]}" not in pushed) == is_pushed


@pytest.mark.parametrize("day", ["2020-03-18", "2020-02-30", "2020-3-18", "2020-03-18 00:00:00"])
def test_the_api_compares_days_with_days(day: str) -> None:
    pushed = rewrite(f"SELECT COUNT(*) FROM r WHERE d >= '{day}'", lambda _: {"d": "DATE"})
    assert ("d__ge=" in pushed) == (day == "2020-03-18")


@pytest.mark.parametrize(
    "function", ["1_000", "CONCAT(s, t)", "JSON_EXTRACT(s, '$[0]')", "CAST(s AS DATE)", "MOD(i, 3)"]
)
def test_a_function_that_sqlglot_would_replace_stays(function: str) -> None:
    sql = f"SELECT {function}, COUNT(*) FROM r GROUP BY {function}"
    assert rewrite(sql, {"r": TYPES}.get) == sql


def test_a_query_with_the_name_of_a_dataset_is_read_instead() -> None:
    sql = "WITH Q AS (SELECT k FROM r LIMIT 3) SELECT COUNT(*) FROM q"
    assert rewrite(sql, {"r": TYPES, "q": TYPES}.get) == sql


def test_each_dataset_is_asked_for_once_and_none_after_no_answer() -> None:
    names: list[str] = []

    def types(name: str) -> dict[str, str]:
        names.append(name)
        if name == "gone":
            raise ApiError("no answer")
        return TYPES

    def union(tables: Iterable[str]) -> str:
        return " UNION ALL ".join(f"SELECT COUNT(*) FROM {table}" for table in tables)

    assert rewrite(union("rrs"), types).count('?aggregate=count"') == 3
    assert sorted(names) == ["r", "s"]
    names.clear()
    assert rewrite(union(["gone"] * 3), types) == union(["gone"] * 3)
    assert len(names) == 1
    names.clear()
    rewrite(union(f"r{number}" for number in range(200)), types)
    assert len(names) == MOST_DATASETS
    names.clear()
    rewrite("SELECT k FROM r UNION ALL SELECT k FROM q", types)
    assert names == []


def test_sql_that_is_nested_too_deeply_stays() -> None:
    for sql in (
        f"SELECT COUNT(*) FROM r WHERE {'(' * 500}1{')' * 500}",
        "SELECT COUNT(*) FROM r WHERE 1" + " AND 1" * 3000,
    ):
        assert rewrite(sql, {"r": TYPES}.get) == sql


def test_conditions_that_differ_in_their_capitals_are_others(contract: Contract) -> None:
    contract.add("r", {"k": "BIGINT", "t": "VARCHAR"}, ["k"], [{"k": k, "t": t} for k, t in enumerate("aaA")])
    questions = [f"SELECT '{t}', COUNT(*) FROM r WHERE t = '{t}'" for t in ("a", "A", "Ä")]
    with engine_of(contract).connect() as connection:
        answer = connection.execute(text(rewrite(" UNION ALL ".join(questions), types_of))).fetchall()
    assert [tuple(row) for row in answer] == [("a", 2), ("A", 1), ("Ä", 0)]


def test_a_query_within_a_query_is_pushed_down(contract: Contract) -> None:
    sql = "SELECT q.aqm, MAX(q.m) FROM (SELECT aqm, MEDIAN(packets) AS m FROM run_harm WHERE synthetic = 0 "
    sql += "GROUP BY aqm) AS q GROUP BY q.aqm"
    assert '"run_harm?group=aqm&aggregate=median%3apackets&synthetic__eq=false"' in rewrite(sql, types_of)


@pytest.mark.parametrize("name", ["run-of-a-study-with-a-long-name-{:08}", "{}"])
def test_five_thousand_values_of_a_filter_are_met(contract: Contract, name: str) -> None:
    rows = [
        {"study_id": "s", "run_id": name.format(number), "aqm": ("codel", "red")[number % 2], "packets": number}
        for number in range(6_000)
    ]
    contract.add(
        "run_harm", dict.fromkeys(("study_id", "run_id", "aqm"), "VARCHAR") | {"packets": "BIGINT"}, ["run_id"], rows
    )
    where = f"WHERE study_id = 's' AND run_id IN ({', '.join(repr(name.format(number)) for number in range(5_000))})"
    questions = {
        f"SELECT run_id AS run_id FROM run_harm {where} GROUP BY run_id": 5_000,
        f"SELECT aqm AS aqm, COUNT(*) AS n FROM run_harm {where} GROUP BY aqm": [("codel", 2_500), ("red", 2_500)],
        f"SELECT aqm AS aqm, MEDIAN(packets) FROM run_harm {where} GROUP BY aqm": [("codel", 2_499), ("red", 2_500)],
        f"SELECT run_id AS run_id FROM run_harm {where}": 5_000,
    }  # fmt: skip
    with engine_of(contract).connect() as connection:
        for sql, expected in questions.items():
            contract.requests.clear()
            answer = [tuple(row) for row in connection.execute(text(rewrite(sql, types_of))).fetchall()]
            assert (answer if isinstance(expected, list) else len(answer)) == expected
            assert 5 <= len(contract.row_requests()) <= 40
            assert {query["study_id"] for query in contract.row_requests()} == {"s"}


@pytest.fixture(scope="module")
def many() -> Iterator[Contract]:
    """Serve a million rows."""
    forget_catalogue()
    disciplines = ("codel", "fq_codel", "tail-drop")
    columns = {
        "study_id": "VARCHAR", "run_id": "BIGINT", "aqm": "VARCHAR", "second": "BIGINT", "delay_ms": "DOUBLE",
        "exclusion_reason": "VARCHAR",
    }  # fmt: skip
    rows = (
        ("s1", number, disciplines[number % 3], number % 500, float(number % 997), None if number % 10 else "broke")
        for number in range(ROWS)
    )
    contract = ManyRows("run_delay", columns, rows)
    with serving(contract), pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_API_URL", contract.url)
        yield contract
    forget_catalogue()


def test_a_dashboard_of_a_million_rows_fetches_thousands(many: Contract) -> None:
    # What a filter's values, a tile, a bar chart, a line and a table of Superset ask.
    questions = [
        "SELECT aqm AS aqm FROM run_delay GROUP BY aqm LIMIT 1000",
        "SELECT COUNT(*) AS runs FROM run_delay WHERE exclusion_reason IS NULL AND aqm IN ('codel', 'fq_codel')",
        "SELECT aqm AS aqm, MEDIAN(delay_ms) AS wait FROM run_delay WHERE exclusion_reason IS NULL GROUP BY aqm",
        "SELECT second AS second, aqm AS aqm, MAX(delay_ms) AS wait FROM run_delay WHERE study_id = 's1' "
        "GROUP BY second, aqm ORDER BY wait DESC LIMIT 50000",
    ]
    with engine_of(many).connect() as connection:
        answers = [connection.execute(text(rewrite(sql, types_of).replace(":", "\\:"))).fetchall() for sql in questions]
    assert answers[0] == [("codel",), ("fq_codel",), ("tail-drop",)]
    # Two of three disciplines, and nine of ten rows.
    assert answers[1] == [(sum(1 for n in range(ROWS) if n % 10 and n % 3 < 2),)]
    assert [row[1] for row in answers[2]] == [498.0, 498.0, 498.0]
    assert len(answers[3]) == 1500
    assert many.rows_sent < 5_000
