"""Comparisons of every two otherwise equal configurations among runs, as a table with corrected p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa

from sojourn_statistics.comparison.configurations import Comparison, Effect, compare, verdict
from sojourn_statistics.comparison.metrics import CONFIGURATION, OPTIONAL_PARTS, ComparisonMetric, Factor
from sojourn_statistics.ids import id_part, value_text
from sojourn_statistics.samples.estimate import LEVEL
from sojourn_statistics.significance.multiplicity import Correction, corrected
from sojourn_statistics.table_column import TableColumn

Row = Mapping[str, Any]
Key = tuple[Any, ...]


def _required(name: str, type_: pa.DataType, unit: str | None, description: str) -> TableColumn:
    return TableColumn(name, type_, unit, description, nullable=False)


_TEXT, _REAL, _WHOLE, _BOOLEAN = pa.string(), pa.float64(), pa.int64(), pa.bool_()

COLUMNS = (
    _required("comparison_id", _TEXT, None, "Study, metric, factor and both configurations, as one text."),
    _required("study_id", _TEXT, None, "Study."),
    _required("metric", _TEXT, None, "What is compared, one value for each run."),
    _required("factor", _TEXT, None, "What the two configurations differ in."),
    _required("treatment", _TEXT, None, "Value of the factor."),
    _required("baseline", _TEXT, None, "Value of the factor that it is compared with."),
    TableColumn("role", _TEXT, None, "Role of the flows; null if the metric is of the whole run."),
    TableColumn("basis", _TEXT, None, "What the metric is, or where it comes from; never pooled."),
    TableColumn("workload", _TEXT, None, "What ran, in the treatment."),
    TableColumn("direction", _TEXT, None, "Direction of the data through the bottleneck, in the treatment."),
    TableColumn("bandwidth_bps", _WHOLE, "bit/s", "Bottleneck rate, in the treatment."),
    TableColumn("rtt_ms", _REAL, "ms", "Round-trip time without queuing, in the treatment."),
    TableColumn("aqm", _TEXT, None, "Queue discipline, in the treatment."),
    TableColumn("queue_size_bdp", _REAL, "BDP", "Queue size of the treatment; null if the default applies."),
    TableColumn("queue_limit_packets", _WHOLE, None, "Packet limit of the treatment's queue; null if it has none."),
    TableColumn("queue_label", _TEXT, None, "Queue discipline and size of the treatment, as people name it."),
    TableColumn("baseline_queue_label", _TEXT, None, "Queue discipline and size of the baseline."),
    TableColumn("congestion_control", _TEXT, None, "Congestion control of the TCP flow, in the treatment."),
    TableColumn("application", _TEXT, None, "Application, in the treatment."),
    TableColumn("rival_application", _TEXT, None, "Application that competes with it, in the treatment."),
    TableColumn("start_order", _TEXT, None, "Which flow started first, in the treatment."),
    TableColumn("testbed", _TEXT, None, "Set-up, in the treatment."),
    TableColumn("queue_scheme", _TEXT, None, "Name that the study gives the queue size, in the treatment."),
    TableColumn("congested_direction", _TEXT, None, "Direction that is filled, in the treatment."),
    TableColumn("opposite_link", _TEXT, None, "Link of the other direction, in the treatment."),
    TableColumn("participants", _WHOLE, None, "Number of participants in the call, in the treatment."),
    TableColumn("call_view", _TEXT, None, "Layout in which the call shows its participants, in the treatment."),
    TableColumn("ecn", _TEXT, None, "What the hosts ask for when TCP connects, in the treatment."),
    TableColumn("l4s", _TEXT, None, "Which of the roles send as L4S, in the treatment."),
    TableColumn("aqm_parameters", _TEXT, None, "Parameters of the queue discipline, in the treatment."),
    TableColumn("bandwidth_programme", _TEXT, None, "Programme of the changing rate, in the treatment."),
    _required("replication_unit", _TEXT, None, "What n counts: run, or pair of runs that match by repetition."),
    _required("treatment_n", _WHOLE, None, "Runs of the treatment."),
    _required("baseline_n", _WHOLE, None, "Runs of the baseline."),
    TableColumn("effect_unit", _TEXT, None, "Unit of the medians and of a difference; null if they have none."),
    _required("treatment_median", _REAL, None, "Median of the runs of the treatment, in effect_unit."),
    _required("baseline_median", _REAL, None, "Median of the runs of the baseline, in effect_unit."),
    _required("estimator", _TEXT, None, "Estimator of the effect."),
    _required("effect", _REAL, None, "Treatment minus baseline, in effect_unit; negative: the treatment is lower."),
    TableColumn("effect_lower", _REAL, None, "Lower end of the effect's interval, in effect_unit."),
    TableColumn("effect_upper", _REAL, None, "Upper end of the effect's interval, in effect_unit."),
    _required("interval_level_ratio", _REAL, "ratio", "Confidence level of the intervals."),
    TableColumn("interval_method", _TEXT, None, "How the effect's interval was found."),
    TableColumn("interval_null_reason", _TEXT, None, "Why there is no interval; null if there is one."),
    _required("cliffs_delta", _REAL, None, "P(treatment > baseline) - P(treatment < baseline) of two runs; -1 to 1."),
    TableColumn("cliffs_delta_lower", _REAL, None, "Lower end of its interval."),
    TableColumn("cliffs_delta_upper", _REAL, None, "Upper end of its interval."),
    _required("test", _TEXT, None, "Test of no effect."),
    TableColumn("p_value", _REAL, None, "Two-sided p-value of the test, of itself."),
    TableColumn("p_null_reason", _TEXT, None, "Why there is no p-value; null if there is one."),
    _required("correction", _TEXT, None, "Correction for many tests: holm or benjamini_hochberg."),
    _required("family_tests", _WHOLE, None, "Tests that the correction is over."),
    TableColumn("p_corrected", _REAL, None, "p-value corrected over the family."),
    TableColumn("notes", _TEXT, None, "Cautions, such as ties."),
    _required("verdict", _TEXT, None, "The finding in plain words."),
)
EQUIVALENCE_COLUMNS = (
    _required("margin", _REAL, None, "Smallest difference that matters, as asked for, in effect_unit."),
    TableColumn("equivalence_p_value", _REAL, None, "p-value of two one-sided tests that the shift is smaller."),
    TableColumn("equivalence_p_corrected", _REAL, None, "That p-value corrected over the family."),
)


def schema(columns: Sequence[TableColumn] = COLUMNS) -> pa.Schema:
    """Return the Arrow schema of columns."""
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def _order(key: Key) -> tuple[tuple[bool, str | float], ...]:
    """Return an order of keys of one kind that may hold nulls."""
    return tuple((part is None, "" if part is None else part) for part in key)


@dataclass(frozen=True)
class ConfigurationRuns:
    """The runs of one configuration and one kind of the metric: a value for each."""

    configuration: dict[str, Any]
    strata: Key
    values: tuple[float, ...]
    repetitions: tuple[int | None, ...]

    @property
    def order(self) -> tuple[tuple[bool, str | float], ...]:
        """A key that sorts configurations, those without a part last."""
        return _order((*self.strata, *self.configuration.values()))

    def numbered(self) -> dict[int, float] | None:
        """Return the values by repetition, or None when repetitions do not distinguish the runs."""
        by_number = {
            number: value for number, value in zip(self.repetitions, self.values, strict=True) if number is not None
        }
        return by_number if len(by_number) == len(self.values) else None


def configurations_of(rows: Iterable[Row], metric: ComparisonMetric) -> list[ConfigurationRuns]:
    """Return the runs of each configuration and kind of the metric, in the order of the configurations.

    Rows are as for `compare_configurations`; a run without a value is omitted.
    """
    configurations: dict[Key, list[tuple[str, int | None, float]]] = {}
    width = len(metric.strata)
    key_of = itemgetter(*metric.strata, *CONFIGURATION)
    for row in rows:
        value = row[metric.column]
        if value is not None:
            configurations.setdefault(key_of(row), []).append((row["run_id"], row["repetition"], float(value)))
    runs = []
    for key, members in configurations.items():
        members.sort()
        runs.append(
            ConfigurationRuns(
                configuration=dict(zip(CONFIGURATION, key[width:], strict=True)),
                strata=key[:width],
                values=tuple(value for _, _, value in members),
                repetitions=tuple(repetition for _, repetition, _ in members),
            )
        )
    return sorted(runs, key=lambda one: one.order)


def _compatible(first: ConfigurationRuns, second: ConfigurationRuns, factor: Factor) -> bool:
    sizes = ((first.configuration[name], second.configuration[name]) for name in factor.loose)
    return all(a is None or b is None or a == b for a, b in sizes)


def otherwise_equal(rows: Iterable[Row], metric: ComparisonMetric, factor: Factor) -> list[list[ConfigurationRuns]]:
    """Return the configurations in groups that are equal in everything but the factor and what follows from it."""
    groups: dict[Key, list[ConfigurationRuns]] = {}
    apart = [name for name in CONFIGURATION if name not in factor.determines and name not in factor.loose]
    for runs in configurations_of(rows, metric):
        groups.setdefault((*runs.strata, *(runs.configuration[name] for name in apart)), []).append(runs)
    return list(groups.values())


def matched(
    rows: Iterable[Row], metric: ComparisonMetric, factor: Factor, baseline: str | float | int
) -> list[tuple[ConfigurationRuns, ConfigurationRuns]]:
    """Return each configuration with the otherwise equal one whose factor has the value of the baseline."""
    return [
        (treatment, control)
        for members in otherwise_equal(rows, metric, factor)
        for control in members
        if control.configuration[factor.name] == baseline
        for treatment in members
        if treatment.configuration[factor.name] not in (baseline, None) and _compatible(treatment, control, factor)
    ]


@dataclass(frozen=True)
class _Pair:
    treatment: ConfigurationRuns
    baseline: ConfigurationRuns
    comparison: Comparison


def _compared(
    treatment: ConfigurationRuns, baseline: ConfigurationRuns, level: float, margin: float | None, effect: Effect
) -> _Pair:
    left, right = treatment.numbered(), baseline.numbered()
    matches = left is not None and right is not None and left.keys() == right.keys() and len(left) > 1
    if left is not None and right is not None and matches and margin is None:
        numbers = sorted(left)
        values, others = [left[n] for n in numbers], [right[n] for n in numbers]
        comparison = compare(values, others, paired=True, level=level, effect=effect)
    else:
        comparison = compare(treatment.values, baseline.values, level=level, margin=margin, effect=effect)
    return _Pair(treatment, baseline, comparison)


def compare_configurations(
    rows: Iterable[Row],
    metric: ComparisonMetric,
    factor: Factor,
    baseline: str | float | int,
    correction: Correction = "holm",
    level: float = LEVEL,
    margin: float | None = None,
    effect: Effect = "difference",
) -> pa.Table:
    """Compare each configuration with the otherwise equal one whose factor has the value of the baseline.

    Parameters
    ----------
    rows : iterable of mappings
        Runs: the columns of `CONFIGURATION`, `run_id`, `repetition`, those of the metric. A run without a
        value is omitted; the caller removes excluded runs.
    metric : ComparisonMetric
    factor : Factor
    baseline : str or number
        A value of the factor.
    correction : {'holm', 'benjamini_hochberg'}
        Over all comparisons of one study in the result.
    level : float
    margin : float, optional
        Smallest difference that matters; adds `EQUIVALENCE_COLUMNS`. Runs are then compared unpaired.
    effect : {'difference', 'ratio'}
        With a ratio, `effect` and its interval are the treatment over the baseline, null where a value is not
        above 0.

    Returns
    -------
    pyarrow.Table
        One row a comparison, in the order of the configurations; columns `COLUMNS`. Runs are paired when each
        has a number of repetition and both configurations have the same ones, at least two.
    """
    pairs = [
        _compared(treatment, control, level, margin, effect)
        for treatment, control in matched(rows, metric, factor, baseline)
    ]
    by_study: dict[str, list[_Pair]] = {}
    for pair in pairs:
        by_study.setdefault(pair.treatment.configuration["study_id"], []).append(pair)
    columns = COLUMNS if margin is None else (*COLUMNS, *EQUIVALENCE_COLUMNS)
    result: list[dict[str, Any]] = []
    for study in sorted(by_study):
        result += _family(by_study[study], metric, factor, correction, level, margin, effect)
    return pa.Table.from_pylist(result, schema=schema(columns))


def _family(
    pairs: list[_Pair],
    metric: ComparisonMetric,
    factor: Factor,
    correction: Correction,
    level: float,
    margin: float | None,
    effect: Effect,
) -> list[dict[str, Any]]:
    p_values = [pair.comparison.test.p_value for pair in pairs]
    p_corrected = corrected(p_values, correction)
    equivalences = [pair.comparison.equivalence for pair in pairs]
    equivalence_p = [None if test is None else test.p_value for test in equivalences]
    equivalence_corrected = corrected(equivalence_p, correction)
    tests = sum(p is not None for p in p_values)
    rows = []
    for pair, p, equal, equal_corrected in zip(pairs, p_corrected, equivalence_p, equivalence_corrected, strict=True):
        row = _described(pair, metric, factor)
        interval, delta = pair.comparison.shift.interval, pair.comparison.dominance.interval
        row |= {
            "effect_lower": None if interval is None else interval.lower,
            "effect_upper": None if interval is None else interval.upper,
            "interval_level_ratio": level,
            "interval_method": None if interval is None else interval.method,
            "cliffs_delta_lower": None if delta is None else delta.lower,
            "cliffs_delta_upper": None if delta is None else delta.upper,
            "correction": correction,
            "family_tests": tests,
            "p_corrected": p,
            "verdict": verdict(pair.comparison, metric.unit, p, equal_corrected, margin, effect),
        }
        if margin is not None:
            row |= {"margin": margin, "equivalence_p_value": equal, "equivalence_p_corrected": equal_corrected}
        rows.append(row)
    return rows


def _described(pair: _Pair, metric: ComparisonMetric, factor: Factor) -> dict[str, Any]:
    comparison, configuration = pair.comparison, pair.treatment.configuration
    strata = dict(zip(metric.strata, pair.treatment.strata, strict=True))
    control = pair.baseline.configuration

    def part(name: str, of: dict[str, Any]) -> str:
        # Texts such as none are values of optional parts.
        return id_part(name, of[name], missing="" if name in OPTIONAL_PARTS else "none", separators="/:")

    parts = [
        id_part("study_id", configuration["study_id"]),
        metric.name,
        *(part(name, strata) for name in strata),
        f"{factor.name}={part(factor.name, configuration)}:{part(factor.name, control)}",
        *(
            f"{name}={part(name, configuration)}"
            + (f":{part(name, control)}" if configuration[name] != control[name] else "")
            for name in CONFIGURATION[1:]
            if name not in (factor.name, "queue_label")
            # Parts that a study does not speak of leave the names of its comparisons as they were.
            and (name not in OPTIONAL_PARTS or configuration[name] is not None or control[name] is not None)
        ),
    ]
    return {
        "comparison_id": "/".join(parts),
        **{name: configuration[name] for name in CONFIGURATION if name != "queue_size_bytes"},
        "metric": metric.name,
        "factor": factor.name,
        "treatment": value_text(configuration[factor.name]),
        "baseline": value_text(control[factor.name]),
        "role": None if metric.role is None else strata[metric.role],
        "basis": None if metric.basis is None else strata[metric.basis],
        "baseline_queue_label": control["queue_label"],
        "replication_unit": comparison.shift.replication_unit,
        "treatment_n": comparison.treatment_n,
        "baseline_n": comparison.baseline_n,
        "effect_unit": metric.unit,
        "treatment_median": comparison.treatment_median,
        "baseline_median": comparison.baseline_median,
        "estimator": comparison.shift.estimator,
        "effect": None if math.isnan(comparison.shift.value) else comparison.shift.value,
        "interval_null_reason": comparison.shift.interval_null_reason,
        "cliffs_delta": comparison.dominance.value,
        "test": comparison.test.test,
        "p_value": comparison.test.p_value,
        "p_null_reason": comparison.test.p_null_reason,
        "notes": "; ".join((*comparison.shift.notes, *comparison.test.notes)) or None,
    }
