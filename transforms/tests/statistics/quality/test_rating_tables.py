"""Ratings by people as tables: against R, and what is left out or cannot be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn_statistics.quality.rating_tables import (
    ANSWER_COLUMNS,
    CONTRAST_COLUMNS,
    SUMMARY_COLUMNS,
    answer_shares,
    rating_contrasts,
    rating_summaries,
)
from sojourn_transforms.rating_marts import ANSWER_SHARE, RATING_CONTRAST, RATING_SUMMARY

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ratings.json").read_text(encoding="utf-8"))


def opinions(
    condition: str, values: list[float | None], lowest: float = -10, highest: float = 10
) -> list[dict[str, Any]]:
    return [
        {
            "study_id": "s", "item": "overall", "scale_lowest": lowest, "scale_highest": highest,
            "condition": condition, "subject_number": number, "synthetic": False,
            "ratings": int(value is not None), "training_ratings": 1, "duplicate_ratings": 0, "rating_mean": value,
        }
        for number, value in enumerate(values, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["first", "second", "scale"])
def test_summaries_are_those_of_r(name: str) -> None:
    expected = GOLDEN[name]
    (summary,) = rating_summaries(opinions("c", expected["values"])).to_pylist()
    assert summary["subjects"] == 10
    for column, key in (
        ("rating_mean", "mean"), ("rating_deviation", "deviation"), ("rating_lower", "lower"),
        ("rating_upper", "upper"), ("shapiro_wilk_w", "w"),
    ):  # fmt: skip
        assert summary[column] == pytest.approx(expected[key], rel=1e-9), column
    # Royston's approximation of the p-value: R and SciPy hold its constants to six digits.
    assert summary["shapiro_wilk_p_value"] == pytest.approx(expected["p"], rel=1e-5)


def test_a_contrast_reads_both_intervals_and_pairs_as_r_does() -> None:
    rows = [*opinions("tail-drop", GOLDEN["first"]["values"]), *opinions("fq_codel", GOLDEN["second"]["values"])]
    (contrast,) = rating_contrasts(rows).to_pylist()
    assert (contrast["baseline_condition"], contrast["condition"]) == ("fq_codel", "tail-drop")
    # The intervals of Student's sleep data overlap; the pairs differ all the same.
    assert contrast["is_apart"] is False
    assert contrast["verdict"] == "lower"
    expected = GOLDEN["paired"]
    assert contrast["difference_mean"] == pytest.approx(-expected["mean"])
    assert (contrast["difference_lower"], contrast["difference_upper"]) == (
        pytest.approx(-expected["upper"]), pytest.approx(-expected["lower"]),
    )  # fmt: skip
    assert contrast["p_value"] == pytest.approx(expected["p"])
    assert (contrast["subjects"], contrast["family_tests"], contrast["p_corrected"]) == (10, 1, contrast["p_value"])


def test_three_conditions_are_three_contrasts_corrected_together() -> None:
    rows = [row for name in "abc" for row in opinions(name, [1.0 + "abc".index(name), 2, 3.5, 4 + "abc".index(name)])]
    contrasts = rating_contrasts(rows).to_pylist()
    assert [(row["baseline_condition"], row["condition"]) for row in contrasts] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert {row["family_tests"] for row in contrasts} == {3}
    assert all(row["p_corrected"] >= row["p_value"] for row in contrasts)
    assert min(row["p_corrected"] for row in contrasts) == pytest.approx(3 * min(row["p_value"] for row in contrasts))


def test_of_many_conditions_each_is_compared_with_the_first() -> None:
    for conditions, contrasts in ((100, 4950), (101, 100)):
        rows = [row for number in range(conditions) for row in opinions(f"c{number:03}", [number / 20, 2])]
        made = rating_contrasts(rows).to_pylist()
        assert len(made) == contrasts
        assert {row["baseline_condition"] for row in made[:100]} == {"c000"} or conditions == 100
        assert {row["family_tests"] for row in made} == {contrasts}


def test_only_who_rated_both_is_paired_and_who_had_training_alone_counts_nowhere() -> None:
    rows = [*opinions("a", [2, 3, 4, None]), *opinions("b", [3, 5])]
    first, second = rating_summaries(rows).to_pylist()
    assert (first["subjects"], first["training_ratings"], second["subjects"]) == (3, 4, 2)
    assert second["normality_null_reason"] == "fewer than 3 ratings"
    (contrast,) = rating_contrasts(rows).to_pylist()
    assert (contrast["subjects"], contrast["difference_mean"]) == (2, 1.5)
    one, nobody = rating_contrasts([*opinions("a", [2]), *opinions("b", [3]), *opinions("c", [None])]).to_pylist()[:2]
    assert (one["verdict"], one["is_apart"]) == ("cannot tell: one subject", None)
    assert (nobody["verdict"], nobody["rating_mean"]) == ("cannot tell: nobody rated both", None)
    (empty, *_) = rating_summaries(opinions("c", [None])).to_pylist()
    assert (empty["rating_mean"], empty["interval_null_reason"]) == (None, "no rating counts")


def test_scales_are_never_pooled() -> None:
    rows = [*opinions("a", [2, 3], 1, 5), *opinions("a", [6, 7], 1, 7)]
    assert [(row["scale_highest"], row["rating_mean"]) for row in rating_summaries(rows).to_pylist()] == [
        (5, 2.5), (7, 6.5),
    ]  # fmt: skip
    assert rating_contrasts(rows).num_rows == 0


def test_shares_of_yes_have_the_interval_of_r_and_undecided_people_are_apart() -> None:
    answers: list[bool | None] = [True] * 7 + [False] * 3 + [None]
    rows = [
        {"study_id": "s", "question": "q", "condition": "c", "subject_number": i, "synthetic": True, "is_yes": answer}
        for i, answer in enumerate(answers)
    ]
    (shares,) = answer_shares(rows).to_pylist()
    assert (shares["yes_subjects"], shares["no_subjects"], shares["undecided_subjects"]) == (7, 3, 1)
    assert shares["yes_ratio"] == 0.7
    assert (shares["yes_lower_ratio"], shares["yes_upper_ratio"]) == (
        pytest.approx(GOLDEN["yes"]["lower"]), pytest.approx(GOLDEN["yes"]["upper"]),
    )  # fmt: skip
    (nobody,) = answer_shares([row | {"is_yes": None} for row in rows]).to_pylist()
    assert (nobody["yes_ratio"], nobody["interval_null_reason"]) == (None, "no answer counts")


def test_the_marts_have_the_columns_of_their_tables_and_no_rows_without_ratings() -> None:
    for mart, columns, computed in (
        (RATING_SUMMARY, SUMMARY_COLUMNS, rating_summaries),
        (RATING_CONTRAST, CONTRAST_COLUMNS, rating_contrasts),
        (ANSWER_SHARE, ANSWER_COLUMNS, answer_shares),
    ):
        empty = computed([])
        assert (empty.num_rows, empty.column_names) == (0, [column.name for column in columns])
        assert set(mart.key) <= {column.name for column in mart.columns}
        for column in columns:
            assert column.description.endswith("."), column.name
            assert (column.unit == "ratio") == column.name.endswith("_ratio"), column.name
