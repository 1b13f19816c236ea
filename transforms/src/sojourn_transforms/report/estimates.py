"""What the model says: terms, differences with intervals, means of cells, and variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn_process.printable import counted
from sojourn_statistics.mixed.contrasts import AVERAGED, Contrast, cell_weights, contrasts, terms
from sojourn_statistics.mixed.fitting import LinearEstimate
from sojourn_statistics.significance.multiplicity import corrected
from sojourn_transforms.figures import Estimates, estimates_with_intervals
from sojourn_transforms.look.content import Column, Evidence, Figure, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.texts import short
from sojourn_transforms.report.fitted import SIGNIFICANT, Fitted, of_three_digits
from sojourn_transforms.report.selected_runs import FACTORS_OF_MODEL

IN_TABLE = "in the table, 95 %"


@dataclass(frozen=True)
class Difference:
    """A contrast with its estimate and its p-value corrected over all contrasts of its factor."""

    contrast: Contrast
    estimate: LinearEstimate
    p_corrected: float

    @property
    def is_averaged(self) -> bool:
        """Whether it is the average over the levels of all other factors."""
        return all(level == AVERAGED for level in self.contrast.at.values())


def differences_of(fitted: Fitted) -> list[Difference]:
    """Return all contrasts of the model, in the order of the factors."""
    differences: list[Difference] = []
    for factor in fitted.design.factors:
        of_factor = [one for one in contrasts(fitted.design) if one.factor == factor.name]
        estimates = [fitted.fit.estimate(one.weights) for one in of_factor]
        p_values = corrected([one.p_value for one in estimates])
        differences += [
            Difference(contrast, estimate, 1.0 if p is None else p)
            for contrast, estimate, p in zip(of_factor, estimates, p_values, strict=True)
        ]
    return differences


def findings(fitted: Fitted, differences: list[Difference]) -> list[str]:
    """Return the answers in words: each level against its baseline, then which effects depend on others."""
    said = []
    for one in differences:
        if not one.is_averaged:
            continue
        value, lower, upper = fitted.shown(one.estimate)
        contrast, digits = one.contrast, fitted.effect_digits
        unit = "" if fitted.runs.metric.unit in (None, "ratio") else f" {fitted.runs.metric.unit}"
        if one.p_corrected > SIGNIFICANT:
            amount = f"{value:,.{digits}f}{'' if fitted.is_log else unit} [{lower:,.{digits}f}, {upper:,.{digits}f}]"
            sentence = f"cannot be told from {contrast.baseline}: {'ratio' if fitted.is_log else 'difference'} {amount}"
        elif fitted.is_log:
            sentence = f"{value:.{digits}f} [{lower:.{digits}f}, {upper:.{digits}f}] times that of {contrast.baseline}"
        else:
            low, high = sorted((abs(lower), abs(upper)))
            way = "lower" if value < 0 else "higher"
            amount = f"{abs(value):,.{digits}f}{unit} [{low:,.{digits}f}, {high:,.{digits}f}]"
            sentence = f"{way} by {amount} than {contrast.baseline}"
        others = [FACTORS_OF_MODEL[name] for name in contrast.at]
        over = f", mean over {' and '.join(others)}" if others else ""
        said.append(f"{contrast.level}: {sentence}{over} ({_p(one.p_corrected)}).")
    for term in terms(fitted.design):
        if len(term.factors) > 1:
            test = fitted.fit.test(term.rows)
            names = " × ".join(FACTORS_OF_MODEL[name] for name in term.factors)
            depends = test.p_value <= SIGNIFICANT
            said.append(
                f"{names}: {'the effect of one depends on the other' if depends else 'no interaction seen'}"
                f" ({_p(test.p_value)})"
                + ("; read the differences at each level, not the mean differences." if depends else ".")
            )
    return said


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 0.0001 else "p < 0.0001"


def estimates_section(fitted: Fitted, differences: list[Difference]) -> Section:
    """Return figures and tables of what was estimated."""
    section = Section("estimates", "Estimates")
    section.items += _mean_figures(fitted)
    section.items += [_differences_table(fitted, differences), _terms_table(fitted), _means_table(fitted)]
    section.items.append(_variances_table(fitted))
    return section


def _n(fitted: Fitted) -> str:
    return f"{counted(len(fitted.runs.values), 'run')}, {len(fitted.design.blocks)} blocks"


def _mean_figures(fitted: Fitted) -> list[Figure | Table]:
    """Return the means of cells: x is the first factor, lines the second, one figure for each level of a third."""
    design = fitted.design
    first, rest = design.factors[0], design.factors[1:]
    thirds: list[str | None] = list(rest[1].levels) if len(rest) > 1 else [None]
    names = [short(level, 16).replace(" ", "\n", 1) for level in first.levels]
    figures: list[Figure | Table] = []
    for number, third in enumerate(thirds):
        series, data = [], []
        for second in rest[0].levels if rest else (None,):
            three = []
            for level in first.levels:
                at = {first.name: level}
                at |= {} if second is None else {rest[0].name: second}
                at |= {} if third is None else {rest[1].name: third}
                three.append(fitted.shown(fitted.fit.estimate(cell_weights(design, at))))
                data.append(at | dict(zip(("mean", "lower", "upper"), three[-1], strict=True)))
            middle, lower, upper = ([one[part] for one in three] for part in range(3))
            series.append(Estimates(second or fitted.runs.metric.name, middle, lower, upper))

        def draw(axes: Any, series: list[Estimates] = series) -> None:
            estimates_with_intervals(axes, names, series, f"{fitted.runs.metric.name} ({fitted.unit})")

        figures.append(
            drawn(
                f"means-{number}",
                "Mean of each cell" + ("" if third is None else f": {third}"),
                Evidence(fitted.unit, _n(fitted), "the bars, 95 %"),
                data,
                draw,
                note="Lines that are not parallel show an interaction." if rest else "",
            )
        )
    return figures


def _row(fitted: Fitted, estimate: LinearEstimate) -> dict[str, Any]:
    value, lower, upper = fitted.shown(estimate)
    return {
        "estimate": value,
        "lower": lower,
        "upper": upper,
        "standard_error": estimate.standard_error,
        "degrees": estimate.degrees,
    }


def _estimate_columns(fitted: Fitted, heading: str, unit: str, digits: int) -> tuple[Column, ...]:
    return (
        Column("estimate", heading, unit, digits),
        Column("lower", "from", unit, digits),
        Column("upper", "to", unit, digits),
        Column("standard_error", "standard error", fitted.fitted_unit, fitted.digits),
        Column("degrees", "degrees", "of freedom", 1),
    )


def _differences_table(fitted: Fitted, differences: list[Difference]) -> Table:
    rows = [
        {
            "factor": FACTORS_OF_MODEL[one.contrast.factor],
            "level": one.contrast.level,
            "baseline": one.contrast.baseline,
            "at": "; ".join(f"{FACTORS_OF_MODEL[name]}: {level}" for name, level in one.contrast.at.items()),
            "p_corrected": of_three_digits(one.p_corrected),
        }
        | _row(fitted, one.estimate)
        for one in differences
    ]
    columns = (
        Column("factor", "factor"),
        Column("level", "level"),
        Column("baseline", "compared with"),
        Column("at", "at"),
        *_estimate_columns(
            fitted, "ratio" if fitted.is_log else "difference", fitted.effect_unit, fitted.effect_digits
        ),
        Column("p_corrected", "p", "by Holm"),
    )
    what = "Ratios to" if fitted.is_log else "Differences from"
    evidence = Evidence(fitted.effect_unit, _n(fitted), IN_TABLE)
    return Table("contrasts", f"{what} the baseline of each factor", columns, rows, evidence)


def _terms_table(fitted: Fitted) -> Table:
    rows = []
    for term in terms(fitted.design):
        test = fitted.fit.test(term.rows)
        rows.append(
            {
                "term": " × ".join(FACTORS_OF_MODEL[name] for name in term.factors),
                "statistic": test.statistic,
                "numerator": test.numerator_degrees,
                "denominator": test.denominator_degrees,
                "p_value": of_three_digits(test.p_value),
            }
        )
    columns = (
        Column("term", "term"),
        Column("statistic", "F", "", 2),
        Column("numerator", "degrees of freedom"),
        Column("denominator", "of the residual", "", 1),
        Column("p_value", "p"),
    )
    evidence = Evidence("without unit", _n(fitted), "none: a test has a p-value")
    return Table("terms", "Main effects and interactions", columns, rows, evidence)


def _means_table(fitted: Fitted) -> Table:
    design = fitted.design
    rows = [
        dict(zip((factor.name for factor in design.factors), cell, strict=True))
        | _row(fitted, fitted.fit.estimate(np.eye(len(design.cells))[place]))
        for place, cell in enumerate(design.cells)
    ]
    columns = (
        *(Column(factor.name, FACTORS_OF_MODEL[factor.name]) for factor in design.factors),
        *_estimate_columns(fitted, "geometric mean" if fitted.is_log else "mean", fitted.unit, fitted.shown_digits),
    )
    return Table("means", "Mean of each cell", columns, rows, Evidence(fitted.unit, _n(fitted), IN_TABLE))


def _variances_table(fitted: Fitted) -> Table:
    fit = fitted.fit
    rows = [
        {"part": "between blocks", "deviation": math.sqrt(fit.block_variance), "share": fit.block_share},
        {
            "part": "between runs of a block",
            "deviation": math.sqrt(fit.residual_variance),
            "share": 1 - fit.block_share,
        },
    ]
    columns = (
        Column("part", "part"),
        Column("deviation", "standard deviation", fitted.fitted_unit, fitted.digits),
        Column("share", "share of the variance", "ratio", 3),
    )
    evidence = Evidence(fitted.fitted_unit, _n(fitted), "none: few blocks do not give a useful one")
    return Table("variances", "Where the variation is", columns, rows, evidence)
