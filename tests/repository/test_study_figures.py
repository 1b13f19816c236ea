"""Notebooks draw the studies' figures under their numbers, and every correction of a figure has its test."""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from notebooks import figures

from sojourn_transforms.deviations import CORRECTED_DEFINITIONS, DEVIATIONS, deviations_section

from .planted_figures import PlantedRows, drawn_by, points

ROOT = Path(__file__).resolve().parents[2]

TMA23_RUN = {
    "study_id": "tma23-imvca", "role": "app", "workload": "call", "aqm": "tail-drop", "exclusion_reason": None,
    "application": "signal", "congestion_control": "cubic", "start_order": "app_first", "bandwidth_bps": 5_000_000,
}  # fmt: skip
#: Calls of two applications against TCP in both orders of start, on two links, of the study and of another.
CALLS = [
    TMA23_RUN
    | {"study_id": study, "application": application, "start_order": order, "rtt_ms": 50, "bandwidth_bps": rate}
    | {"congestion_control": control}
    for study, control in (("tma23-imvca", "cubic"), ("a-later-one", "reno"))
    for application, least in (("signal", 1_900_000), ("telegram", 750_000))
    for order in ("app_first", "tcp_first")
    for rate in (least, 5_000_000)
]
DEMAND = {"study_id": "tma23-imvca", "role": "app", "workload": "call", "application": "signal"}
DEMANDS = [
    DEMAND
    | {"study_id": study, "demand_bps": demand, "demand_q1_bps": 1, "demand_q3_bps": 2, "demand_runs": 3}
    | {"excluded_runs": 0}
    for study, demand in (("tma23-imvca", 1_880_000), ("a-later-one", 3_000_000))
]


def drawn_of_calls(name: str, runs: list[dict[str, Any]], others: Sequence[dict[str, Any]] = ()) -> dict[str, Figure]:
    planted = PlantedRows(run_metric=runs, run=[*CALLS, *others], demand=DEMANDS)
    return drawn_by("tma23-instant-messengers", name, planted, before=("calls_of_studies(api)",))


def test_tma23_figure_5_is_queuing_delay_at_2_bdp() -> None:
    runs = [
        TMA23_RUN | {"metric": metric, "queue_size_bdp": size, "rtt_ms": 50, "metric_value": value}
        for metric, size, value in (
            ("queuing_delay_mean_ms", 2, 83.0), ("queuing_delay_mean_ms", 10, 417.0),
            ("harm_throughput_ratio", 2, 0.71), ("harm_throughput_ratio", 10, 0.93),
        )
    ]  # fmt: skip
    drawn = drawn_of_calls('"tma23-figure-05"', runs)
    assert set(drawn) == {"tma23-figure-05"}
    assert 83.0 in points(drawn["tma23-figure-05"])
    assert not {417.0, 0.71, 0.93} & points(drawn["tma23-figure-05"])
    other = drawn_of_calls('"tma23-harm-10-bdp"', runs)
    assert 0.93 in points(other["tma23-harm-10-bdp"])


def test_tma23_figure_2_has_the_rtt_axis() -> None:
    alone = TMA23_RUN | {"metric": "rate_bps", "queue_size_bdp": 2, "start_order": "solo", "congestion_control": None}
    runs = [
        alone | {"application": application, "rtt_ms": rtt, "metric_value": rate}
        for application in ("signal", "telegram", "whatsapp")
        for rtt, rate in ((10, 0.61e6), (50, 0.62e6), (50, 0.45e6), (100, 0.63e6))
    ]
    figure = drawn_of_calls('"tma23-figure-02"', runs)["tma23-figure-02"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Signal", "Telegram"]  # those that met TCP
    for axes in figure.axes:
        assert [label.get_text().split("\n")[0] for label in axes.get_xticklabels()] == ["10 ms", "50 ms", "100 ms"]
    assert {0.61, 0.62, 0.45, 0.63} <= points(figure)


def test_tma23_figures_are_of_every_study_with_such_calls_on_its_own_links(capsys: pytest.CaptureFixture[str]) -> None:
    alone = [CALLS[0] | {"study_id": "one-app"}, CALLS[0] | {"study_id": "no-tcp", "congestion_control": None}]
    harms = [
        one | {"metric": "harm_throughput_ratio", "queue_size_bdp": 2, "metric_value": round(0.01 * number, 2)}
        for number, one in enumerate(CALLS, 1)
    ]
    fourth = drawn_of_calls('"tma23-figure-04"', harms, alone)
    assert list(fourth) == ["tma23-figure-04", "tma23-figure-04-a-later-one"]  # its own study first
    # The fastest links, an application a panel, the application first and then TCP.
    assert points(fourth["tma23-figure-04"]) == {0.02, 0.04, 0.06, 0.08}
    assert points(fourth["tma23-figure-04-a-later-one"]) == {0.1, 0.12, 0.14, 0.16}
    (signal, _) = fourth["tma23-figure-04-a-later-one"].axes
    assert [label.get_text() for label in signal.get_xticklabels()] == [
        "Reno\napp first\nn = 1", "Reno\nTCP first\nn = 1",
    ]  # fmt: skip
    said = capsys.readouterr().out
    assert "no-tcp (no call against TCP)" in said
    assert "one-app (calls of signal only)" in said
    # The link with the rate of the demand: Signal's of the study alone, and nothing is drawn without one.
    eighth = drawn_of_calls('"tma23-figure-08"', harms)
    assert list(eighth) == ["tma23-figure-08"]
    assert points(eighth["tma23-figure-08"]) == {0.01, 0.03}
    assert (
        "a-later-one: not drawn, because it has no call with harm behind tail-drop of 2 BDP" in capsys.readouterr().out
    )


def test_what_tma23_states_of_a_setting_stands_across_its_box() -> None:
    harms = [
        one | {"metric": "harm_throughput_ratio", "queue_size_bdp": 2, "metric_value": 0.7, "aqm": "tail-drop"}
        for one in CALLS
    ]
    row = {"study_id": "tma23-imvca", "finding_id": "tma23-04", "congestion_control": "cubic"}
    stated = [
        row | {"application": "signal", "start_order": "app_first", "stated_low": 0.75, "stated_high": 0.75},
        row | {"application": "telegram", "start_order": "app_first", "stated_low": 0.2, "stated_high": 0.25},
    ]
    planted = PlantedRows(
        run_metric=[TMA23_RUN | one for one in harms], run=CALLS, demand=DEMANDS, published_comparison=stated
    )
    drawn = drawn_by("tma23-instant-messengers", '"tma23-figure-04"', planted, before=("calls_of_studies(api)",))
    lines = [
        {(round(line.get_xdata()[0], 2), line.get_ydata()[0]) for line in axes.lines if "stated" in line.get_label()}
        for axes in drawn["tma23-figure-04"].axes
    ]
    assert lines == [{(0.58, 0.75)}, {(0.58, 0.2), (0.58, 0.25)}]
    # On the line of no harm, the ends of a dashed one are seen.
    ends = {
        line.get_marker()
        for axes in drawn["tma23-figure-04"].axes
        for line in axes.lines
        if "stated" in line.get_label()
    }
    assert ends == {"|"}


def test_what_tma23_states_of_an_application_stands_below_the_title_of_its_panel() -> None:
    scores = [one | {"metric": "qoe_brisque", "queue_size_bdp": 2, "metric_value": 80.0} for one in CALLS]
    scores = [one | {"workload": "screen_capture", "aqm": "tail-drop"} for one in scores]
    row = {"study_id": "tma23-imvca", "finding_id": "tma23-21", "application": "signal", "statistic": "majority above"}
    planted = PlantedRows(
        run_metric=scores, run=CALLS, demand=DEMANDS, published_comparison=[row | {"stated_low": 75.0}]
    )
    figure = drawn_by("tma23-instant-messengers", '"tma23-figure-11"', planted, before=("calls_of_studies(api)",))
    (drawn,) = figure.values()
    drawn.draw_without_rendering()
    (signal,) = drawn.axes
    (said,) = signal.texts
    assert said.get_text() == "- - stated: majority above 75"
    title = signal._left_title  # type: ignore[attr-defined]
    assert not title.get_window_extent().overlaps(said.get_window_extent())


def test_labels_of_rates_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    labels = importlib.import_module("share_figures").rate_labels
    assert labels([0.3, 0.45, 1.9, 2.0, 5.0]) == ["0.3", "0.45", "1.9, 2", "", "5"]


def test_imc21_figures_have_the_application_as_incumbent() -> None:
    run = {"study_id": "vca-fairness-vm-2026", "exclusion_reason": None, "queue_label": "CoDel", "role": "app"}
    run |= {"congestion_control": "cubic", "application": "rtp-cbr", "bandwidth_bps": 1_000_000, "run_id": "a"}
    run |= {"workload": "call", "direction": "downlink", "rtt_ms": 50.0, "rival_application": None}
    runs = [
        run | {"metric": metric, "start_order": order, "metric_value": value}
        for metric, order, value in (
            ("link_share_ratio", "app_first", 0.42), ("link_share_ratio", "tcp_first", 0.17),
            ("rate_bps", "app_first", 420_000), ("rate_bps", "tcp_first", 170_000), ("rate_bps", "solo", 490_000),
        )
    ]  # fmt: skip
    # Of another study, a rival that is there first: it is the incumbent, and its share is drawn.
    rival = run | {"study_id": "pairs", "congestion_control": None, "rival_application": "meet"}
    rival |= {"start_order": "rival_first", "application": "zoom"}
    runs += [
        rival | {"metric": metric, "role": role, "metric_value": value}
        for metric, role, value in (
            ("link_share_ratio", "app", 0.21), ("link_share_ratio", "rival", 0.79),
            ("rate_bps", "app", 210_000), ("rate_bps", "rival", 790_000),
        )
    ]  # fmt: skip
    runs += [one | {"bandwidth_bps": 2_000_000} for one in runs]
    # A study with one rate of the link has nothing to draw over it.
    runs += [one | {"study_id": "one-rate"} for one in runs if one["bandwidth_bps"] == 1_000_000]
    studies = ("vca-fairness-vm-2026", "pairs", "one-rate")
    planted = PlantedRows(run_metric=runs, study=[{"study_id": study} for study in studies])
    before = ('"imc21-published-shares"', 'share["against"] =')
    shares = drawn_by("imc21-competition", '"imc21-link-share"', planted, before=before)
    assert set(shares) - {"imc21-published-shares"} == {"imc21-link-share-codel", "imc21-link-share-pairs-codel"}
    own, stated = shares["imc21-link-share-codel"].axes
    assert [list(line.get_ydata()) for line in own.lines if line.get_label() == "against CUBIC"] == [[0.42, 0.42]]
    assert own.get_title(loc="left") == "constant RTP, downlink; n = 1"
    assert stated.get_title(loc="left").startswith("stated of others")
    assert "uplink: no runs" in shares["imc21-link-share-codel"].get_suptitle()
    pairs = shares["imc21-link-share-pairs-codel"].axes[0]
    assert [list(line.get_ydata()) for line in pairs.lines if line.get_label() == "against zoom"] == [[0.79, 0.79]]
    rates = drawn_by("imc21-competition", '"imc21-bitrates"', planted, before=(*before, '"imc21-link-share"'))
    assert set(rates) - {*shares} == {"imc21-bitrates", "imc21-bitrates-pairs"}
    assert points(rates["imc21-bitrates"]) == {0.42, 0.49}
    lines = {line.get_label(): line.get_ydata()[0] for line in rates["imc21-bitrates-pairs"].axes[0].lines}
    assert lines == {"incumbent, against zoom": 0.79, "zoom": 0.21}
    assert rates["imc21-bitrates-pairs"].axes[0].get_title(loc="left") == "meet, CoDel"


def test_imc21_shares_are_by_the_rate_of_the_link_on_a_numeric_axis_with_the_uplink_beside() -> None:
    run = {"study_id": "s", "exclusion_reason": None, "queue_label": "CoDel", "role": "app", "start_order": "app_first"}
    run |= {"metric": "link_share_ratio", "application": "meet", "rival_application": None, "workload": "call"}
    runs = [
        run
        | {"run_id": f"{number}", "direction": direction, "bandwidth_bps": rate, "metric_value": share, "rtt_ms": 50.0}
        | {"congestion_control": control}
        for number, (direction, rate, control, share) in enumerate(
            [("downlink", 500_000, "cubic", 0.7), ("downlink", 500_000, "bbr", 0.6),
             ("downlink", 5_000_000, "cubic", 0.4), ("uplink", 500_000, "cubic", 0.5)]
        )
    ]  # fmt: skip
    planted = PlantedRows(run_metric=runs, study=[{"study_id": "s"}])
    before = ('"imc21-published-shares"', 'share["against"] =')
    drawn = drawn_by("imc21-competition", '"imc21-link-share"', planted, before=before)
    down, up, _ = drawn["imc21-link-share-s-codel"].axes
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in down.lines}
    assert lines["against CUBIC"] == ([0.5, 5], [0.7, 0.4])
    assert lines["against BBRv1"] == ([0.5], [0.6])
    assert "stated: Zoom and Meet, up to 2 Mbit/s uplink" in {line.get_label() for line in up.lines}
    assert "stated: Zoom and Meet, up to 2 Mbit/s uplink" not in lines


def test_pam21_figure_2_is_the_send_rate_of_one_flow_alone() -> None:
    row = {"study_id": "vca-fairness-vm-2026", "application": "zoom", "congestion_control": None, "role": "app"}
    row |= {"queue_label": "tail-drop 2 BDP", "bandwidth_bps": 1_000_000, "bandwidth_programme": None, "runs": 3}
    profiles = [
        row
        | {"rate_profile_id": f"{basis} {order} {programme}", "rate_basis": basis, "start_order": order}
        | {"bandwidth_programme": programme, "second": second, "link_rate_bps": link, "rate_median_bps": rate}
        for basis, order, programme, rate in (
            ("capture_before", "solo", "falls", 711_000), ("capture_after", "solo", "falls", 722_000),
            ("capture_before", "app_first", "falls", 733_000), ("capture_before", "solo", None, 744_000),
        )
        for second, link in enumerate((1_000_000, 1_000_000, 250_000, 250_000))
    ]  # fmt: skip
    reaction = row | {"rate_basis": "capture_before", "start_order": "solo", "bandwidth_programme": "falls"}
    reaction |= {"step_second": 1, "exclusion_reason": None, "from_bps": 1_000_000, "to_bps": 250_000}
    reaction |= {"reaction_ms": 2000.0, "overshoot_ratio": 1.1, "from_rtt_ms": 20.0, "to_rtt_ms": 100.0}
    reaction |= {"fall_ms": 2000.0, "recovery_ms": 6000.0}
    reactions = {"step_reaction": [reaction], "rtt_step_reaction": [reaction]}
    stepped = drawn_by("pam21-zoom-form", "pam21-figure-02", PlantedRows(rate_profile=profiles, **reactions))
    # The link's rates, what was sent, and the two round-trip times on their own axis.
    assert points(stepped["pam21-figure-02"]) == {1.0, 0.25, 0.711, 20, 100}
    constant = [one for one in profiles if one["bandwidth_programme"] is None]
    without = drawn_by("pam21-zoom-form", "pam21-figure-02", PlantedRows(rate_profile=constant, **reactions))
    assert set(without) == {"pam21-solo-send-rates"}


def test_every_run_is_drawn_over_its_box() -> None:
    matplotlib.use("Agg")
    figure, axes = plt.subplots()
    values = [0.38] * 6 + [0.5] * 7
    figures.runs_and_boxes(axes, {"whatsapp": values, "none": [], "one": [1.0]})
    runs = [line for line in axes.lines if line.get_marker() == "o"]
    plt.close(figure)
    assert sorted(float(y) for line in runs for y in line.get_ydata()) == [*values, 1.0]
    # One run stands in the middle of its place.
    assert list(runs[-1].get_xdata()) == [3]


PAM21_RUN = {"exclusion_reason": None, "role": "all", "workload": "call", "direction": "downlink", "rtt_ms": 50.0}
PAM21_RUN |= {"bandwidth_bps": 500_000, "application": "zoom", "congestion_control": "cubic", "rival_application": None}
PAM21_RUN |= {"configuration_id": "c", "run_number": 1, "start_order": "app_first"}


def planted_runs(runs: list[dict[str, Any]]) -> PlantedRows:
    """Return the runs, each with an id of its own and no restart."""
    numbered = [run | {"run_id": f"run {number}"} for number, run in enumerate(runs)]
    starts = [{name: run[name] for name in ("study_id", "run_id")} | {"is_restart": False} for run in numbered]
    return PlantedRows(
        run_metric=numbered, run_application_start=[one | {"role": "app", "start_number": 1} for one in starts]
    )


def test_pam21_figures_5_and_6_are_of_every_study_with_each_run_and_figure_5_of_tail_drop_alone() -> None:
    runs = [
        PAM21_RUN
        | {"study_id": study, "metric": metric, "queue_label": queue, "aqm": aqm, "start_order": order}
        | {"metric_value": value + add, "bandwidth_bps": rate}
        for study, add in (("one", 0.0), ("other", 0.5))
        for metric, queue, aqm, order, value, rate in (
            ("queuing_delay_share_of_maximum_ratio", "tail-drop 10 BDP", "tail-drop", "app_first", 0.25, 500_000),
            ("queuing_delay_share_of_maximum_ratio", "CoDel", "codel", "app_first", 0.01, 500_000),
            ("queuing_delay_mean_ms", "tail-drop 2 BDP", "tail-drop", "app_first", 90.0, 500_000),
            ("queuing_delay_mean_ms", "tail-drop 2 BDP", "tail-drop", "app_first", 30.0, 4_000_000),
            ("queuing_delay_mean_ms", "CoDel", "codel", "tcp_first", 9.0, 500_000),
            ("queuing_delay_mean_ms", "CoDel", "codel", "solo", 3.0, 500_000),
        )
    ]
    rival = {"congestion_control": None, "rival_application": "meet", "start_order": "rival_first"}
    planted = planted_runs([*runs, runs[4] | rival, runs[0] | {"direction": "uplink", "metric_value": 0.35}])
    fifth = drawn_by("pam21-zoom-form", '"pam21-figure-05"', planted)
    assert set(fifth) == {"pam21-figure-05-one", "pam21-figure-05-other"}
    assert [len(fifth[f"pam21-figure-05-{study}"].axes) for study in ("one", "other")] == [2, 1]
    lines = [{str(line.get_label()): line for line in axes.lines} for axes in fifth["pam21-figure-05-one"].axes]
    assert [list(of_panel["against CUBIC, app first"].get_ydata()) for of_panel in lines] == [[0.25], [0.35]]
    # The statement is of the uplink.
    stated = [[name for name in of_panel if name.startswith("stated: queuing delay")] for of_panel in lines]
    assert [len(names) for names in stated] == [0, 1]
    sixth = drawn_by("pam21-zoom-form", '"pam21-figure-06"', planted)
    assert set(sixth) == {"pam21-figure-06-one", "pam21-figure-06-other"}
    tail_drop, codel = sixth["pam21-figure-06-one"].axes
    # Bandwidth is on the axis, also of a queue that has not all of them.
    for axes in (tail_drop, codel):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "4"]
    assert {y for line in tail_drop.lines for y in line.get_ydata() if line.get_label().startswith("against")} == {
        90,
        30,
    }
    # Half of tail-drop with 2 BDP, at the rate that it is stated of.
    stated = [list(line.get_ydata()) for line in codel.lines if line.get_label().startswith("stated: half")]
    assert stated == [[45, 45]]
    (legend,) = sixth["pam21-figure-06-one"].legends
    assert {text.get_text() for text in legend.get_texts() if text.get_text().startswith("against")} == {
        "against CUBIC, app first", "against CUBIC, TCP first", "against meet, rival first",
    }  # fmt: skip


def test_pam21_figures_3_4_and_7_are_of_one_queue_with_a_panel_for_each_direction_and_what_is_stated_of_it() -> None:
    runs = [
        PAM21_RUN
        | {"study_id": "s", "metric": "flow_rate_equality", "queue_label": queue, "direction": direction}
        | {"bandwidth_bps": rate, "run_number": number, "metric_value": value}
        for queue, direction, rate, number, value in (
            ("FQ-CoDel", "downlink", 500_000, 2, 0.2), ("FQ-CoDel", "downlink", 500_000, 1, 0.1),
            ("FQ-CoDel", "downlink", 4_000_000, 1, 0.3), ("FQ-CoDel", "uplink", 500_000, 1, 0.4),
            ("CoDel", "uplink", 500_000, 1, -0.5),
        )
    ]  # fmt: skip
    # Of another study that does not state a direction, the title says so.
    runs.append(runs[-1] | {"study_id": "t", "direction": None})
    # One panel for each application, with only the rates that it was measured at.
    other = {"study_id": "two", "queue_label": "FQ-CoDel"}
    runs += [runs[0] | other, runs[2] | other | {"application": "teams", "configuration_id": "d", "metric_value": 0.9}]
    drawn = drawn_by("pam21-zoom-form", '"pam21-figure-03-04-07"', planted_runs(runs))
    assert drawn.pop("pam21-figure-03-04-07-t-codel").get_suptitle() == "t, CoDel\ndirection: not stated"
    teams, zoom = drawn.pop("pam21-figure-03-04-07-two-fq-codel").axes
    for axes, application, rate, value in ((teams, "teams", "4", 0.9), (zoom, "zoom", "0.5", 0.2)):
        assert axes.get_title(loc="left") == f"{application}, downlink; n = 1 for each configuration and rate"
        assert [label.get_text() for label in axes.get_xticklabels()] == [rate]
        assert [list(line.get_ydata()) for line in axes.lines if line.get_label().startswith("against")] == [[value]]
    assert set(drawn) == {"pam21-figure-03-04-07-s-codel", "pam21-figure-03-04-07-s-fq-codel"}
    down, up = drawn["pam21-figure-03-04-07-s-fq-codel"].axes
    lines = [{line.get_label(): line for line in axes.lines} for axes in (down, up)]
    assert list(lines[0]["against CUBIC, app first"].get_ydata()) == [0.1, 0.2, 0.3]
    assert list(lines[1]["against CUBIC, app first"].get_ydata()) == [0.4]
    # The statement is of FQ-CoDel on the downlink.
    bands = [[patch.get_label() for patch in axes.patches] for axes in (down, up)]
    assert bands == [["stated: flow-rate equality Zoom against TCP, FQ-CoDel, downlink"], []]
    codel = drawn["pam21-figure-03-04-07-s-codel"]
    assert [len(axes.patches) for axes in codel.axes] == [0]
    assert codel.get_suptitle() == "s, CoDel\ndownlink: no runs"


def test_references_are_those_of_the_list_and_a_commented_table_is_told_from_the_text(shared: Path) -> None:
    with (shared / "published" / "findings.csv").open(encoding="utf-8") as handle:
        listed = {row["finding_id"]: row["reference"] for row in csv.DictReader(handle)}
    with (ROOT / "models" / "seeds" / "published_finding.csv").open(encoding="utf-8") as handle:
        seeded = {row["finding_id"]: row for row in csv.DictReader(handle)}
    # Findings that the list lacks are named after their figure, or go on counting.
    assert {name: row["reference"] for name, row in seeded.items() if name in listed} == listed
    commented = [row for row in seeded.values() if "commented out" in row["reference"]]
    assert len(commented) == 18
    for row in commented:
        assert "not a published result" in row["reading"]
        # The text repeats the table, but for Zoom (0.61) and Teams (0.42) against themselves.
        apart = row["finding_id"] in ("vca21-08", "vca21-15")
        assert ("the text says half" in row["reading"], "the text repeats some" in row["reading"]) == (apart, not apart)


@pytest.fixture(scope="module")
def names_of_tests() -> set[str]:
    """The dbt unit tests and the test functions of the project."""
    units = {
        name
        for path in (ROOT / "models").rglob("*__unit_tests.yml")
        for name in re.findall(r"^  - name: (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    functions = {
        name
        for folder in ("api", "ingest", "transforms", "tests")
        for path in (ROOT / folder).rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    return units | functions


def test_every_deviation_is_fixed_and_its_tests_exist(names_of_tests: set[str]) -> None:
    assert [one.number for one in DEVIATIONS] == list(range(1, 13))
    assert [one.number for one in CORRECTED_DEFINITIONS] == list(range(1, 7))
    for one in (*DEVIATIONS, *CORRECTED_DEFINITIONS):
        assert one.tests, one.number
        assert set(one.tests) <= names_of_tests, (one.number, set(one.tests) - names_of_tests)
    document = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert "\n".join(deviations_section()) in document, "run make validation"


def test_pam21_harm_is_of_each_study_with_runs_and_their_median(capsys: pytest.CaptureFixture[str]) -> None:
    run = {"exclusion_reason": None, "role": "app", "workload": "call", "direction": "downlink", "rtt_ms": 50.0}
    run |= {"bandwidth_bps": 500_000, "application": "zoom", "congestion_control": "cubic", "rival_application": None}
    run |= {"queue_label": "CoDel", "start_order": "app_first"}
    runs = [
        run
        | {"study_id": study, "run_id": str(number), "harm_metric": metric, "harm_ratio": harm, "start_order": order}
        for study, number, metric, harm, order in (
            ("one", 1, "throughput", 0.1, "app_first"), ("one", 2, "throughput", 0.3, "app_first"),
            ("one", 3, "throughput", 0.7, "app_first"), ("one", 1, "loss", 1.0, "app_first"),
            ("one", 4, "throughput", 0.9, "tcp_first"), ("other", 5, "throughput", 0.5, "app_first"),
            ("late", 6, "throughput", 0.6, "tcp_first"),
        )
    ]  # fmt: skip
    studies = [{"study_id": study} for study in ("one", "other", "late", "none")]
    planted = PlantedRows(run_metric_harm=runs, study=studies)
    drawn = drawn_by("pam21-zoom-form", '"pam21-harm"', planted)
    assert set(drawn) == {"pam21-harm-one", "pam21-harm-other"}
    (axes,) = drawn["pam21-harm-one"].axes
    assert [(round(bar.get_x() + bar.get_width() / 2), bar.get_height()) for bar in axes.patches] == [
        (0, 0.3),
        (1, 1.0),
    ]
    assert points(drawn["pam21-harm-one"]) == {0.1, 0.3, 0.7, 1.0}
    assert axes.get_title(loc="left") == "zoom against CUBIC, 0.5 Mbit/s; n = 3"
    assert "no incumbent with a demand, and so no harm: late, none" in capsys.readouterr().out


def test_pam21_rates_over_time_are_of_each_pair_on_the_fastest_link(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"rate_basis": "capture_after", "workload": "call", "direction": "downlink", "rtt_ms": 50.0, "runs": 1}
    row |= {"application": "zoom", "rival_application": "meet", "congestion_control": None, "queue_label": "CoDel"}
    seconds = [
        row
        | {"study_id": "pairs", "bandwidth_bps": link, "role": role, "second": second, "start_order": order}
        | {"rate_basis": basis, "rate_median_bps": rate, "rate_q1_bps": rate, "rate_q3_bps": rate}
        for link, role, order, basis, rate in (
            (1_000_000, "app", "app_first", "capture_after", 110_000),
            (4_000_000, "app", "app_first", "capture_after", 410_000),
            (4_000_000, "rival", "app_first", "capture_after", 420_000),
            (4_000_000, "rival", "app_first", "capture_before", 430_000),
            (4_000_000, "app", "solo", "capture_after", 440_000),
        )
        for second in (0, 1, 2)
    ]  # fmt: skip
    studies = [{"study_id": study} for study in ("pairs", "none")]
    drawn = drawn_by("pam21-zoom-form", '"pam21-rates-over-time"', PlantedRows(rate_profile=seconds, study=studies))
    (axes,) = drawn["pam21-rates-over-time-pairs"].axes
    shown = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert shown == {"application": [0.41], "competitor": [0.42]}
    assert axes.get_title(loc="left") == "zoom against meet, app first\nCoDel, n = 1"
    assert "no packets of an application with a competitor: none" in capsys.readouterr().out
