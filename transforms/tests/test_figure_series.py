"""Series of figures: one look in all panels, and one handle in the legend; and the check of it."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from sojourn_transforms.figures import check_family, check_series, looks, plain_name, seconds_of_flow, series_legend


def figure_of(*panels: dict[str, list[float]], legend: bool = True) -> Figure:
    """Return a figure whose panels have the named series, with their looks."""
    figure = Figure(layout="constrained")
    series = looks(sorted({name for panel in panels for name in panel}))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for name, values in panel.items():
            axes.plot(values, label=name, **series[name].line)
    if legend:
        series_legend(figure)
    return figure


def test_no_two_of_many_series_are_alike_and_the_first_fourteen_have_their_own_colour() -> None:
    series = looks(f"series {number}" for number in range(40))
    assert len(set(series.values())) == 40
    assert len({look.colour for look in list(series.values())[:14]}) == 14
    with pytest.raises(ValueError, match="a figure has 300 series"):
        looks(str(number) for number in range(300))


def test_a_series_keeps_its_look_where_a_panel_lacks_another() -> None:
    figure = figure_of({"a": [1], "b": [2]}, {"b": [3]})
    check_series(figure)
    first, second = figure.axes
    assert first.lines[1].get_color() == second.lines[0].get_color()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_a_series_with_two_looks_is_refused() -> None:
    figure = figure_of({"a": [1], "b": [2]}, {"b": [3]})
    figure.axes[1].lines[0].set_marker("x")
    with pytest.raises(ValueError, match="'b' is drawn in 2 ways"):
        check_series(figure)


def test_two_series_that_look_alike_are_refused() -> None:
    figure = figure_of({"a": [1]})
    figure.axes[0].plot([2], label="b", **looks(["a"])["a"].line)
    with pytest.raises(ValueError, match="'a' and 'b' are drawn alike"):
        check_series(figure)


def test_a_handle_of_a_panel_without_points_is_refused() -> None:
    figure = figure_of({"a": []})
    with pytest.raises(ValueError, match="'a' has no point in a panel"):
        check_series(figure)


def test_a_series_with_another_look_in_another_figure_is_refused() -> None:
    series = looks(["a", "b"])
    figures = [Figure() for _ in range(3)]
    figures[0].subplots().plot([1], label="b", **series["b"].line)
    figures[1].subplots().bar([1], [2], label="b", color=series["b"].colour)
    check_family(figures)
    # In a figure of its own, it would be the first.
    figures[2].subplots().plot([1], label="b", **looks(["b"])["b"].line)
    with pytest.raises(ValueError, match="'b' has another colour in another figure"):
        check_family(figures)
    figures[2].axes[0].lines[0].set(color=series["b"].colour, marker="x")
    with pytest.raises(ValueError, match="'b' has another marker in another figure"):
        check_family(figures)


@pytest.mark.parametrize("handles", [0, 2])
def test_a_series_without_one_handle_is_refused(handles: int) -> None:
    figure = figure_of({"a": [1]}, legend=False)
    for _ in range(handles):
        series_legend(figure)
    with pytest.raises(ValueError, match=f"'a' has {handles} handles"):
        check_series(figure)


def test_a_legend_has_no_more_columns_than_fit_the_figure_and_an_order_of_its_own() -> None:
    names = [f"WebRTC call against CUBIC, application {number} first" for number in range(4)]
    figure = figure_of({name: [1.0] for name in names}, legend=False)
    figure.set_size_inches(6.0, 4.0)
    series_legend(figure, order=names[::-1])
    (legend,) = figure.legends
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert [text.get_text() for text in legend.get_texts()] == names[::-1]


def test_seconds_within_which_a_flow_begins_or_ends_are_none_of_it() -> None:
    assert seconds_of_flow({0: 0.0, 1: 0.0, 2: 0.3, 3: 1.0, 4: 0.0, 5: 1.0, 6: 0.2, 7: 0.0}) == {3, 4, 5}
    assert seconds_of_flow({0: 0.0}) == set()


def test_names_of_columns_and_of_linux_are_written_plainly() -> None:
    assert [plain_name(name) for name in ("bbr", "tcp cubic", "app_first", "rtp-cbr")] == [
        "BBRv1", "CUBIC", "app first", "constant RTP",
    ]  # fmt: skip


def test_the_demand_is_named_whole_and_the_earlier_rate_by_nine_tenths() -> None:
    assert "nine tenths" in plain_name("sojourn-share-held")
    assert "nine tenths" not in plain_name("sojourn-demand-held")
