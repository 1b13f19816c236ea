"""What the command does with its options: the build, the page's place, what is said, and the browser."""

from __future__ import annotations

import re
import shlex
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.paths import Paths
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import markup, printable
from sojourn_transforms.look.html import html_of
from sojourn_transforms.look.numbers import json_of
from sojourn_transforms.look.page_file import check_place, has_display, write_page
from sojourn_transforms.report.page import REPORT, page_of
from sojourn_transforms.report.selected_runs import ReportQuestion, opened_build, selected


@dataclass(frozen=True)
class ReportOptions:
    """The options of one report, as the command line gives them; see the help of ``sojourn report``."""

    study: str
    metric: str
    role: str | None
    basis: str | None
    where: tuple[str, ...]
    block: str | None
    is_log: bool
    out: Path | None
    json_numbers: bool
    open_page: bool
    var: Path | None


def run_report(options: ReportOptions) -> None:
    """Write the page, print where it is, and open it.

    Raises
    ------
    OperatorError
        If there is no build, study, metric or value; if runs differ in more than the model has; if the design cannot
        carry it, as `sojourn_statistics.mixed.design.DesignRefusedError` says; or if the page cannot be written.
    """
    from sojourn_statistics.mixed.design import DesignRefusedError

    out = options.out
    if out is None and not options.json_numbers:
        out = Path(f"sojourn-report-{_file_name(options.study)}-{_file_name(options.metric)}.html")
    if out is not None:
        check_place(out, REPORT.generator)
    keep_pandas_out()
    question = ReportQuestion(options.study, options.metric, options.role, options.basis, options.where, options.block)
    with _progress() as said:
        try:
            said("read the build")
            with opened_build(Paths.from_environment(options.var).snapshots) as build:
                runs = selected(build, question)
            said(f"fit {len(runs.values)} runs")
            page = page_of(runs, options.is_log, _command(options))
        except DesignRefusedError as refused:
            raise OperatorError(f"{options.study}, {options.metric}: {refused}") from refused
    if options.json_numbers:
        typer.echo(json_of(page))
    if out is not None:
        replaced = out.exists()
        write_page(out, html_of(page))
        typer.echo(f"{printable(out)}{' (replaced)' if replaced else ''}", err=options.json_numbers)
        if options.open_page and not options.json_numbers and has_display():
            webbrowser.open(out.resolve().as_uri())


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.") or "study"


def _command(options: ReportOptions) -> str:
    parts = ["sojourn", "report", options.study, "--metric", options.metric]
    for name, value in (("--role", options.role), ("--basis", options.basis), ("--block", options.block)):
        parts += [] if value is None else [name, value]
    for condition in options.where:
        parts += ["--where", condition]
    return shlex.join(parts + (["--scale", "log"] if options.is_log else []))


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is done; yield what takes note of a step."""
    if not sys.stderr.isatty():
        yield lambda _step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("report") as status:
        yield lambda step: status.update(markup(step))
