"""The SQL of the marts and the Python functions are one mapping: they agree on a grid, and with the seeds."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import numpy as np
import pytest

from sojourn_statistics.intervals.order_statistics import quantile_ranks
from sojourn_statistics.quality import delay, playout, video, voice, web

Macros = Callable[..., str]


@pytest.fixture(scope="module")
def macros(repository: Path) -> Any:
    """The macros as callables that return SQL. They use nothing of dbt."""
    folder = repository / "models" / "macros" / "quality"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("voice.sql", "web.sql"))
    return jinja2.Environment(autoescape=False).from_string(text).module


def seed(repository: Path, name: str) -> list[dict[str, str]]:
    with (repository / "models" / "seeds" / "quality" / f"{name}.csv").open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def in_sql(expression: str, **columns: Any) -> np.ndarray[Any, Any]:
    connection = duckdb.connect()
    connection.register("grid", {name: np.asarray(values) for name, values in columns.items()})
    return connection.sql(f"select {expression} as value from grid").fetchnumpy()["value"]


def test_impairment_by_delay(macros: Any) -> None:
    grid = np.concatenate([np.arange(0, 4000, 0.25), [99.999999, 100, 100.000001]])
    assert in_sql(macros.delay_impairment("ta"), ta=grid) == pytest.approx(voice.delay_impairment(grid), abs=1e-9)


def test_impairment_by_loss(macros: Any) -> None:
    loss, burst, equipment, robustness = np.array(
        list(itertools.product(np.linspace(0, 1, 41), [0.5, 1, 1.5, 8], [0.0, 11.0], [4.3, 25.1]))
    ).T
    of_sql = in_sql(
        macros.effective_equipment_impairment("loss", "burst", "ie", "bpl"),
        loss=loss, burst=burst, ie=equipment, bpl=robustness,
    )  # fmt: skip
    expected = [
        float(voice.effective_equipment_impairment(one, two, equipment=three, robustness=four))
        for one, two, three, four in zip(loss, burst, equipment, robustness, strict=True)
    ]
    assert of_sql == pytest.approx(np.array(expected), abs=1e-9)


def test_mos_of_a_rating(macros: Any) -> None:
    grid = np.linspace(-40, 140, 3601)
    assert in_sql(macros.mos_of_rating("r"), r=grid) == pytest.approx(voice.mos_of_rating(grid), abs=1e-12)


def test_pesq(macros: Any) -> None:
    grid = np.linspace(-0.5, 4.5, 1001)
    mos = voice.mos_lqo_of_pesq(grid)
    assert in_sql(macros.rating_of_pesq("p"), p=grid) == pytest.approx(voice.rating_of_pesq(grid), abs=1e-9)
    assert in_sql(macros.mos_lqo_of_pesq("p"), p=grid) == pytest.approx(mos, abs=1e-12)
    assert in_sql(macros.pesq_of_mos_lqo("m"), m=mos) == pytest.approx(grid, abs=1e-9)
    refused = in_sql(macros.pesq_of_mos_lqo("m"), m=np.array([0.999, 4.999, 5.0]))
    assert np.ma.getmaskarray(refused).all()


def test_burst_ratio(macros: Any) -> None:
    grid = [
        (packets, missing, runs)
        for packets in (1, 7, 100)
        for missing in range(packets + 1)
        for runs in range(min(missing, 1), min(missing, packets - missing + 1) + 1)
    ]
    packets, missing, runs = np.array(grid).T
    of_sql = in_sql(macros.burst_ratio("packets", "missing", "runs"), packets=packets, missing=missing, runs=runs)
    assert of_sql == pytest.approx(np.array([playout.burst_ratio(*case) for case in grid]), abs=1e-12)


def test_page_load_times(macros: Any) -> None:
    grid = np.linspace(1, 20_000, 4001)
    for least in (web.ACCESS_LEAST_MS, web.BACKBONE_LEAST_MS):
        of_sql = in_sql(macros.mos_of_page_load_time("plt", str(least), "6000"), plt=grid)
        assert of_sql == pytest.approx(web.mos_of_page_load_time(grid, least), abs=1e-12)


def test_default_rating_is_the_same(macros: Any) -> None:
    assert in_sql(macros.default_rating(), x=[0]) == [voice.DEFAULT_RATING]


def test_classes_in_the_seed_are_those_of_python(repository: Path) -> None:
    classes = seed(repository, "qoe_class")

    def bounds(model: str) -> list[tuple[str, str]]:
        return [(row["quality_class"], row["lower_bound"]) for row in classes if row["qoe_model_id"] == model]

    assert [float(bound) for _, bound in bounds("ssim-to-mos")[:-1]] == list(video.SSIM_STEPS)
    assert [float(bound) for _, bound in bounds("psnr-to-mos")[:-1]] == list(video.PSNR_STEPS_DB)
    grades = bounds("bufferbloat-grade")
    assert [name for name, _ in grades] == [name for name, _ in delay.BUFFERBLOAT_GRADES] + ["F"]
    assert [float(bound) for _, bound in grades[1:]] == [below for _, below in delay.BUFFERBLOAT_GRADES]


def test_delay_classes_in_the_seed_are_those_of_python(repository: Path) -> None:
    with (repository / "models" / "seeds" / "delay_class.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    classes = tuple((row["delay_class"], float(row["at_most_ms"])) for row in rows if row["at_most_ms"])
    assert classes == delay.G114_CLASSES


def test_web_parameters_in_the_seed_are_those_of_python(repository: Path) -> None:
    parameters = {
        (row["qoe_model_id"], row["parameter"]): float(row["parameter_value"])
        for row in seed(repository, "qoe_model_parameter")
    }
    assert parameters["g1030-one-page-access", "least"] == web.ACCESS_LEAST_MS
    assert parameters["g1030-one-page-backbone", "least"] == web.BACKBONE_LEAST_MS
    assert {parameters[model, "worst"] for model, name in parameters if name == "worst"} == {web.WORST_MS}


def lightness(colour: str) -> float:
    """CIE L* of an sRGB colour."""
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_colours_of_classes_are_told_apart_by_lightness_alone(repository: Path) -> None:
    classes = seed(repository, "qoe_class")
    for model in {row["qoe_model_id"] for row in classes}:
        steps = [lightness(row["colour"]) for row in classes if row["qoe_model_id"] == model]
        assert all(brighter - darker >= 10 for brighter, darker in itertools.pairwise(steps)), (model, steps)


def test_ranks_of_the_interval_of_a_median_are_those_of_the_statistics(repository: Path) -> None:
    rows = seed(repository, "median_interval_rank")
    assert [int(row["runs"]) for row in rows] == list(range(6, 1001))
    assert quantile_ranks(5) is None
    for row in rows:
        ranks = quantile_ranks(int(row["runs"]), level=float(row["level_ratio"]))
        assert ranks is not None
        assert (int(row["lower_rank"]), int(row["upper_rank"])) == ranks[:2]


def test_beyond_the_table_ranks_are_at_most_one_wider() -> None:
    for runs in (1001, 1002, 5000, 12_345):
        ranks = quantile_ranks(runs)
        assert ranks is not None
        assert 0 <= ranks[0] - int(np.floor(runs / 2 - 0.98 * np.sqrt(runs))) <= 1


def test_no_seed_holds_an_apostrophe_which_spark_would_take_for_the_end_of_a_text(repository: Path) -> None:
    paths = list((repository / "models" / "seeds" / "quality").glob("*.csv"))
    assert paths
    for path in paths:
        assert "'" not in path.read_text(encoding="utf-8"), path.name
