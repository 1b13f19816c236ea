"""What two groups of runs differ by in each metric, with the interval or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sojourn_statistics.comparison.metrics import METRICS, ComparisonMetric
from sojourn_statistics.findings.settings import DELAYS, ONE_RUN_EACH, RATES, Difference
from sojourn_transforms.look.texts import in_words
from sojourn_transforms.look.view import View

#: Runs of two settings are compared if they are equal in these: the same roles in the same order.
KIND = ("workload", "direction", "application", "rival_application", "start_order")
#: Delays of tools of whose load nothing is known, such as a ping alone.
DELAY = ComparisonMetric(
    "delay_median", "run_series", "value_median", "ms", "role", "delay_basis", "median delay, load not known"
)
#: What the sentence about two settings needs.
STATED = (*(METRICS[name] for name in (*DELAYS, *RATES) if name in METRICS), DELAY)

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Value:
    """The value of one run."""

    value: float
    configuration: str


def values_of(view: View, metric: ComparisonMetric, chosen: Iterable[Mapping[str, Any]]) -> dict[Key, list[Value]]:
    """Return the values of those of some rows of ``run`` that count, by kind of run and stratum of the metric."""
    runs = {(run["study_id"], run["run_id"]): run for run in chosen if run["exclusion_reason"] is None}
    values: dict[Key, list[Value]] = {}
    for row in _rows(view, metric):
        run = runs.get((row["study_id"], row["run_id"]))
        if run is not None and row[metric.column] is not None:
            key = (*(run[name] for name in KIND), *(row[name] for name in metric.strata))
            values.setdefault(key, []).append(Value(float(row[metric.column]), run["configuration_id"]))
    return values


def _rows(view: View, metric: ComparisonMetric) -> list[dict[str, Any]]:
    if metric is not DELAY:
        return view.rows(metric.dataset)
    if not view.has("series"):
        return []
    # Series of several hosts have no median in common.
    return view.select(
        """
        select study_id, run_id, role, measurement || '_' || series_metric || '_' || sample_basis as delay_basis,
            any_value(value_median) as value_median
        from {run_series}
        where series_metric in ('rtt_ms', 'srtt_ms', 'one_way_delay_ms') and sample_basis != 'total'
            and phase = 'unknown'
        group by all having count(*) = 1
        """,
        "run_series",
    )


def differences(
    first: tuple[View, Sequence[Mapping[str, Any]]],
    second: tuple[View, Sequence[Mapping[str, Any]]],
    names: tuple[str, str],
    metrics: Iterable[ComparisonMetric] = (*METRICS.values(), DELAY),
) -> list[Difference]:
    """Return the differences of two groups of rows of ``run`` in each metric and kind of run.

    ``names`` are those of the groups in reasons.
    """
    metric_differences: list[Difference] = []
    for metric in metrics:
        if metric is DELAY and any(one.metric in DELAYS for one in metric_differences):
            continue
        of_first, of_second = values_of(first[0], metric, first[1]), values_of(second[0], metric, second[1])
        _match_titles(of_first, of_second)
        metric_differences += [
            _difference(metric, key, of_first.get(key, []), of_second.get(key, []), names)
            for key in sorted(of_first.keys() | of_second.keys(), key=str)
        ]
    return metric_differences


def _match_titles(first: Mapping[Key, object], second: dict[Key, list[Value]]) -> None:
    """Give the only runs of a test the kind of the other group's, where only the title behind the test's name differs.

    Whoever calls two files of flent "before" and "after" has stated the two settings, and not two kinds of runs.
    """
    for key in list(second.keys() - first.keys()):
        alike = [other for other in first if _test(other) == _test(key)]
        mine = [other for other in second if _test(other) == _test(key)]
        if len(alike) == len(mine) == 1 and alike[0] not in second:
            second[alike[0]] = second.pop(key)


def _test(key: Key) -> Key:
    """Return a key with the test and its options, such as streams=8, without the words of a title behind them."""
    test, *more = str(key[0]).split(" ")
    return ((test, *(word for word in more if "=" in word)), *key[1:])


def _in_words(key: Key) -> str:
    """Return the kind of a run in words; that nothing competes is said only of an application."""
    of = dict(zip(KIND, key, strict=False))
    if of["start_order"] == "solo" and not of["application"]:
        del of["start_order"]
    return ", ".join(str(part) if name == "workload" else in_words(part) for name, part in of.items() if part)


def _difference(
    metric: ComparisonMetric, key: Key, first: Sequence[Value], second: Sequence[Value], names: tuple[str, str]
) -> Difference:
    stratum = dict(zip(metric.strata, key[len(KIND) :], strict=True))
    mixed = [
        len({value.configuration for value in values}) > 1 for values in (first, second)
    ]  # fmt: skip
    shift, lower, upper = None, None, None
    if not first or not second:
        reason: str | None = f"{names[1] if first else names[0]} has no such run"
    elif any(mixed):
        # Runs of different configurations are never pooled.
        of_both = " and ".join(name for name, is_mixed in zip(names, mixed, strict=True) if is_mixed)
        reason = f"{of_both} mixes configurations; give the runs of one"
    else:
        shift, lower, upper, reason = _shift([one.value for one in first], [one.value for one in second])
    return Difference(
        kind=_in_words(key),
        metric=metric.name,
        role=None if metric.role is None else stratum[metric.role],
        basis=None if metric.basis is None else stratum[metric.basis],
        unit=metric.unit,
        first_n=len(first),
        second_n=len(second),
        first_median=None if mixed[0] or not first else median(one.value for one in first),
        second_median=None if mixed[1] or not second else median(one.value for one in second),
        shift=shift,
        lower=lower,
        upper=upper,
        reason=reason,
    )


def _shift(first: Sequence[float], second: Sequence[float]) -> tuple[float, float | None, float | None, str | None]:
    if len(first) == len(second) == 1:
        return second[0] - first[0], None, None, ONE_RUN_EACH
    # SciPy takes a while to load, and an installation that only ingests and looks has none.
    from sojourn_statistics.significance.two_samples import hodges_lehmann

    # The first over the second, so that a reason has both n in this order; 0 minus 0 has no sign.
    shift = hodges_lehmann(first, second)
    if shift.interval is None:
        return 0.0 - shift.value, None, None, shift.interval_null_reason
    return 0.0 - shift.value, 0.0 - shift.interval.upper, 0.0 - shift.interval.lower, None
