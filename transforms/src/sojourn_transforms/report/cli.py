"""``sojourn report``: a study's question, model and estimates on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sojourn_ingest.command_line import VarOption

DEFAULT_METRIC = "queuing_delay_mean"


def register(app: typer.Typer) -> None:
    """Add ``report`` to the command line."""
    app.command("report", short_help="Fit queue, congestion control and rate to a study, on one page.")(report)


def report(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study of the published build, by its id.")],
    metric: Annotated[
        str, typer.Option(help="What is explained: a metric of /v1/comparisons, one value for each run.")
    ] = DEFAULT_METRIC,
    role: Annotated[
        str | None, typer.Option(help="Role of the flows, if the metric has one. Default: app, if it is there.")
    ] = None,
    basis: Annotated[str | None, typer.Option(help="Kind of the metric, if the study has several.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Only runs with this part of their configuration. Repeat it; the same column twice is one of several.",
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="What makes runs a block: block (of the manifest), repetition, session, or a regular expression whose"
            " group is found in the run's id. Default: the first of block, repetition, session and _rep(N) at the id's"
            " end that every run has."
        ),
    ] = None,
    scale: Annotated[
        Literal["linear", "log"], typer.Option(help="linear: differences; log: ratios, for values whose spread grows.")
    ] = "linear",
    out: Annotated[Path | None, typer.Option(help="The page. Default: sojourn-report-STUDY-METRIC.html here.")] = None,
    json_numbers: Annotated[
        bool,
        typer.Option("--json", help="Print the numbers of every figure as JSON; a page is written only with --out."),
    ] = False,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    var: VarOption = None,
) -> None:
    """Fit one metric of a study by queue, congestion control and rate, and write one HTML page that loads nothing.

    The model is linear and mixed: the three factors with all their interactions are fixed effects, blocks of runs are
    random ones. It is fitted by REML, and intervals of 95 % use Satterthwaite's degrees of freedom. The page has the
    question, the data, the model in words and as a formula, every estimate with its interval, checks of the residuals
    with figures, and what it does not show. The unit is the run: packets of one run are not independent replicates.

    The command needs a published build (sojourn build). It refuses in one line if the design cannot carry the model:
    one run of each cell, one block, cells without a run, or no variation. The line says which runs would.

    A factor with one level in the study stays out of the model. Solo runs stay out unless --where start_order=solo. If
    runs differ in something else too, such as the RTT, they are not pooled: choose with --where.

    For example:

      sojourn report sojourn-sample

      sojourn report sojourn-sample --metric harm --basis throughput --no-open --out harm.html

      sojourn report my-study --where rtt_ms=50 --where application=zoom --scale log

      sojourn report my-study --block '-day([0-9]+)-'

      sojourn report sojourn-sample --json | jq '.sections[].tables[] | select(.key == "contrasts")'
    """
    wrong = next((one for one in where or () if "=" not in one.strip("=")), None)
    if wrong is not None:
        raise typer.BadParameter(f"{wrong!r} is not COLUMN=VALUE", param_hint="--where")
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
