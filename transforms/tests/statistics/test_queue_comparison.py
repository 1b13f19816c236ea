"""Queues beside the best of them, over planted rows: verdicts, grades and words."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_statistics.comparison.metrics import CONFIGURATION
from sojourn_statistics.findings import queue_findings
from sojourn_statistics.findings.order import Measured, verdicts
from sojourn_statistics.findings.queue_comparison import COLUMNS, queue_comparisons

CLASSES = [
    {"qoe_model_id": "g107-network", "class_number": number, "quality_class": name, "lower_bound": lower,
     "upper_bound": upper}
    for number, name, lower, upper in (
        (1, "very satisfied", 4.34, None), (2, "satisfied", 4.03, 4.34), (3, "some dissatisfied", 3.6, 4.03),
        (4, "many dissatisfied", 3.1, 3.6), (5, "nearly all dissatisfied", 2.58, 3.1),
        (6, "not recommended", None, 2.58),
    )
]  # fmt: skip


def row(queue: str, value: float | None, bounds: tuple[float, float] | None = None, **others: Any) -> dict[str, Any]:
    """Return a row of configuration_metric: the application's wait with a queue, unless ``others`` say otherwise."""
    lower, upper = bounds or (None, None)
    setting = dict.fromkeys(CONFIGURATION) | {
        "study_id": "planted", "start_order": "app_first", "application": "video", "congestion_control": "cubic",
        "queue_label": queue, "aqm": queue,
    }  # fmt: skip
    measured = {
        "metric": "queuing_delay_p95_ms", "role": "app", "basis": "queue_log", "synthetic": False, "runs": 7,
        "value_median": value, "value_lower": lower, "value_upper": upper,
        "interval_null_reason": None if bounds else "one run",
    }  # fmt: skip
    whole = setting | measured | others
    return whole | {"configuration_id": f"{queue}/{whole['congestion_control']}/{whole['bandwidth_bps']}"}


def judged(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Return verdict, grade and words by queue."""
    table = queue_comparisons(rows, CLASSES).to_pylist()
    return {each["queue_label"]: (each["verdict"], each["grade"], each["words"]) for each in table}


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([(1, 2), (3, 4), (5, 6)], ["best", "worse", "worse"]),
        ([(1, 3), (3, 4), (5, 6)], ["tied", "tied", "worse"]),
        # The third overlaps the best value's interval, and is above the second's.
        ([(1, 9), (2, 3), (4, 8)], ["tied", "tied", "worse"]),
        ([(1, 2), None, (5, 6)], ["cannot tell", "cannot tell", "worse"]),
        ([None, None], ["cannot tell", "cannot tell"]),
        ([(0, 0), (0, 0)], ["tied", "tied"]),
        ([(1, 2)], ["none"]),
        ([None], ["none"]),
        ([], []),
    ],
)
def test_intervals_decide(intervals: list[tuple[float, float] | None], expected: list[str]) -> None:
    values = [Measured(each[0], *each) if each else Measured(1.0, None, None) for each in intervals]
    assert verdicts(values) == expected


def test_a_wait_is_worse_by_its_ratio_to_the_best() -> None:
    rows = [
        row("A", 20.0, (19, 20.5)), row("B", 23.0, (21, 25)), row("C", 84.0, (80, 90)), row("D", 101.0, (99, 105)),
        row("E", 40.0, (39, 41)),
        row("F", None),
        row("other metric", 1.0, (1, 1), metric="rate_bps"),
        row("alone", 1.0, (1, 1), start_order="solo"),
    ]  # fmt: skip
    assert judged(rows) == {
        "A": ("best", "good", "best"),
        "B": ("worse", "fair", "1.1× best"),
        "C": ("worse", "poor", "4.2× best"),
        "D": ("worse", "bad", "5.0× best"),
        "E": ("worse", "fair", "2.0× best"),
    }
    rows[0] = row("A", 20.0, (19, 22))
    assert judged(rows)["A"] == ("tied", "good", "tied")
    assert judged(rows)["B"] == ("tied", "near", "tied")


@pytest.mark.parametrize(("bounds", "verdict"), [((19.0, 20.5), "best"), ((19.0, 22.0), "tied"), (None, "cannot tell")])
def test_the_finding_of_a_setting_has_the_same_verdict(bounds: tuple[float, float] | None, verdict: str) -> None:
    rows = [row("A", 20.0, bounds), row("B", 23.0, (21, 25)), row("C", 84.0, (80, 90))]
    (finding,) = queue_findings(rows)
    assert finding.verdict == judged(rows)["A"][0] == verdict


def test_without_an_interval_a_distance_may_be_chance() -> None:
    rows = [row("A", 20.0, (19, 22)), row("B", 200.0), row("C", 300.0, (299, 301))]
    assert judged(rows) == {
        "A": ("cannot tell", "fair", "cannot tell"),
        "B": ("cannot tell", "fair", "10.0× best, cannot tell"),
        "C": ("worse", "bad", "15.0× best"),
    }


def test_queues_are_compared_with_all_else_equal() -> None:
    rows = [
        row("A", 20.0, (19, 21)),
        row("B", 10.0, (9, 11), congestion_control="bbr"),
        row("C", 5.0, (5, 5), bandwidth_bps=1_000_000),
        row("D", 1.0, (1, 1), synthetic=True),
        row("E", 1.0, (1, 1), basis="capture"),
    ]
    assert set(judged(rows).values()) == {("none", "fair", "only one queue")}
    # What follows from the queue may differ: its parameters and its size.
    sized = [row("A", 20.0, (19, 21)), row("tail-drop 2 BDP", 90.0, (89, 91), aqm="tail-drop", queue_size_bdp=2.0)]
    assert judged(sized)["A"] == ("best", "good", "best")
    # Two configurations of one queue are no choice between queues.
    of_one = [row("A", 20.0, (19, 21)), row("A", 80.0, (79, 81), aqm_parameters="target 20ms")]
    assert judged(of_one) == {"A": ("none", "fair", "only one queue")}


def test_shares_differ_by_points_and_nothing_is_better_in_a_share_of_the_link() -> None:
    rows = [row("A", -0.01, (-0.01, 0.0)), row("B", 0.13, (0.11, 0.18)), row("C", 0.03, (0.02, 0.04))]
    harm = [each | {"metric": "harm_throughput_ratio"} for each in rows]
    assert judged(harm) == {
        "A": ("best", "good", "best"),
        "B": ("worse", "bad", "14.0 points off"),
        "C": ("worse", "fair", "4.0 points off"),
    }
    assert {each["best_median"] for each in queue_comparisons(harm, []).to_pylist()} == {-0.01}
    share = queue_comparisons([each | {"metric": "link_share_ratio", "role": "tcp"} for each in rows], []).to_pylist()
    assert {(each["best_median"], each["verdict"], each["grade"], each["words"]) for each in share} == {(None,) * 4}
    # No wait has a ratio to none.
    assert judged([row("A", 0.0, (0, 0)), row("B", 1.0, (1, 2))])["B"] == ("worse", "bad", "not best")


def test_a_mos_has_the_words_of_its_class_and_more_is_better() -> None:
    rows = [
        row(queue, value, (value, value), metric="mos_g107-network")
        for queue, value in (("A", 4.34), ("B", 4.03), ("C", 3.7), ("D", 2.58), ("E", 2.5))
    ]
    assert judged(rows) == {
        "A": ("best", "good", "very satisfied"),
        "B": ("worse", "good", "satisfied"),
        "C": ("worse", "fair", "some dissatisfied"),
        "D": ("worse", "poor", "nearly all dissatisfied"),
        "E": ("worse", "bad", "not recommended"),
    }
    assert queue_comparisons(rows, CLASSES).to_pylist()[0]["best_median"] == 4.34
    assert judged(rows[:1]) == {"A": ("none", "good", "very satisfied")}


def test_the_table_has_the_declared_columns_in_the_order_of_the_key() -> None:
    table = queue_comparisons([row("B", 2.0), row("A", 1.0)], [])
    assert table.column_names == [column.name for column in COLUMNS]
    assert table["queue_label"].to_pylist() == ["A", "B"]
    required = [column.name for column in COLUMNS if not column.nullable]
    assert all(table[name].null_count == 0 for name in required)
    assert queue_comparisons([], []).num_rows == 0
