"""What takes time out of proportion to its length is refused; what people write is not."""

from __future__ import annotations

import contextlib
import functools
import time
from datetime import datetime
from typing import Any

import pytest
import sqlglot
import yaml
from geopy.point import Point
from markdown import markdown as parse_markdown
from parsedatetime import Calendar
from sqlglot.errors import ParseError

from sojourn_superset.parsing_bounds import (
    LARGEST_IMPORT_BYTES,
    LONGEST_SQL,
    _refuse_long_sql,
    _refuse_many_sources,
    _refuse_nested_types,
    bound_words,
    bounded_html,
    load_yaml,
)

#: As Superset parses it.
markdown = functools.partial(
    parse_markdown,
    extensions=[f"markdown.extensions.{name}" for name in ("tables", "fenced_code", "codehilite")],
    extension_configs={"markdown.extensions.codehilite": {"use_pygments": False}},
)


def refuse(sql: str) -> None:
    _refuse_long_sql(sql)
    dialect = sqlglot.Dialect.get_or_raise("sqlite")
    _refuse_nested_types(dialect.parser().TYPE_TOKENS, dialect.tokenize(sql))


@pytest.mark.parametrize("name", ["DATE", "TIMESTAMP", "DECIMAL", "STRUCT", "VARCHAR"])
def test_types_within_types_are_refused_in_no_time(name: str) -> None:
    started = time.process_time()
    for depth in (20, 40, 10_000):
        with pytest.raises(ParseError, match="nested too deeply"):
            refuse(f"{name}(" * depth + "1" + ")" * depth)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DATE(DATE(DATE(start_date)))",
        f"SELECT {'(' * 200}1{')' * 200}",
        f"SELECT 1 WHERE x IN ({', '.join(['1'] * 10_000)})",
        "SELECT " + ", ".join(["CAST(a AS DECIMAL(10, 2))"] * 1000),
    ],
)
def test_other_sql_is_parsed(sql: str) -> None:
    refuse(sql)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound times and coordinates for one test."""
    monkeypatch.setattr(Calendar, "parse", Calendar.parse)
    monkeypatch.setattr(Point, "from_string", Point.from_string)
    bound_words(ValueError)


@pytest.mark.usefixtures("words")
def test_times_and_coordinates_in_words_are_short() -> None:
    begin = datetime(2026, 1, 31)
    assert Calendar().parseDT("2   weeks " + " " * 1_000 + "later", begin)[0] == datetime(2026, 2, 14)
    assert Point(f"{' ' * 1_000}41.5,  -81.0").longitude == -81
    started = time.process_time()
    for text in ("ago " * 25, "next " * 100, "1" + " " * 30_000 + "x", "1," * 60):
        for parse in (Calendar().parseDT, Point):
            with contextlib.suppress(ValueError):
                parse(text)
    assert time.process_time() - started < 1
    for parse in (Calendar().parseDT, Point):
        with pytest.raises(ValueError, match="61 characters"):
            parse("1" * 61)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM run a" + ",b" * 60_000,
        "SELECT * FROM a" + " JOIN b ON 1=1" * 9_000,
        "WITH a0 AS (SELECT 1)" + "".join(f",a{number} AS (SELECT 1)" for number in range(5_000)) + " SELECT 1",
        "SELECT 1" + " UNION ALL SELECT * FROM (SELECT 1)" * 3_500,
    ],
)
def test_a_statement_of_many_tables_is_refused(sql: str) -> None:
    started = time.process_time()
    with pytest.raises(ParseError, match="a statement has at most 1,000 tables, subqueries"):
        _refuse_many_sources(list(sqlglot.parse(sql, dialect="sqlite")))
    assert time.process_time() - started < 15


def test_a_statement_of_many_values_is_none_of_many_tables() -> None:
    values = ",".join(map(str, range(20_000)))
    _refuse_many_sources(list(sqlglot.parse(f"SELECT * FROM a WHERE b IN ({values})", dialect="sqlite")))


def test_long_sql_is_refused() -> None:
    with pytest.raises(ParseError, match="SQL has at most 131,072 characters"):
        refuse("SELECT 1" + "+1" * (LONGEST_SQL // 2))


@pytest.mark.parametrize(
    "content",
    [
        "[" * 2_000_000,
        "- " * 1_000_000,
        "{a: " * 1000,
        "a: \ud800",
        "a: 2020-99-99",
        "[",
        "x" * (LARGEST_IMPORT_BYTES + 1),
        "a: 1" + ":1" * 400_000,
        "a: !!int '1" + ":1" * 400_000 + "'",
        "a: !!float '1" + ":1" * 400 + ".5'",
        "a: !!bool maybe",
        "a: !!int '1" + ":1" * 1_000 + ": 1" + ":1" * 400_000 + "'",
        "{" + "a," * 1_000_000 + "a}",
        "".join(f"%TAG !t{n}! x\n" for n in range(30_000)) + "---\na: 1\n",
        "{" + ",".join(str(n * (2**61 - 1)) for n in range(101)) + "}",
        "<<: {" + ",".join(map(str, range(101))) + "}",
    ],
)
def test_yaml_that_cannot_be_read_is_one_error(content: str) -> None:
    with pytest.raises(yaml.parser.ParserError):
        load_yaml(content)


@pytest.mark.parametrize(
    "text",
    ["- " * 2_000 + "x", "1. " * 1_360, ">" * 4_000, "```" + " " * 4_050 + "x", "```" + "\t" * 4_050,
     ("```" + " " * 39 + "\x02") * 90, "``a`" * 1_000, "a\n=\n" * 1_000, "a\r=\r" * 1_000],
)  # fmt: skip
def test_a_description_that_takes_long_or_is_nested_is_shown_in_no_time(text: str) -> None:
    took = []
    # Half of it first, which also takes the time of whatever is done once.
    for part in (text[: len(text) // 2], text):
        began = time.process_time()
        assert bounded_html(part, markdown)
        took.append(time.process_time() - began)
    assert took[1] < 0.1


def test_markdown_that_python_cannot_parse_is_shown_as_it_is() -> None:
    def too_deep(_: str) -> str:
        raise RecursionError

    assert bounded_html("a <b>", too_deep) == "a &lt;b&gt;"


def test_lists_and_blanks_are_markdown() -> None:
    text = "- a\n    - b\n\n> - c\n\n```\na      = 1\n```\n- - -\n"
    assert bounded_html(text, markdown) == markdown(text)
    assert "<li>" in markdown(text)


def test_yaml_is_read_without_aliases() -> None:
    content: dict[str, Any] = {"a": [1, {"b": None}], "c": "x & y, *z"}
    assert load_yaml(yaml.safe_dump(content)) == content
    with pytest.raises(yaml.parser.ParserError, match="an alias, which is not read"):
        load_yaml("a: &a [1]\nb: *a\n")
