from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

URL = "/v1/datasets/run_harm/rows"
EVERY = "count,count:aqm," + ",".join(
    f"{function}:harm_ratio"
    for function in ("count", "min", "max", "mean", "median", "stddev", "sum", "q05", "q25", "q75", "q95", "q99")
)


def get(client: TestClient, query: str) -> list[dict[str, Any]]:
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def test_every_aggregate_equals_its_own_computation(client: TestClient, build: Any) -> None:
    rows = get(client, f"group=aqm,role&aggregate={EVERY}")
    included = [row for row in build.rows("run_harm") if row["exclusion_reason"] is None]
    groups = sorted({(row["aqm"], row["role"]) for row in included})
    assert [(row["aqm"], row["role"]) for row in rows] == groups
    for got in rows:
        members = [row for row in included if (row["aqm"], row["role"]) == (got["aqm"], got["role"])]
        values = sorted(row["harm_ratio"] for row in members if row["harm_ratio"] is not None)
        assert got["n"] == got["count_aqm"] == len(members)
        assert got["count_harm_ratio"] == len(values)
        for function in ("min", "max", "mean", "median", "stddev", "sum", "q05", "q25", "q75", "q95", "q99"):
            assert got[f"{function}_harm_ratio_n"] == len(values)
        assert (got["min_harm_ratio"], got["max_harm_ratio"]) == (values[0], values[-1])
        assert got["sum_harm_ratio"] == pytest.approx(math.fsum(values), rel=1e-14)
        assert got["stddev_harm_ratio"] == pytest.approx(statistics.stdev(values), rel=1e-12)
        assert got["mean_harm_ratio"] == pytest.approx(statistics.fmean(values), rel=1e-14)
        for name, q in (("q05", 0.05), ("q25", 0.25), ("median", 0.5), ("q75", 0.75), ("q95", 0.95), ("q99", 0.99)):
            assert got[f"{name}_harm_ratio"] == pytest.approx(np.quantile(values, q), rel=1e-12)


def test_aggregates_without_group_are_one_row(client: TestClient, build: Any) -> None:
    (row,) = get(client, "aggregate=count&excluded=include")
    assert row == {"n": len(build.rows("run_harm")), "studies": 2}
    (row,) = get(client, "aggregate=mean:harm_ratio&aqm=none&unknown_values=allow")
    assert row == {"n": 0, "studies": 0, "mean_harm_ratio": None, "mean_harm_ratio_n": 0}


def test_group_without_aggregate_has_n(client: TestClient) -> None:
    assert get(client, "group=aqm") == [
        {"aqm": "codel", "n": 18, "studies": 2},
        {"aqm": "fq_codel", "n": 24, "studies": 2},
        {"aqm": "tail-drop", "n": 24, "studies": 2},
    ]


def test_null_is_a_group_of_its_own(client: TestClient) -> None:
    rows = get(client, "group=congestion_control&excluded=include")
    assert [(row["congestion_control"], row["n"]) for row in rows] == [("bbr", 24), ("cubic", 24), (None, 24)]


def test_excluded_runs_are_left_out_unless_asked_for(client: TestClient) -> None:
    counts = {
        "aggregate=count": 66,
        "aggregate=count&excluded=leave_out": 66,
        "aggregate=count&excluded=include": 72,
        "aggregate=count&exclusion_reason__null=false": 6,
        "aggregate=count&exclusion_reason__null=true": 66,
        "aggregate=count&exclusion_reason=no TCP data": 6,
    }
    assert {query: get(client, query)[0]["n"] for query in counts} == counts
    by_reason = get(client, "group=exclusion_reason")
    assert [(row["exclusion_reason"], row["n"]) for row in by_reason] == [("no TCP data", 6), (None, 66)]
    assert len(get(client, "excluded=leave_out")) == 66
    assert client.get(URL + "?group=aqm").json()["excluded"] == "leave_out"
    assert client.get(URL).json()["excluded"] == "include"


def test_integer_sums_are_exact_and_units_are_kept(client: TestClient, build: Any) -> None:
    response = client.get(URL + "?aggregate=sum:bandwidth_bps,mean:bandwidth_bps,max:aqm&excluded=include").json()
    total = sum(row["bandwidth_bps"] for row in build.rows("run_harm"))
    assert response["rows"][0]["sum_bandwidth_bps"] == total
    assert response["rows"][0]["mean_bandwidth_bps"] == total / 72
    assert response["rows"][0]["max_aqm"] == "tail-drop"
    units = {column["name"]: (column["type"], column["unit"]) for column in response["columns"]}
    assert units["sum_bandwidth_bps"] == ("BIGINT", "bit/s")
    assert units["mean_bandwidth_bps"] == ("DOUBLE", "bit/s")
    assert units["sum_bandwidth_bps_n"] == units["n"] == ("BIGINT", "rows")
    assert units["max_aqm"] == ("VARCHAR", None)


def test_a_sum_that_does_not_fit_is_a_problem(client: TestClient) -> None:
    response = client.get("/v1/datasets/types/rows?aggregate=sum:unsigned")
    assert response.status_code == 422
    assert response.json()["type"] == "urn:sojourn:problem:result-out-of-range"


def test_same_numbers_whatever_the_threads_and_the_order_of_rows(serve: Any, publish: Any, many: Any) -> None:
    queries = [
        "group=g&aggregate=sum:x,mean:x,median:x,q95:x",
        "aggregate=sum:x,mean:x&order=-sum_x",
        "group=g&aggregate=mean:x&order=mean_x&limit=3",
    ]
    answers_to: dict[str, set[str]] = {query: set() for query in queries}
    backwards = replace(many, tables={"many": many.tables["many"].sort_by([("id", "descending")])})
    for build_id, published in (("b1", many), ("b2", backwards)):
        folder = publish(published, build_id)
        for threads in (1, 4):
            client = serve(folder=folder, api_threads=threads)
            for query in queries:
                response = client.get(f"/v1/datasets/many/rows?{query}")
                assert response.headers["X-Sojourn-Build"] == build_id
                answers_to[query].add(json.dumps(response.json()["rows"]))
    assert [len(results) for results in answers_to.values()] == [1, 1, 1]
