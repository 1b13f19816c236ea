"""What the command does with its options: where the page goes, what is said, and the browser."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from sojourn_ingest.session import Attempt
from sojourn_process.printable import counted, markup, printable
from sojourn_transforms.look.content import LOOK
from sojourn_transforms.look.html import html_of
from sojourn_transforms.look.looking import look
from sojourn_transforms.look.numbers import json_of
from sojourn_transforms.look.page_file import check_place, has_display, tables_folder, write_page


@dataclass(frozen=True)
class LookOptions:
    """The options of one look, as the command line gives them; see the help of ``sojourn look``."""

    sources: Sequence[Path]
    compares: bool
    out: Path | None
    json_numbers: bool
    parquet: Path | None
    open_page: bool
    workers: int


def run_look(options: LookOptions) -> None:
    """Write the page, print where it is, and open it.

    Raises
    ------
    LookError
        If there is nothing to look at.
    PageInTheWayError
        If a file that is not ours is in the way.
    typer.Exit
        With status 1 if no file could be read; the page then has the reasons.
    """
    if options.out is not None:
        check_place(options.out, LOOK.generator)
    with tables_folder(options.parquet) as tables, _progress() as note:
        if options.compares:
            from sojourn_transforms.look.comparing import compare

            looked = compare(options.sources[0], options.sources[1], note, options.workers, tables)
        else:
            looked = look(options.sources, note, options.workers, tables)
    if options.json_numbers:
        typer.echo(json_of(looked.page))
    if options.parquet is not None:
        typer.echo(f"{counted(len(looked.marts), 'table')} in {printable(options.parquet)}", err=True)
    if options.out is not None:
        replaced = options.out.exists()
        write_page(options.out, html_of(looked.page))
        typer.echo(f"{printable(options.out)}{' (replaced)' if replaced else ''}", err=options.json_numbers)
        if options.open_page and not options.json_numbers and has_display():
            webbrowser.open(options.out.resolve().as_uri())
    if not looked.any_facts:
        typer.echo("error: no file could be read; the page gives the reason for each file", err=True)
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Callable[[Attempt], None]]:
    """Show on a terminal which files are done; yield what takes note of each."""
    if not sys.stderr.isatty():
        yield lambda _attempt: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    done = 0
    with console.status("look") as status:

        def note(attempt: Attempt) -> None:
            nonlocal done
            done += 1
            status.update(f"{counted(done, 'file')} read, last {markup(attempt.path.name)}")

        yield note
