"""``sojourn ingest``: files into the lake."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.enrichment import AccessRules, Enrichment, PrefixList
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.forgotten import ForgottenHosts, ForgottenListError
from sojourn_ingest.formats.capture.server_names import server_names_of
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.paths import Paths
from sojourn_ingest.secrets_file import address_key, ensure_secrets, forget_key
from sojourn_ingest.session import Attempt, IngestSession, Runner, ThreadRunner, files_below

MESSAGES_SHOWN = 12
#: Other packages offer other runners of an ingest here; see sojourn_transforms.spark.ingest.
ENGINE_GROUP = "sojourn.ingest_engines"


def register(app: typer.Typer) -> None:
    """Add ``ingest`` and ``secrets`` to the command line."""
    app.command("ingest")(ingest)
    app.command("secrets")(secrets)


def secrets(
    var: Annotated[
        Path | None, typer.Option(help="Folder of everything generated. Default: $SOJOURN_VAR or ./var.")
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
        Path | None, typer.Option(help="Folder of everything generated. Default: $SOJOURN_VAR or ./var.")
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
    server_names: Annotated[
        str,
        typer.Option(
            help="Of the servers in captures, registrable: the registered domain is kept (example.com of "
            "www.example.com); full: the whole name; none: no name."
        ),
    ] = "registrable",
    prefix_table: Annotated[
        list[Path] | None,
        typer.Option(
            help="CSV (prefix, asn, country) or MMDB file that gives a client's AS and country; may be given again, "
            "the first that knows an address decides."
        ),
    ] = None,
    access_rules: Annotated[
        Path | None,
        typer.Option(help="Rules from reverse-DNS names and AS to access technology, instead of the bundled ones."),
    ] = None,
    lookups_win: Annotated[
        bool, typer.Option("--lookups-win", help="Looked-up AS, country and access win over those a source gives.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what each file is taken for, and write nothing.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="threads: of this machine; spark: tasks of this machine or of a cluster that sees the files."
        ),
    ] = "threads",
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master, such as spark://host:7077. Default: $SOJOURN_SPARK_MASTER or this machine."),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(metavar="spark.SETTING=VALUE", help="A setting of Spark; may be given several times."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 when any file was rejected or is damaged.")
    ] = False,
) -> None:
    """Read captures, queue logs, connections, run manifests and study tables into the lake.

    The format of a file is found from its content, not its name. Every attempt is recorded in the table
    ingest_outcome, with the reason where something could not be read; a damaged file gives what came before
    the damage. The same content is kept once, so repeating a command adds nothing.

    Captures that continue one another are read as one: rotated files of tcpdump (-C, -G, -W), ring buffers of
    dumpcap, and what a run's manifest lists as parts. --dry-run shows what belongs together.

    Examples
    --------
      sojourn ingest ingest/sample

      sojourn ingest --dry-run ~/captures/2026-11

      sojourn ingest run.pcap.gz queue_bpftrace.txt manifest.json

    Queue logs: text of the bpftrace probe or of perf script, the binary stream of the BCC queue monitor, polls of
    tc -s -j qdisc, and JSON Lines or CSV with a description beside them; docs/how-to/record-a-queue.md has the table.

    Results of tools: flent, iperf3, iperf 2, irtt, crusader, ping, fping, qlog, ePPing and pping, networkQuality and
    other speed tests; docs/inputs.md has the table.

      sojourn ingest --engine spark --master spark://cluster:7077 /mnt/captures
    """
    console = Console(stderr=True)
    if addresses not in ("pseudonymise", "keep"):
        raise typer.BadParameter("give pseudonymise or keep", param_hint="--addresses")
    policy: AddressPolicy = "keep" if addresses == "keep" else "pseudonymise"
    try:
        names = server_names_of(server_names)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--server-names") from error
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
    forget_key_bytes = b"dry run" if dry_run else forget_key(paths.secrets)
    try:
        pseudonymiser = Pseudonymiser(key, policy, ForgottenHosts.load(paths.forgotten, forget_key_bytes))
        enrichment = Enrichment(
            prefix_lists=tuple(PrefixList.load(path) for path in prefix_table or ()),
            rules=bundled_rules() if access_rules is None else AccessRules.load(access_rules),
            lookups_win=lookups_win,
        )
    except (InputError, ForgottenListError) as error:
        console.print(f"[red]error:[/red] {escape(str(error))}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    lake = paths.open_lake()
    if dry_run:
        session = IngestSession(lake, pseudonymiser, packets=packets, server_names=names, enrichment=enrichment)
        session.prepare(files)
        _print_formats(console, session, files)
        return
    holding = _runner(engine, paths, lake, workers, master, spark_conf or [])
    try:
        with lake.writing(), holding as runner:
            session = IngestSession(
                lake, pseudonymiser, runner=runner, packets=packets, server_names=names, enrichment=enrichment
            )
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


def _runner(
    engine: str, paths: Paths, lake: Lake, workers: int, master: str | None, conf: list[str]
) -> AbstractContextManager[Runner]:
    # duckdb is what the other commands call the engine of one machine.
    if engine in ("threads", "duckdb"):
        return nullcontext(ThreadRunner(workers))
    known = {entry.name: entry for entry in entry_points(group=ENGINE_GROUP)}
    if engine not in known:
        raise typer.BadParameter(
            f"give threads or {' or '.join(sorted(known)) or 'install another'}", param_hint="--engine"
        )
    holding: AbstractContextManager[Runner] = known[engine].load()(paths, lake, master, conf)
    return holding


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
            recording = session.recording_of(path)
            table.add_row(escape(str(path)), chosen.name if recording is None else f"part of {escape(recording.name)}")
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
        if attempt.disposition == "new":
            counts["records refused"] += attempt.refused
            if attempt.commit.holds_facts:
                counts["records read"] += attempt.commit.records_read
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
