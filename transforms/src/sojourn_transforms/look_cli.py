"""``sojourn look``: files into one page, without a server, a warehouse or a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.memory import workers_that_fit

DEFAULT_PAGE = Path("sojourn-look.html")


def register(app: typer.Typer) -> None:
    """Add ``look`` to the command line."""
    app.command("look", short_help="Show the content of files on one page.")(look)


def look(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH…", help="Files, or folders with all subfolders; - is standard input."),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Compare two settings, each a file or a folder, instead of PATH…."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Page to write. Default: {DEFAULT_PAGE} in the current folder. Only an earlier page is replaced."
        ),
    ] = None,
    json_numbers: Annotated[
        bool,
        typer.Option("--json", help="Print the numbers of every figure as JSON; write a page only with --out."),
    ] = False,
    parquet: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the tables behind the page to DIR, as Parquet.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of files decoded in parallel; each uses one core.",
            show_default="the number of cores, or fewer if memory is limited",
        ),
    ] = workers_that_fit(os.cpu_count() or 1),
) -> None:
    """Show the content of files on one HTML page, without a server, a warehouse or a network.

    The command reads everything that sojourn ingest reads, and combines related files: the two captures of a run and
    its queue log by the manifest next to them, parts of one recording, results of several tools. The page shows what
    was read and refused, delay over time and its distribution, idle and loaded if known, rates by flow, loss and
    marks, RTT by server, calls with MOS, fairness and harm. Every figure has its unit, its n, and its interval or the
    reason why there is none. The commands at the end of the page put the same files into a warehouse.

    For example:

      sojourn look capture.pcap

      sojourn look before.flent.gz after.flent.gz

      sojourn look ~/testbed/run-17 --no-open --out run-17.html

      sojourn look --compare ~/fifo ~/fq_codel

      zcat capture.pcap.gz | sojourn look -

      sojourn look capture.pcap --json | jq '.sections[].figures[].key'

    A run needs its manifest.json for roles, fairness and harm. The page never names hosts; it names servers by their
    registrable domain.
    """
    if bool(sources) == (compare is not None):
        raise typer.BadParameter("give files or folders, or --compare A B", param_hint="PATH")
    inputs = list(sources or compare or ())
    missing = next((path for path in inputs if str(path) != "-" and not path.exists()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such file or folder", param_hint="PATH")
    from sojourn_ingest.operator_error import OperatorError
    from sojourn_transforms.look.command import LookOptions, run_look
    from sojourn_transforms.running.statements import ModelError

    options = LookOptions(
        sources=inputs,
        compares=compare is not None,
        out=DEFAULT_PAGE if out is None and not json_numbers else out,
        json_numbers=json_numbers,
        parquet=parquet,
        open_page=open_page,
        workers=workers,
    )
    try:
        run_look(options)
    except ModelError as error:
        raise OperatorError(str(error)) from error
