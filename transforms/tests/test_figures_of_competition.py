"""Figures of competition: what is drawn is what the rows hold, on the axes that the studies use."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn_transforms.figures.competition import (
    SIDES,
    bitrate_over_capacity,
    rates_about_competition,
    rates_under_a_programme,
    share_boxes,
    share_matrix,
    times_to_recovery,
)
from sojourn_transforms.figures.runs import runs_by_rate


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
        ("0.25\nn = 2", (0, 1)), ("0.60\nn = 1", (1, 0)), ("no runs", (0, 0)), ("no runs", (1, 1)),
    }  # fmt: skip
    with pytest.raises(ValueError, match="filter by competition_link_id"):
        share_matrix(axes, [*rows, rows[0]])


def test_words_of_a_competitor_stand_below_each_other_and_do_not_meet_the_next_column(axes: Axes) -> None:
    row = {"incumbent": "zoom", "competitor": "webrtc", "incumbent_share_median_ratio": 0.25, "runs": 2}
    share_matrix(axes, [row])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["WebRTC\ncall"]


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
    assert lines["zoom against meet"] == ([1, 2], [pytest.approx(0.3), 1])
    assert lines["y = x: all of the link"] == ([0, 2], [0, 2])
    assert lines["y = x / 2: a fair half"] == ([0, 2], [0, 1])
    assert [len(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "None"] == [3]


def test_rates_are_counted_from_the_competitors_start_without_the_partial_seconds_of_a_flow(axes: Axes) -> None:
    rows = [
        {"competition_second": second, "side": side, "rate_bps": rate, "run_id": run, "exclusion_reason": None}
        for side, rate in (("incumbent", 1e6), ("competitor", 3e6))
        for run, seconds in (("a", (-32, -31, -30, 149, 150, 151)), ("b", (-1, 0, 1)))
        for second in seconds
    ]
    rates_about_competition(axes, rows)
    drawn = {str(line.get_label()): list(line.get_xdata()) for line in axes.lines if line.get_label() in SIDES}
    # -31 and 150 are outside, and each run has a first and a last second that is partial.
    assert drawn == {"incumbent": [-30, 0, 149], "competitor": [-30, 0, 149]}
    assert axes.get_xlim() == (-30, 149)


def test_a_competitor_is_drawn_from_its_first_whole_second_on(axes: Axes) -> None:
    rates = {-3: 0.0, -2: 0.0, -1: 0.2e6, 0: 1e6, 1: 1e6, 2: 0.5e6}
    row = {"side": "competitor", "run_id": "a", "exclusion_reason": None}
    rates_about_competition(
        axes, [row | {"competition_second": second, "rate_bps": rate} for second, rate in rates.items()]
    )
    assert list(axes.lines[0].get_xdata()) == [0, 1]


def test_the_axis_about_competition_ends_where_the_runs_do(axes: Axes) -> None:
    row = {"side": "incumbent", "rate_bps": 1e6, "run_id": "a", "exclusion_reason": None}
    rates_about_competition(axes, [row | {"competition_second": second} for second in range(-5, 26)])
    assert axes.get_xlim() == (-4, 24)


def test_a_programme_is_drawn_with_the_link_and_the_round_trip_time_on_its_own_axis(axes: Axes) -> None:
    rates = [
        {"rate_profile_id": "p", "second": second, "link_rate_bps": 2e6, "rate_median_bps": 1e6, "runs": 4}
        for second in (2, 1, 3, 0, 4)
    ]
    steps = [{"step_second": 2, "from_rtt_ms": 20.0, "to_rtt_ms": 100.0}]
    right = rates_under_a_programme(axes, rates, steps)
    assert right is not None
    # Runs begin within the first second and end within the last.
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 2, 3]] * 2
    assert (list(right.lines[0].get_xdata()), list(right.lines[0].get_ydata())) == ([1, 2, 4], [20, 100, 100])
    assert rates_under_a_programme(axes, rates) is None
    with pytest.raises(ValueError, match="filter by rate_profile_id"):
        rates_under_a_programme(axes, [*rates, rates[0] | {"rate_profile_id": "q"}])


def test_boxes_are_of_the_whole_seconds_of_the_competition_and_say_how_many_runs(axes: Axes) -> None:
    row = {"run_id": "a", "incumbent": "zoom", "competitor": "tcp cubic", "side": "incumbent", "run_phase": "competing"}
    row |= {"exclusion_reason": None}
    shares = [1.0, *(0.05 * number for number in range(20)), 1.0]
    rows = [row | {"competition_second": number, "share_of_link_ratio": share} for number, share in enumerate(shares)]
    rows += [one | {"side": "competitor", "share_of_link_ratio": 0.25} for one in rows]
    left_out = [
        rows[5] | {"run_phase": "solo"}, rows[5] | {"exclusion_reason": "broke", "run_id": "b"},
        rows[5] | {"share_of_link_ratio": None}, rows[5] | {"side": None},
    ]  # fmt: skip
    share_boxes(axes, [*rows, *left_out])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["zoom against CUBIC\nn = 1, 20 s"]
    # Whiskers from 5 to 95 %, in percent; the first and the last second, with all of the link, are partial.
    ends = {round(float(x), 6) for line in axes.lines for x in line.get_xdata()}
    assert {5.0, 23.75, 47.5, 71.25, 90.0, 25.0} <= ends
    assert 100.0 not in ends
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["incumbent", "competitor"]


def test_runs_that_did_not_recover_are_counted_and_definitions_are_not_mixed(axes: Axes) -> None:
    row = {"recovery_definition": "a", "application": "zoom", "congestion_control": None, "disruption_bps": 500_000}
    row |= {"recovery_ms": 12_000.0, "exclusion_reason": None}
    rows = [row, row | {"recovery_ms": 20_000.0}, row | {"recovery_ms": None}, row | {"exclusion_reason": "broke"}]
    assert times_to_recovery(axes, rows) == (2, 1)
    middle, points = axes.lines
    assert (middle.get_label(), list(middle.get_xdata()), list(middle.get_ydata())) == ("zoom", [0.5], [16.0])
    assert sorted(points.get_ydata()) == [12.0, 20.0]
    with pytest.raises(ValueError, match="2 definitions"):
        times_to_recovery(axes, [row, row | {"recovery_definition": "b"}])


def test_a_pair_without_runs_says_so(axes: Axes) -> None:
    row = {"incumbent": "zoom", "competitor": "tcp cubic", "incumbent_share_median_ratio": 0.25, "runs": 2}
    stated = row | {"incumbent": "meet", "competitor": "tcp bbr", "incumbent_share_median_ratio": 0.5, "runs": None}
    share_matrix(axes, [row, stated])
    assert {(text.get_text(), text.get_position()) for text in axes.texts} == {
        ("0.50", (0, 0)), ("no runs", (1, 0)), ("no runs", (0, 1)), ("0.25\nn = 2", (1, 1)),
    }  # fmt: skip
    assert [label.get_text() for label in axes.get_xticklabels()] == ["BBRv1", "CUBIC"]


def test_runs_of_a_rate_are_in_order_of_time_and_an_excluded_one_keeps_its_place_empty(axes: Axes) -> None:
    row = {"setting": "zoom", "bandwidth_bps": 500_000, "run_number": 1, "metric_value": 0.5, "exclusion_reason": None}
    rows = [row | {"run_number": 3, "metric_value": 0.7}, row, row | {"run_number": 2, "exclusion_reason": "broke"}]
    rows += [row | {"bandwidth_bps": 4_000_000, "metric_value": 0.1}, row | {"bandwidth_bps": None}]
    columns = runs_by_rate(axes, rows, "flow-rate equality")
    (line,) = (line for line in axes.lines if line.get_label() == "zoom")
    assert list(line.get_ydata()) == [0.5, 0.7, 0.1]
    first, third, other = line.get_xdata()
    # In the column of its rate, the place of the second run between the two is empty. A column with a run of three has
    # less of the axis.
    edge = 3 / 4 * 2 - 0.5
    assert -0.42 < first < third - 0.4 < third < edge < other < 1.5
    assert columns == {500_000: (-0.5, edge), 4_000_000: (edge, 1.5)}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "4"]
    with pytest.raises(ValueError, match="filter by rate"):
        runs_by_rate(axes, [row, row], "flow-rate equality")


def test_a_run_before_which_the_application_started_again_has_a_ring(axes: Axes) -> None:
    row = {"setting": "zoom", "bandwidth_bps": 500_000, "exclusion_reason": None, "is_restart": False}
    rows = [row | {"run_number": number, "metric_value": number / 10} for number in (1, 2, 3)]
    rows[1]["is_restart"] = True
    runs_by_rate(axes, [*rows, row | {"run_number": 4, "metric_value": None, "is_restart": True}], "equality")
    (rings,) = (line for line in axes.lines if line.get_label() == "started again")
    assert list(rings.get_ydata()) == [0.2]
    assert rings.get_fillstyle() == "none"
