"""The page of a report: question, data, model, estimates, diagnostics, and what it does not show."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from sojourn_process.printable import counted
from sojourn_statistics.mixed.design import design_of
from sojourn_statistics.mixed.fitting import fit_mixed
from sojourn_statistics.mixed.residuals import check_residuals
from sojourn_transforms import __version__
from sojourn_transforms.look.content import Frame, Page, Section, Tile
from sojourn_transforms.report.data import data_section
from sojourn_transforms.report.diagnostics import diagnostics_section
from sojourn_transforms.report.estimates import differences_of, estimates_section, findings
from sojourn_transforms.report.fitted import Fitted, value_unit
from sojourn_transforms.report.selected_runs import FACTORS_OF_MODEL, ReportError, SelectedRuns

#: Sentences of a study with many settings that a page has room for.
MOST_FINDINGS = 12

REPORT = Frame(
    generator="sojourn report",
    about="The effects of queue, congestion control and rate on one metric of a study",
    closing_key="again",
    closing_title="Reproduce this page",
    closing="The same build gives the same page, to the last digit. Run this in a folder with that build:",
    footer="Every interval is over runs. This page loads nothing from the network.",
)


def page_of(runs: SelectedRuns, is_log: bool, command: str) -> Page:
    """Return the page of some runs; ``is_log`` fits the natural logarithm of the values.

    Raises
    ------
    ReportError
        If a logarithm is asked for and a value is not above 0.
    DesignRefusedError
        If the runs cannot carry the model.
    """
    values = runs.values
    if is_log:
        low = int((values <= 0).sum())
        if low:
            raise ReportError(f"{low} of {values.size} values of {runs.metric.name} are 0 or below; use --scale linear")
        values = np.log(values)
    design = design_of(runs.levels, runs.factors, runs.blocks, values)
    fit = fit_mixed(design, values)
    fitted = Fitted(runs, fit, check_residuals(fit), is_log)
    differences = differences_of(fitted)
    sections = [
        question_section(fitted, findings(fitted, differences)),
        *findings_sections(runs),
        data_section(fitted),
        model_section(fitted),
        estimates_section(fitted, differences),
        diagnostics_section(fitted),
        limits_section(fitted),
    ]
    tiles = [
        Tile(f"{values.size:,}", "runs"),
        Tile(f"{len(design.cells):,}", "cells: " + " × ".join(str(len(one.levels)) for one in design.factors)),
        Tile(f"{len(design.blocks):,}", "blocks"),
        Tile(f"{100 * fit.block_share:.0f} %", "of the variance of a run is due to its block"),
        Tile(str(len(fitted.doubts)), "doubts about the model, named under Diagnostics"),
    ]
    title = f"{runs.study['study_id']}: {runs.metric.description}" + (f", {runs.role}" if runs.role else "")
    return Page(title, tiles, sections, command, __version__, REPORT)


def question_section(fitted: Fitted, sentences: list[str]) -> Section:
    """Return the question in words, and the answers in words."""
    runs = fitted.runs
    names = [FACTORS_OF_MODEL[factor.name] for factor in fitted.design.factors]
    who = f" of the role {runs.role}" if runs.role else ""
    asks = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    further = ", and does the effect of one depend on the others" if len(names) > 1 else ""
    section = Section("question", "Question and answer")
    section.lead = f"How does the {runs.metric.description}{who} depend on {asks}{further}?"
    section.points = sentences
    if fitted.doubts:
        several = len(fitted.doubts) > 1
        section.points = [
            *sentences,
            f"{len(fitted.doubts)} check{'s' if several else ''} of the model {'fail' if several else 'fails'}: read "
            "Diagnostics before you quote these numbers.",
        ]
    return section


def findings_sections(runs: SelectedRuns) -> list[Section]:
    """Return what the build says of the whole study; none if it says nothing."""
    if not runs.findings:
        return []
    section = Section("findings", "Findings of the build for this study")
    section.lead = "From the mart finding: over all runs of the study, and without the model on this page."
    section.points = list(runs.findings[:MOST_FINDINGS])
    left = len(runs.findings) - MOST_FINDINGS
    if left > 0:
        study = quote(runs.study["study_id"], safe="")
        section.points.append(f"{counted(left, 'more sentence')}: /v1/findings?study_id={study}&run_id__null=true.")
    return [section]


def model_section(fitted: Fitted) -> Section:
    """Return the model in words and as a formula."""
    design = fitted.design
    called = [FACTORS_OF_MODEL[factor.name] for factor in design.factors]
    response = f"log({fitted.runs.metric.name})" if fitted.is_log else fitted.runs.metric.name
    section = Section("model", "Model")
    section.formula = (
        f"{response} ~ {' * '.join(factor.name for factor in design.factors)} + (1 | block)\n\n"
        "y_i = mu_cell(i) + u_block(i) + e_i,    u ~ N(0, s_block^2),    e ~ N(0, s_run^2)"
    )
    section.lead = (
        f"Each run has one value{', of which the natural logarithm is taken' if fitted.is_log else ''}. Every cell, a "
        f"combination of {' × '.join(called)}, has its own mean: main effects and all interactions are fixed "
        "effects. What all runs of a block share is a random effect, and the rest is the residual of the run. "
        "Both are normal, with one variance each. The model is fitted by restricted maximum likelihood (REML, "
        "MixedLM of statsmodels"
        f"{', and a search of the profile likelihood' if fitted.fit.is_searched else ''}). "
        "Intervals are t intervals of 95 % with Satterthwaite's degrees of freedom; p-values of differences are "
        "Holm-corrected over all differences for one factor."
    )
    if fitted.fit.is_singular:
        section.points.append(
            "The variance between blocks is estimated as 0: blocks differ no more than the runs within a "
            "block, or there are too few blocks to tell. Means and differences are those of the model without "
            "blocks. Degrees of "
            "freedom are still of the model with blocks, because an estimate of 0 does not show that blocks are alike."
        )
    for factor in design.factors:
        section.points.append(
            f"{FACTORS_OF_MODEL[factor.name].capitalize()}: {', '.join(factor.levels)}; "
            f"differences are from {factor.levels[0]}."
        )
    for factor in fitted.runs.factors:
        if factor not in design.factors:
            section.points.append(
                f"{FACTORS_OF_MODEL[factor.name].capitalize()} is not in the model: all runs have {factor.levels[0]}."
            )
    return section


def limits_section(fitted: Fitted) -> Section:
    """Return what the page does not show."""
    runs, unit = fitted.runs, value_unit(fitted.runs)
    shared = ", ".join(f"{name} {value}" for name, value in runs.shared.items())
    section = Section("limits", "What this does not show")
    section.absent = [
        f"Other settings: every run has {shared or 'no other setting stated'}. These results do not extend "
        "beyond that.",
        "The distribution within a run: a run is one value here. Packets are in /v1/distributions, and two modes of "
        f"runs in /v1/comparisons/{runs.metric.name}?analysis=modes.",
        "Causes that are not in the model. Blocks absorb what drifts between them, not what changes with a cell.",
        "That there is no difference: an interval that contains "
        f"{'1' if fitted.is_log else '0'} does not show that there is none. "
        f"/v1/comparisons/{runs.metric.name} tests for a margin.",
        "An answer that assumes no normal distribution: /v1/comparisons compares the same runs by ranks "
        "(Hodges-Lehmann). "
        "If the two disagree, trust the ranks.",
    ]
    if fitted.is_log:
        section.absent.append(
            f"Arithmetic means: because of the logarithm, means are geometric, in {unit}, and effects are ratios."
        )
    return section
