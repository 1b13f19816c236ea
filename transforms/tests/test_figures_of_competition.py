"""Figures of competition: what is drawn is what the rows hold, on the axes that the studies use."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn_transforms.figures.competition import (
    bitrate_over_capacity,
    rates_about_competition,
    rates_under_a_programme,
    share_boxes,
    share_matrix,
    times_to_recovery,
)
from sojourn_transforms.figures.runs import runs_in_order_of_time


@pytest.fixture
def axes() -> Axes:
    return Figure().add_subplot()


def test_the_matrix_has_incumbents_as_rows_and_each_share_with_its_n(axes: Axes) -> None:
    rows = [
        {"incumbent": "zoom", "competitor": "meet", "incumbent_share_median_ratio": 0.25, "runs": 2},
        {"incumbent": "meet", "competitor": "zoom", "incumbent_share_median_ratio": 0.6, "runs": 1},
    ]
    share_matrix(axes, rows)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["meet", "zoom"]
    # x is the competitor, y the incumbent.
    assert {(text.get_text(), text.get_position()) for text in axes.texts} == {
        ("0.25\nn = 2", (0, 1)), ("0.60\nn = 1", (1, 0)),
    }  # fmt: skip
    with pytest.raises(ValueError, match="filter by competition_link_id"):
        share_matrix(axes, [*rows, rows[0]])


def test_capacity_has_the_lines_of_all_and_of_half_and_a_point_for_each_run(axes: Axes) -> None:
    row = {"incumbent": "zoom", "competitor": "meet", "exclusion_reason": None}
    rows = [
        row | {"phase_link_rate_bps": 1e6, "incumbent_rate_bps": 0.2e6},
        row | {"phase_link_rate_bps": 1e6, "incumbent_rate_bps": 0.4e6},
        row | {"phase_link_rate_bps": 2e6, "incumbent_rate_bps": 1e6},
        row | {"phase_link_rate_bps": 2e6, "incumbent_rate_bps": 2e6, "exclusion_reason": "broken"},
        row | {"phase_link_rate_bps": None, "incumbent_rate_bps": 1e6},
    ]
    bitrate_over_capacity(axes, rows)
    lines = {str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}
    assert lines["zoom against meet, n = 3 runs"] == ([1, 2], [pytest.approx(0.3), 1])
    assert lines["y = x"] == ([0, 2], [0, 2])
    assert lines["y = x / 2"] == ([0, 2], [0, 1])
    assert [len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"] == [3]


def test_rates_are_counted_from_the_competitors_start(axes: Axes) -> None:
    rows = [
        {"competition_second": second, "side": side, "rate_bps": rate, "run_id": run, "exclusion_reason": None}
        for side, rate in (("incumbent", 1e6), ("competitor", 3e6))
        for run, second in (("a", -31), ("a", -30), ("a", 149), ("a", 150), ("b", 0))
    ]
    rates_about_competition(axes, rows)
    drawn = {str(line.get_label()): list(line.get_xdata()) for line in axes.lines if "runs" in str(line.get_label())}
    assert drawn == {"incumbent, n = 2 runs": [-30, 0, 149], "competitor, n = 2 runs": [-30, 0, 149]}


def test_a_programme_is_drawn_with_the_link_and_the_round_trip_time_on_its_own_axis(axes: Axes) -> None:
    rates = [
        {"rate_profile_id": "p", "second": second, "link_rate_bps": 2e6, "rate_median_bps": 1e6, "runs": 4}
        for second in (1, 0, 2)
    ]
    steps = [{"step_second": 1, "from_rtt_ms": 20.0, "to_rtt_ms": 100.0}]
    right = rates_under_a_programme(axes, rates, steps)
    assert right is not None
    assert list(axes.lines[0].get_xdata()) == [0, 1, 2]
    assert axes.lines[1].get_label() == "sent, n = 4 runs"
    assert (list(right.lines[0].get_xdata()), list(right.lines[0].get_ydata())) == ([0, 1, 3], [20, 100, 100])
    assert rates_under_a_programme(axes, rates) is None
    with pytest.raises(ValueError, match="filter by rate_profile_id"):
        rates_under_a_programme(axes, [*rates, rates[0] | {"rate_profile_id": "q"}])


def test_boxes_are_of_the_seconds_of_the_competition_and_say_how_many_runs(axes: Axes) -> None:
    row = {"run_id": "a", "pair": "zoom against meet", "side": "incumbent", "run_phase": "competing"}
    row |= {"share_of_link_ratio": 0.5, "exclusion_reason": None}
    shares = [0.05 * number for number in range(21)]
    rows = [row | {"share_of_link_ratio": share} for share in shares]
    rows += [row | {"run_id": "b", "side": "competitor", "share_of_link_ratio": 0.25}]
    left_out = [
        row | {"run_phase": "solo"}, row | {"exclusion_reason": "broke"}, row | {"share_of_link_ratio": None},
        row | {"side": None},
    ]  # fmt: skip
    share_boxes(axes, [*rows, *left_out])
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "zoom against meet\nincumbent\n1 runs, 21 s", "zoom against meet\ncompetitor\n1 runs, 1 s",
    ]  # fmt: skip
    # Whiskers from 5 to 95 %, in percent.
    ends = {round(float(y), 6) for line in axes.lines for y in line.get_ydata()}
    assert {5.0, 25.0, 50.0, 75.0, 95.0} <= ends
    assert 100.0 not in ends


def test_runs_that_did_not_recover_are_counted_and_definitions_are_not_mixed(axes: Axes) -> None:
    row = {"recovery_definition": "a", "application": "zoom", "congestion_control": None, "disruption_bps": 500_000}
    row |= {"recovery_ms": 12_000.0, "exclusion_reason": None}
    rows = [row, row | {"recovery_ms": 20_000.0}, row | {"recovery_ms": None}, row | {"exclusion_reason": "broke"}]
    times_to_recovery(axes, rows)
    (label,) = (text.get_text() for text in axes.get_legend().get_texts())
    assert label == "zoom, n = 2 runs, 1 did not recover"
    middle, points = axes.lines
    assert (list(middle.get_xdata()), list(middle.get_ydata())) == ([0.5], [16.0])
    assert sorted(points.get_ydata()) == [12.0, 20.0]
    with pytest.raises(ValueError, match="2 definitions"):
        times_to_recovery(axes, [row, row | {"recovery_definition": "b"}])


def test_runs_are_in_order_of_time_and_an_excluded_one_keeps_its_place_empty(axes: Axes) -> None:
    row = {"setting": "zoom, cubic", "run_number": 1, "metric_value": 0.5, "exclusion_reason": None}
    rows = [row | {"run_number": 3, "metric_value": 0.7}, row, row | {"run_number": 2, "exclusion_reason": "broke"}]
    runs_in_order_of_time(axes, rows, "flow-rate equality")
    (line,) = axes.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1, 3], [0.5, 0.7])
    assert line.get_label() == "zoom, cubic, n = 2"
    with pytest.raises(ValueError, match="filter by rate"):
        runs_in_order_of_time(axes, [row, row], "flow-rate equality")


def test_a_run_before_which_the_application_started_again_has_a_ring(axes: Axes) -> None:
    row = {"setting": "zoom", "exclusion_reason": None, "is_restart": False}
    rows = [row | {"run_number": number, "metric_value": number / 10} for number in (1, 2, 3)]
    rows[1]["is_restart"] = True
    runs_in_order_of_time(axes, [*rows, row | {"run_number": 4, "metric_value": None, "is_restart": True}], "equality")
    _, rings = axes.lines
    assert (list(rings.get_xdata()), list(rings.get_ydata())) == ([2], [0.2])
    assert (rings.get_fillstyle(), rings.get_label()) == ("none", "started again, n = 1")
