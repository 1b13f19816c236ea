"""Which of several values is the least, as far as their intervals say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

OrderVerdict = Literal["best", "tied", "worse", "cannot tell", "none"]


@dataclass(frozen=True)
class Measured:
    """A value with the ends of its interval, None without one. Less is better."""

    value: float
    lower: float | None
    upper: float | None

    def is_below(self, other: Measured) -> bool:
        """Return whether the interval ends before another begins."""
        return self.upper is not None and other.lower is not None and self.upper < other.lower


def verdicts(values: Sequence[Measured]) -> list[OrderVerdict]:
    """Return of each value whether it is the least of all.

    best: its interval ends below all others. worse: another ends below it. tied: neither. cannot tell: it is not worse,
    but an interval is missing, its own or another. none: it is the only one.
    """
    uppers = [each.upper for each in values if each.upper is not None]
    lowers = sorted(each.lower for each in values if each.lower is not None)
    has_intervals = len(uppers) == len(lowers) == len(values)
    return (
        ["none"]
        if len(values) == 1
        else [_verdict(each, min(uppers, default=None), lowers, has_intervals) for each in values]
    )


def _verdict(each: Measured, least_upper: float | None, lowers: list[float], has_intervals: bool) -> OrderVerdict:
    # An interval contains its value, so that its own ends are not in the way.
    if each.lower is not None and least_upper is not None and least_upper < each.lower:
        return "worse"
    if each.upper is None or not has_intervals:
        return "cannot tell"
    return "best" if each.upper < lowers[1] else "tied"
