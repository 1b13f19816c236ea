"""Figures of one notebook show a series alike, mark what they lack, and cut nothing off."""

from __future__ import annotations

from matplotlib.figure import Figure

from sojourn_transforms.figures import check_family

from .planted_figures import PlantedRows, drawn_by
from .test_study_figures import PAM21_RUN, planted_runs


def test_a_setting_looks_alike_in_all_figures_of_pam21_and_a_panel_of_one_run_is_a_line_of_the_title() -> None:
    runs = [
        PAM21_RUN
        | {"study_id": "s", "metric": metric, "queue_label": queue, "aqm": "tail-drop", "metric_value": 0.125}
        | {"start_order": order, "application": application, "bandwidth_bps": rate}
        for metric in ("flow_rate_equality", "queuing_delay_share_of_maximum_ratio", "queuing_delay_mean_ms")
        for queue, application, order, rate in (
            ("tail-drop 2 BDP", "zoom", "app_first", 500_000), ("tail-drop 2 BDP", "zoom", "app_first", 4_000_000),
            ("tail-drop 10 BDP", "zoom", "tcp_first", 500_000), ("tail-drop 10 BDP", "zoom", "app_first", 500_000),
            ("tail-drop 10 BDP", "teams", "tcp_first", 4_000_000),
        )
    ]  # fmt: skip
    drawn: dict[str, Figure] = {}
    for name in ("pam21-figure-03-04-07", "pam21-figure-05", "pam21-figure-06"):
        drawn |= drawn_by("pam21-zoom-form", f'"{name}"', planted_runs(runs))
    check_family(drawn.values())
    settings = [
        {line.get_label() for axes in figure.axes for line in axes.lines if line.get_label().startswith("against")}
        for figure in drawn.values()
    ]
    assert {"against CUBIC, app first"} in settings  # without the one that comes before it in others
    single = "teams, tail-drop 10 BDP, downlink, 4 Mbit/s, against CUBIC, TCP first: 0.125"
    assert [axes.get_title(loc="left")[:22] for axes in drawn["pam21-figure-05-s"].axes] == [
        "zoom, tail-drop 2 BDP,", "zoom, tail-drop 10 BDP",
    ]  # fmt: skip
    assert drawn["pam21-figure-05-s"].get_suptitle().endswith(f"\none run, not drawn: {single}")
    assert drawn["pam21-figure-06-s"].get_suptitle().endswith(f"\none run, not drawn: {single} ms")
    narrow = drawn["pam21-figure-03-04-07-s-tail-drop-10-bdp"]
    assert len(narrow.axes) == 1
    assert f"one run, not drawn: {single.replace(' tail-drop 10 BDP,', '')}" in narrow.get_suptitle().replace("\n", " ")
    narrow.draw_without_rendering()
    box = narrow._suptitle.get_window_extent()  # type: ignore[attr-defined]
    assert 0 <= box.x0 < box.x1 <= narrow.bbox.x1


def test_a_competitor_looks_alike_in_all_figures_of_imc21() -> None:
    run = {"study_id": "s", "exclusion_reason": None, "role": "app", "start_order": "app_first", "run_id": "a"}
    run |= {"metric": "link_share_ratio", "application": "zoom", "rival_application": None, "workload": "call"}
    run |= {"direction": "downlink", "rtt_ms": 50.0, "metric_value": 0.5}
    runs = [
        run | {"queue_label": queue, "congestion_control": control, "bandwidth_bps": rate, "metric": metric}
        for queue, control in (("CoDel", "cubic"), ("CoDel", "bbr"), ("FQ-CoDel", "bbr"))
        for rate in (500_000, 4_000_000)
        for metric in ("link_share_ratio", "rate_bps")
    ]
    planted = PlantedRows(run_metric=runs, study=[{"study_id": "s"}])
    before = ('"imc21-published-shares"', 'share["against"] =', '"imc21-link-share"')
    drawn = drawn_by("imc21-competition", '"imc21-bitrates"', planted, before=before)
    one, other = (drawn[f"imc21-link-share-s-{queue}"].axes[0] for queue in ("codel", "fq-codel"))
    (alone,) = (line for line in other.lines if line.get_label() == "against BBRv1")
    (beside,) = (line for line in one.lines if line.get_label() == "against BBRv1")
    assert alone.get_color() == beside.get_color()
    colours = {line.get_label(): line.get_color() for axes in drawn["imc21-bitrates-s"].axes for line in axes.lines}
    assert colours["incumbent, against BBRv1"] == beside.get_color()


def test_harm_of_0_is_a_line_and_a_queue_without_harm_has_a_cross_and_no_point_is_cut() -> None:
    run = {"exclusion_reason": None, "role": "app", "workload": "call", "direction": "downlink", "rtt_ms": 50.0}
    run |= {"bandwidth_bps": 500_000, "application": "zoom", "congestion_control": "cubic", "rival_application": None}
    run |= {"start_order": "app_first", "study_id": "one"}
    runs = [
        run | {"run_id": str(number), "queue_label": queue, "harm_metric": metric, "harm_ratio": harm}
        for number, queue, metric, harm in (
            (1, "CoDel", "throughput", -0.1), (2, "CoDel", "throughput", 0.3), (1, "CoDel", "loss", 1.0),
            (3, "FQ-CoDel", "loss", 0.0),
        )
    ]  # fmt: skip
    planted = PlantedRows(run_metric_harm=runs, study=[{"study_id": "one"}])
    (axes,) = drawn_by("pam21-zoom-form", '"pam21-harm"', planted)["pam21-harm-one"].axes
    (crosses,) = (line for line in axes.lines if line.get_marker() == "x")
    assert ([round(x, 2) for x in crosses.get_xdata()], list(crosses.get_ydata())) == ([0.19], [0])
    assert [round(line.get_xdata().mean(), 2) for line in axes.lines if line.get_linewidth() == 2.5] == [1.19]
    low, high = axes.get_ylim()
    assert low < -0.15
    assert high > 1.05
