"""The models as data: classes, reductions and parameters have the values that their sources state."""

from __future__ import annotations

import csv
import inspect
import math
from pathlib import Path

import pytest

from sojourn_statistics.quality import playout, voice, web

VOICE_MODELS = (
    "g107-network", "g107-network-no-concealment", "g107-network-slow-buffer",
    "imc14-voip", "imc14-voip-own", "imc14-voip-sum",
)  # fmt: skip
#: After ITU-T G.107 Annex B, from its R of 90, 80, 70, 60 and 50.
VOICE_CLASSES = {
    "very satisfied": 4.34, "satisfied": 4.03, "some dissatisfied": 3.60, "many dissatisfied": 3.10,
    "nearly all dissatisfied": 2.58, "not recommended": None,
}  # fmt: skip


def seed(repository: Path, name: str) -> list[dict[str, str]]:
    with (repository / "models" / "seeds" / "quality" / f"{name}.csv").open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def classes(repository: Path, model: str) -> dict[str, float | None]:
    rows = [row for row in seed(repository, "qoe_class") if row["qoe_model_id"] == model]
    assert [int(row["class_number"]) for row in rows] == list(range(1, len(rows) + 1))
    return {row["quality_class"]: float(row["lower_bound"]) if row["lower_bound"] else None for row in rows}


@pytest.mark.parametrize("model", VOICE_MODELS)
def test_classes_of_voice_are_those_of_annex_b(repository: Path, model: str) -> None:
    assert classes(repository, model) == VOICE_CLASSES
    # The table of Annex B has two digits, and 4.03 where its formula has 4.024.
    stated = [bound for bound in VOICE_CLASSES.values() if bound is not None]
    assert stated == pytest.approx(voice.mos_of_rating([90, 80, 70, 60, 50]).tolist(), abs=0.0065)


@pytest.mark.parametrize("model", ["g1030-one-page-access", "g1030-one-page-backbone", "g1030-one-page-own"])
def test_classes_of_a_page_are_whole_mos_from_their_own_number_on(repository: Path, model: str) -> None:
    bounds = list(classes(repository, model).values())
    assert bounds == [5, 4, 3, 2, None]
    for mos in (1, 1.999, 2, 3.58, 4.999, 5):
        of_data = next(5 - place for place, bound in enumerate(bounds) if bound is None or mos >= bound)
        assert int(web.class_of_mos(mos)) == of_data


@pytest.mark.parametrize(
    ("model", "bounds"), [("ssim-to-mos", [0.99, 0.95, 0.88, 0.5, None]), ("psnr-to-mos", [45, 33, 27.4, 18.7, None])]
)
def test_steps_of_video_have_a_mos_each(repository: Path, model: str, bounds: list[float | None]) -> None:
    rows = [row for row in seed(repository, "qoe_class") if row["qoe_model_id"] == model]
    assert list(classes(repository, model).values()) == bounds
    assert [float(row["mos"]) for row in rows] == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("model", "robustness", "adaptation"),
    [
        ("g107-network", 25.1, 1000),
        ("g107-network-no-concealment", 4.3, 1000),
        ("g107-network-slow-buffer", 25.1, 10_000),
    ],
)
def test_parameters_of_a_call_are_those_of_g711(
    repository: Path, model: str, robustness: float, adaptation: float
) -> None:
    """G.113 Appendix I: Ie 0, Bpl 4.3 without and 25.1 with concealment. Buffer and ten seconds are ours."""
    parameters = {
        row["parameter"]: float(row["parameter_value"])
        for row in seed(repository, "qoe_model_parameter")
        if row["qoe_model_id"] == model
    }
    assert parameters == {
        "equipment": 0, "robustness": robustness, "buffer": 60, "adaptation": adaptation,
        "interval": 10_000,
    }  # fmt: skip
    assert inspect.signature(playout.playout).parameters["buffer_ms"].default == parameters["buffer"]


def test_frames_of_a_call_are_its_last_ten_by_brisque_and_all_by_the_others(repository: Path) -> None:
    frames = {
        row["qoe_metric"]: (row["reduction_id"], float(row["last_frames"] or math.inf))
        for row in seed(repository, "qoe_reduction")
    }
    assert frames == {
        "brisque": ("mean-of-last-ten-frames", 10), "ssim": ("mean-over-frames", math.inf),
        "psnr_db": ("mean-over-frames", math.inf), "vmaf": ("mean-over-frames", math.inf),
    }  # fmt: skip
