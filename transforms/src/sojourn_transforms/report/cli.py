"""``sojourn report``: a study's question, model and estimates on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sojourn_ingest.command_line import OneOf, VarOption
from sojourn_statistics.comparison.metrics import CONFIGURATION, METRICS

METRIC = OneOf(METRICS)
#: A report is of one study.
COLUMN = OneOf(CONFIGURATION[1:])
DEFAULT_METRIC = "queuing_delay_mean"


def register(app: typer.Typer) -> None:
    """Add ``report`` to the command line."""
    app.command("report", short_help="Model a metric of a study by queue, congestion control and rate.")(report)


def report(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Id of a study in the published build.")],
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC", click_type=METRIC, help=f"Metric to model, with one value per run. {METRIC.listed}"
        ),
    ] = DEFAULT_METRIC,
    role: Annotated[
        str | None, typer.Option(help="Role of the flows, if the metric has roles. Default: app, if it exists.")
    ] = None,
    basis: Annotated[str | None, typer.Option(help="Kind of the metric, if the study has several.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Select runs by configuration. May be repeated; repeat a column to allow several values. "
            f"COLUMN is one of: {', '.join(COLUMN.choices)}.",
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="Definition of a block: block (from the manifest), repetition, session, or a regular expression with "
            "a group that matches in the run id. Default: the first of block, repetition, session and _rep(N) at the "
            "end of the id that every run has."
        ),
    ] = None,
    scale: Annotated[
        Literal["linear", "log"],
        typer.Option(help="linear: differences; log: ratios, if the spread grows with the value."),
    ] = "linear",
    out: Annotated[Path | None, typer.Option(help="Page to write. Default: sojourn-report-STUDY-METRIC.html.")] = None,
    json_numbers: Annotated[
        bool,
        typer.Option("--json", help="Print the numbers of every figure as JSON; write a page only with --out."),
    ] = False,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    var: VarOption = None,
) -> None:
    """Model a metric of a study by queue, congestion control and rate, and write a self-contained HTML page.

    The model is a linear mixed model: the three factors with all their interactions are fixed effects, and blocks of
    runs are random effects. It is fitted by REML, and the 95 % intervals use Satterthwaite's degrees of freedom. The
    page has the question, the data, the model in words and as a formula, every estimate with its interval, checks of
    the residuals with figures, and its limits. The unit is the run: packets of one run are not independent replicates.

    The command needs a published build (sojourn build). If there are too few runs for the model (one run per cell, one
    block, cells without a run, or no variation), it prints one line that says which runs are missing.

    A factor with only one level in the study is left out of the model. Solo runs are left out unless you use --where
    start_order=solo. If runs also differ in something else, such as the RTT, they are not pooled: select with --where.

    For example:

      sojourn report sojourn-sample

      sojourn report sojourn-sample --metric harm --basis throughput

      sojourn report my-study --where rtt_ms=50 --where application=zoom

      sojourn report my-study --block '-day([0-9]+)-'

      sojourn report sojourn-sample --json | jq '.sections[].tables[].key'
    """
    for condition in where or ():
        column, _, value = condition.partition("=")
        if not column or not value:
            raise typer.BadParameter(f"{condition!r} is not COLUMN=VALUE", param_hint="--where")
        if column not in COLUMN.choices:
            raise typer.BadParameter(COLUMN.get_invalid_choice_message(column, None), param_hint="--where")
    from sojourn_transforms.report.command import ReportOptions, run_report

    run_report(
        ReportOptions(
            study=study,
            metric=metric,
            role=role,
            basis=basis,
            where=tuple(where or ()),
            block=block,
            is_log=scale == "log",
            out=out,
            json_numbers=json_numbers,
            open_page=open_page,
            var=var,
        )
    )
