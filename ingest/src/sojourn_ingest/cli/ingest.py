"""``sojourn ingest``: files into the lake."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.paths import Paths
from sojourn_ingest.secrets_file import address_key, ensure_secrets
from sojourn_ingest.session import Attempt, IngestSession, files_below

MESSAGES_SHOWN = 12


def register(app: typer.Typer) -> None:
    """Add ``ingest`` and ``secrets`` to the command line."""
    app.command("ingest")(ingest)
    app.command("secrets")(secrets)


def secrets(
    var: Annotated[
        Path | None, typer.Option(help="Folder of everything generated. [default: $SOJOURN_VAR or ./var]")
    ] = None,
) -> None:
    """Make the keys and passwords of this installation, where they are missing, and say where they are."""
    paths = Paths.from_environment(var)
    ensure_secrets(paths.secrets)
    typer.echo(f"{paths.secrets}")


def ingest(
    sources: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Files, or folders that are read to the bottom.")
    ],
    var: Annotated[
        Path | None, typer.Option(help="Folder of everything generated. [default: $SOJOURN_VAR or ./var]")
    ] = None,
    addresses: Annotated[
        str,
        typer.Option(
            help="pseudonymise: public addresses become keyed hashes before anything is written; "
            "keep: they are written as they are."
        ),
    ] = "pseudonymise",
    workers: Annotated[int, typer.Option(min=1, help="Files decoded at a time; each uses one core.")] = os.cpu_count()
    or 1,
    packets: Annotated[
        bool, typer.Option("--packets", help="Write the table packet too: one row per packet of every capture.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what each file is taken for, and write nothing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 when any file was rejected or is damaged.")
    ] = False,
) -> None:
    """Read captures, queue logs, ss polls, run manifests and study tables into the lake.

    The format of a file is found from its content, not its name. Every attempt is recorded in the table
    ingest_outcome, with the reason where something could not be read; a damaged file gives what came before
    the damage. The same content is kept once, so repeating a command adds nothing.

    Examples
    --------
      sojourn ingest ingest/sample

      sojourn ingest --dry-run ~/captures/2026-11

      sojourn ingest run.pcap.gz queue_bpftrace.txt manifest.json
    """
    console = Console(stderr=True)
    if addresses not in ("pseudonymise", "keep"):
        raise typer.BadParameter("give pseudonymise or keep", param_hint="--addresses")
    policy: AddressPolicy = "keep" if addresses == "keep" else "pseudonymise"
    paths = Paths.from_environment(var)
    try:
        files = files_below(sources)
    except FileNotFoundError as error:
        raise typer.BadParameter(str(error), param_hint="PATH") from error
    # What Sojourn itself generated is not input, even when the folder around it is given.
    files = [path for path in files if paths.var not in path.parents or paths.generated in path.parents]
    if not files:
        raise typer.BadParameter("no file below the given folders", param_hint="PATH")
    # A dry run writes no address, and no key either.
    key = b"dry run" if dry_run else address_key(paths.secrets)
    session = IngestSession(Lake(paths.lake), Pseudonymiser(key, policy), workers, packets=packets)
    if dry_run:
        session.prepare(files)
        _print_formats(console, session, files)
        return
    lake = session.lake
    try:
        with lake.writing():
            attempts = _run(console, session, files)
    except LakeBusyError as error:
        console.print(f"[red]error:[/red] {error}")
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        console.print("stopped; what was committed stays, the same command completes the rest")
        raise typer.Exit(130) from error
    _print_summary(Console(), attempts)
    imperfect = [a for a in attempts if a.commit.status != "ok"]
    if (strict and imperfect) or (attempts and len(imperfect) == len(attempts) and not _any_facts(attempts)):
        raise typer.Exit(1)


def _any_facts(attempts: Iterable[Attempt]) -> bool:
    return any(attempt.commit.status != "rejected" for attempt in attempts)


def _run(console: Console, session: IngestSession, files: list[Path]) -> list[Attempt]:
    columns = (
        TextColumn("ingest"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(files))

        def show(attempt: Attempt) -> None:
            progress.update(task, advance=1, description=escape(f"{attempt.path.parent.name}/{attempt.path.name}"))

        return session.run(files, show)


def _print_formats(console: Console, session: IngestSession, files: list[Path]) -> None:
    table = Table(title="dry run: nothing is written", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("would be read as", overflow="fold")
    for path in files:
        try:
            chosen, _ = session.recognise(path)
            table.add_row(escape(str(path)), chosen.name)
        except InputError as error:
            table.add_row(escape(str(path)), f"[yellow]rejected, {error.reason}[/yellow]: {escape(error.message)}")
    console.print(table)


def _print_summary(console: Console, attempts: list[Attempt]) -> None:
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for attempt in attempts:
        counts = groups[attempt.commit.format or "not recognised"]
        counts["files"] += 1
        counts[_disposition(attempt)] += 1
        if attempt.commit.status == "partial":
            counts["damaged"] += 1
        if attempt.disposition == "new" and attempt.commit.holds_facts:
            counts["records read"] += attempt.commit.records_read
            counts["records refused"] += attempt.refused
    headings = (
        "files",
        "new",
        "unchanged",
        "duplicate",
        "damaged",
        "rejected",
        "records read",
        "records refused",
    )
    shown = [heading for heading in headings if any(counts[heading] for counts in groups.values())]
    table = Table(title="ingested", title_justify="left")
    table.add_column("format", no_wrap=True)
    for heading in shown:
        table.add_column(heading, justify="right")
    for name, counts in sorted(groups.items()):
        table.add_row(escape(name), *(f"{counts[heading]:,}" for heading in shown))
    console.print(table)
    _print_messages(console, attempts)


def _disposition(attempt: Attempt) -> str:
    if attempt.commit.status == "rejected":
        return "rejected"
    if attempt.disposition == "unchanged":
        return "unchanged"
    return "new" if attempt.commit.duplicate_of is None else "duplicate"


def _print_messages(console: Console, attempts: list[Attempt]) -> None:
    imperfect = [attempt for attempt in attempts if attempt.commit.status != "ok"]
    unknown = [
        a
        for a in imperfect
        if a.commit.reason == "unrecognised_format" and a.commit.message == "text that no reader knows"
    ]
    spoken = [attempt for attempt in imperfect if attempt not in unknown]
    for attempt in spoken[:MESSAGES_SHOWN]:
        commit = attempt.commit
        colour = "red" if commit.status == "rejected" else "yellow"
        message = escape(commit.message or commit.reason or "")
        console.print(
            f"[{colour}]{commit.status}[/{colour}] {escape(str(attempt.path))}: {message}",
            soft_wrap=True,
            highlight=False,
        )
    if len(spoken) > MESSAGES_SHOWN:
        console.print(f"… and {len(spoken) - MESSAGES_SHOWN} more; all of them are in the table ingest_outcome")
    if unknown:
        names = Counter(attempt.path.name for attempt in unknown)
        shown = ", ".join(escape(name) for name, _ in names.most_common(6))
        more = ", …" if len(names) > 6 else ""
        console.print(f"left aside, text that no reader knows: {len(unknown)} files ({shown}{more})", highlight=False)
