from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from fastapi.testclient import TestClient

from sojourn_api.distribution_metrics import METRICS

URL = "/v1/distributions/queuing_delay"


def get(client: TestClient, query: str) -> list[dict[str, Any]]:
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def delays_ms(build: Any, **wanted: str) -> list[float]:
    """The delays behind the histogram of the runs that are not excluded."""
    chosen = []
    for run in build.rows("run"):
        for role in ("app", "tcp"):
            matches = all(({**run, "role": role})[name] == value for name, value in wanted.items())
            if run["exclusion_reason"] is None and matches:
                chosen += build.delays_us[run["run_id"], role]
    return [delay / 1000 for delay in sorted(chosen)]


def test_quantiles_are_within_one_percent_of_the_packets_own(client: TestClient, build: Any) -> None:
    rows = get(client, "group=role,aqm&quantiles=0.01,0.07,0.5,0.95,0.999,1")
    assert len(rows) == 2 * 3 * 6
    for row in rows:
        delays = delays_ms(build, role=row["role"], aqm=row["aqm"])
        rank = max(1, math.ceil(round(row["quantile_ratio"] * len(delays), 9)))
        exact = delays[rank - 1]
        assert row["n"] == len(delays)
        assert row["runs"] == (9 if row["aqm"] == "codel" else 12)
        assert row["delay_basis"] == "queue_sojourn"
        assert abs(row["queuing_delay_ms"] - exact) <= 0.01 * exact
        assert row["queuing_delay_bin_lower_ms"] <= exact <= row["queuing_delay_bin_upper_ms"]


def test_default_is_quantiles_of_everything(client: TestClient, build: Any) -> None:
    rows = get(client, "")
    assert [row["quantile_ratio"] for row in rows] == [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
    assert {row["n"] for row in rows} == {len(delays_ms(build))}


@pytest.mark.parametrize("bins", ["", "&bins_per_octave=4"])
def test_cdf_is_exact_at_its_points_and_ends_at_one(client: TestClient, build: Any, bins: str) -> None:
    rows = get(client, f"statistic=cdf&aqm=codel&role=app{bins}")
    delays = np.array(delays_ms(build, aqm="codel", role="app"))
    for row in rows:
        assert row["cdf_ratio"] == pytest.approx(np.mean(delays <= row["queuing_delay_ms"]), abs=1e-15)
    assert rows[-1]["cdf_ratio"] == 1
    assert sum(row["packets"] for row in rows) == len(delays)


def test_pdf_has_the_area_of_the_delays_above_zero(client: TestClient, build: Any) -> None:
    rows = get(client, "statistic=pdf&bins_per_octave=8&aqm=fq_codel")
    delays = np.array(delays_ms(build, aqm="fq_codel"))
    area = sum(
        row["density_per_decade"] * math.log10(row["queuing_delay_bin_upper_ms"] / row["queuing_delay_bin_lower_ms"])
        for row in rows
        if row["queuing_delay_bin_lower_ms"] > 0
    )
    assert area == pytest.approx(np.mean(delays > 0))
    assert rows[0]["queuing_delay_bin_lower_ms"] == 0
    assert rows[0]["density_per_decade"] is None
    assert rows[0]["share_ratio"] == pytest.approx(np.mean(delays == 0))


def test_threshold_shares_enclose_the_truth(client: TestClient, build: Any) -> None:
    rows = get(client, "statistic=thresholds&thresholds_ms=0,0.063,5,100.5,500&group=aqm")
    assert len(rows) == 15
    for row in rows:
        true = np.mean(np.array(delays_ms(build, aqm=row["aqm"])) > row["threshold_ms"])
        assert row["share_above_bin_lower_ratio"] <= true <= row["share_above_bin_upper_ratio"]
        assert row["share_above_bin_lower_ratio"] <= row["share_above_ratio"] <= row["share_above_bin_upper_ratio"]
        if row["threshold_ms"] < 0.128:
            assert row["share_above_ratio"] == true


def test_group_of_null_and_excluded_runs(client: TestClient) -> None:
    rows = get(client, "group=congestion_control&quantiles=0.5&excluded=include")
    assert [(row["congestion_control"], row["runs"]) for row in rows] == [("bbr", 12), ("cubic", 12), (None, 12)]
    assert [row["runs"] for row in get(client, "quantiles=0.5")] == [33]


def test_no_matching_run_is_an_empty_result_with_its_columns(client: TestClient) -> None:
    for statistic in ("quantiles", "cdf", "pdf", "thresholds&thresholds_ms=1"):
        body = client.get(f"{URL}?statistic={statistic}&aqm=none&unknown_values=allow").json()
        assert body["rows"] == []
        assert [column["name"] for column in body["columns"]][:3] == ["delay_basis", "n", "runs"]
        assert len(body["columns"]) > 4


def test_groups_of_another_basis_are_never_pooled(publish: Any, serve: Any, build: Any) -> None:
    other = replace(build, tables=dict(build.tables))
    table = other.tables["queuing_delay_histogram"]
    basis = pc.if_else(pc.equal(table["role"], "tcp"), "capture_pair", "queue_sojourn")
    position = table.schema.get_field_index("delay_basis")
    other.tables["queuing_delay_histogram"] = table.set_column(position, "delay_basis", basis)
    rows = get(serve(folder=publish(other)), "group=aqm&quantiles=0.5")
    assert [(row["aqm"], row["delay_basis"]) for row in rows][:2] == [
        ("codel", "capture_pair"),
        ("codel", "queue_sojourn"),
    ]


REFUSED = [
    ("nope=1", "nope"),
    ("bin_index=3", "bin_index"),
    ("packets__gt=3", "packets"),
    ("group=bin_index", "group"),
    ("group=nope", "group"),
    ("statistic=mean", "statistic"),
    ("statistic=thresholds", "thresholds_ms"),
    ("statistic=thresholds&thresholds_ms=-1", "thresholds_ms"),
    ("statistic=thresholds&thresholds_ms=0.0001", "thresholds_ms"),
    ("statistic=thresholds&thresholds_ms=nan", "thresholds_ms"),
    ("statistic=cdf&quantiles=0.5", "quantiles"),
    ("statistic=cdf&thresholds_ms=5", "thresholds_ms"),
    ("bins_per_octave=8", "bins_per_octave"),
    ("statistic=cdf&bins_per_octave=3", "bins_per_octave"),
    ("quantiles=1.1", "quantiles"),
    ("quantiles=-0.1", "quantiles"),
    ("quantiles=median", "quantiles"),
    ("quantiles=", "quantiles"),
    ("quantiles=" + ",".join(f"0.{i:04}" for i in range(1001)), "quantiles"),
    ("rtt_ms=abc", "rtt_ms"),
    ("limit=3", "limit"),
]


@pytest.mark.parametrize(("query", "parameter"), REFUSED, ids=[query[:40] for query, _ in REFUSED])
def test_bad_parameters_are_refused(client: TestClient, query: str, parameter: str) -> None:
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 422
    assert response.json()["parameter"].startswith(parameter)


def test_unknown_metric_names_the_known(client: TestClient) -> None:
    problem = client.get("/v1/distributions/nope").json()
    assert (problem["status"], problem["known"]) == (404, sorted(METRICS))


def test_a_result_with_too_many_rows_is_refused_not_cut(serve: Any) -> None:
    client = serve(api_max_rows=100)
    problem = client.get(URL + "?statistic=cdf&group=run_id,role").json()
    assert (problem["status"], problem["type"]) == (422, "urn:sojourn:problem:result-too-large")
    assert problem["maximum"] == 100
