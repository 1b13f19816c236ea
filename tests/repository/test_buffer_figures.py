"""IMC'14's figures of buffers: the cells of any build, and of the testbed's kept runs, beside what is stated."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from notebooks import figures

from .planted_figures import PlantedRows, drawn_by

ROOT = Path(__file__).resolve().parents[2]


def test_imc14_figure_4_has_buffers_ascending_workloads_from_the_bottom_and_colours_of_the_queuing_delay() -> None:
    matplotlib.use("Agg")
    rows = [
        {"queue_limit_packets": size, "workload": workload, "mean_ms": mean, "queuing_delay_class": name, "runs": 3}
        for size, workload, mean, name in (
            (256, "long-many", 2800.0, "bad"),
            (8, "noBG", 0.4, "acceptable"),
            (64, "noBG", 160.2, "problematic"),
        )
    ]
    rows.append(rows[0] | {"queue_limit_packets": 64, "mean_ms": None, "runs": 3})
    _, axes = plt.subplots()
    figures.delay_heat_map(axes, rows, ["noBG", "long-many"], stated_ms={8: 98.0})
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8\n98", "64", "256"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["noBG", "long-many"]
    # What no packet waited in and what no run is of are told apart, and from a delay of nothing.
    assert {(text.get_text(), text.get_position()) for text in axes.texts} == {
        ("2800", (2, 1)), ("0", (0, 0)), ("160", (1, 0)),
        ("no packet", (1, 1)), ("no runs", (0, 1)), ("no runs", (2, 0)),
    }  # fmt: skip
    colours = {matplotlib.colors.to_hex(patch.get_facecolor()) for patch in axes.patches if not patch.get_hatch()}
    assert colours == set(figures.DELAY_COLOURS.values())
    assert "n = 12 runs" in axes.get_title(loc="left")
    with pytest.raises(ValueError, match="filter by role"):
        figures.delay_heat_map(axes, [*rows, rows[0]], ["noBG", "long-many"])
    plt.close("all")


def test_imc14_figure_5_has_a_box_of_seconds_for_each_buffer_and_says_how_many_runs() -> None:
    matplotlib.use("Agg")
    rows = [
        {"queue_limit_packets": size, "run_id": run, "utilisation_ratio": value, "exclusion_reason": reason}
        for size, run, value, reason in (
            (64, "a", 0.5, None), (64, "a", 0.7, None), (64, "b", 0.9, None), (8, "c", 0.1, None),
            (8, "d", 0.9, "broke"), (None, "e", 0.9, None), (8, "c", None, None),
        )
    ]  # fmt: skip
    _, axes = plt.subplots()
    figures.utilisation_boxes(axes, rows, sizes=[8, 64, 256], stated=98.9)
    assert 98.9 in {line.get_ydata()[0] for line in axes.lines if len(line.get_ydata())}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8\nn = 1\n1 s", "64\nn = 2\n3 s", "256\nno runs"]
    medians = sorted(float(line.get_ydata()[0]) for line in axes.lines if len(set(line.get_ydata())) == 1)
    assert 70.0 in [round(value, 6) for value in medians]
    plt.close("all")


BUFFER_RUNS = {"study_id": "s", "testbed": "access", "runs": 2, "exclusion_reason": None, "bandwidth_bps": 1_000_000}


def test_imc14_figures_have_a_map_for_each_application_with_each_direction_that_is_congested() -> None:
    delays = [
        BUFFER_RUNS
        | {"application": application, "direction": direction, "workload": workload, "congested_direction": congested}
        | {"queue_limit_packets": size, "mean_ms": delay, "queuing_delay_class": "acceptable", "role": "all"}
        for application, delay in (("voice", 11.0), ("web", 22.0))
        for direction in ("uplink", "downlink")
        for workload, congested in (("noBG", None), ("long-many", "both"), ("long-many", "upstream"))
        for size in (256, 8)
    ]
    drawn = drawn_by(
        "imc14-buffers-and-workloads", "downlink congested", PlantedRows(configuration_queuing_delay=delays)
    )
    assert set(drawn) == {"imc14-figure-04-s-access-voice", "imc14-figure-04-s-access-web"}
    for name, number in (("voice", "11"), ("web", "22")):
        panels = drawn[f"imc14-figure-04-s-access-{name}"].axes
        assert {text.get_text() for axes in panels for text in axes.texts} == {number}
        # b and c, the uplink above the downlink: no run congests the downlink alone.
        assert [len(axes.texts) for axes in panels] == [4, 4] * 2
        assert all(", uplink," in axes.get_title(loc="left") for axes in panels[:2])
        # Table 2 of the study, of the uplink of 1 Mbit/s.
        labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in panels]
        assert labels == [["8\n98", "256\n3167"]] * 2 + [["8", "256"]] * 2


def test_imc14_figures_of_quality_have_what_is_sent_above_what_is_received_and_hd_above_sd() -> None:
    classes = [
        {"qoe_model_id": model, "quality_class": "good", "colour": "#ffffff", "class_number": 1, "lower_bound": 4.0}
        for model in ("g107-network", "imc14-voip", "ssim-to-mos", "psnr-to-mos")
    ]
    scores = [
        BUFFER_RUNS
        | {"application": application, "direction": direction, "workload": workload, "congested_direction": congested}
        | {"queue_limit_packets": size, "qoe_model_id": model, "mos_median": 4.1, "score_median": 0.9}
        | {"quality_class": "good", "interval_null_reason": None}
        for model, application, direction in (
            ("g107-network", "voice", "downlink"), ("g107-network", "voice", "uplink"),
            ("imc14-voip", "voice", "downlink"), ("imc14-voip", "voice", "uplink"),
            ("ssim-to-mos", "video-sd", "downlink"), ("ssim-to-mos", "video-hd", "downlink"),
            ("psnr-to-mos", "video-sd", "downlink"), ("psnr-to-mos", "video-hd", "downlink"),
        )
        for workload, congested in (("noBG", None), ("long-many", "both"), ("long-many", "upstream"))
        # The lowest line has not the smallest buffer, and buffers ascend all the same.
        for size in ((64, 256) if workload == "noBG" else (256, 8, 64))
    ]  # fmt: skip
    planted = PlantedRows(configuration_quality=scores, quality_class=classes, configuration_queuing_delay=[])
    planted.datasets["configuration_queuing_delay"] = pd.DataFrame(
        columns=["queue_limit_packets", "role", "runs", "testbed", "application", "congested_direction", "study_id",
                 "direction", "workload"]
    )  # fmt: skip
    drawn = drawn_by("imc14-buffers-and-workloads", "of_model[model]", planted, before=("downlink congested",))
    # Each model has a figure of its own: voice by packets and by PESQ, video by SSIM and by PSNR.
    voice = [*drawn.pop("imc14-figure-07-08-s-access").axes, *drawn.pop("imc14-figure-07-08-pesq-s-access").axes]
    video = [*drawn.pop("imc14-figure-09-s-access").axes, *drawn.pop("imc14-figure-09-psnr-s-access").axes]
    assert drawn == {}
    assert ["talks (uplink)" in axes.get_title(loc="left") for axes in voice] == [True, True, False, False] * 2
    assert ["video-hd" in axes.get_title(loc="left") for axes in video] == [True, True, False, False] * 2
    # Nothing is sent without background through 8 packets.
    assert {axes.texts[0].get_text() for axes in video} == {"no runs"}
    assert {axes.texts[1].get_text() for axes in video} == {"0.90\nn = 2", "0.9 dB\nn = 2"}
    for axes in (*voice, *video):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "64", "256"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["noBG", "long-many"]


def test_own_calls_in_the_form_of_imc14_figure_7_say_whose_they_are_and_stand_beside_what_is_stated() -> None:
    with (ROOT / "models/seeds/quality/qoe_class.csv").open(encoding="utf-8") as handle:
        classes = [row | {"lower_bound": float(row["lower_bound"] or "nan")} for row in csv.DictReader(handle)]
    planted = PlantedRows(quality_class=classes)
    drawn = drawn_by("own-testbed", "own-imc14-figure-07", planted)
    kept = pd.read_parquet(ROOT / "testbed/results/imc14-talk/configuration_quality.parquet")
    (axes,) = drawn["own-imc14-figure-07"].axes
    assert "talks" in axes.get_title(loc="left")
    assert "Sojourn's testbed" in axes.get_title(loc="left")
    assert "listens (downlink): no runs" in drawn["own-imc14-figure-07"].get_suptitle()
    labels = [label.get_text().split("\n") for label in axes.get_xticklabels()]
    assert [size for size, _ in labels] == ["8", "16", "32", "64", "128", "256"]
    assert [stated for _, stated in labels] == ["stated 3.2 at best", "", "", "", "", "stated 1 to 1.4"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["noBG", "long-many"]
    mine = kept[kept.qoe_model_id == "g107-network"].sort_values("queue_limit_packets")
    written = [
        f"{row.mos_median:.2f}\nn = {row.runs}"
        for workload in ("noBG", "long-many")
        for row in mine[mine.workload == workload].itertuples()
    ]
    assert [text.get_text() for text in axes.texts] == written
    # What the text of the notebook says of them.
    assert [text.split("\n")[0] for text in written[6:8] + written[9:]] == ["3.57", "3.61", "1.00", "1.00", "1.00"]


def test_own_page_loads_mark_lower_bounds_where_few_loads_ended() -> None:
    with (ROOT / "models/seeds/quality/qoe_class.csv").open(encoding="utf-8") as handle:
        classes = [row | {"lower_bound": float(row["lower_bound"] or "nan")} for row in csv.DictReader(handle)]
    drawn = drawn_by("own-testbed", '"own-imc14-figure-10"', PlantedRows(quality_class=classes))
    (axes,) = drawn["own-imc14-figure-10"].axes
    cells = {text.get_position(): text.get_text().split("\n")[0] for text in axes.texts}
    assert [cells[place, 1] for place in range(3)] == ["≥ 9.01 s", "7.37 s", "≥ 22.10 s"]
    assert [cells[place, 0] for place in range(3)] == ["0.56 s", "0.33 s", "0.33 s"]
    ticks = [label.get_text().split("\n")[1] for label in axes.get_xticklabels()]
    assert ticks == ["stated 1.3 s", "", "stated 20 s"]


def test_own_figures_4_and_5_of_imc14_have_six_buffers_in_both_directions_beside_what_is_stated() -> None:
    drawn = drawn_by("own-testbed", '"own-imc14-figure-04"', PlantedRows())
    assert set(drawn) == {"own-imc14-figure-04", "own-imc14-figure-05"}
    up, down = drawn["own-imc14-figure-04"].axes
    written = {text.get_position(): text.get_text() for text in up.texts}
    assert [written[place, 1] for place in range(6)] == ["53", "115", "239", "489", "1020", "2309"]
    assert [label.get_text() for label in up.get_xticklabels()][::5] == ["8\n98", "256\n3167"]
    # A voice call that is sent alone has no packet on the other link.
    assert {text.get_text() for text in down.texts} == {"0", "no packet"}
    (legend,) = drawn["own-imc14-figure-04"].legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "acceptable (up to 150 ms)", "problematic (up to 400 ms)", "bad (above 400 ms)",
    ]  # fmt: skip
    # A full link is not squeezed under the upper edge.
    assert [axes.get_ylim()[0] for axes in drawn["own-imc14-figure-05"].axes] == [90, 0]
    for axes, stated in zip(drawn["own-imc14-figure-05"].axes, (98.9, 0.3), strict=True):
        assert len(axes.get_xticklabels()) == 6
        assert stated in {round(float(line.get_ydata()[0]), 6) for line in axes.lines if len(line.get_ydata())}
