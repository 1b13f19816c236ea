"""Questions of charts with more than columns and rows: operations on the rows, and what goes beyond a bound."""

from __future__ import annotations

from typing import Any


def operations(*each: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the part of a query that has operations on its rows."""
    return {"post_processing": [{"operation": name, "options": options} for name, options in each]}


MEAN = {"packets": {"operator": "mean"}}
ARRANGED = {
    "a line chart": operations(
        ("pivot", {"index": ["run_id"], "columns": [], "aggregates": MEAN, "drop_missing_columns": False}),
        ("flatten", {}),
    ),
    "a line chart of several lines": operations(
        ("pivot", {"index": ["packets"], "columns": ["run_id"], "aggregates": MEAN, "drop_missing_columns": False}),
        ("rename", {"columns": {"packets": None}, "inplace": True, "level": 0}),
        ("flatten", {}),
    ),
    "a heat map": operations(("rank", {"metric": "packets"})),
    "a box plot": operations(("boxplot", {"whisker_type": "tukey", "groupby": ["run_id"], "metrics": ["packets"]})),
}
"""Operations as Superset's pages send them for the charts of the dashboards."""

PERCENTILE = {"x": {"operator": "percentile", "column": "packets", "options": {"q": 50}}}
OWN_OPERATIONS = {
    "histogram": operations(("histogram", {"column": "packets", "groupby": [], "bins": 5})),
    "diff": operations(("diff", {"columns": {"packets": "difference"}, "periods": 1})),
    "cum": operations(("cum", {"operator": "sum", "columns": {"packets": "sum"}})),
    "rolling": operations(("rolling", {"columns": {"packets": "mean"}, "rolling_type": "mean", "window": 2})),
    "aggregate": operations(("aggregate", {"groupby": ["run_id"], "aggregates": PERCENTILE})),
    "select": operations(("select", {"columns": ["packets"]})),
    "sort": operations(("sort", {"by": ["packets"], "ascending": False})),
    "after one of a chart": operations(("rank", {"metric": "packets"}), ("select", {"columns": ["packets"]})),
}
"""Operations that no chart of the dataset has."""

TOO_MUCH = {
    "many bins": operations(("histogram", {"column": "packets", "groupby": [], "bins": 1_001})),
    "bins by a rule": operations(("histogram", {"column": "packets", "groupby": [], "bins": "fd"})),
    "a wide window": operations(("rolling", {"columns": {"packets": "x"}, "rolling_type": "mean", "window": 1_001})),
    "many operations": operations(*[("select", {"columns": ["packets"]})] * 41),
    "running sums of groups": operations(
        ("pivot", {"index": ["run_id"], "aggregates": {"packets": {"operator": "cumsum"}}})
    ),
    "a list of percentiles": operations(
        ("aggregate", {"groupby": ["run_id"], "aggregates": {"x": {**PERCENTILE["x"], "options": {"q": [1, 2]}}}})
    ),
    "a correlation": operations(("rolling", {"columns": {"packets": "x"}, "rolling_type": "corr", "window": 2})),
    "a name many times": operations(("select", {"columns": ["packets", "packets"]})),
    "many names": operations(("select", {"columns": ["packets"] * 1_001})),
    "many values in filters": {"filters": [{"col": "run_id", "op": "IN", "val": ["x"] * 5_001}]},
}
"""What goes beyond a bound, where Superset would do it."""

COUNTED = {"expressionType": "SIMPLE", "aggregate": "MAX", "column": {"column_name": "packets"}, "label": "most"}
LARGE_ANSWER = {"metrics": [{**COUNTED, "label": f"{n:255}"} for n in range(10)], "row_limit": 100_000}
LAYER = {"annotationType": "EVENT", "sourceType": "table", "name": "a", "show": True, "showMarkers": False, "value": 1}
LAYERS = {
    "a layer of a chart": {"annotation_layers": [LAYER]},
    "a layer over another time": {"annotation_layers": [{**LAYER, "overrides": {"time_range": "Last week"}}]},
}
"""Annotation layers that no chart has."""
MALFORMED = {
    "a layer with another metric": {"annotation_layers": [{**LAYER, "overrides": {"metric": COUNTED}}]},
    "rename to a long name": operations(("rename", {"columns": {"packets": "x" * 256}})),
    "a long label": {"metrics": [{**COUNTED, "label": "x" * 256}]},
    "another aggregate": {"metrics": [{**COUNTED, "aggregate": "group_concat"}]},
    "order by another aggregate": {"orderby": [[{**COUNTED, "aggregate": "group_concat"}, True]]},
    "a column that is none": {
        "filters": [{"col": {"sqlexpression": "x", "expressionType": "SQL", "label": "y"}, "op": "==", "val": "r1"}]
    },
    "a long range of time": {"time_range": "1 day ago : " * 2_000},
    "a long time offset": {"metrics": [COUNTED], "time_offsets": ["ago " * 25]},
    "a large filter": {"filters": [{"col": "run_id", "op": "IN", "val": ["x" * 1_000] * 1_050}]},
    "many time offsets": {"time_offsets": [f"{days} days ago" for days in range(41)]},
}
"""What is refused whoever asks."""
