"""Requests for comparisons: of configurations with one value per run, and of shares of connections in the wild."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import Field

from sojourn_api.catalogue import Catalogue, Dataset
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.requests.filters import parse_value
from sojourn_api.requests.query_string import MetricName, OneOf, RequestContext
from sojourn_api.requests.selection import DataParameters, Selection, Text, select
from sojourn_api.share_metrics import SHARE_FACTORS, SHARE_METRICS, ShareMetric
from sojourn_api.suggestions import did_you_mean
from sojourn_statistics.comparison.analyses import ANALYSES, Analysis
from sojourn_statistics.comparison.configurations import EFFECTS, Effect
from sojourn_statistics.comparison.metrics import FACTORS, METRICS, OF_RUN, ComparisonMetric, Factor
from sojourn_statistics.significance.multiplicity import CORRECTIONS, Correction

LEVELS = ("0.9", "0.95", "0.99")
DEFAULT_LEVEL = "0.95"
SHIFT = "shift"
"""The analysis without the parameter: effect, test and verdict of each pair of configurations."""
DEFAULT_CORRECTION: Correction = "holm"

ComparedMetric = Annotated[str, MetricName((*METRICS, *SHARE_METRICS))]

_MARGIN = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,12})?$")
_THRESHOLD = re.compile(r"^[0-9]{1,9}(\.[0-9]{1,3})?$")


class ComparisonParameters(DataParameters):
    """Parameters of ``/v1/comparisons/{metric}``."""

    # Which of them a metric has depends on its dataset.
    factor: Annotated[Text, OneOf((*FACTORS, *SHARE_FACTORS), checked=False)] = Field(
        default=None, description="Column by which configurations are compared; required."
    )
    baseline: Text = Field(
        default=None, description="Value of the factor with which the others are compared; required."
    )
    analysis: Annotated[Text, OneOf((SHIFT, *ANALYSES))] = Field(
        default=None, description=f"Analysis of the runs; default: `{SHIFT}`, the only one for shares."
    )
    correction: Annotated[Text, OneOf(tuple(CORRECTIONS))] = Field(
        default=None, description=f"Correction of p-values for multiple tests; default: `{DEFAULT_CORRECTION}`."
    )
    level: Annotated[Text, OneOf(LEVELS)] = Field(
        default=None, description=f"Confidence level of the intervals; default: {DEFAULT_LEVEL}."
    )
    effect: Annotated[Text, OneOf(EFFECTS)] = Field(
        default=None,
        description="Kind of effect: `difference`, the default, or `ratio`, the treatment divided by the "
        "baseline, with an interval on the logarithmic scale.",
    )
    margin: Text = Field(
        default=None, description="Smallest difference that matters, in the metric's unit; adds an equivalence test."
    )
    threshold_ms: Text = Field(
        default=None,
        description="Threshold in ms above which a queuing delay counts in a share; required for share metrics.",
    )


@dataclass(frozen=True)
class ComparisonRequest:
    """Comparisons of a metric of runs by one factor; `margin` in the metric's unit, `level` from 0 to 1.

    `analysis` is None for the comparison by shift, which has a factor and a baseline. `run` is the mart with the parts
    of a configuration that the metric's own has not (`OF_RUN`), or None if the build has no such mart.
    """

    metric: ComparisonMetric
    dataset: Dataset
    run: Dataset | None
    selection: Selection
    analysis: Analysis | None
    factor: Factor | None
    baseline: str | float | int | None
    correction: Correction
    level: float
    margin: float | None
    effect: Effect


@dataclass(frozen=True)
class ShareRequest:
    """Comparisons of a share of connections or hosts by one factor."""

    metric: ShareMetric
    dataset: Dataset
    selection: Selection
    factor: str
    baseline: str
    threshold_us: int
    correction: Correction
    level: float


def comparison_request(
    metric_name: str, catalogue: Catalogue, parameters: ComparisonParameters, context: RequestContext
) -> ComparisonRequest | ShareRequest:
    """Return the request for comparisons of a metric.

    Raises
    ------
    ProblemError
        404, when the build has no dataset of the metric; 422, when a parameter is unknown, missing or has a value that
        it cannot have; 406 for formats.
    """
    metric = SHARE_METRICS.get(metric_name) or METRICS[metric_name]
    dataset = catalogue.dataset(metric.dataset)
    context.key.permit(dataset.name)
    selection = select(context, parameters, dataset, dataset.by_name)
    correction = cast(Correction, parameters.correction or DEFAULT_CORRECTION)
    level = float(parameters.level or DEFAULT_LEVEL)
    if isinstance(metric, ShareMetric):
        if parameters.analysis not in (None, SHIFT):
            raise invalid_parameter("analysis", "does not apply to shares", allowed=[SHIFT])
        share_factor = _factor(parameters, metric.factors, "what is compared by")
        baseline = _baseline(parameters, share_factor)
        if parameters.margin is not None:
            raise invalid_parameter("margin", "does not apply to shares")
        if parameters.effect == "ratio":
            raise invalid_parameter("effect", "is a difference for shares", allowed=["difference"])
        threshold_us = _threshold_us(parameters.threshold_ms)
        return ShareRequest(metric, dataset, selection, share_factor, baseline, threshold_us, correction, level)
    if parameters.threshold_ms is not None:
        raise invalid_parameter("threshold_ms", "applies to shares of connections and hosts only")
    analysis = None if parameters.analysis is None else ANALYSES.get(parameters.analysis)
    run = next((one for one in catalogue.datasets if one.name == "run" and set(OF_RUN) <= one.by_name.keys()), None)
    factor, value = _compared_by(parameters, dataset, run, analysis)
    margin = _margin(parameters.margin)
    if analysis is not None and margin is not None:
        raise invalid_parameter("margin", f"does not apply to the analysis {analysis.name}")
    effect = cast(Effect, parameters.effect or EFFECTS[0])
    if effect == "ratio" and (analysis is not None or margin is not None):
        other = f"the analysis {analysis.name}" if analysis is not None else "a margin"
        raise invalid_parameter("effect", f"is a difference with {other}", allowed=["difference"])
    return ComparisonRequest(
        metric, dataset, run, selection, analysis, factor, value, correction, level, margin, effect
    )


def _compared_by(
    parameters: ComparisonParameters, dataset: Dataset, run: Dataset | None, analysis: Analysis | None
) -> tuple[Factor | None, str | float | int | None]:
    """Return factor and baseline, each None if the analysis needs none; what is not needed is refused."""
    if analysis is not None and not analysis.needs_factor and parameters.factor is not None:
        raise invalid_parameter("factor", f"does not apply to the analysis {analysis.name}")
    if analysis is not None and not analysis.needs_baseline and parameters.baseline is not None:
        raise invalid_parameter("baseline", f"does not apply to the analysis {analysis.name}")
    if analysis is not None and not analysis.needs_factor:
        return None, None
    columns = dict(dataset.by_name) | ({} if run is None else {name: run.by_name[name] for name in OF_RUN})
    factor = _factor(
        parameters, tuple(name for name in FACTORS if name in columns), "what configurations are compared by"
    )
    if analysis is not None and not analysis.needs_baseline:
        return FACTORS[factor], None
    value = parse_value("baseline", _baseline(parameters, factor), columns[factor])
    return FACTORS[factor], cast("str | float | int", value)


def _factor(parameters: ComparisonParameters, allowed: tuple[str, ...], meaning: str) -> str:
    if parameters.factor is None:
        raise invalid_parameter("factor", f"is needed: {meaning}", allowed=list(allowed))
    if parameters.factor not in allowed:
        detail = f"{quoted(parameters.factor)} is not allowed{did_you_mean(parameters.factor, allowed)}"
        raise invalid_parameter("factor", detail, allowed=list(allowed))
    return parameters.factor


def _baseline(parameters: ComparisonParameters, factor: str) -> str:
    if parameters.baseline is None:
        raise invalid_parameter("baseline", f"is needed: the {factor} that others are compared with")
    return parameters.baseline


def _margin(text: str | None) -> float | None:
    if text is None:
        return None
    if not _MARGIN.match(text) or float(text) == 0:
        raise invalid_parameter("margin", f"{quoted(text)} is not a number above 0, in the metric's unit")
    return float(text)


def _threshold_us(text: str | None) -> int:
    if text is None or not _THRESHOLD.match(text):
        raise invalid_parameter("threshold_ms", "is needed: a number of ms with at most three decimals")
    return round(float(text) * 1000)
