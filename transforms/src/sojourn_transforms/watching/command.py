"""What ``sojourn watch`` does with its options."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import duckdb
import typer
from rich.console import Console

from sojourn_ingest.cli.ingesting import IngestOptions, enrichment_of, pseudonymiser_of
from sojourn_ingest.forgotten import ForgottenListError
from sojourn_ingest.input_error import InputError
from sojourn_ingest.lake import LakeBusyError
from sojourn_ingest.lake.compaction import CompactionError
from sojourn_ingest.paths import Paths
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import markup, printable
from sojourn_transforms.build import BuildError, BuildReport, build
from sojourn_transforms.engine import DuckDbEngine
from sojourn_transforms.watching.arrivals import WatchedFolders
from sojourn_transforms.watching.watch import Reading, Watch


def run_watch(options: IngestOptions, *, quiet_s: float, memory: str | None, once: bool) -> None:
    """Watch until SIGINT or SIGTERM, or with ``once`` until what is there was published.

    Raises
    ------
    typer.Exit
        With status 1 if a table of prefixes or the list of forgotten hosts cannot be read or, with ``once``, a step
        failed; with 128 and the number of the signal that ended it with ``once``.
    """
    signals: list[int] = []
    keep_pandas_out()
    paths = Paths.from_environment(options.var)
    console = Console(stderr=True)
    try:
        pseudonymiser_of(options, paths)
        reading = Reading(
            lambda: pseudonymiser_of(options, paths), enrichment_of(options), options.server_names, options.workers
        )
        with _stopped_by_signals(signals.append), spoken(console) as (say, show):
            # What Sojourn itself generated is not input, even where it is in one of the folders.
            folders = WatchedFolders(options.sources, quiet_s, left_out=[paths.var])

            def publish() -> BuildReport:
                engine = DuckDbEngine(paths, memory=memory)
                # What does not fit on the disk is refused before it is begun, and tried again when there may be room.
                return build(paths, lambda _: None, engine=engine, say=None if options.ignore_disk else lambda _: None)

            watch = Watch(
                paths,
                folders,
                reading,
                publish,
                lambda: bool(signals),
                say,
                show,
                ignore_disk=options.ignore_disk,
            )
            watch.run(once=once)
    except (InputError, ForgottenListError, BuildError, CompactionError, LakeBusyError, duckdb.Error) as error:
        console.print(f"[red]error:[/red] {markup(error)}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        console.print("stopped; committed files are kept, and the next watch continues from there")
        if once:
            # It did not come to the end that it has.
            raise typer.Exit(128 + (signals[-1] if signals else signal.SIGINT)) from error


@contextmanager
def _stopped_by_signals(note: Callable[[int], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM interrupt this process while it is held, and their number noted."""

    def stop(number: int, _: FrameType | None) -> None:
        note(number)
        raise KeyboardInterrupt

    # The first process of a container ignores SIGTERM unless it has a handler. SIGIO comes when somebody begins to
    # write to a file in the moment in which it is looked at; by default it would end the process.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    if hasattr(signal, "SIGIO"):
        before[signal.SIGIO] = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def spoken(console: Console) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Yield what prints a line, and what shows the state: on a terminal in its last line, elsewhere not at all."""

    def say(text: str) -> None:
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    if not console.is_terminal:
        yield say, lambda _: None
        return
    with console.status("watching") as status:
        yield say, lambda text: status.update(markup(text))
