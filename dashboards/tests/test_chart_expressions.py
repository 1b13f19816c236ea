"""Which expressions no chart has, and how much of the charts is looked at to know."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from sojourn_superset import chart_expressions
from sojourn_superset.chart_expressions import _parts_of_no_chart, of_no_chart

METRIC = 'MAX("queue é") * 2'


def chart(**parameters: object) -> str:
    return json.dumps({"metric": {"label": "a", "sqlExpression": METRIC}, **parameters})


def filters(*expressions: str) -> str:
    each = [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": one} for one in expressions]
    return chart(adhoc_filters=each)


@pytest.mark.parametrize(
    "text",
    [
        chart(),
        json.dumps(json.loads(chart()), ensure_ascii=False),
        chart().replace("M", "\\u004d").replace("q", "\\u0071"),
        "".join(f"\\u{ord(each):04X}" for each in METRIC).join(('{"sqlExpression": "', '"}')),
    ],
)
def test_an_expression_is_found_however_json_escapes_it(text: str) -> None:
    assert json.loads(text)
    assert of_no_chart([METRIC], ["{}", "[]", text], "sqlite") == set()


def test_filters_of_others_use_up_nothing_that_a_chart_needs() -> None:
    asked = chart_expressions._rewritten("(a='x' or a='y')", "sqlite")
    others = [filters("a='x' or" + " " * (3_900 + number) + "a='z' or a='x y'") for number in range(20)]
    same_words = [filters("a='y' or" + " " * (3_900 + number) + "a='x'") for number in range(20)]
    assert of_no_chart([asked], [*others, *same_words, filters("a='x' or a='y'")], "sqlite") == set()


@pytest.mark.parametrize(
    ("text_of", "fewest", "most"),
    [
        # In the order of the bits of a number: without and with blanks, and in lower and upper case.
        (lambda bits: bits.replace("0", "+a").replace("1", "+\n a"), 1, 1),
        (lambda bits: bits.replace("0", "+a").replace("1", "+A"), 60, 80),
        (lambda bits: bits.replace("0", "+a").replace("1", "+A") + "\n" * 1_500, 60, 80),
    ],
)
def test_filters_that_differ_in_blanks_are_parsed_once_and_others_within_a_bound(
    text_of: Callable[[str], str], fewest: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    rewritten = chart_expressions._rewritten
    monkeypatch.setattr(chart_expressions, "_rewritten", lambda *clause: parsed.append(clause[0]) or rewritten(*clause))
    clauses = [text_of(f"{number:010b}") + "- '" + "b" * 2_000 + " c'" for number in range(600)]
    asked = "(" + clauses[0].upper() + ")"
    assert of_no_chart([asked], map(filters, clauses), "sqlite") == {asked}
    assert fewest <= len(parsed) <= most
    own = "(a = 1 + a)"
    charts = [filters("a=1+  a"), *map(filters, clauses)]
    assert of_no_chart([own, asked], charts, "sqlite") == {asked}


def test_charts_are_not_read_for_filters_if_none_is_asked_for() -> None:
    large = json.dumps({"adhoc_filters": [], "x": [[0]] * 16_000})
    began = time.process_time()
    assert of_no_chart([METRIC], [large] * 400 + [chart()], "sqlite") == set()
    assert time.process_time() - began < 1


def test_what_no_chart_has_is_returned() -> None:
    asked = {METRIC, "MAX(a)", "queue", "a", "metric"}
    assert of_no_chart(asked, [chart()], "sqlite") == asked - {METRIC}


@pytest.mark.parametrize("asked", ["(a > 1) AND (b < 2)", "(A > 1 AND b<2)", "(NOT a IS NULL)", "(b <> 3)"])
def test_a_clause_is_found_as_it_is_and_as_superset_writes_it(asked: str) -> None:
    charts = [
        filters("x"),
        filters("a > 1", "b < 2"),
        filters("A > 1 and b<2"),
        filters("a NOTNULL"),
        filters("b != 3"),
    ]
    rewritten = chart_expressions._rewritten(asked, "sqlite")
    assert of_no_chart([asked if asked.startswith("(a") else rewritten], charts, "sqlite") == set()


def test_no_chart_is_looked_at_after_all_was_found() -> None:
    def charts() -> Iterator[str]:
        yield "5"
        yield filters("a > 1")
        raise AssertionError("a further chart is looked at")

    assert of_no_chart([METRIC, "(a > 1)"], charts(), "sqlite") == set()
    part = {"operation": "histogram", "options": {"bins": 3}}

    def questions() -> Iterator[str]:
        yield "5"
        yield json.dumps({"queries": [{"post_processing": [part]}]})
        raise AssertionError("a further question is looked at")

    assert _parts_of_no_chart("post_processing", [part], questions()) == []
    other = [part, {**part, "operation": "other"}]
    question = json.dumps({"queries": [{"post_processing": [part]}]})
    assert _parts_of_no_chart("post_processing", other, [question]) == other[1:]


def test_large_charts_take_little_time_and_memory() -> None:
    text = '{"x":[' + ",".join(["{}"] * 21_000) + "]}"
    charts = (text + " " * number for number in range(400))
    tracemalloc.start()
    began = time.process_time()
    assert of_no_chart([METRIC], charts, "sqlite") == {METRIC}
    assert _parts_of_no_chart("post_processing", [{"operation": "histogram"}], [text] * 400)
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 1
    assert peak < 2**20
