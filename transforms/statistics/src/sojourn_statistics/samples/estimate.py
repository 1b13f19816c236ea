"""Results of estimators and tests: each names its method, its unit of replication and n, or says why it is missing."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.95
"""Level of confidence of every interval unless another is asked for."""

ONE_REPETITION = "one repetition: no interval"
"""Why a single value has an estimate without an interval."""


@dataclass(frozen=True)
class Interval:
    """A two-sided interval of confidence.

    `level` is the confidence asked for. `attained_level` is the exact one of an interval that is an exact,
    discrete one (at least `level`), else None: approximate methods aim at `level`.
    """

    lower: float
    upper: float
    level: float
    method: str
    attained_level: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A quantity estimated from n units of replication.

    `interval` is None exactly when `interval_null_reason` says why; `notes` are cautions for whoever reads
    the figure.
    """

    value: float
    estimator: str
    replication_unit: str
    n: tuple[int, ...]
    interval: Interval | None
    interval_null_reason: str | None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.interval is None) != (self.interval_null_reason is not None):
            raise ValueError(f"{self.estimator}: an interval, or the reason why there is none")


@dataclass(frozen=True)
class SignificanceTest:
    """A test of a null hypothesis; `p_value` is None exactly when `p_null_reason` says why."""

    test: str
    hypothesis: str
    replication_unit: str
    n: tuple[int, ...]
    statistic: float | None
    p_value: float | None
    p_null_reason: str | None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.p_value is None) != (self.p_null_reason is not None):
            raise ValueError(f"{self.test}: a p-value, or the reason why there is none")


def estimate(
    value: float,
    estimator: str,
    replication_unit: str,
    n: tuple[int, ...],
    interval: Interval | str,
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Return an estimate with its interval, or with the reason (a text) why there is none."""
    if isinstance(interval, str):
        return Estimate(float(value), estimator, replication_unit, n, None, interval, notes)
    return Estimate(float(value), estimator, replication_unit, n, interval, None, notes)


def refused_test(
    test: str, hypothesis: str, replication_unit: str, n: tuple[int, ...], reason: str
) -> SignificanceTest:
    """Return a test that was not made, with the reason."""
    return SignificanceTest(test, hypothesis, replication_unit, n, None, None, reason)
