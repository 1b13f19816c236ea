"""Which of two settings has the lower delay and the higher rate, as far as their runs say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sojourn_statistics.findings.finding import Finding, FindingNumber, Verdict
from sojourn_statistics.findings.wording import listed, megabits, milliseconds, words_of

DELAYS = {
    "queuing_delay_p95": "95th percentile of the queuing delay",
    "queuing_delay_mean": "mean queuing delay",
    "loaded_delay_median": "median under load",
    "load_delay_increase": "what load adds to the median",
    "delay_median": "median",
}
"""Metrics by which the delays of two settings are compared, the first that both have, and their words."""

RATES = ("load_rate", "rate")
"""Metrics by which the rates of two settings are compared, the first that both have."""

_ROLES = ("app", "probe", "all", "tcp", "rival")
"""Whose packets decide, the first that both have."""

ONE_RUN_EACH = "one run each"


@dataclass(frozen=True)
class Difference:
    """What two settings differ by in a metric, over runs of one kind: the second minus the first.

    ``kind`` says what ran, such as the test of a tool and its direction.
    ``unit`` is ms or bit/s where the metric is of :data:`DELAYS` or :data:`RATES`. ``shift`` is None where the runs
    cannot be compared. Without an interval, ``reason`` says why.
    """

    kind: str
    metric: str
    role: str | None
    basis: str | None
    unit: str | None
    first_n: int
    second_n: int
    first_median: float | None
    second_median: float | None
    shift: float | None
    lower: float | None
    upper: float | None
    reason: str | None


def settings_finding(first: str, second: str, differences: Iterable[Difference]) -> Finding:
    """Return which of two settings has the lower delay, and which the higher rate.

    One delay decides, and the rate of each direction: those with the most runs, and single round trips rather than
    smoothed ones. A setting is named without reserve only if the interval of the difference leaves out 0, and the
    medians are in the same order.
    """
    every = list(differences)
    comparable = [one for one in every if one.shift is not None]
    stated = [*_first(comparable, DELAYS)[:1], *_first(comparable, RATES)]
    words = _Words(first, second, has_kinds=len({one.kind for one in every}) > 1)
    with_interval = [one for one in stated if one.lower is not None]
    verdict: Verdict = "cannot tell"
    sentences = [words.with_interval(one) for one in with_interval]
    if with_interval:
        verdict = "best" if _is_clear(with_interval[0]) else "tied"
    without = [one for one in stated if one.lower is None]
    sentences += [
        words.without_interval([one for one in without if one.reason == reason])
        for reason in dict.fromkeys(one.reason for one in without)
    ]
    headline, detail = sentences[0] if sentences else ("Cannot tell:", _why_not(first, second, every))
    return Finding(
        question="settings",
        setting={},
        verdict=verdict,
        subject=words.better(with_interval[0]) if verdict == "best" else None,
        headline=headline,
        detail=" ".join((detail, *(f"{head} {rest}" for head, rest in sentences[1:]))),
        context="",
        sources=(),
        numbers=tuple(_number(one, first, second) for one in [*with_interval, *without]),
    )


def _first(differences: list[Difference], metrics: Iterable[str]) -> list[Difference]:
    """Return the differences in the first metric and role that there is, those with most runs first, one a basis."""
    for metric in metrics:
        of_metric = [one for one in differences if one.metric == metric]
        role = next((each for each in (*_ROLES, None) if any(one.role == each for one in of_metric)), None)
        chosen = sorted((one for one in of_metric if one.role == role), key=_rank)
        by_basis: dict[str | None, Difference] = {}
        for one in chosen:
            by_basis.setdefault(one.basis, one)
        if by_basis:
            return list(by_basis.values())
    return []


def _rank(one: Difference) -> tuple[object, ...]:
    basis = one.basis or ""
    return -min(one.first_n, one.second_n), "_srtt_" in basis, not basis.endswith("_samples"), basis


def _has_zero(one: Difference) -> bool:
    return one.lower is not None and one.upper is not None and one.lower <= 0 <= one.upper


def _gap(one: Difference) -> float:
    """Return the difference of the medians, which may have another sign than the shift of skewed values."""
    first, second = one.first_median or 0.0, one.second_median or 0.0
    return 0.0 if math.isclose(first, second, rel_tol=1e-9) else second - first


def _is_clear(one: Difference) -> bool:
    return not _has_zero(one) and _gap(one) * (one.shift or 0.0) > 0


@dataclass(frozen=True)
class _Words:
    """How differences of two settings are written; ``has_kinds`` says that a sentence needs to name its kind of run."""

    first: str
    second: str
    has_kinds: bool

    def better(self, one: Difference) -> str:
        """Return the setting with the lower delay or the higher rate."""
        return self.second if _is_second_better(one) else self.first

    def with_interval(self, one: Difference) -> tuple[str, str]:
        """Return the headline and the rest of the sentence of a difference with an interval."""
        noun = "delay" if one.metric in DELAYS else "rate"
        notes = "; ".join((*self._of(one), _runs(one)))
        lower, upper = one.lower or 0.0, one.upper or 0.0
        if lower == upper == 0 and not _gap(one):
            return f"The {noun} is the same with both", f"({_value(one, one.first_median)}; {notes})."
        if not _is_clear(one):
            first, second = _medians(one)
            against = "" if _has_zero(one) else "; the medians do not agree with the shift over runs"
            return (
                f"The {noun}s of {self.first} and {self.second} cannot be told apart:",
                f"{_named(one, first)} and {second}, a difference of "
                f"{_amount(one, one.shift)} [{_bare(one, lower)}, {_bare(one, upper)}] ({notes}{against}).",
            )
        low, high = sorted((abs(lower), abs(upper)))
        return (
            f"{self.better(one)} has the {_better_in(one)}:",
            f"{self._values(one, 'against {value} with {other}')}, a difference of "
            f"{_amount(one, abs(one.shift or 0.0))} [{_bare(one, low)}, {_bare(one, high)}] ({notes}).",
        )

    def without_interval(self, several: list[Difference]) -> tuple[str, str]:
        """Return the headline and the rest of the sentence of differences that lack an interval for one reason."""
        better: dict[str, list[str]] = {}
        for one in several:
            if _gap(one):
                notes = "; ".join((self._values(one, "{other} {value}"), *self._of(one)))
                better.setdefault(self.better(one), []).append(f"the {_better_in(one)} ({notes})")
        parts = [f"{name} has {listed(texts)}" for name, texts in better.items()]
        for one in several:
            if not _gap(one):
                notes = "; ".join((_value(one, one.first_median), *self._of(one)))
                parts.append(f"the {'delay' if one.metric in DELAYS else 'rate'} is the same with both ({notes})")
        return (
            f"Cannot tell; {'; '.join(parts)},",
            f"but there is no interval ({several[0].reason}): this may be chance.",
        )

    def _values(self, one: Difference, of_other: str) -> str:
        """Return the better value and the other, the better first."""
        better, worse = _medians(one)
        other = self.second
        if _is_second_better(one):
            better, worse, other = worse, better, self.first
        return f"{_named(one, better)}, {of_other.format(other=other, value=worse)}"

    def _of(self, one: Difference) -> list[str]:
        """Return notes on what a difference is of."""
        whose = "of the application" if one.role == "app" else ""
        return [note for note in (whose, words_of(one.basis or ""), one.kind if self.has_kinds else "") if note]


def _is_second_better(one: Difference) -> bool:
    return _gap(one) < 0 if one.metric in DELAYS else _gap(one) > 0


def _medians(one: Difference) -> tuple[str, str]:
    """Return both medians, with as many more digits as it takes to tell them apart."""
    first, second = one.first_median or 0.0, one.second_median or 0.0
    texts = _amount(one, first), _amount(one, second)
    if texts[0] == texts[1] and _gap(one):
        scale, unit = (1.0, "ms") if one.metric in DELAYS else (1e-6, "Mbit/s")
        digits = 1 - math.floor(math.log10(abs(_gap(one)) * scale))
        texts = f"{first * scale:,.{max(digits, 1)}f} {unit}", f"{second * scale:,.{max(digits, 1)}f} {unit}"
    return texts


def _named(one: Difference, amount: str) -> str:
    return f"{DELAYS[one.metric]} {amount}" if one.metric in DELAYS else amount


def _value(one: Difference, value: float | None) -> str:
    return _named(one, _amount(one, value))


def _better_in(one: Difference) -> str:
    return "lower delay" if one.metric in DELAYS else "higher rate"


def _amount(one: Difference, value: float | None) -> str:
    return milliseconds(value or 0.0) if one.metric in DELAYS else megabits(value or 0.0)


def _bare(one: Difference, value: float) -> str:
    """Return an end of an interval, whose unit is written before it."""
    return _amount(one, value).split(" ")[0]


def _runs(one: Difference) -> str:
    if one.first_n == one.second_n:
        return f"{one.first_n:,} runs each"
    return f"{one.first_n:,} and {one.second_n:,} runs"


def _why_not(first: str, second: str, differences: list[Difference]) -> str:
    of_first = {one.kind for one in differences if one.first_n}
    of_second = {one.kind for one in differences if one.second_n}
    if of_first and of_second and not of_first & of_second:
        return (
            f"{first} and {second} did not run the same test: {first} ran {listed(sorted(of_first))}, {second} ran "
            f"{listed(sorted(of_second))}."
        )
    reasons = {one.reason for one in differences if one.first_n and one.second_n and one.reason is not None}
    if len(reasons) == 1:
        return f"{reasons.pop()}."
    return f"no delay or rate was measured in the same way in runs of {first} and of {second}."


def _number(one: Difference, first: str, second: str) -> FindingNumber:
    return FindingNumber(
        f"{second} minus {first}", one.metric, one.role or "all", one.shift or 0.0, one.lower, one.upper,
        one.unit or "", min(one.first_n, one.second_n),
    )  # fmt: skip
