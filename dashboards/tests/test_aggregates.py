"""Aggregates and window functions of SQLite: none holds a statement longer than its limit, and medians are SQLite's."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import apsw
import pytest
from shillelagh.exceptions import Error
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from sojourn_superset import read_only
from sojourn_superset.percentiles import PERCENTILES
from sojourn_superset.read_only import FORBIDDEN_FUNCTIONS, STEPS_BETWEEN_CHECKS

ROWS = "WITH RECURSIVE n(x) AS MATERIALIZED (VALUES (1) UNION ALL SELECT x + 1 FROM n LIMIT {rows})"
#: Values of the rows x = 1, 2, … that methods of sorting or of joining texts may take long for.
VALUES = {
    "odd numbers, then even ones": "iif(x <= {rows} / 2 + 1, 2 * x - 3, 2 * x - {rows})",
    "rising": "x",
    "falling": "-x",
    "the same": "1",
    "mixed": "x * 7919 % {rows}",
    "texts": "printf('%.100c', 'x')",
}
#: What a window function is asked over: with values that leave the frame, and without.
FRAMES = (
    "OVER ()",
    "OVER (ORDER BY x ROWS 1000 PRECEDING)",
    "OVER (ORDER BY x GROUPS BETWEEN 20 PRECEDING AND 20 FOLLOWING EXCLUDE TIES)",
)
ARGUMENTS = {"percentile": ["50"], "ntile": ["3"], "nth_value": ["3"], "lag": ["3", "0"], "lead": ["3", "0"]}
#: Why a call may fail: some take numbers only, some need a window, and some have none.
REASONS = ("window function", "takes finite numbers", "positive integer", "too big")
LONGEST_WITHOUT_A_CHECK_S = 0.05
"""CPU seconds; SQLite's own median takes 0.1 for the rows of the test, and 20 for twelve times as many."""


@pytest.fixture
def connection() -> Iterator[Connection]:
    """Connect as Superset does."""
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"timeout_s": 0.5}})
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def longest_without_a_check(sqlite: apsw.Connection, statement: str) -> float:
    """Return the longest CPU time in which SQLite does not ask whether it shall stop, in seconds."""
    marks = [time.process_time()]

    def mark() -> bool:
        marks.append(time.process_time())
        return False

    sqlite.set_progress_handler(mark, STEPS_BETWEEN_CHECKS)
    try:
        for _ in sqlite.execute(statement):
            pass
    except (apsw.Error, Error) as error:
        if not any(reason in str(error) for reason in REASONS):
            raise
    mark()
    return max(later - earlier for earlier, later in pairwise(marks))


def calls(name: str, count: int, value: str) -> Iterator[tuple[str, int]]:
    """Yield the calls of an aggregate or window function, each with a number of rows."""
    others = ARGUMENTS.get(name, ["0.5" if name.startswith("percentile") else "','"])
    arguments = [value, *others][:count]
    if "group_object" in name:
        arguments = ["'k' || x", value]
    yield f"{name}({', '.join(arguments)})", 20_000
    for frame in FRAMES:
        yield f"{name}({', '.join(arguments)}) {frame}", 2_000


def test_no_aggregate_takes_long_in_one_step(connection: Connection) -> None:
    sqlite = connection.connection.dbapi_connection._connection
    sqlite.set_authorizer(None)
    listed = sqlite.execute("SELECT DISTINCT name, narg FROM pragma_function_list WHERE type IN ('a', 'w')").fetchall()
    assert {"sum", "group_concat", "json_group_array", "median", "percentile_disc", "lead"} <= {
        name for name, _ in listed
    }
    slow = {}
    for name, count in listed:
        for value in VALUES.values() if name not in FORBIDDEN_FUNCTIONS else ():
            for call, rows in calls(name, count, value):
                statement = f"{ROWS} SELECT {call} FROM n".format(rows=rows)
                seconds = longest_without_a_check(sqlite, statement)
                if seconds > LONGEST_WITHOUT_A_CHECK_S:
                    # Another process may have taken the CPU's cache.
                    seconds = min(longest_without_a_check(sqlite, statement) for _ in range(3))
                if seconds > LONGEST_WITHOUT_A_CHECK_S:
                    slow[statement] = seconds
    assert slow == {}


def test_slow_calls_are_stopped_soon_after_the_limit(connection: Connection) -> None:
    texts = "SELECT replace(hex(zeroblob(60000)), '0', 'a') AS a, replace(hex(zeroblob(30000)), '0', 'a') || 'b' AS b"
    start = time.process_time()
    with pytest.raises((DBAPIError, Error), match=r"took longer than 0\.5 s"):
        connection.execute(text(f"{ROWS} SELECT sum(instr(a, b || x)) FROM n, ({texts})".format(rows=1000))).fetchall()
    assert time.process_time() - start < 4


@pytest.mark.parametrize("name", PERCENTILES)
def test_a_percentile_is_that_of_sqlite(connection: Connection, name: str) -> None:
    arguments, largest, _ = PERCENTILES[name]
    draw = random.Random(1)
    of_sqlite = apsw.Connection(":memory:")
    for _ in range(200):
        numbers = [None, draw.randint(-9, 9), draw.uniform(-5, 100), 2**53 + 1]
        values = json.dumps([draw.choice(numbers) for _ in range(draw.choice((0, 1, 2, 3, 4, 5, 100)))])
        fraction = draw.choice((0, largest, largest / 3, draw.uniform(0, largest)))
        call = f"{name}(value{f', {fraction}' if arguments == 2 else ''})"
        ((expected,),) = of_sqlite.execute(f"SELECT {call} FROM json_each(?)", (values,)).fetchall()
        sqlite = connection.connection.dbapi_connection._connection
        assert sqlite.execute(f"SELECT {call} FROM json_each(?)", (values,)).fetchall() == [(expected,)], (call, values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("median('x')", "median takes finite numbers; a value is 'x'"),
        ("median(9e999)", "median takes finite numbers; a value is 'inf'"),
        ("percentile(1, 101)", "the fraction of percentile is a number between 0 and 100"),
        ("percentile_cont(1, NULL)", "the fraction of percentile_cont is a number between 0 and 1"),
        ("percentile_disc(1, -0.1)", "the fraction of percentile_disc is a number between 0 and 1"),
        ("percentile(1, x) FROM (SELECT 1 AS x UNION SELECT 2)", "the fraction of percentile is not the same for all"),
    ],
)
def test_a_percentile_of_wrong_values_is_refused(connection: Connection, call: str, message: str) -> None:
    with pytest.raises((DBAPIError, Error)) as caught:
        connection.execute(text(f"SELECT {call}")).fetchall()
    assert message in str(caught.value)


def test_the_medians_of_a_statement_take_a_bounded_number_of_values(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_only, "MOST_PERCENTILE_VALUES", 100)

    def medians(rows: int) -> Any:
        return connection.execute(
            text(f"{ROWS} SELECT median(x), percentile(x, 25) FROM n".format(rows=rows))
        ).fetchall()

    # The bound is per statement.
    assert medians(50) == medians(50) == [(25.5, 13.25)]
    with pytest.raises((DBAPIError, Error), match="medians and percentiles of a statement take at most 100 values"):
        medians(51)
