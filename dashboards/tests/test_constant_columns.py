"""Does a table lose the columns that say the same in every row of the build, and no other?"""

from __future__ import annotations

from typing import Any

import pytest
from contract_server import Contract, serving

from sojourn_client import Client
from sojourn_superset.adapter_query import adapter
from sojourn_superset.catalogue_memory import forget_catalogue
from sojourn_superset.constant_columns import ColumnError, leave_out
from sojourn_superset.map_ends import ends_css
from sojourn_superset.notes import LEFT_OUT, Note, escaped, give_place_away

COLUMNS = {"run_id": "VARCHAR", "link": "VARCHAR", "lost": "BIGINT", "excluded": "VARCHAR"}
ROWS = [("a", "<b>ethernet</b>", 0, None), ("b", "<b>ethernet</b>", 0, None), ("c", "<b>wifi</b>", 0, "damaged")]
DATASET = {
    "table_name": "runs",
    "columns": [
        *({"column_name": name} for name in ("run_id", "link", "excluded")),
        {"column_name": "lost", "verbose_name": "lost packets"},
        {"column_name": "name_and_lost", "expression": "run_id || lost"},
    ],
}
WITHOUT_C = [{"subject": "excluded", "operator": "IS NULL"}]
NOT_C = [{"subject": "run_id", "operator": "!=", "comparator": "c"}]
OF_A_AND_B = [{"subject": "run_id", "operator": "IN", "comparator": ["a", "b"]}]
ALONE = [{"subject": "run_id", "operator": "==", "comparator": "a"}]


def figure(sql: str, label: str) -> dict[str, str]:
    return {"expressionType": "SQL", "sqlExpression": sql, "label": label}


def left_out(params: dict[str, Any], *labels: str, dataset: dict[str, Any] = DATASET) -> dict[str, str]:
    """Return what goes of a table over the rows; `params` are changed."""
    forget_catalogue()
    contract = Contract()
    contract.add("runs", COLUMNS, ["run_id"], [dict(zip(COLUMNS, row, strict=True)) for row in ROWS])
    with serving(contract), Client(contract.url) as client, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_API_URL", contract.url)
        with adapter(client) as connection:
            return leave_out(connection, params, dataset, labels)


@pytest.mark.parametrize("conditions", [WITHOUT_C, NOT_C, OF_A_AND_B])
def test_a_plain_column_of_one_value_goes_with_its_name_on_the_page(conditions: list[dict[str, Any]]) -> None:
    params = {"query_mode": "raw", "all_columns": ["run_id", "link", "lost"], "adhoc_filters": conditions}
    assert left_out(params, "link", "lost") == {"link": "<b>ethernet</b>", "lost packets": "0"}
    assert params["all_columns"] == ["run_id"]


def test_a_column_that_differs_anywhere_in_the_build_stays() -> None:
    params = {"query_mode": "raw", "all_columns": ["run_id", "link", "lost", "name_and_lost"]}
    assert left_out(params, "link", "lost", "name_and_lost") == {"lost packets": "0"}
    assert params["all_columns"] == ["run_id", "link", "name_and_lost"]


def test_a_figure_goes_if_it_is_the_same_in_every_group() -> None:
    figures = [figure("MAX(lost)", "lost"), figure("MAX(run_id)", "last"), figure("MAX(excluded)", "excluded")]
    params = {"groupby": [figure("run_id", "run")], "metrics": figures, "adhoc_filters": NOT_C}
    assert left_out(params, "lost", "last", "excluded") == {"lost": "0", "excluded": "no data"}
    assert [each["label"] for each in params["metrics"]] == ["last"]


def test_a_query_of_our_own_is_asked_as_superset_asks_it() -> None:
    dataset = {"sql": "SELECT run_id, lost + 1 AS one FROM runs", "columns": [{"column_name": "one"}]}
    assert left_out({"query_mode": "raw", "all_columns": ["one"]}, "one", dataset=dataset) == {"one": "1"}


@pytest.mark.parametrize("mode", ["raw", "aggregate"])
def test_a_table_of_one_row_keeps_all(mode: str) -> None:
    params: dict[str, Any] = {
        "query_mode": mode,
        "adhoc_filters": ALONE,
        "all_columns": ["lost"],
        "groupby": ["run_id"],
    }
    params["metrics"] = [figure("MAX(lost)", "lost")]
    assert left_out(params, "lost") == {}
    assert params["metrics"]
    assert params["all_columns"]


def test_what_rows_are_grouped_by_cannot_go() -> None:
    with pytest.raises(ColumnError, match="'run' is no figure and no plain column; those are lost"):
        left_out({"groupby": [figure("run_id", "run")], "metrics": [figure("MAX(lost)", "lost")]}, "run")


def test_numbers_are_told_as_cells_show_them() -> None:
    params = {
        "groupby": [figure("run_id", "run")],
        "metrics": [figure("MAX(lost) + 0.123456", "share"), figure("MAX(lost) + 1234.5678", "number")],
        "column_config": {"share": {"d3NumberFormat": ".2%"}},
    }
    assert left_out(params, "share", "number") == {"share": "12.3 %", "number": "1235"}


def test_data_in_the_text_of_a_page_is_neither_link_nor_image() -> None:
    assert escaped("![x](http://a.b/c_d) <b>\n*") == r"\!\[x\]\(http\://a\.b/c\_d\) &lt;b&gt; \*"


def test_the_end_of_a_page_says_what_its_tables_left_out() -> None:
    position: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "children": ["ROW-1", "ROW-2"]},
        "ROW-1": {"type": "ROW", "children": ["table"]},
        "ROW-2": {"type": "ROW", "children": ["absent"]},
    }
    for name in ("table", "absent"):
        position[name] = {"type": "CHART", "meta": {"uuid": name, "sliceName": name.title(), "width": 12, "height": 9}}
    left = {key: {"lost packets": "0", "link": "ethernet"} for key in ("table", "absent", "elsewhere")}
    placed = give_place_away(position, {"absent": Note("Absent", "Supply it.")}, left)
    assert placed["GRID_ID"]["children"] == ["ROW-1", "ROW-missing", "ROW-left-out"]
    assert (
        placed["MARKDOWN-left-out"]["meta"]["code"] == f"**{LEFT_OUT}**\n\n**Table**: lost packets: 0 · link: ethernet"
    )


def test_a_map_says_its_smallest_and_its_largest_value() -> None:
    forget_catalogue()
    contract = Contract()
    countries = [("DE", 40.0), ("FR", 90.0), ("XA", 99.0), ("IT", 1.0)]
    rows = [{"country": code, "percent": percent} for code, percent in countries]
    contract.add("score", {"country": "VARCHAR", "percent": "DOUBLE"}, ["country"], rows)
    chart = {
        "slice_name": 'needs "met"',
        "params": {
            "entity": "country",
            "metric": {"sqlExpression": "MAX(percent)"},
            "adhoc_filters": [{"subject": "percent", "operator": ">=", "comparator": 2}],
        },
    }
    dataset = {"table_name": "score", "columns": [{"column_name": "country"}, {"column_name": "percent"}]}
    with serving(contract), Client(contract.url) as client, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_API_URL", contract.url)
        with adapter(client) as connection:
            css = ends_css(connection, chart, dataset, "%")
    # XA is no country of the map.
    assert css.startswith('[data-test-chart-name="needs \\"met\\""]::after { content: "40 %  ')
    assert css.endswith('  90 %"; }\n')
