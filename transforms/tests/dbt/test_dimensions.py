"""A mart that names its dimensions is a view of its measures with the columns of the mart that has them."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from sojourn_transforms.dbt.columns import ColumnError, Dictionary
from sojourn_transforms.dbt.dimensions import view_of, with_dimensions
from sojourn_transforms.running.statements import Statement

GROUPS = Dictionary({}, {"run": ["study_id", "run_id", "aqm", "rtt_ms"]})


def node(name: str, columns: dict[str, str], key: list[str], **meta: Any) -> dict[str, Any]:
    return {
        "name": name,
        "schema": "marts",
        "alias": f"{name}_measures" if "dimensions" in meta else name,
        "config": {"meta": {"key": key, **meta}},
        "columns": {each: {"name": each, "data_type": kind} for each, kind in columns.items()},
    }


RUN = node(
    "run", {"study_id": "varchar", "run_id": "varchar", "aqm": "varchar", "rtt_ms": "double"}, ["study_id", "run_id"]
)
RATE_COLUMNS = {"study_id": "varchar", "run_id": "varchar", "role": "varchar", "rate_bps": "bigint"}


def rate(**meta: Any) -> dict[str, Any]:
    return node("run_rate", RATE_COLUMNS, ["study_id", "run_id", "role"], dimensions="run", **meta)


def test_dimensions_follow_the_key_but_for_those_left_out() -> None:
    assert list(with_dimensions(rate(), {"run": RUN}, GROUPS)["columns"]) == [
        "study_id", "run_id", "role", "aqm", "rtt_ms", "rate_bps",
    ]  # fmt: skip
    less = with_dimensions(rate(without=["aqm"]), {"run": RUN}, GROUPS)
    assert list(less["columns"]) == ["study_id", "run_id", "role", "rtt_ms", "rate_bps"]


@pytest.mark.parametrize(
    ("mart", "message"),
    [
        (node("run_rate", RATE_COLUMNS, ["study_id"], dimensions="link"), "dimensions is 'link'; expected run, "),
        (
            node("run_rate", {**RATE_COLUMNS, "aqm": "varchar"}, ["study_id"], dimensions="run"),
            "states aqm, run_id, which run has; leave them out",
        ),
    ],
)
def test_dimensions_that_there_are_not_or_that_a_mart_states_are_refused(mart: dict[str, Any], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        with_dimensions(mart, {"run": RUN}, GROUPS)


def test_the_view_has_each_row_of_the_measures_once_with_the_dimensions_of_its_run() -> None:
    measures = Statement(
        "run_rate_measures", "model", "", "marts.run_rate_measures", "marts/rate/run_rate.sql", columns=RATE_COLUMNS
    )
    view = view_of(with_dimensions(rate(), {"run": RUN}, GROUPS), measures, RUN)
    assert (view.name, view.relation, sorted(view.after)) == (
        "run_rate",
        "marts.run_rate",
        ["run", "run_rate_measures"],
    )
    with duckdb.connect() as connection:
        connection.execute("create schema marts")
        connection.execute(
            "create table marts.run as from (values ('s', 'a', 'codel', 50.0), ('t', 'a', 'pie', null))"
            " as t(study_id, run_id, aqm, rtt_ms)"
        )
        connection.execute(
            "create table marts.run_rate_measures as from (values ('s', 'a', 'app', 7), ('t', 'a', 'tcp', 8),"
            " ('s', 'gone', 'app', 9)) as t(study_id, run_id, role, rate_bps)"
        )
        result = connection.sql(view.sql)
        assert result.columns == list(view.columns)
        assert sorted(result.fetchall()) == [
            ("s", "a", "app", "codel", 50.0, 7),
            ("s", "gone", "app", None, None, 9),
            ("t", "a", "tcp", "pie", None, 8),
        ]
