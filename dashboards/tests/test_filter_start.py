"""Do filters of one value begin with a setting that some run has, and do those without a choice go?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from contract_server import Contract, serving
from sqlalchemy.engine import Connection

from sojourn_client import Client
from sojourn_superset.adapter_query import adapter
from sojourn_superset.catalogue_memory import forget_catalogue
from sojourn_superset.filter_start import fill_in_starts, with_a_choice
from sojourn_superset.layout import native_filters

UUID = "6e8c1c5e-0000-4000-8000-000000000001"
COLUMNS = {"study_id": "VARCHAR", "start_order": "VARCHAR", "bandwidth_bps": "BIGINT", "queue_label": "VARCHAR"}
ROWS = [
    ("b's", "app_first", 1_000_000, "CoDel"),
    ("b's", "solo", 300_000, "CoDel"),
    ("b's", "app_first", 2_500_000, "tail-drop 2 BDP"),
    ("c", "app_first", 300_000, "CAKE"),
]
"""The smallest rate of all is not of the first study, but as its solo run."""

DATASETS = {
    "one": {
        "table_name": "run_metric",
        "uuid": UUID,
        "columns": [
            *({"column_name": name} for name in COLUMNS),
            {"column_name": "bandwidth_mbit", "expression": "bandwidth_bps / 1e6"},
        ],
    }
}


def filters(**changes: Any) -> list[dict[str, Any]]:
    """Return four filters, the later within the former; `changes` are of the rate's."""
    shared = {"dataset": "run_metric", "where": [{"subject": "start_order", "operator": "!=", "comparator": "solo"}]}
    return [
        {"id": "study", "name": "Study", "column": "study_id", "choose": "one", **shared},
        {"id": "rate", "name": "Rate", "column": "bandwidth_mbit", "choose": "one", "within": ["study"], **shared}
        | changes,
        {
            "id": "queue",
            "name": "Queue",
            "column": "queue_label",
            "choose": "one",
            "within": ["study", "rate"],
            **shared,
        },
        {"id": "order", "name": "Order", "column": "start_order", "within": ["study"], **shared},
    ]


def started(rows: list[tuple[Any, ...]], short: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what each filter begins with over these rows."""
    return {each["name"]: each["defaultDataMask"] for each in fitted(rows, short)}


@contextmanager
def api_of(rows: list[tuple[Any, ...]]) -> Iterator[Connection]:
    """Serve these rows, and connect to them."""
    forget_catalogue()
    contract = Contract()
    contract.add("run_metric", COLUMNS, ["study_id"], [dict(zip(COLUMNS, row, strict=True)) for row in rows])
    with serving(contract), Client(contract.url) as client, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_API_URL", contract.url)
        with adapter(client) as connection:
            yield connection


def fitted(rows: list[tuple[Any, ...]], short: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the configuration of the filters over these rows."""
    configured = native_filters("one", short, DATASETS, {})
    with api_of(rows) as connection:
        fill_in_starts(configured, {UUID: DATASETS["one"]}, connection)
    return configured


def left(rows: list[tuple[Any, ...]], short: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the filters that have a choice over these rows, each with those that it is within."""
    with api_of(rows) as connection:
        kept = with_a_choice(native_filters("one", short, DATASETS, {}), {UUID: DATASETS["one"]}, connection)
    names = {each["id"]: each["name"] for each in kept}
    return {each["name"]: [names[parent] for parent in each["cascadeParentIds"]] for each in kept}


def test_each_filter_begins_within_those_before_it() -> None:
    begun = started(ROWS, filters())
    assert {name: mask["filterState"] for name, mask in begun.items()} == {
        "Study": {"value": ["b's"], "label": "b's"},
        "Rate": {"value": [1.0], "label": "1"},
        "Queue": {"value": ["CoDel"], "label": "CoDel"},
        "Order": {},
    }
    assert begun["Rate"]["extraFormData"] == {"filters": [{"col": "bandwidth_mbit", "op": "IN", "val": [1.0]}]}


def test_the_last_is_the_first_of_a_descending_filter() -> None:
    assert started(ROWS, filters(ascending=False))["Rate"]["filterState"] == {"value": [2.5], "label": "2.5"}


def test_without_rows_no_filter_keeps_the_page_from_opening() -> None:
    configured = fitted([], filters())
    for each in configured:
        assert each["defaultDataMask"] == {"extraFormData": {}, "filterState": {}, "ownState": {}}
        assert not each["requiredFirst"]
        assert not each["controlValues"]["enableEmptyFilter"]
        assert not each["controlValues"]["defaultToFirstItem"]


def test_a_filter_with_a_value_must_have_one() -> None:
    fitted_filters = fitted(ROWS, filters())
    assert [each["controlValues"]["enableEmptyFilter"] for each in fitted_filters] == [True, True, True, False]
    # Superset would ask for every chart again for each filter that it is to fill in before all others.
    assert not any(each["requiredFirst"] for each in fitted_filters)


def test_a_condition_may_be_that_a_column_has_a_value() -> None:
    where = [{"subject": "queue_label", "operator": "IS NOT NULL"}]
    rows = [("b's", "app_first", 100_000, None), *ROWS]
    assert started(rows, filters(where=where, within=[]))["Rate"]["filterState"]["value"] == [0.3]


def test_a_filter_begins_with_the_value_that_has_most() -> None:
    masks = started(ROWS, filters(most="bandwidth_bps", column="queue_label", within=["study"]))
    # Of the study b's: CoDel has 1 Mbit/s, tail-drop 2.5 Mbit/s.
    assert masks["Rate"]["filterState"] == {"value": ["tail-drop 2 BDP"], "label": "tail-drop 2 BDP"}


def test_a_filter_of_rows_that_all_have_one_value_goes_and_nothing_is_within_it() -> None:
    # Without solo runs every run is app_first.
    rows = [*ROWS, ("b's", "app_first", 1_000_000, "CAKE")]
    assert left(rows, filters()) == {"Study": [], "Rate": ["Study"], "Queue": ["Study", "Rate"]}
    one_study = [row for row in rows if row[0] == "b's"]
    assert left(one_study, filters()) == {"Rate": [], "Queue": ["Rate"]}
    assert left(one_study[:2], filters()) == {}
    assert left([], filters()) == {}


def test_a_filter_goes_that_has_one_value_in_each_study() -> None:
    # Each rate of the study b's has one queue, and the study c has one rate.
    assert left(ROWS, filters()) == {"Study": [], "Rate": ["Study"]}
    one_rate_each = [row for row in ROWS if row[2] != 2_500_000]
    assert left(one_rate_each, filters()) == {"Study": []}
    # What may have several values at a time, or none, keeps nothing apart.
    several = [each | ({"choose": "many"} if each["id"] == "rate" else {}) for each in filters()]
    assert left(ROWS, several) == {"Study": [], "Rate": ["Study"], "Queue": ["Study", "Rate"]}


def test_a_filter_stays_for_charts_to_which_its_study_does_not_apply() -> None:
    configured = native_filters("one", filters(), DATASETS, {})
    configured[0]["scope"]["excluded"] = [7]
    with api_of([row for row in ROWS if row[2] != 2_500_000]) as connection:
        kept = with_a_choice(configured, {UUID: DATASETS["one"]}, connection)
    assert [each["name"] for each in kept] == ["Study", "Rate"]


def test_a_filter_whose_rows_have_a_value_or_none_stays() -> None:
    rows = [("a", "app_first", 1, None), ("a", "app_first", 1, "CoDel")]
    assert left(rows, filters()) == {"Queue": []}


def test_the_condition_of_a_filter_decides_what_it_chooses_among() -> None:
    where = [{"subject": "queue_label", "operator": "IS NOT NULL"}]
    rows = [("a", "app_first", 1_000_000, None), ("a", "app_first", 2_000_000, "CoDel")]
    assert left(rows, filters(where=where)) == {"Queue": []}
    assert left(rows, filters()) == {"Rate": []}
