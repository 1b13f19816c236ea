"""Harm against quality: what is correlated, what is only counted, and when an interval is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sojourn_statistics.correlation.harm_qoe_table import COLUMNS, correlate_harm_and_qoe
from sojourn_transforms.harm_qoe_mart import HARM_QOE_CORRELATION


def run(number: int, harm: float | None, score: float | None, **values: Any) -> dict[str, Any]:
    return {
        "study_id": "s", "run_id": f"r{number:03}", "qoe_metric": "brisque", "harm_metric": "throughput",
        "application": "zoom", "workload": "call", "aqm": "codel", "queue_label": "CoDel",
        "bandwidth_bps": 1_000_000, "rtt_ms": 50.0, "exclusion_reason": None, "harm_ratio": harm, "qoe_score": score,
        **values,
    }  # fmt: skip


def test_only_whole_and_counted_runs_are_correlated_and_the_others_are_counted() -> None:
    random = np.random.default_rng(1)
    harm = random.normal(size=20)
    score = harm + random.normal(size=20)
    rows = [run(i, float(h), float(s)) for i, (h, s) in enumerate(zip(harm, score, strict=True))]
    others = [
        run(90, 5.0, -99.0, exclusion_reason="call_broke"), run(91, 5.0, None), run(92, 5.0, None), run(93, None, 7.0)
    ]  # fmt: skip
    link, everything = correlate_harm_and_qoe([*rows, *others]).to_pylist()
    expected = stats.pearsonr(harm, score)
    interval = expected.confidence_interval(0.95)
    for row in (link, everything):
        assert (row["runs"], row["excluded_runs"]) == (20, 1)
        assert (row["runs_without_score"], row["runs_without_harm"]) == (2, 1)
        assert row["pearson"] == pytest.approx(expected.statistic, rel=1e-12)
        assert (row["pearson_lower"], row["pearson_upper"]) == pytest.approx(interval, rel=1e-12)
        assert row["spearman"] == pytest.approx(stats.spearmanr(harm, score).statistic, rel=1e-12)
        assert row["spearman_lower"] < row["spearman"] < row["spearman_upper"]
    assert (link["bandwidth_bps"], link["pooled"]) == (1_000_000, "flows")
    assert (everything["bandwidth_bps"], everything["pooled"]) == (None, "links")


def test_links_are_apart_and_together_and_applications_never_pooled() -> None:
    rows = [run(i, float(i), float(i % 3), bandwidth_bps=10**6 * (1 + i % 2)) for i in range(12)]
    rows += [run(50 + i, float(i), float(i), application="meet") for i in range(5)]
    table = correlate_harm_and_qoe(rows).to_pylist()
    counts = {(row["application"], row["bandwidth_bps"]): row["runs"] for row in table}
    assert counts == {
        ("zoom", 10**6): 6, ("zoom", 2 * 10**6): 6, ("zoom", None): 12, ("meet", 10**6): 5, ("meet", None): 5,
    }  # fmt: skip


def test_one_run_has_neither_value_nor_interval_and_a_reason() -> None:
    for row in correlate_harm_and_qoe([run(0, 0.5, 60.0)]).to_pylist():
        assert row["runs"] == 1
        assert row["pearson"] is row["pearson_lower"] is row["spearman"] is None
        assert row["pearson_null_reason"] == "fewer than 3 runs with both"


def test_the_order_of_runs_does_not_matter() -> None:
    random = np.random.default_rng(2)
    rows = [run(i, float(random.normal()), float(random.normal())) for i in range(40)]
    assert correlate_harm_and_qoe(rows).equals(correlate_harm_and_qoe(rows[::-1]))


def test_every_column_is_described_and_the_key_is_one_of_them() -> None:
    assert all(column.description.endswith(".") for column in COLUMNS)
    assert set(HARM_QOE_CORRELATION.key) <= {column.name for column in COLUMNS}
