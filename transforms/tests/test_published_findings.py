"""Every finding that measurements determine is recomputed, by value and verdict, from values in the tables it reads.

Only connections are planted in the lake. ``tests/integration/test_published_findings_from_files.py`` starts from files.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from transforms.tests.planted_studies import Planted, planted_connections, planted_studies

from sojourn_ingest.lake import Lake
from sojourn_statistics.significance.rank_distributions import shift_rank
from sojourn_statistics.significance.two_samples import hodges_lehmann
from sojourn_transforms.findings_report import report
from sojourn_transforms.models_in_memory import ModelsInMemory, UnknownModelError


def findings(repository: Path) -> list[dict[str, str]]:
    with (repository / "models" / "seeds" / "published_finding.csv").open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def planted(repository: Path) -> Planted:
    stated = {
        row["finding_id"]: float(row["stated_low"])
        for row in findings(repository)
        if row["stated_low"] and row["stated_low"] == row["stated_high"]
    }
    return planted_studies(stated)


def table_of(models: ModelsInMemory, mart: str) -> str:
    """Return the relation that has the rows of a mart: a mart with dimensions is a view over its measures."""
    try:
        return models.table(f"{mart}_measures")
    except UnknownModelError:
        return models.table(mart)


@pytest.fixture(scope="module")
def rows(
    planted: Planted, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, list[dict[str, Any]]]]:
    models = ModelsInMemory(repository / "models", Lake(tmp_path_factory.mktemp("lake")))
    connections, truths = planted_connections()
    planted.truths |= truths
    models.table("stg_lake__connection")
    arrow = pa.Table.from_pylist(connections)
    models.connection.register("planted", arrow)
    models.connection.execute("create or replace temp table empty as select * from lake.connection limit 0")
    models.connection.execute("drop view lake.connection")
    models.connection.execute("create table lake.connection as select * from empty")
    models.connection.execute("insert into lake.connection by name select * from planted")
    for mart, planted_rows in planted.marts.items():
        columns = {name for row in planted_rows for name in row}
        whole = [{name: row.get(name) for name in columns} for row in planted_rows]
        models.connection.register("planted", pa.Table.from_pylist(whole))
        models.connection.execute(f"insert into {table_of(models, mart)} by name select * from planted")
    by_finding: dict[str, list[dict[str, Any]]] = {}
    for row in models.rows("published_comparison"):
        by_finding.setdefault(row["finding_id"], []).append(row)
    yield by_finding
    models.close()


def test_planted_values_come_out_with_the_verdict_that_they_must_have(
    planted: Planted, rows: dict[str, list[dict[str, Any]]]
) -> None:
    several = {"imc14-30", "imc14-36", "imc14-f09"}
    for finding, (value, verdict) in planted.truths.items():
        answers = rows[finding]
        own = [row["own_value"] for row in answers]
        assert None not in own, (finding, answers)
        if finding in several:
            assert pytest.approx(value, rel=1e-9) in own, (finding, own)
        else:
            assert own == [pytest.approx(value, rel=1e-9)] * len(own), (finding, own)
        assert {row["is_inside_tolerance"] for row in answers} == {verdict}, (finding, answers)


def test_at_least_140_of_the_151_findings_of_the_list_are_answered_and_the_others_say_why_not(
    repository: Path, rows: dict[str, list[dict[str, Any]]], planted: Planted
) -> None:
    stated = {row["finding_id"]: row for row in findings(repository)}
    assert set(rows) == set(stated)
    answered = {finding for finding, groups in rows.items() if all(row["own_value"] is not None for row in groups)}
    judged = {finding for finding in answered if all(row["is_inside_tolerance"] is not None for row in rows[finding])}
    listed = {finding for finding in stated if not is_added(finding)}
    assert len(listed) == 151
    assert len(listed & judged & set(planted.truths)) >= 140
    for groups in rows.values():
        for row in groups:
            assert (row["own_value"] is None) == bool(row["not_answered_reason"]), row
    assert {finding for finding, row in stated.items() if row["not_answered_reason"]} == set(stated) - answered


def is_added(finding: str) -> bool:
    """Whether a finding is not of the shared list but from the studies' texts and figures."""
    study, _, number = finding.partition("-")
    if study == "imc14":
        return number.startswith(("f", "t1-bb")) or number.endswith(("sd", "flows"))
    return int(number) > {"pam21": 22, "vca21": 21, "tma23": 23}[study]


def test_cells_of_figures_are_groups_of_their_own(rows: dict[str, list[dict[str, Any]]]) -> None:
    voice = {(row["workload"], row["queue_limit_packets"]): row["own_value"] for row in rows["imc14-f07"]}
    assert voice["long-many", 256] == pytest.approx(1.1)
    assert voice["long-few", 256] == pytest.approx(1.3)
    pages = {(row["workload"], row["queue_limit_packets"]): row["own_value"] for row in rows["imc14-f10"]}
    assert pages["long-few", 8] == pytest.approx(1.3)
    assert pages["long-few", 256] == pytest.approx(20)


def test_excluded_runs_are_counted_and_have_no_part_in_a_figure(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = rows["pam21-01"]
    assert (row["runs"], row["excluded_runs"], row["units"], row["population"]) == (3, 1, 3, "run")
    (row,) = rows["imc14-10"]
    assert (row["runs"], row["population"]) == (0, "host")


def test_the_interval_of_a_ratio_is_that_of_the_statistics(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = rows["pam21-21"]
    values = np.log([0.5 * (100 + number) for number in range(6)])
    expected = hodges_lehmann(values, np.log([100.0 + number for number in range(6)]))
    assert expected.interval is not None
    bounds = (row["own_value"], row["own_lower"], row["own_upper"])
    assert bounds == pytest.approx(tuple(np.exp([expected.value, expected.interval.lower, expected.interval.upper])))


def test_ranks_of_the_interval_of_a_ratio_are_those_of_the_statistics(repository: Path) -> None:
    path = repository / "models" / "seeds" / "quality" / "shift_interval_rank.csv"
    with path.open(encoding="utf-8") as handle:
        ranks = {(int(r["smaller_n"]), int(r["larger_n"])): int(r["lower_rank"]) for r in csv.DictReader(handle)}
    for larger in range(1, 31):
        for smaller in range(1, larger + 1):
            exact = shift_rank(smaller, larger, 0.95)
            assert ranks.get((smaller, larger)) == (None if exact is None else exact[0])
    assert float(stats.norm.isf(0.025)) == pytest.approx(1.959963984540054)


@pytest.mark.integration
def test_the_committed_table_of_findings_is_what_the_bundled_runs_give(repository: Path, tmp_path: Path) -> None:
    sojourn = Path(sys.executable).parent / "sojourn"
    sample = repository / "ingest" / "sample" / "tma23"
    subprocess.run([sojourn, "ingest", sample, "--var", tmp_path], check=True, capture_output=True)
    committed = (repository / "docs" / "published-findings.md").read_text(encoding="utf-8")
    made = report(repository / "models", tmp_path / "lake", repository / "testbed" / "results")
    assert made == committed, "run make validation"
