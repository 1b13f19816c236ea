"""Whether the model may be believed: convergence, residuals, blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sojourn_process.printable import counted
from sojourn_statistics.mixed.residuals import normal_scores
from sojourn_statistics.samples.estimate import SignificanceTest
from sojourn_transforms.figures import normal_quantiles, residuals_by_fitted
from sojourn_transforms.look.content import Column, Evidence, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.report.fitted import SIGNIFICANT, Fitted, of_three_digits

_NONE = "none: residuals are not estimates"


def diagnostics_section(fitted: Fitted) -> Section:
    """Return figures of the residuals, the table of checks, and what is in doubt."""
    fit, unit, runs = fitted.fit, fitted.fitted_unit, counted(len(fitted.runs.values), "run")
    section = Section("diagnostics", "Diagnostics")
    doubts = fitted.doubts
    section.lead = (
        "No check contradicts the model. With few runs, checks rarely do."
        if not doubts
        else "Doubts, and what to do about them:"
    )
    section.points = doubts
    data = [
        {"run_id": run, "fitted": float(value), "residual": float(residual)}
        for run, value, residual in zip(fitted.runs.run_ids, fit.fitted, fit.residuals, strict=True)
    ]
    section.items.append(
        drawn(
            "residuals",
            "Residuals over fitted values",
            Evidence(unit, runs, _NONE),
            data,
            lambda axes: residuals_by_fitted(axes, fit.fitted.tolist(), fit.residuals.tolist(), unit),
            note="A funnel means that the spread grows with the value.",
        )
    )
    section.items.append(_quantiles(fitted, "residual", fit.residuals, fit.residual_variance, runs))
    if not fit.is_singular:
        blocks = counted(len(fitted.design.blocks), "block")
        section.items.append(_quantiles(fitted, "block", fit.block_effects, fit.block_variance, blocks))
    section.items.append(_checks(fitted))
    return section


def _quantiles(fitted: Fitted, what: str, values: Any, variance: float, n: str) -> Any:
    scores, ordered, order = normal_scores(values)
    names = fitted.runs.run_ids if what == "residual" else fitted.design.blocks
    data = [
        {what if what == "block" else "run_id": names[place], "expected": float(score), "value": float(value)}
        for place, score, value in zip(order, scores, ordered, strict=True)
    ]
    title = "Residuals" if what == "residual" else "Predicted effects of blocks"
    return drawn(
        f"quantiles-{what}",
        f"{title} against a normal distribution",
        Evidence(fitted.fitted_unit, n, _NONE),
        data,
        lambda axes: normal_quantiles(
            axes, scores.tolist(), ordered.tolist(), math.sqrt(variance), f"{what} ({fitted.fitted_unit})"
        ),
        note="On the line: normal, with the standard deviation of the model."
        + (
            " Predicted effects are shrunk towards 0, so they rise less steeply than the line."
            if what == "block"
            else ""
        ),
    )


def _checks(fitted: Fitted) -> Table:
    fit, check = fitted.fit, fitted.check
    said = "; ".join(fit.warnings)
    rows: list[Mapping[str, Any]] = [
        {
            "check": "the optimiser reached a maximum",
            "result": "yes, at the end of the range of the block variance" if fit.is_singular else "yes",
            "why": "the restricted likelihood is highest at a block variance of 0"
            if fit.is_singular
            else "the slope of the profile likelihood is 0 there; optimisers of statsmodels stopped short of it"
            if fit.is_searched
            else "the next step of Fisher's scoring is below 1 % of a standard error"
            + (said and f"; statsmodels: {said}"),
        },
        {
            "check": "the block variance is above 0 (not singular)",
            "result": "no" if fit.is_singular else "yes",
            "why": f"standard deviation {math.sqrt(fit.block_variance):.3g} {fitted.fitted_unit}",
        },
        _tested("residuals are normal", check.normality),
        _tested("effects of blocks are normal", check.normality_of_blocks),
        _tested("cells have the same variance", check.equal_variance),
        {
            "check": "no residual is beyond 4 standard deviations",
            "result": "no" if check.outliers.size else "yes",
            "why": f"{check.outliers.size} of {len(fitted.runs.run_ids)}",
        },
    ]
    columns = (Column("check", "check"), Column("result", "result"), Column("p_value", "p"), Column("why", "from"))
    evidence = Evidence("without unit", counted(len(fitted.runs.values), "run"), "none: a test has a p-value")
    return Table("checks", "Checks", columns, rows, evidence)


def _tested(name: str, test: SignificanceTest) -> Mapping[str, Any]:
    if test.p_value is None:
        return {"check": name, "result": "not tested", "why": f"{test.test}: {test.p_null_reason}"}
    result = "no" if test.p_value < SIGNIFICANT else "not rejected"
    statistic = "" if test.statistic is None else f", statistic {test.statistic:.4g}"
    return {"check": name, "result": result, "p_value": of_three_digits(test.p_value), "why": f"{test.test}{statistic}"}
