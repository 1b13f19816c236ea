"""Random queries: through the adapter and HTTP, and on the same rows in plain SQLite."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest
from conftest import BIG, COLUMNS
from contract_server import Contract
from sqlalchemy import create_engine, text

from sojourn_superset import request_size

VALUES = {
    "study_id": ["'s1'", "'s2'", "'none'"],
    "run_id": ["'r1'", "'r5'", "'r8'"],
    "aqm": ["'codel'", "'tail-drop'", "'it''s odd & more'", "NULL"],
    "packets": ["8", "9.5", "10", str(BIG), str(BIG - 1), "NULL"],
    "harm_ratio": ["0.3", "-0.25", "1", "1e-3"],
    "synthetic": ["0", "1", "true", "false"],
}


def condition(chance: random.Random) -> str:
    """Return a random condition on one column."""
    column = chance.choice(list(COLUMNS))
    values = VALUES[column]
    operators = ["=", "<>"] if column == "synthetic" else ["=", "<>", "<", "<=", ">", ">="]
    match chance.randrange(6):
        case 0:
            return f"{column} IS {chance.choice(['', 'NOT '])}NULL"
        case 1:
            return (
                f"{column} {chance.choice(['', 'NOT '])}IN ({', '.join(chance.sample(values, chance.choice([2, 3])))})"
            )
        case _:
            return f"{column} {chance.choice(operators)} {chance.choice(values)}"


def query(chance: random.Random) -> str:
    """Return a random select, with a total order so that a limit has one right answer."""
    parts = [condition(chance) for _ in range(chance.randrange(4))]
    where = "WHERE " + f" {chance.choice(['AND', 'AND', 'OR'])} ".join(parts) if parts else ""
    order = [f"{name} {chance.choice(['ASC', 'DESC'])}" for name in chance.choices(list(COLUMNS), k=2)]
    limit = f"LIMIT {chance.randrange(5)} OFFSET {chance.randrange(3)}" if chance.random() < 0.6 else ""
    match chance.randrange(3):
        case 0:
            return (
                f"SELECT aqm, COUNT(*), MAX(packets), MIN(harm_ratio) FROM run_harm {where} GROUP BY aqm ORDER BY aqm"
            )
        case 1:
            return f"SELECT DISTINCT study_id, synthetic FROM run_harm {where} ORDER BY study_id, synthetic {limit}"
        case _:
            return f"SELECT * FROM run_harm {where} ORDER BY {', '.join(order)}, study_id, run_id {limit}"


def numbers(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Spell booleans as SQLite does."""
    return [tuple(int(value) if isinstance(value, bool) else value for value in row) for row in rows]


@pytest.mark.parametrize("values", [1_000, 2])
def test_the_adapter_and_sqlite_give_the_same_rows(
    contract: Contract, plain: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    monkeypatch.setattr(request_size, "MOST_VALUES", values)
    engine = create_engine(
        "shillelagh+safe://",
        adapters=["sojourn"],
        adapter_kwargs={"sojourn": {"base_url": contract.url, "page_size": 3}},
    )
    chance = random.Random(2026)
    with engine.connect() as connection:
        for number in range(600):
            sql = query(chance)
            contract.requests.clear()
            ours = numbers(connection.execute(text(sql.replace(":", "\\:"))).fetchall())
            assert ours == plain.execute(sql).fetchall(), f"query {number}: {sql}\n{contract.row_requests()}"


def test_a_statement_has_its_plan_whatever_others_were_before(contract: Contract) -> None:
    contract.add("r", {"t": "VARCHAR", "i": "BIGINT"}, ["t"], [{"t": "0", "i": 1}, {"t": "1", "i": 1}])
    engine = create_engine(
        "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": contract.url}}
    )
    sql = "SELECT t FROM r WHERE t = (SELECT max(i) FROM r WHERE i = 1) LIMIT 1"
    with engine.connect() as connection:
        for blanks in (2, 0, 2, 0, 1, 4, 0):
            assert connection.execute(text(sql + " " * blanks)).fetchall() == [("1",)]


@pytest.mark.parametrize("join", ["RIGHT", "FULL", "full\nouter"])
@pytest.mark.parametrize("tables", [("l", "r"), ('"l?group=k,i" AS l', '"r?group=k,i" AS r')])
@pytest.mark.parametrize("on", ["r.i = l.i", "r.i = l.i AND r.k < 3", "r.k = 2", "r.i > l.i"])
def test_a_join_to_the_right_has_each_row(
    contract: Contract, plain: sqlite3.Connection, join: str, tables: tuple[str, str], on: str
) -> None:
    for name, numbers_of_table in (("l", [2, 1, 9]), ("r", [1, 2, 2, 3, None])):
        rows = [{"k": k, "i": i} for k, i in enumerate(numbers_of_table)]
        contract.add(name, {"k": "BIGINT", "i": "BIGINT"}, ["k"], rows)
        plain.execute(f"CREATE TABLE {name} (k INTEGER, i INTEGER)")
        plain.executemany(f"INSERT INTO {name} VALUES (:k, :i)", rows)
    engine = create_engine(
        "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": contract.url}}
    )
    with engine.connect() as connection:
        for columns, order in (("r.i", "1"), ("l.k, r.k", "1, 2"), ("count(*), count(l.k), count(r.k)", "1")):
            sql = f"SELECT {columns} FROM l {join} JOIN r ON {on} ORDER BY {order}"
            ours = sql.replace("FROM l", f"FROM {tables[0]}").replace("JOIN r", f"JOIN {tables[1]}")
            assert connection.execute(text(ours)).fetchall() == plain.execute(sql).fetchall(), sql


@pytest.mark.parametrize(
    "where",
    [
        *(
            f"i {operator} {value}"
            for operator in ("=", "<>", "<", ">=")
            for value in ("'1'", "' 2.0 '", "'x'", "1e300")
        ),
        *(f"t {operator} {value}" for operator in ("=", "<>", "<", ">=") for value in ("1", "1.0", "0.1", "x'31'")),
        f"i = '{BIG}'",
        "i < '9223372036854775808'",
        "i IN ('1')",
        "i IN ('1', 2, 'x')",
        "i NOT IN ('1', '2')",
        "i BETWEEN '1' AND '2'",
        "f = '0.1'",
        "f IN ('0.1', '1e0')",
        "f < '1'",
        "t IN (1, 1.0)",
        "t BETWEEN 1 AND 2",
        "t = CAST('1' AS INTEGER)",
        *(f"t {operator} (SELECT i FROM p)" for operator in ("=", "<>", "<", "<=", ">", ">=")),
        "t IN (SELECT i FROM p)",
        "t IN (SELECT i FROM p) AND i IN (SELECT k FROM p AS q, r WHERE q.t = 'none')",
        "t IN (SELECT i FROM p) AND (i IN (SELECT k FROM r WHERE k > 9) OR f > 0)",
        "t NOT IN (SELECT f FROM p)",
        "i IN (SELECT t FROM p)",
        "f = (SELECT t FROM p)",
        *(
            f"b {operator} {value}"
            for operator in ("=", "<>", "<", ">=")
            for value in ("'0'", "' 1.0 '", "2", "'x'", "x'31'")
        ),
        "b IN ('0', 2)",
        "b = (SELECT t FROM p)",
        "b IN (SELECT t FROM p)",
        "t = b",
        "EXISTS (SELECT 1 FROM p WHERE p.i = r.t)",
        "(SELECT count(*) FROM p WHERE p.t = r.i) = 1",
        "(SELECT count(*) FROM p LEFT JOIN r AS other ON other.t = p.i AND other.k = r.k) = 1",
    ],
)
def test_texts_and_numbers_compare_as_in_sqlite(contract: Contract, plain: sqlite3.Connection, where: str) -> None:
    rows = [
        {"k": 1, "i": 1, "f": 0.1, "t": "1", "b": True},
        {"k": 2, "i": 2, "f": 1.0, "t": "1.0", "b": False},
        {"k": 3, "i": BIG, "f": 1.5, "t": "0.1", "b": True},
        {"k": 4, "i": -1, "f": -0.1, "t": "x", "b": False},
        {"k": 5, "i": None, "f": None, "t": None, "b": None},
    ]
    contract.add("r", {"k": "BIGINT", "i": "BIGINT", "f": "DOUBLE", "t": "VARCHAR", "b": "BOOLEAN"}, ["k"], rows)
    plain.execute("CREATE TABLE r (k INTEGER, i INTEGER, f REAL, t TEXT, b BOOLEAN)")
    plain.executemany("INSERT INTO r VALUES (:k, :i, :f, :t, :b)", rows)
    one = {"i": 1, "f": 0.1, "t": "1.0"}
    contract.add("p", {"i": "BIGINT", "f": "DOUBLE", "t": "VARCHAR"}, ["i"], [one])
    plain.execute("CREATE TABLE p (i INTEGER, f REAL, t TEXT)")
    plain.execute("INSERT INTO p VALUES (:i, :f, :t)", one)
    engine = create_engine(
        "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": contract.url}}
    )
    with engine.connect() as connection:
        for limit in (9, 1):
            sql = f"SELECT k FROM r WHERE {where} ORDER BY k LIMIT {limit}"
            of_groups = sql.replace("FROM r ", 'FROM "r?group=k,i,f,t,b" AS r ')
            expected = plain.execute(sql).fetchall()
            assert connection.execute(text(sql)).fetchall() == expected, contract.row_requests()
            assert connection.execute(text(of_groups)).fetchall() == expected, contract.row_requests()
