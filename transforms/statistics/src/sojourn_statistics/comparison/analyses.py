"""What configurations differ in beyond a shift: quantiles, distributions, several at once, and the modes of one.

Each analysis takes the same rows as `comparison.table.compare_configurations` and gives a table of its own. What is
refused has a null and its reason, as in the functions that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn_statistics.comparison.metrics import CONFIGURATION, ComparisonMetric, Factor
from sojourn_statistics.comparison.table import (
    COLUMNS,
    ConfigurationRuns,
    Row,
    configurations_of,
    matched,
    otherwise_equal,
    schema,
)
from sojourn_statistics.ids import id_part, value_text
from sojourn_statistics.samples.estimate import LEVEL
from sojourn_statistics.shape.normality_and_modes import Mixture, dip_test, mixtures
from sojourn_statistics.significance.multiplicity import Correction, corrected
from sojourn_statistics.significance.several_samples import dunn, kruskal_wallis
from sojourn_statistics.significance.two_samples import (
    DECILES,
    brunner_munzel,
    kolmogorov_smirnov,
    quantile_shift_curve,
)
from sojourn_statistics.table_column import TableColumn

UNIT = "run"
FEWEST_FOR_MODES = 30
"""Below this, the dip test seldom finds a second mode that is there."""

_TEXT, _REAL, _WHOLE, _BOOLEAN = pa.string(), pa.float64(), pa.int64(), pa.bool_()
_DECLARED = {column.name: column for column in COLUMNS}
_SETTING = ("role", "basis", *(part for part in CONFIGURATION if part in _DECLARED and part != "study_id"))
_OF_PAIRS = ("study_id", "metric", "factor", "treatment", "baseline", *_SETTING, "baseline_queue_label")
_COUNTS = ("replication_unit", "treatment_n", "baseline_n", "effect_unit")


def _columns(*names: str) -> tuple[TableColumn, ...]:
    return tuple(_DECLARED[name] for name in names)


QUANTILE_COLUMNS = (
    *_columns(*_OF_PAIRS, *_COUNTS),
    TableColumn("quantile_ratio", _REAL, "ratio", "Which quantile, by the inverted CDF.", nullable=False),
    *_columns("estimator", "effect", "effect_lower", "effect_upper"),
    TableColumn(
        "interval_level_ratio", _REAL, "ratio", "Confidence level of the interval, by Bonferroni for the whole curve."
    ),
    *_columns("interval_null_reason"),
)
DISTRIBUTION_COLUMNS = (
    *_columns(*_OF_PAIRS, *_COUNTS, "test"),
    TableColumn("hypothesis", _TEXT, None, "What the test tries to reject.", nullable=False),
    TableColumn("statistic", _REAL, None, "Statistic of the test; null if it was not made."),
    *_columns("p_value", "p_null_reason", "correction", "family_tests", "p_corrected", "notes"),
)
GROUP_COLUMNS = (
    *_columns("study_id", "metric", "factor", "treatment", "baseline", *_SETTING, *_COUNTS, "test"),
    TableColumn("groups", _WHOLE, None, "Configurations that the test is over.", nullable=False),
    TableColumn("statistic", _REAL, None, "H of Kruskal-Wallis, z of Dunn; null if the test was not made."),
    *_columns("p_value", "p_null_reason", "correction", "family_tests", "p_corrected", "notes"),
)
MODE_COLUMNS = (
    *_columns("study_id", "metric", *_SETTING, "replication_unit"),
    TableColumn("n", _WHOLE, None, "Runs of the configuration.", nullable=False),
    TableColumn("value_unit", _TEXT, None, "Unit of the means and deviations; null if they have none."),
    TableColumn("dip", _REAL, None, "Hartigan's dip, 1 / (2 n) to 1/4; null if the test was not made."),
    *_columns("p_value", "p_null_reason"),
    TableColumn("first_weight_ratio", _REAL, "ratio", "Share of the component with the lower mean."),
    TableColumn("first_mean", _REAL, None, "Its mean, in value_unit."),
    TableColumn("first_standard_deviation", _REAL, None, "Its standard deviation, in value_unit."),
    TableColumn("second_mean", _REAL, None, "Mean of the other component, in value_unit."),
    TableColumn("second_standard_deviation", _REAL, None, "Its standard deviation, in value_unit."),
    TableColumn("bic_gain", _REAL, None, "BIC of one component minus BIC of two; above 10 favours two strongly."),
    TableColumn("separation", _REAL, None, "Ashman's D of the two; below 2 they do not make two modes."),
    TableColumn("is_bimodal", _BOOLEAN, None, "bic_gain is above 10 and separation above 2; null without a fit."),
    TableColumn("mixture_null_reason", _TEXT, None, "Why there is no fit; null if there is one."),
    *_columns("notes"),
)


@dataclass(frozen=True)
class AnalysisRequest:
    """What an analysis is of; `factor` and `baseline` are None where it needs none."""

    metric: ComparisonMetric
    factor: Factor | None
    baseline: str | float | int | None
    correction: Correction = "holm"
    level: float = LEVEL


def _setting(runs: ConfigurationRuns, metric: ComparisonMetric) -> dict[str, Any]:
    strata = dict(zip(metric.strata, runs.strata, strict=True))
    return {
        **runs.configuration,
        "metric": metric.name,
        "role": None if metric.role is None else strata[metric.role],
        "basis": None if metric.basis is None else strata[metric.basis],
        "replication_unit": UNIT,
    }


def _needed(request: AnalysisRequest) -> Factor:
    if request.factor is None:
        raise ValueError("this analysis compares configurations: it needs a factor")
    return request.factor


def _pairs(
    rows: Iterable[Row], request: AnalysisRequest
) -> list[tuple[dict[str, Any], ConfigurationRuns, ConfigurationRuns]]:
    factor = _needed(request)
    if request.baseline is None:
        raise ValueError("this analysis compares with a baseline: it needs one")
    pairs = []
    for treatment, control in matched(rows, request.metric, factor, request.baseline):
        described = _setting(treatment, request.metric) | {
            "factor": factor.name,
            "treatment": value_text(treatment.configuration[factor.name]),
            "baseline": value_text(control.configuration[factor.name]),
            "baseline_queue_label": control.configuration["queue_label"],
            "treatment_n": len(treatment.values),
            "baseline_n": len(control.values),
            "effect_unit": request.metric.unit,
        }
        pairs.append((described, treatment, control))
    return pairs


def quantile_shifts(rows: Iterable[Row], request: AnalysisRequest) -> pa.Table:
    """Return the difference of each decile of each pair of configurations, a row per decile (`QUANTILE_COLUMNS`)."""
    each = 1 - (1 - request.level) / len(DECILES)
    result = []
    for described, treatment, control in _pairs(rows, request):
        curve = quantile_shift_curve(treatment.values, control.values, DECILES, UNIT, request.level)
        for probability, one in zip(DECILES, curve, strict=True):
            result.append(
                described
                | {
                    "quantile_ratio": probability,
                    "estimator": one.estimator,
                    "effect": one.value,
                    "effect_lower": None if one.interval is None else one.interval.lower,
                    "effect_upper": None if one.interval is None else one.interval.upper,
                    "interval_level_ratio": each,
                    "interval_null_reason": one.interval_null_reason,
                }
            )
    return pa.Table.from_pylist(result, schema=schema(QUANTILE_COLUMNS))


def distribution_tests(rows: Iterable[Row], request: AnalysisRequest) -> pa.Table:
    """Return Kolmogorov-Smirnov and Brunner-Munzel tests of each pair of configurations (`DISTRIBUTION_COLUMNS`).

    p-values are corrected over all pairs of one study, for each test by itself.
    """
    result = []
    for described, treatment, control in _pairs(rows, request):
        both = (
            kolmogorov_smirnov(treatment.values, control.values, UNIT),
            brunner_munzel(treatment.values, control.values, UNIT),
        )
        result += [
            described
            | {
                "test": tested.test,
                "hypothesis": tested.hypothesis,
                "statistic": tested.statistic,
                "p_value": tested.p_value,
                "p_null_reason": tested.p_null_reason,
                "notes": "; ".join(tested.notes) or None,
            }
            for tested in both
        ]
    _correct(result, request.correction)
    return pa.Table.from_pylist(result, schema=schema(DISTRIBUTION_COLUMNS))


def _correct(rows: list[dict[str, Any]], correction: Correction) -> None:
    """Add the corrected p-value, over the rows of one study and one test."""
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault((row["study_id"], row["test"]), []).append(row)
    for family in families.values():
        values = corrected([row["p_value"] for row in family], correction)
        tests = sum(row["p_value"] is not None for row in family)
        for row, value in zip(family, values, strict=True):
            row |= {"correction": correction, "family_tests": tests, "p_corrected": value}


def _names(members: list[ConfigurationRuns], factor: Factor) -> list[str]:
    """Return a name of each configuration of a group: the factor's value, and more where several have the same one."""
    follows = dict.fromkeys((*factor.determines, *factor.loose))
    for parts in ((factor.name,), ("queue_label",), tuple(follows)):
        names = [", ".join(value_text(one.configuration[part]) for part in parts) for one in members]
        if len(set(names)) == len(names):
            return names
    # A value may be the word for a missing one.
    return [", ".join(id_part(part, one.configuration[part]) for part in follows) for one in members]


def group_tests(rows: Iterable[Row], request: AnalysisRequest) -> pa.Table:
    """Return Kruskal-Wallis over all values of the factor, then Dunn for every two of them (`GROUP_COLUMNS`).

    One row of Kruskal-Wallis for each group of otherwise equal configurations, corrected over the groups of a study;
    the rows of Dunn are corrected within their group. A group of one configuration has no row.
    """
    factor = _needed(request)
    overall: list[dict[str, Any]] = []
    every_two: dict[int, list[dict[str, Any]]] = {}
    for group in otherwise_equal(rows, request.metric, factor):
        # A run without the factor, such as one without TCP, has no value of it to compare.
        members = [one for one in group if one.configuration[factor.name] is not None]
        values = dict(zip(_names(members, factor), (one.values for one in members), strict=True))
        if len(values) < 2:
            continue
        shared = {
            key: value
            for key, value in _setting(members[0], request.metric).items()
            if key not in factor.determines and key not in factor.loose
        }
        described = shared | {"factor": factor.name, "effect_unit": request.metric.unit, "groups": len(values)}
        tested = kruskal_wallis(values, UNIT)
        total = sum(len(one) for one in values.values())
        overall.append(
            described
            | {
                "treatment": "all values", "baseline": "all values", "treatment_n": total, "baseline_n": total,
                "test": tested.test, "statistic": tested.statistic, "p_value": tested.p_value,
                "p_null_reason": tested.p_null_reason, "notes": "; ".join(tested.notes) or None,
            }
        )  # fmt: skip
        pairs = [] if tested.p_value is None else dunn(values, request.correction)
        every_two[len(overall) - 1] = [
            described
            | {
                "treatment": pair.first, "baseline": pair.second,
                "treatment_n": len(values[pair.first]), "baseline_n": len(values[pair.second]),
                "test": "Dunn", "statistic": pair.z, "p_value": pair.p_value, "p_corrected": pair.p_corrected,
                "correction": request.correction, "family_tests": len(pairs),
            }
            for pair in pairs
        ]  # fmt: skip
    _correct(overall, request.correction)
    result = [row for place, first in enumerate(overall) for row in (first, *every_two[place])]
    return pa.Table.from_pylist(result, schema=schema(GROUP_COLUMNS))


def modes(rows: Iterable[Row], request: AnalysisRequest) -> pa.Table:
    """Return the dip test and the mixture of two normal components of each configuration (`MODE_COLUMNS`)."""
    result = []
    configurations = configurations_of(rows, request.metric)
    fits = mixtures([runs.values for runs in configurations])
    for runs, fitted in zip(configurations, fits, strict=True):
        values = np.asarray(runs.values)
        tested = dip_test(values, UNIT)
        notes = [*tested.notes]
        if tested.p_value is not None and values.size < FEWEST_FOR_MODES:
            notes.append(f"n is below {FEWEST_FOR_MODES}: a second mode is rarely found")
        row = _setting(runs, request.metric) | {
            "n": values.size,
            "value_unit": request.metric.unit,
            "dip": tested.statistic,
            "p_value": tested.p_value,
            "p_null_reason": tested.p_null_reason,
            "mixture_null_reason": fitted if isinstance(fitted, str) else None,
            "notes": "; ".join(notes) or None,
        }
        if isinstance(fitted, Mixture):
            row |= {
                "first_weight_ratio": fitted.weights[0],
                "first_mean": fitted.means[0],
                "first_standard_deviation": fitted.standard_deviations[0],
                "second_mean": fitted.means[1],
                "second_standard_deviation": fitted.standard_deviations[1],
                "bic_gain": fitted.bic_gain,
                "separation": fitted.separation,
                "is_bimodal": fitted.is_bimodal,
            }
        result.append(row)
    return pa.Table.from_pylist(result, schema=schema(MODE_COLUMNS))


@dataclass(frozen=True)
class Analysis:
    """One analysis of configurations, and what a request for it needs."""

    name: str
    columns: tuple[TableColumn, ...]
    table: Callable[[Iterable[Row], AnalysisRequest], pa.Table]
    needs_factor: bool = True
    needs_baseline: bool = True


ANALYSES = {
    analysis.name: analysis
    for analysis in (
        Analysis("quantiles", QUANTILE_COLUMNS, quantile_shifts),
        Analysis("distributions", DISTRIBUTION_COLUMNS, distribution_tests),
        Analysis("groups", GROUP_COLUMNS, group_tests, needs_baseline=False),
        Analysis("modes", MODE_COLUMNS, modes, needs_factor=False, needs_baseline=False),
    )
}
