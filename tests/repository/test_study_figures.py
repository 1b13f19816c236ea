"""Notebooks draw the studies' figures under their numbers, and every correction of a figure has its test."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import matplotlib
import matplotlib.pyplot as plt
import pytest

from sojourn_transforms.deviations import DEVIATIONS, deviations_section

ROOT = Path(__file__).resolve().parents[2]


def code_that_shows(notebook: str, figure: str) -> str:
    """Return the one cell of a notebook that shows a figure."""
    cells = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    found = ["".join(cell["source"]) for cell in cells if f'"{figure}"' in "".join(cell["source"])]
    assert len(found) == 1, (notebook, figure)
    return found[0]


def figures_module() -> ModuleType:
    specification = importlib.util.spec_from_file_location("study_figures", ROOT / "notebooks" / "figures.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_tma23_figure_5_is_queuing_delay_at_2_bdp() -> None:
    code = code_that_shows("tma23-instant-messengers", "tma23-figure-05")
    assert "queuing_delay_mean_ms" in code
    assert re.search(r"queue_size_bdp=2\b", code)
    assert "harm" not in code
    assert "queue_size_bdp=10" in code_that_shows("tma23-instant-messengers", "tma23-harm-10-bdp")


def test_tma23_figure_2_has_the_rtt_axis() -> None:
    code = code_that_shows("tma23-instant-messengers", "tma23-figure-02")
    assert "rtt_ms=50" not in code
    assert "for rtt in rtts" in code
    assert "runs_and_boxes(" in code


def test_imc21_figures_have_the_application_as_incumbent() -> None:
    for figure in ("imc21-link-share", "imc21-bitrates"):
        code = code_that_shows("imc21-competition", figure)
        assert 'start_order == "app_first"' in code
        assert "tcp_first" not in code


def test_pam21_figure_2_is_the_send_rate_of_one_flow_alone() -> None:
    code = code_that_shows("pam21-zoom-form", "pam21-figure-02")
    assert 'rate_basis="capture_before"' in code
    assert 'start_order="solo"' in code
    assert "link_rate_bps" in code
    assert "bandwidth_programme" in code


def test_every_run_is_drawn_over_its_box() -> None:
    matplotlib.use("Agg")
    figures = figures_module()
    figure, axes = plt.subplots()
    values = [0.38] * 6 + [0.5] * 7
    figures.runs_and_boxes(axes, {"whatsapp": values, "none": [], "one": [1.0]})
    drawn = sorted(float(y) for line in axes.lines if line.get_marker() == "o" for y in line.get_ydata())
    plt.close(figure)
    assert drawn == [*values, 1.0]


def test_imc14_figure_4_has_buffers_ascending_workloads_from_the_bottom_and_colours_of_the_queuing_delay() -> None:
    matplotlib.use("Agg")
    figures = figures_module()
    rows = [
        {"queue_limit_packets": size, "workload": workload, "mean_ms": mean, "queuing_delay_class": name, "runs": 3}
        for size, workload, mean, name in (
            (256, "long-many", 2800.0, "bad"),
            (8, "noBG", 0.4, "acceptable"),
            (64, "noBG", 160.2, "problematic"),
        )
    ]
    _, axes = plt.subplots()
    figures.delay_heat_map(axes, rows, ["noBG", "long-many"])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "64", "256"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["noBG", "long-many"]
    assert {(text.get_text(), text.get_position()) for text in axes.texts} == {
        ("2800", (2, 1)), ("0", (0, 0)), ("160", (1, 0)),
    }  # fmt: skip
    colours = {matplotlib.colors.to_hex(patch.get_facecolor()) for patch in axes.patches}
    assert colours == set(figures.DELAY_COLOURS.values())
    assert "n = 9 runs" in axes.get_title(loc="left")
    with pytest.raises(ValueError, match="filter by role"):
        figures.delay_heat_map(axes, [*rows, rows[0]], ["noBG", "long-many"])
    plt.close("all")


def test_imc14_figure_5_has_a_box_of_seconds_for_each_buffer_and_says_how_many_runs() -> None:
    matplotlib.use("Agg")
    figures = figures_module()
    rows = [
        {"queue_limit_packets": size, "run_id": run, "utilisation_ratio": value, "exclusion_reason": reason}
        for size, run, value, reason in (
            (64, "a", 0.5, None), (64, "a", 0.7, None), (64, "b", 0.9, None), (8, "c", 0.1, None),
            (8, "d", 0.9, "broke"), (None, "e", 0.9, None), (8, "c", None, None),
        )
    ]  # fmt: skip
    _, axes = plt.subplots()
    figures.utilisation_boxes(axes, rows)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8\n1 runs\n1 s", "64\n2 runs\n3 s"]
    medians = sorted(float(line.get_ydata()[0]) for line in axes.lines if len(set(line.get_ydata())) == 1)
    assert 70.0 in [round(value, 6) for value in medians]
    plt.close("all")


def test_references_are_those_of_the_list_and_a_commented_table_is_not_a_result(shared: Path) -> None:
    with (shared / "published" / "findings.csv").open(encoding="utf-8") as handle:
        listed = {row["finding_id"]: row["reference"] for row in csv.DictReader(handle)}
    with (ROOT / "models" / "seeds" / "published_finding.csv").open(encoding="utf-8") as handle:
        seeded = {row["finding_id"]: row for row in csv.DictReader(handle)}
    assert {name: row["reference"] for name, row in seeded.items()} == listed
    commented = [row for row in seeded.values() if "commented out" in row["reference"]]
    assert len(commented) == 18
    for row in commented:
        assert "not a published result" in row["reading"]


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
    for one in DEVIATIONS:
        assert one.tests, one.number
        assert set(one.tests) <= names_of_tests, (one.number, set(one.tests) - names_of_tests)
    document = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert "\n".join(deviations_section()) in document, "run make validation"
