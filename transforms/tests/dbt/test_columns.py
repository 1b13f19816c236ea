"""A column that several marts share is declared once, and dbt gets that declaration in each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn_transforms.dbt.columns import (
    DICTIONARY,
    EXPOSURES,
    GENERATED,
    ColumnError,
    declaration_files,
    read_dictionary,
)
from sojourn_transforms.dbt.generated import MARK, write_generated
from sojourn_transforms.dbt.staging import rendered_files
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
    "grain": "one role of one run",
    "key": ["study_id", "run_id", "role"],
    "group": "run",
    "columns": ["role", "mean_ms", {"name": "rate", "data_type": "double", "description": "Rate."}],
}
DELAY: dict[str, Any] = {
    "name": "run_delay",
    "description": "Delays.",
    "grain": "one role of one run",
    "key": ["study_id", "run_id", "role"],
    "group": "run",
    "data_tests": [{"unique_key": {"arguments": {"columns": ["study_id", "run_id", "role"], "is_long": True}}}],
    "columns": [{"name": "role", "variant": "any"}, {"name": "mean_ms", "description": "Mean of the role."}],
}


def write(folder: Path, marts: list[dict[str, Any]], shared: dict[str, Any] = SHARED) -> Path:
    """Write a project of these marts, one file each, and return its folder."""
    (folder / DICTIONARY).write_text(yaml.safe_dump(shared, sort_keys=False), encoding="utf-8")
    for mart in marts:
        path = folder / "marts" / mart["name"] / f"_{mart['name']}__marts.yml"
        path.parent.mkdir(parents=True)
        path.write_text(yaml.safe_dump({"marts": [mart]}, sort_keys=False), encoding="utf-8")
    exposures = {"version": 2, "exposures": [{"name": "dashboards"}]}
    (folder / EXPOSURES).write_text(yaml.safe_dump(exposures, sort_keys=False), encoding="utf-8")
    return folder


def model_of(project: Path, mart: str) -> dict[str, Any]:
    """Return what dbt reads of a mart, with its columns by name in their order."""
    file = project / GENERATED / "models" / f"_{mart}__models.yml"
    (model,) = yaml.safe_load(file.read_text(encoding="utf-8"))["models"]
    return {**model, "columns": {column["name"]: column for column in model["columns"]}}


def test_statistics_give_a_shared_column_the_unit_of_the_dictionary(project: Path) -> None:
    shared = read_dictionary(project).columns
    for mart in STATISTICS_MARTS:
        for column in mart.columns:
            if column.name in shared:
                assert (column.unit or None) == shared[column.name].get("unit"), (mart.name, column.name)


def test_every_yaml_file_of_models_is_read(project: Path) -> None:
    stems = {path.parent for path in (project / "marts").rglob("*.sql")}
    assert {path.parent for path in declaration_files(project)} == stems


def test_shared_columns_are_filled_in_and_groups_follow_the_key(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    assert len(write_generated(project)) == 4 + len(rendered_files())
    assert all(MARK in path.open(encoding="utf-8").readline() for path in (project / GENERATED).rglob("*.*"))
    models = {name: model_of(project, name) for name in ("run_rate", "run_delay")}
    rate, delay = (model["columns"] for model in models.values())
    assert list(rate) == ["study_id", "run_id", "role", "aqm", "mean_ms", "rate"]
    assert rate["role"] == {"name": "role"} | {k: v for k, v in SHARED["columns"]["role"].items() if k != "variants"}
    assert rate["mean_ms"]["config"] == delay["mean_ms"]["config"] == {"meta": {"unit": "ms"}}
    assert delay["role"]["description"] == "App, tcp or all."
    assert delay["role"]["data_tests"] == SHARED["columns"]["role"]["data_tests"]
    assert delay["mean_ms"]["description"] == "Mean of the role."
    assert "ref('run_delay')" in (project / GENERATED / "models" / EXPOSURES.name).read_text(encoding="utf-8")
    assert write_generated(project) == []


def test_a_contract_and_the_test_of_the_key_follow_from_a_mart(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    write_generated(project)
    rate, delay = model_of(project, "run_rate"), model_of(project, "run_delay")
    assert rate["config"] == {
        "contract": {"enforced": True},
        "meta": {key: RATE[key] for key in ("grain", "key", "group")},
    }
    assert rate["data_tests"] == [{"unique_key": {"arguments": {"columns": RATE["key"]}}}]
    assert delay["data_tests"] == DELAY["data_tests"]


def test_a_change_of_the_dictionary_reaches_every_mart_that_states_nothing_else(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY])
    write_generated(project)
    text = (project / DICTIONARY).read_text(encoding="utf-8")
    changed = text.replace("Mean queuing delay.", "Mean sojourn time.").replace("Run.", "Name of the run.")
    (project / DICTIONARY).write_text(changed, encoding="utf-8")
    assert len(write_generated(project)) == 2
    assert model_of(project, "run_rate")["columns"]["mean_ms"]["description"] == "Mean sojourn time."
    assert model_of(project, "run_delay")["columns"]["mean_ms"]["description"] == "Mean of the role."
    assert model_of(project, "run_delay")["columns"]["run_id"]["description"] == "Name of the run."


def test_a_mart_that_is_gone_leaves_no_file(tmp_path: Path) -> None:
    project = write(tmp_path, [RATE, DELAY, {**RATE, "name": "run_other", "columns": ["role", "mean_ms"]}])
    write_generated(project)
    (project / "marts" / "run_other" / "_run_other__marts.yml").unlink()
    assert GENERATED / "models" / "_run_other__models.yml" in write_generated(project)
    assert not (project / GENERATED / "models" / "_run_other__models.yml").exists()


def without(*names: str) -> dict[str, Any]:
    """Return the dictionary without some columns."""
    return {**SHARED, "columns": {name: entry for name, entry in SHARED["columns"].items() if name not in names}}


def with_column(mart: dict[str, Any], column: dict[str, Any]) -> dict[str, Any]:
    """Return a mart with one column more, or another one of its name."""
    kept = [
        each for each in mart["columns"] if column["name"] not in (each, each["name"] if isinstance(each, dict) else "")
    ]
    return {**mart, "columns": [*kept, column]}


@pytest.mark.parametrize(
    ("marts", "shared", "message"),
    [
        (
            [with_column(RATE, {"name": "n", "data_type": "int", "description": "N."}),
             with_column(DELAY, {"name": "n", "data_type": "int", "description": "Other."})],
            SHARED, "n is a column of run_delay, run_rate; declare it in columns.yml",
        ),
        ([RATE, with_column(DELAY, {"name": "n"})], SHARED, "data_type and description missing, and it is not in"),
        ([with_column(RATE, {"name": "role", "variant": "some"})], SHARED, "no variant 'some'"),
        ([RATE], SHARED, "declares the variants"),
        ([RATE, DELAY], {**SHARED, "columns": {**SHARED["columns"], "x": {"data_type": "int", "description": "X."}}},
         "declares x, which no mart has"),
        (
            [RATE, with_column(DELAY, {"name": "mean_ms", "description": "Mean queuing delay."})],
            SHARED, "description as in columns.yml; leave it out",
        ),
        (
            [RATE, with_column(DELAY, {"name": "n", "data_type": "int", "description": "N.", "variant": "any"})],
            SHARED, "columns.yml does not declare it",
        ),
        (
            [RATE, DELAY], {**SHARED, "columns": {**SHARED["columns"], "aqm": {"data_type": "string"}}},
            "needs data_type and",
        ),
        (
            [RATE, {**DELAY, "group": "runs"}], SHARED, "no group 'runs'",
        ),
        ([RATE, {**DELAY, "columns": [*DELAY["columns"], "mean_ms"]}], SHARED, "declared twice"),
        ([RATE, {**DELAY, "grains": "one run"}], SHARED, "run_delay has grains"),
        ([RATE, with_column(DELAY, {"name": "mean_ms", "units": "ms"})], SHARED, "run_delay.mean_ms has units"),
        ([RATE, DELAY], without("aqm"), "run_delay.aqm: data_type and description missing"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_and_nothing_is_written(
    tmp_path: Path, marts: list[dict[str, Any]], shared: dict[str, Any], message: str
) -> None:
    project = write(tmp_path, marts, shared)
    before = {path: path.read_bytes() for path in project.rglob("*.yml")}
    with pytest.raises(ColumnError) as refused:
        write_generated(project)
    assert message in str(refused.value)
    assert {path: path.read_bytes() for path in project.rglob("*.yml")} == before
