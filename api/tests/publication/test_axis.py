"""The axis of a publication's figures has round numbers that hold every value."""

from __future__ import annotations

import pytest

from sojourn_api.publication.page import axis_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 446.8, [0, 100, 200, 300, 400, 500]),
        (-0.229, 0.136, [-0.3, -0.2, -0.1, 0, 0.1, 0.2]),
        (1.0, 4.41, [1, 2, 3, 4, 5]),
        (0.0, 0.0, [0, 0.2]),
        (0.0, 1e9, [0, 2e8, 4e8, 6e8, 8e8, 1e9]),
    ],
)
def test_ticks_are_round_and_hold_the_values(low: float, high: float, ticks: list[float]) -> None:
    assert axis_ticks(low, high) == pytest.approx(ticks)


def test_any_span_has_few_ticks() -> None:
    for number in range(1, 2000):
        high = number**3 / 777
        ticks = axis_ticks(0.0, high)
        assert ticks[0] <= 0
        assert ticks[-1] >= high
        assert 2 <= len(ticks) <= 7
