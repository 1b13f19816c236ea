"""Seeds that were written with a library still say what the library says."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from scipy import stats


def test_quantiles_of_students_t_are_those_of_scipy(repository: Path) -> None:
    with (repository / "models" / "seeds" / "student_t_quantile.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [int(row["degrees_of_freedom"]) for row in rows] == list(range(1, 201))
    for row in rows:
        level = float(row["level_ratio"])
        expected = stats.t.ppf((1 + level) / 2, int(row["degrees_of_freedom"]))
        assert float(row["quantile"]) == pytest.approx(expected, abs=1e-9)


def test_delay_classes_leave_no_delay_without_a_class(repository: Path) -> None:
    with (repository / "models" / "seeds" / "delay_class.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["at_most_ms"] for row in rows[:-1]] == [row["above_ms"] for row in rows[1:]] == ["150", "400"]
    assert rows[0]["above_ms"] == rows[-1]["at_most_ms"] == ""
