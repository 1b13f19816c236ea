"""How the ends of a chart's time range are spelled."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from sojourn_superset.time_literals import time_literal


@pytest.mark.parametrize(
    ("moment", "pattern", "literal"),
    [
        ("2026-01-02T00:00:00", None, "'2026-01-02'"),
        ("2026-01-02T12:00:00", None, "'2026-01-02 12:00:00'"),
        ("2026-01-02T00:00:00", "%Y%m%d", "'20260102'"),
        ("2026-01-02T12:00:00", "%Y%m%d", "'20260103'"),
        ("2026-01-31T12:00:00", "%Y-%m", "'2026-02'"),
        ("2026-01-02T00:00:00", "%Y-%m", "'2026-02'"),
        ("2026-02-01T00:00:00", "%Y-%m", "'2026-02'"),
        ("2028-01-01T12:00:00", "%Y", "'2029'"),
        ("2026-01-02T12:30:00", "%Y-%m-%dT%H", "'2026-01-02T13'"),
        ("2026-01-02T12:30:00", "%Y-%m-%dT%H:%M:%S.%f", "'2026-01-02T12:30:00.000000'"),
        ("2026-01-02T12:30:00", "%Y-%m-%d o'clock", "'2026-01-03 o''clock'"),
        ("2026-01-02T12:00:00", "epoch_s", "1767355200"),
        ("2026-01-02T12:00:00", "epoch_ms", "1767355200000"),
        ("2026-01-02T12:00:00.000001", "epoch_ms", "1767355200001"),
        ("2026-01-02T12:00:00.5", "epoch_s", "1767355201"),
        ("1969-12-31T23:59:59.5", "epoch_s", "0"),
    ],
)
def test_a_time_is_spelled_as_the_column_spells_it(
    moment: str, pattern: str | None, literal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert time_literal(datetime.fromisoformat(moment), pattern) == literal
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_number_is_compared_with_a_number() -> None:
    assert time_literal(datetime(2026, 1, 2), "%Y%m%d", is_number=True) == "20260102"
    assert time_literal(datetime(2026, 1, 2), "%Y-%m-%d", is_number=True) == "'2026-01-02'"
