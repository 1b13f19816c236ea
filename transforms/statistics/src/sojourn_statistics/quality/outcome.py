"""Quality of outcome in the wild: scores over distributions of throughput, latency and loss.

References
----------
.. [1] Measurement Lab, "Internet Quality Barometer (IQB)", version 1 of its reference calculator.
.. [2] Quality of Outcome, draft-ietf-ippm-qoo.
.. [3] Responsiveness under working conditions, draft-ietf-ippm-responsiveness.
.. [4] Cloudflare, "Aggregated Internet Measurement (AIM)" scores, as its speed test engine computes them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Better(StrEnum):
    """Which way a quantity is better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Requirement:
    """What one use case requires of one quantity, and how much that counts.

    Attributes
    ----------
    use_case, use_case_weight
        Use case, and its weight in the score.
    quantity, weight
        Quantity, such as ``latency_ms``, and the weight of the requirement in its use case.
    better
        Which way the quantity is better.
    threshold
        Value that must be passed, strictly.
    """

    use_case: str
    use_case_weight: float
    quantity: str
    weight: float
    better: Better
    threshold: float

    def is_met(self, value: float) -> bool:
        """Return whether a value is strictly better than the threshold."""
        return value > self.threshold if self.better is Better.HIGHER else value < self.threshold


@dataclass(frozen=True)
class OutcomeScore:
    """A score with its parts.

    Attributes
    ----------
    score
        0 to 1.
    by_use_case
        Score of each use case, 0 to 1.
    unmet
        Requirements that are not met, the most costly first.
    """

    score: float
    by_use_case: Mapping[str, float]
    unmet: Sequence[Requirement]


def iqb(values: Mapping[str, float], requirements: Iterable[Requirement]) -> OutcomeScore:
    """Score a distribution by the Internet Quality Barometer [1]_.

    Parameters
    ----------
    values
        One percentile of each quantity: throughputs in Mbit/s, latency in ms, loss as a ratio. The barometer takes
        the same percentile of each, M-Lab's turned round for latency and loss: p95 is the good end of all of them.
    requirements
        What each use case requires.

    Returns
    -------
    OutcomeScore
        Weighted mean over use cases of the weighted mean over their requirements of 1 (met) and 0 (not).

    Raises
    ------
    KeyError
        A quantity that is required has no value.
    ValueError
        There is no requirement.
    """
    wanted = list(requirements)
    if not wanted:
        raise ValueError("a score needs at least one requirement")
    cases = list(dict.fromkeys(requirement.use_case for requirement in wanted))
    weights = {requirement.use_case: requirement.use_case_weight for requirement in wanted}
    by_use_case = {}
    costs: list[tuple[float, Requirement]] = []
    whole = sum(weights.values())
    for case in cases:
        of_case = [requirement for requirement in wanted if requirement.use_case == case]
        total = sum(requirement.weight for requirement in of_case)
        met = [requirement for requirement in of_case if requirement.is_met(values[requirement.quantity])]
        by_use_case[case] = sum(requirement.weight for requirement in met) / total
        costs += [
            (weights[case] / whole * requirement.weight / total, requirement)
            for requirement in of_case
            if requirement not in met
        ]
    score = sum(weights[case] * by_use_case[case] for case in cases) / whole
    costs.sort(key=lambda cost: -cost[0])
    return OutcomeScore(score, by_use_case, [requirement for _, requirement in costs])


@dataclass(frozen=True)
class OutcomeBounds:
    """What an application needs of one quantity to be perfect, and at what it is useless.

    Attributes
    ----------
    quantity
        Name of the quantity, such as ``latency_p99_ms`` or ``loss_ratio``: less is better.
    perfect, useless
        Values at which the score is 100 and 0; ``perfect`` is the smaller.
    """

    quantity: str
    perfect: float
    useless: float

    def __post_init__(self) -> None:
        if not self.perfect < self.useless:
            raise ValueError(f"{self.quantity}: perfect is {self.perfect} and useless {self.useless}; expected less")


#: What a video call needs of the loaded RTT: ours, after ITU-T G.114.
VIDEO_CALL_LATENCY: Final = OutcomeBounds("latency_p99_ms", 150.0, 400.0)
#: What it needs of the loss: ours.
VIDEO_CALL_LOSS: Final = OutcomeBounds("loss_ratio", 0.001, 0.05)

#: Latencies in ms that the barometer requires to be passed, and what of its score each decides over all use cases.
IQB_LATENCY_SHARES: Final = (
    (100.0, (4 / 13 + 4 / 14 + 3 / 12 + 2 / 14) / 6),
    (50.0, 4 / 16 / 6),
    (10.0, 5 / 17 / 6),
)


def iqb_bounds_by_latency(latency_ms: float) -> tuple[float, float]:
    """Return the least and the greatest IQB score [1]_ that a latency allows, where nothing else is known.

    Parameters
    ----------
    latency_ms
        One percentile of the latency without load.

    Returns
    -------
    (float, float)
        The score if no requirement but those of latency is met, and if all others are; 0 to 1.
    """
    met = sum(share for threshold, share in IQB_LATENCY_SHARES if latency_ms < threshold)
    return round(met, 12), round(1 - sum(share for _, share in IQB_LATENCY_SHARES) + met, 12)


def quality_of_outcome(values: Mapping[str, float], bounds: Iterable[OutcomeBounds]) -> tuple[float, str]:
    """Score how near a network comes to what an application needs [2]_.

    Parameters
    ----------
    values
        Each quantity that the bounds are of, in their unit.
    bounds
        Requirements for perfection and for uselessness.

    Returns
    -------
    (float, str)
        The least over the bounds of 100 at or below perfect, 0 at or above useless and linear between; and the quantity
        that binds, the first of several.

    Raises
    ------
    KeyError
        A quantity has no value.
    ValueError
        There is no bound.
    """
    scores = [
        (
            100 * min(1.0, max(0.0, (bound.useless - values[bound.quantity]) / (bound.useless - bound.perfect))),
            bound.quantity,
        )
        for bound in bounds
    ]
    if not scores:
        raise ValueError("a score needs at least one bound")
    return min(scores, key=lambda score: score[0])


def responsiveness_rpm(loaded_rtt_ms: float) -> float:
    """Return round trips a minute under load [3]_: 60,000 / loaded RTT.

    Parameters
    ----------
    loaded_rtt_ms
        RTT under working conditions, in ms. Measured below the application it leaves its part out, so the result is an
        upper bound; the maximum of an RTT gives a lower one.

    Raises
    ------
    ValueError
        The RTT is not positive.
    """
    if not loaded_rtt_ms > 0:
        raise ValueError(f"the loaded RTT is {loaded_rtt_ms} ms; expected more than 0")
    return 60_000 / loaded_rtt_ms


#: Bounds and points of each quantity by AIM [4]_: below the first bound the first points, from it on the second.
AIM_POINTS: Final = {
    "latency_ms": ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20)),
    "added_delay_ms": ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20)),
    "jitter_ms": ((10, 20, 100, 500), (10, 5, 0, -10, -20)),
    "loss_ratio": ((0.01, 0.05, 0.25, 0.5), (10, 5, 0, -10, -20)),
    "download_bps": ((1e6, 1e7, 5e7, 1e8), (0, 5, 10, 20, 30)),
}
#: Quantities of each use case, and the fewest points of its classes great, good, average and poor.
AIM_USE_CASES: Final = {
    "aim-streaming": (("latency_ms", "loss_ratio", "download_bps", "added_delay_ms"), (60, 40, 20, 15)),
    "aim-gaming": (("latency_ms", "loss_ratio", "added_delay_ms"), (30, 25, 15, 5)),
    "aim-rtc": (("latency_ms", "jitter_ms", "loss_ratio", "added_delay_ms"), (40, 25, 15, 5)),
}
AIM_CLASSES: Final = ("great", "good", "average", "poor", "bad")


def aim(values: Mapping[str, float], use_case: str) -> tuple[int, str]:
    """Add up the points of AIM [4]_ for one use case.

    Parameters
    ----------
    values
        latency_ms without load, added_delay_ms (the greater of download and upload), jitter_ms, loss_ratio and
        download_bps, those of them that the use case needs.
    use_case
        aim-streaming, aim-gaming or aim-rtc.

    Returns
    -------
    (int, str)
        Points, at least 0, and the class: great, good, average, poor or bad.

    Raises
    ------
    KeyError
        The use case is unknown, or a quantity has no value.
    ValueError
        A value is not a number.
    """
    quantities, _ = AIM_USE_CASES[use_case]
    points = 0
    for quantity in quantities:
        bounds, points_of_bounds = AIM_POINTS[quantity]
        value = values[quantity]
        if value != value:
            raise ValueError(f"{quantity} is not a number; leave out what was not measured")
        points += points_of_bounds[bisect_right(bounds, value)]
    points = max(0, points)
    return points, aim_class(points, use_case)


def aim_class(points: float, use_case: str) -> str:
    """Return the class of points of AIM [4]_, or of a median of them: great, good, average, poor or bad.

    Raises
    ------
    KeyError
        The use case is unknown.
    """
    _, fewest = AIM_USE_CASES[use_case]
    place = next((place for place, least in enumerate(fewest) if points >= least), len(fewest))
    return AIM_CLASSES[place]
