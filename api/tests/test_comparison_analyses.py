"""`analysis` of `/v1/comparisons/{metric}`: what was planted in the runs is served, and refusals say why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from scipy import stats

URL = "/v1/comparisons/queuing_delay_mean"
SCHEMA = pa.schema(
    [
        ("study_id", pa.string()),
        ("run_id", pa.string()),
        ("role", pa.string()),
        ("aqm", pa.string()),
        ("queue_limit_packets", pa.int64()),
        ("queue_label", pa.string()),
        ("repetition", pa.int32()),
        ("exclusion_reason", pa.string()),
        ("delay_basis", pa.string()),
        ("mean_ms", pa.float64()),
    ]
)


def planted() -> dict[str, list[float]]:
    """Runs by queue: one mode, two modes far apart, and one of twice the spread."""
    random = np.random.default_rng(18)
    return {
        "tail-drop 8 packets": list(100 + random.normal(0, 2, 60)),
        "tail-drop 256 packets": [*(60 + random.normal(0, 2, 30)), *(140 + random.normal(0, 2, 30))],
        "CoDel": list(100 + random.normal(0, 4, 60)),
        "FQ-CoDel": [5.0, 6.0, 7.0],
    }


NAMES = {
    "tail-drop 8 packets": ("tail-drop", 8),
    "tail-drop 256 packets": ("tail-drop", 256),
    "CoDel": ("codel", None),
    "FQ-CoDel": ("fq_codel", None),
}


@pytest.fixture(scope="module")
def values() -> dict[str, list[float]]:
    return planted()


@pytest.fixture
def compared(publish: Any, serve: Any, build: Any, values: dict[str, list[float]]) -> TestClient:
    build = type(build)()
    rows = [
        {
            "study_id": "s-1",
            "run_id": f"{label}-{number}",
            "role": "all",
            "aqm": NAMES[label][0],
            "queue_limit_packets": NAMES[label][1],
            "queue_label": label,
            "repetition": None,
            "exclusion_reason": None,
            "delay_basis": "queue_sojourn",
            "mean_ms": value,
        }
        for label, of_queue in values.items()
        for number, value in enumerate(of_queue)
    ]
    build.add("run_queuing_delay", ["study_id", "run_id", "role"], SCHEMA, rows)
    return serve(folder=publish(build))


def get(client: TestClient, query: str) -> list[dict[str, Any]]:
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 200, response.text
    content = response.json()
    assert content["row_count"] == len(content["rows"])
    return list(content["rows"])


def test_two_modes_of_a_configuration_are_seen_and_one_is_not_taken_for_two(compared: TestClient) -> None:
    rows = {row["queue_label"]: row for row in get(compared, "analysis=modes")}
    assert len(rows) == 4
    two, one, few = rows["tail-drop 256 packets"], rows["tail-drop 8 packets"], rows["FQ-CoDel"]
    assert (two["n"], two["value_unit"], two["queue_limit_packets"]) == (60, "ms", 256)
    assert two["p_value"] < 0.01
    assert two["is_bimodal"] is True
    assert two["first_mean"] == pytest.approx(60, abs=1.5)
    assert two["second_mean"] == pytest.approx(140, abs=1.5)
    assert two["first_weight_ratio"] == pytest.approx(0.5, abs=0.02)
    assert one["is_bimodal"] is False
    assert one["p_value"] > 0.05
    assert (few["dip"], few["is_bimodal"]) == (None, None)
    assert few["p_null_reason"] == "n = 3: needs 4"
    assert few["mixture_null_reason"] == "n = 3: two components need 10"


def test_distribution_tests_are_those_of_scipy_and_find_a_spread_that_a_shift_does_not(
    compared: TestClient, values: dict[str, list[float]]
) -> None:
    rows = get(compared, "analysis=distributions&factor=queue_label&baseline=tail-drop 8 packets")
    assert {row["treatment"] for row in rows} == {"tail-drop 256 packets", "CoDel", "FQ-CoDel"}
    by_test = {(row["treatment"], row["test"]): row for row in rows}
    smirnov = by_test["tail-drop 256 packets", "Kolmogorov-Smirnov"]
    theirs = stats.ks_2samp(values["tail-drop 256 packets"], values["tail-drop 8 packets"])
    assert smirnov["p_value"] == pytest.approx(theirs.pvalue)
    assert (smirnov["family_tests"], smirnov["p_corrected"] < 1e-4) == (3, True)
    # Two modes around the baseline's: the distributions differ, and neither tends to larger values.
    munzel = by_test["tail-drop 256 packets", "Brunner-Munzel"]
    assert munzel["p_value"] > 0.1
    ranked = stats.brunnermunzel(values["tail-drop 256 packets"], values["tail-drop 8 packets"])
    assert munzel["p_value"] == pytest.approx(ranked.pvalue)
    assert abs(munzel["statistic"]) == pytest.approx(abs(ranked.statistic))
    apart = by_test["FQ-CoDel", "Brunner-Munzel"]
    assert (apart["p_value"], apart["p_null_reason"]) == (None, "the groups do not overlap: no variance of ranks")


def test_quantile_shifts_show_where_two_modes_lie(compared: TestClient) -> None:
    rows = get(compared, "analysis=quantiles&factor=queue_limit_packets&baseline=8")
    assert [row["quantile_ratio"] for row in rows] == pytest.approx([i / 10 for i in range(1, 10)])
    assert {(row["treatment"], row["baseline"], row["effect_unit"]) for row in rows} == {("256", "8", "ms")}
    assert rows[1]["effect"] == pytest.approx(-38, abs=4)
    assert rows[7]["effect"] == pytest.approx(38, abs=4)
    assert rows[1]["effect_upper"] < 0 < rows[7]["effect_lower"]
    assert rows[0]["interval_level_ratio"] == pytest.approx(1 - 0.05 / 9)


def test_several_disciplines_are_tested_at_once_and_then_every_two(
    compared: TestClient, values: dict[str, list[float]]
) -> None:
    first, *pairs = get(compared, "analysis=groups&factor=queue_label")
    assert (first["test"], first["groups"], first["treatment_n"]) == ("Kruskal-Wallis", 4, 183)
    assert first["p_value"] == pytest.approx(stats.kruskal(*values.values()).pvalue)
    assert len(pairs) == 6
    assert {row["test"] for row in pairs} == {"Dunn"}
    # Dunn's z by hand: the difference of mean ranks over all runs, over its standard deviation; no two runs are equal.
    pooled = np.concatenate(list(values.values()))
    ranks = dict(
        zip(
            values, np.split(stats.rankdata(pooled), np.cumsum([len(one) for one in values.values()])[:-1]), strict=True
        )
    )
    for row in pairs:
        one, other = ranks[row["treatment"]], ranks[row["baseline"]]
        spread = np.sqrt(pooled.size * (pooled.size + 1) / 12 * (1 / one.size + 1 / other.size))
        z = (one.mean() - other.mean()) / spread
        assert row["statistic"] == pytest.approx(z)
        assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
        assert row["family_tests"] == 6
        assert row["p_corrected"] >= row["p_value"]
    lowest = [row for row in pairs if "FQ-CoDel" in (row["treatment"], row["baseline"])]
    assert all(row["p_corrected"] < 0.05 for row in lowest)


def test_runs_under_two_programmes_are_two_configurations_and_can_be_compared(
    publish: Any, serve: Any, build: Any
) -> None:
    build = type(build)()
    runs = [(f"{programme}-{number}", programme, 50.0 + add + number)
            for programme, add in (("falls", 0.0), ("rises", 30.0)) for number in range(8)]  # fmt: skip
    base = {"study_id": "s-1", "role": "all", "aqm": "codel", "queue_limit_packets": None, "queue_label": "CoDel"}
    base |= {"repetition": None, "exclusion_reason": None, "delay_basis": "queue_sojourn"}
    rows = [base | {"run_id": run, "mean_ms": value} for run, _, value in runs]
    build.add("run_queuing_delay", ["study_id", "run_id", "role"], SCHEMA, rows)
    columns = ("study_id", "run_id", "aqm_parameters", "bandwidth_programme")
    described = [
        {"study_id": "s-1", "run_id": run, "aqm_parameters": None, "bandwidth_programme": programme}
        for run, programme, _ in runs
    ]
    build.add("run", ["study_id", "run_id"], pa.schema([(name, pa.string()) for name in columns]), described)
    client = serve(folder=publish(build))
    modes = get(client, "analysis=modes")
    assert [(row["bandwidth_programme"], row["n"]) for row in modes] == [("falls", 8), ("rises", 8)]
    (row,) = get(client, "factor=bandwidth_programme&baseline=falls")
    assert (row["treatment"], row["baseline"], row["treatment_n"], row["effect"]) == ("rises", "falls", 8, 30.0)
    # A filter of the metric's own mart goes with what `run` has.
    (row,) = get(client, "factor=bandwidth_programme&baseline=falls&mean_ms__ge=52")
    assert (row["treatment_n"], row["baseline_n"]) == (8, 6)


def test_queues_of_several_sizes_are_not_pooled_under_their_discipline(compared: TestClient) -> None:
    first, *pairs = get(compared, "analysis=groups&factor=aqm")
    assert first["groups"] == 4
    assert {name for row in pairs for name in (row["treatment"], row["baseline"])} == set(NAMES)


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("analysis=modes&factor=aqm", "factor"),
        ("analysis=groups&factor=aqm&baseline=tail-drop", "baseline"),
        ("analysis=quantiles&factor=aqm", "baseline"),
        ("analysis=distributions", "factor"),
        ("analysis=modes&margin=5", "margin"),
        ("analysis=shapes", "analysis"),
    ],
)
def test_a_parameter_that_an_analysis_lacks_or_does_not_have_is_refused(
    compared: TestClient, query: str, what: str
) -> None:
    response = compared.get(f"{URL}?{query}")
    assert response.status_code == 422, response.text
    assert what in response.text
