"""A column that several marts share is declared once, and the committed YAML is what that declaration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn_transforms.dbt.columns import (
    DICTIONARY,
    EXPOSURES,
    ColumnError,
    expand,
    expanded_files,
    mart_files,
    read_dictionary,
)
from sojourn_transforms.statistics_marts import STATISTICS_MARTS

SHARED: dict[str, Any] = {
    "groups": {"run": ["study_id", "run_id", "aqm"]},
    "columns": {
        "study_id": {"data_type": "string", "description": "Study."},
        "run_id": {"data_type": "string", "description": "Run."},
        "aqm": {"data_type": "string", "description": "Queue discipline."},
        "role": {
            "data_type": "string",
            "description": "App or tcp.",
            "data_tests": [{"accepted_values": {"arguments": {"values": ["app", "tcp"]}}}],
            "variants": {"any": {"description": "App, tcp or all."}},
        },
        "mean_ms": {"data_type": "double", "description": "Mean queuing delay.", "unit": "ms"},
    },
}
RATE: dict[str, Any] = {
    "name": "run_rate",
    "description": "Rates.",
    "config": {"meta": {"grain": "one role of one run", "key": ["study_id", "run_id", "role"], "group": "run"}},
    "columns": [{"name": "role"}, {"name": "mean_ms"}, {"name": "rate", "data_type": "double", "description": "Rate."}],
}
DELAY: dict[str, Any] = {
    "name": "run_delay",
    "description": "Delays.",
    "config": {"meta": {"grain": "one role of one run", "key": ["study_id", "run_id", "role"], "group": "run"}},
    "columns": [
        {"name": "role", "config": {"meta": {"variant": "any"}}},
        {"name": "mean_ms", "description": "Mean of the role.", "config": {"meta": {"overrides": ["description"]}}},
    ],
}


def write(folder: Path, marts: list[dict[str, Any]], shared: dict[str, Any] = SHARED) -> Path:
    """Write a project of these marts, one file each, and return its folder."""
    (folder / DICTIONARY).write_text(yaml.safe_dump(shared, sort_keys=False), encoding="utf-8")
    for mart in marts:
        path = folder / "marts" / mart["name"] / f"_{mart['name']}__models.yml"
        path.parent.mkdir(parents=True)
        path.write_text(yaml.safe_dump({"version": 2, "models": [mart]}, sort_keys=False), encoding="utf-8")
    exposures = {"version": 2, "exposures": [{"name": "dashboards", "depends_on": []}]}
    (folder / EXPOSURES).write_text(yaml.safe_dump(exposures, sort_keys=False), encoding="utf-8")
    return folder


def columns_of(project: Path, mart: str) -> dict[str, dict[str, Any]]:
    """Return the columns that a mart's file declares, by name in their order."""
    content = yaml.safe_load((project / "marts" / mart / f"_{mart}__models.yml").read_text(encoding="utf-8"))
    return {column["name"]: column for column in content["models"][0]["columns"]}


def test_committed_yaml_is_what_the_dictionary_says(project: Path) -> None:
    for relative, text in expanded_files(project).items():
        assert (project / relative).read_text(encoding="utf-8") == text, f"{relative}: run make docs"


def test_statistics_give_a_shared_column_the_unit_of_the_dictionary(project: Path) -> None:
    shared = read_dictionary(project).columns
    for mart in STATISTICS_MARTS:
        for column in mart.columns:
            if column.name in shared:
                assert (column.unit or None) == shared[column.name].get("unit"), (mart.name, column.name)


def test_every_yaml_file_of_models_is_read(project: Path) -> None:
    stems = {path.parent for path in (project / "marts").rglob("*.sql")}
    assert {path.parent for path in mart_files(project)} == stems


def test_shared_columns_are_filled_in_and_groups_follow_the_key(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    assert len(expand(project)) == 4
    rate, delay = columns_of(project, "run_rate"), columns_of(project, "run_delay")
    assert list(rate) == ["study_id", "run_id", "role", "aqm", "mean_ms", "rate"]
    assert rate["role"] == {"name": "role"} | {k: v for k, v in SHARED["columns"]["role"].items() if k != "variants"}
    assert rate["mean_ms"]["config"] == {"meta": {"unit": "ms"}}
    assert delay["role"]["description"] == "App, tcp or all."
    assert delay["role"]["data_tests"] == SHARED["columns"]["role"]["data_tests"]
    assert delay["mean_ms"]["description"] == "Mean of the role."
    assert delay["mean_ms"]["config"]["meta"] == {"unit": "ms", "overrides": ["description"]}
    assert "ref('run_delay')" in (project / EXPOSURES).read_text(encoding="utf-8")
    assert expand(project) == []


def test_a_change_of_the_dictionary_reaches_every_mart_that_does_not_override_it(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    expand(project)
    text = (project / DICTIONARY).read_text(encoding="utf-8")
    changed = text.replace("Mean queuing delay.", "Mean sojourn time.").replace("Run.", "Name of the run.")
    (project / DICTIONARY).write_text(changed, encoding="utf-8")
    assert len(expand(project)) == 2
    assert columns_of(project, "run_rate")["mean_ms"]["description"] == "Mean sojourn time."
    assert columns_of(project, "run_delay")["mean_ms"]["description"] == "Mean of the role."
    assert columns_of(project, "run_delay")["run_id"]["description"] == "Name of the run."


def without(*names: str) -> dict[str, Any]:
    """Return the dictionary without some columns."""
    return {**SHARED, "columns": {name: entry for name, entry in SHARED["columns"].items() if name not in names}}


def with_column(mart: dict[str, Any], column: dict[str, Any]) -> dict[str, Any]:
    """Return a mart with one column more, or another one of its name."""
    kept = [known for known in mart["columns"] if known["name"] != column["name"]]
    return {**mart, "columns": [*kept, column]}


@pytest.mark.parametrize(
    ("marts", "shared", "message"),
    [
        (
            [with_column(RATE, {"name": "n", "data_type": "int", "description": "N."}),
             with_column(DELAY, {"name": "n", "data_type": "int", "description": "Other."})],
            SHARED, "n is a column of run_delay, run_rate; declare it in columns.yml",
        ),
        ([RATE, with_column(DELAY, {"name": "n"})], SHARED, "data_type and description missing"),
        ([with_column(RATE, {"name": "role", "config": {"meta": {"variant": "some"}}})], SHARED, "no variant 'some'"),
        ([RATE], SHARED, "declares the variants"),
        ([RATE, DELAY], {**SHARED, "columns": {**SHARED["columns"], "x": {"data_type": "int", "description": "X."}}},
         "declares x, which no mart has"),
        (
            [RATE, with_column(DELAY, {"name": "mean_ms", "description": "Mean queuing delay.",
                                       "config": {"meta": {"overrides": ["description"]}}})],
            SHARED, "overrides description, but states the same",
        ),
        (
            [RATE, with_column(DELAY, {"name": "n", "data_type": "int", "description": "N.",
                                       "config": {"meta": {"overrides": ["description"]}}})],
            SHARED, "columns.yml does not declare it",
        ),
        (
            [RATE, DELAY], {**SHARED, "columns": {**SHARED["columns"], "aqm": {"data_type": "string"}}},
            "needs data_type and",
        ),
        (
            [RATE, {**DELAY, "config": {"meta": {**DELAY["config"]["meta"], "group": "runs"}}}], SHARED,
            "no group 'runs'",
        ),
        ([RATE, {**DELAY, "columns": [*DELAY["columns"], {"name": "mean_ms"}]}], SHARED, "declared twice"),
        ([RATE, DELAY], without("aqm"), "run_delay.aqm: data_type and description missing"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_and_nothing_is_written(
    tmp_path: Path, marts: list[dict[str, Any]], shared: dict[str, Any], message: str
) -> None:
    project = write(tmp_path, marts, shared)
    before = {path: path.read_bytes() for path in project.rglob("*.yml")}
    with pytest.raises(ColumnError) as refused:
        expand(project)
    assert message in str(refused.value)
    assert {path: path.read_bytes() for path in project.rglob("*.yml")} == before


def test_a_comment_that_would_be_lost_is_refused(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    expand(project)
    path = mart_files(project)[0]
    path.write_text(path.read_text(encoding="utf-8") + "# A thought.\n", encoding="utf-8")
    with pytest.raises(ColumnError, match="A thought"):
        expand(project)
