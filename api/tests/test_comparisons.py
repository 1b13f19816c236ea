"""`/v1/comparisons/{metric}`: planted effects are found, with the right unit, and what cannot be told is said."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from scipy import stats

URL = "/v1/comparisons/queuing_delay_mean?factor=aqm&baseline=tail-drop"
SCHEMA = pa.schema(
    [
        ("study_id", pa.string()),
        ("run_id", pa.string()),
        ("role", pa.string()),
        ("direction", pa.string()),
        ("bandwidth_bps", pa.int64()),
        ("rtt_ms", pa.float64()),
        ("aqm", pa.string()),
        ("queue_size_bdp", pa.float64()),
        ("queue_label", pa.string()),
        ("congestion_control", pa.string()),
        ("repetition", pa.int32()),
        ("exclusion_reason", pa.string()),
        ("delay_basis", pa.string()),
        ("mean_ms", pa.float64()),
    ]
)
SHIFT_MS = {"tail-drop": 0.0, "codel": -60.0, "fq_codel": 0.0}


def planted(numbered: bool) -> list[dict[str, Any]]:
    """12 runs of each discipline at 1 Mbit/s, where CoDel is 60 ms faster; one of each at 2 Mbit/s."""
    random = np.random.default_rng(5)
    rows = []
    for aqm, shift in SHIFT_MS.items():
        for size in (2.0, 10.0) if aqm == "tail-drop" else (None,):
            for bandwidth, runs in ((1_000_000, 13), (2_000_000, 1)):
                for repetition in range(runs):
                    excluded = repetition == 12
                    rows.append(
                        {
                            "study_id": "s-1",
                            "run_id": f"{aqm}-{size}-{bandwidth}-{repetition}",
                            "role": "all",
                            "direction": "downlink",
                            "bandwidth_bps": bandwidth,
                            "rtt_ms": 50.0,
                            "aqm": aqm,
                            "queue_size_bdp": size,
                            "queue_label": aqm if size is None else f"{aqm} {size:g} BDP",
                            "congestion_control": "cubic",
                            "repetition": repetition if numbered else None,
                            "exclusion_reason": "damaged" if excluded else None,
                            "delay_basis": "queue_sojourn",
                            "mean_ms": 9999.0 if excluded else 100 + shift + float(random.normal(0, 3)),
                        }
                    )
    return rows


@pytest.fixture
def planted_rows() -> list[dict[str, Any]]:
    return planted(numbered=False)


@pytest.fixture
def compared(publish: Any, serve: Any, build: Any, planted_rows: list[dict[str, Any]]) -> TestClient:
    build = type(build)()
    build.add("run_queuing_delay", ["study_id", "run_id", "role"], SCHEMA, planted_rows)
    return serve(folder=publish(build))


def get(client: TestClient, url: str = URL) -> list[dict[str, Any]]:
    response = client.get(url)
    assert response.status_code == 200, response.text
    return response.json()["rows"]


def test_planted_effect_is_found_and_no_other(compared: TestClient, planted_rows: list[dict[str, Any]]) -> None:
    rows = [row for row in get(compared) if row["bandwidth_bps"] == 1_000_000]
    assert [(row["treatment"], row["baseline_queue_label"]) for row in rows] == [
        ("codel", "tail-drop 2 BDP"),
        ("fq_codel", "tail-drop 2 BDP"),
        ("codel", "tail-drop 10 BDP"),
        ("fq_codel", "tail-drop 10 BDP"),
    ]
    for row in rows:
        assert (row["treatment_n"], row["baseline_n"], row["replication_unit"]) == (12, 12, "run")
        assert (row["effect_unit"], row["family_tests"], row["correction"]) == ("ms", 4, "holm")
        assert row["effect_lower"] <= SHIFT_MS[row["treatment"]] <= row["effect_upper"]
        if row["treatment"] == "codel":
            assert row["verdict"].startswith("lower by 6")
            assert row["verdict"].endswith("]")
            assert (row["cliffs_delta"], row["p_corrected"] < 1e-5) == (-1.0, True)
        else:
            assert row["verdict"].startswith("no difference shown: ")
    values = {
        label: [r["mean_ms"] for r in planted_rows if r["queue_label"] == label and r["mean_ms"] < 999][:12]
        for label in ("codel", "tail-drop 2 BDP")
    }
    first, second = values["codel"], values["tail-drop 2 BDP"]
    assert rows[0]["p_value"] == pytest.approx(stats.mannwhitneyu(first, second, method="exact").pvalue)
    assert rows[0]["effect"] == pytest.approx(np.median(np.subtract.outer(first, second)))
    assert rows[0]["p_corrected"] == pytest.approx(4 * rows[0]["p_value"])


def test_one_run_each_says_so(compared: TestClient) -> None:
    rows = [row for row in get(compared) if row["bandwidth_bps"] == 2_000_000]
    assert len(rows) == 4
    for row in rows:
        assert row["verdict"] == "cannot tell: one run each"
        assert (row["interval_null_reason"], row["p_null_reason"]) == ("one run each", "one run each")
        assert [row[n] for n in ("effect_lower", "effect_upper", "p_value", "p_corrected")] == [None] * 4
        assert row["effect"] is not None


def test_a_ratio_has_its_interval_on_the_scale_of_logarithms(
    compared: TestClient, planted_rows: list[dict[str, Any]]
) -> None:
    url = URL + "&bandwidth_bps=1000000"
    ratios, differences = get(compared, url + "&effect=ratio"), get(compared, url + "&effect=difference")
    assert differences == get(compared, url)
    for ratio, difference in zip(ratios, differences, strict=True):
        treatment, baseline = (
            [row["mean_ms"] for row in planted_rows if row["queue_label"] == label and row["mean_ms"] < 999][:12]
            for label in (ratio["treatment"], ratio["baseline_queue_label"])
        )
        every = np.sort(np.divide.outer(treatment, baseline), axis=None)
        assert ratio["effect"] == pytest.approx(np.exp(np.median(np.log(every))))
        # The 38th of 144 bounds the shift of 12 and 12 runs with 95 %: Mann and Whitney's table.
        assert (ratio["effect_lower"], ratio["effect_upper"]) == pytest.approx((every[37], every[-38]))
        assert ratio["p_value"] == pytest.approx(difference["p_value"])
        assert ratio["estimator"] == "Hodges-Lehmann ratio"
    codel, fair = ratios[:2]
    assert 0.3 < codel["effect_lower"] < codel["effect"] < codel["effect_upper"] < 0.5
    assert codel["verdict"].startswith("lower: 0.")
    assert " times [" in codel["verdict"]
    assert fair["effect_lower"] < 1 < fair["effect_upper"]
    assert fair["verdict"].startswith("no difference shown: ")


@pytest.mark.parametrize(
    "planted_rows", [[{**row, "mean_ms": row["mean_ms"] - 70} for row in planted(numbered=False)]], ids=["below 0"]
)
def test_values_that_are_not_above_0_have_no_ratio_and_say_so(compared: TestClient) -> None:
    codel = get(compared, URL + "&bandwidth_bps=1000000&effect=ratio")[0]
    assert [codel[name] for name in ("effect", "effect_lower", "effect_upper", "p_value")] == [None] * 4
    assert codel["verdict"] == "cannot tell: a value is not above 0: no ratio"


@pytest.mark.parametrize("planted_rows", [planted(numbered=True)], ids=["numbered"])
def test_runs_that_match_by_repetition_are_paired(compared: TestClient) -> None:
    rows = [row for row in get(compared) if row["bandwidth_bps"] == 1_000_000]
    assert {(row["replication_unit"], row["test"]) for row in rows} == {("pair of runs", "Wilcoxon signed-rank, exact")}
    assert rows[0]["verdict"].startswith("lower by ")


def test_equivalence_within_a_margin(compared: TestClient) -> None:
    by_treatment = {row["treatment"]: row for row in get(compared, URL + "&margin=10&bandwidth_bps=1000000")}
    assert by_treatment["fq_codel"]["verdict"].startswith("no relevant difference: within ±10 ms [")
    assert by_treatment["fq_codel"]["equivalence_p_corrected"] < 0.05
    assert by_treatment["codel"]["verdict"].startswith("lower by ")
    assert by_treatment["codel"]["equivalence_p_value"] == pytest.approx(1)


def test_level_correction_and_filters(compared: TestClient) -> None:
    narrow, wide = (get(compared, f"{URL}&level={level}&aqm__ne=fq_codel")[0] for level in ("0.9", "0.99"))
    assert wide["effect_lower"] < narrow["effect_lower"] < narrow["effect_upper"] < wide["effect_upper"]
    assert (wide["interval_level_ratio"], wide["family_tests"]) == (0.99, 2)
    (row, *_) = get(compared, URL + "&correction=benjamini_hochberg")
    assert row["correction"] == "benjamini_hochberg"
    assert row["p_corrected"] == pytest.approx(2 * row["p_value"])  # two of four are far below the others


def test_excluded_runs_are_left_out_unless_asked_for(compared: TestClient) -> None:
    assert compared.get(URL).json()["excluded"] == "leave_out"
    assert {row["treatment_n"] for row in get(compared, URL + "&excluded=include")} == {1, 13}


def test_formats_agree_and_bytes_are_the_same(compared: TestClient, serve: Any) -> None:
    rows = get(compared)
    again = compared.get(URL)
    assert again.content == compared.get(URL).content
    table = pq.read_table(io.BytesIO(compared.get(URL + "&format=parquet").content))
    assert table.to_pylist() == rows
    folder = compared.app.state.settings.snapshots  # type: ignore[attr-defined]
    for threads in (1, 4):
        assert serve(folder=folder, api_threads=threads).get(URL).content == again.content


def test_results_are_cached_by_build(
    compared: TestClient, publish: Any, build: Any, planted_rows: list[dict[str, Any]]
) -> None:
    first = compared.get(URL)
    runner = compared.app.state.runner  # type: ignore[attr-defined]
    called: list[str] = []
    run = runner.run
    runner.run = lambda *arguments: called.append("run") or run(*arguments)
    assert compared.get(URL).content == first.content
    assert called == []
    changed = [{**row, "mean_ms": 0.5 * row["mean_ms"]} for row in planted_rows]
    other = type(build)()
    other.add("run_queuing_delay", ["study_id", "run_id", "role"], SCHEMA, changed)
    publish(other, "b2")
    answer = compared.get(URL).json()
    assert (answer["build_id"], called) == ("b2", ["run"])
    assert answer["rows"][0]["effect"] == pytest.approx(json.loads(first.content)["rows"][0]["effect"] / 2)


REFUSED = [
    ("", "factor"),
    ("factor=nope&baseline=codel", "factor"),
    ("factor=aqm", "baseline"),
    ("factor=aqm&baseline=red", "baseline"),
    ("factor=bandwidth_bps&baseline=fast", "baseline"),
    ("factor=aqm&baseline=codel&correction=none", "correction"),
    ("factor=aqm&baseline=codel&level=0.5", "level"),
    ("factor=aqm&baseline=codel&margin=0", "margin"),
    ("factor=aqm&baseline=codel&margin=-3", "margin"),
    ("factor=aqm&baseline=codel&effect=times", "effect"),
    ("factor=aqm&baseline=codel&effect=ratio&margin=1", "effect"),
    ("analysis=modes&effect=ratio", "effect"),
    ("factor=aqm&baseline=codel&limit=3", "limit"),
    ("factor=aqm&baseline=codel&nope=3", "nope"),
]


@pytest.mark.parametrize(("query", "parameter"), REFUSED, ids=[query or "nothing" for query, _ in REFUSED])
def test_bad_parameters_are_refused(compared: TestClient, query: str, parameter: str) -> None:
    response = compared.get(f"/v1/comparisons/queuing_delay_mean?{query}")
    assert (response.status_code, response.json()["parameter"]) == (422, parameter)


def test_an_unknown_baseline_names_the_known(compared: TestClient) -> None:
    problem = compared.get("/v1/comparisons/queuing_delay_mean?factor=aqm&baseline=red").json()
    assert problem["known"] == ["codel", "fq_codel", "tail-drop"]


def test_unknown_metric_and_metric_without_data(compared: TestClient) -> None:
    problem = compared.get("/v1/comparisons/nope").json()
    assert (problem["status"], "harm" in problem["known"]) == (404, True)
    problem = compared.get("/v1/comparisons/harm?factor=aqm&baseline=codel").json()
    assert problem["type"] == "urn:sojourn:problem:unknown-dataset"
