"""The work of ``sojourn ingest``: a session over the files, and its messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.cli.inputs_of_crate import staged_inputs
from sojourn_ingest.disk_space import refuse_too_small_a_disk, size_text
from sojourn_ingest.enrichment import AccessRules, CircuitTable, Enrichment, PrefixList
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.forgotten import ForgottenHosts, ForgottenListError
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.registry import UNKNOWN_TEXT
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.storage.folder import FolderStorage
from sojourn_ingest.paths import Paths
from sojourn_ingest.remote import RemotePath, is_remote
from sojourn_ingest.remote.copies import folder_of_copies
from sojourn_ingest.secrets_file import address_key, forget_key
from sojourn_ingest.session import Attempt, IngestSession, Runner, ThreadRunner, files_below
from sojourn_ingest.session.disk_need import disk_need
from sojourn_ingest.session.recorded_paths import recorded_below
from sojourn_ingest.session.survey import Survey, survey
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import counted, markup, output_console, printable

MESSAGES_SHOWN = 12
REASONS_SHOWN = 6
#: Other packages offer other runners of an ingest here; see sojourn_transforms.spark.ingest.
ENGINE_GROUP = "sojourn.ingest_engines"


@dataclass(frozen=True)
class IngestOptions:
    """The options of one ingest, as the command line gives them; see the help of ``sojourn ingest``."""

    sources: list[Path]
    var: Path | None
    addresses: AddressPolicy
    workers: int
    server_names: ServerNames
    prefix_tables: tuple[Path, ...]
    packets: bool = False
    access_rules: Path | None = None
    lookups_win: bool = False
    circuits: Path | None = None
    keep_site_names: bool = True
    dry_run: bool = False
    root: Path | None = None
    crate: Path | None = None
    engine: str = "threads"
    master: str | None = None
    spark_conf: tuple[str, ...] = ()
    strict: bool = False
    ignore_disk: bool = False


def run_ingest(options: IngestOptions) -> None:
    """Read the files into the lake, show the progress, and print what became of them.

    With a crate these are the files that it lists, which are gathered below the folder of what is generated and
    removed in the end.

    Raises
    ------
    CrateError
        If inputs of the crate are not among the files.
    typer.BadParameter
        If there is no file to read, or no such engine.
    typer.Exit
        With status 1 after a failure, or 130 if the user stopped it.
    """
    console = Console(stderr=True)
    if options.engine != "spark":
        keep_pandas_out()
    paths = Paths.from_environment(options.var)
    remote = [path for path in options.sources if isinstance(path, RemotePath)]
    with _local_files(options, paths) as local:
        # What Sojourn itself generated is not input, even when the folder around it is given.
        files = [path for path in local if paths.var not in path.parents or paths.generated in path.parents]
        if not files and not remote:
            raise typer.BadParameter("no file below the given folders", param_hint="PATH")
        try:
            pseudonymiser, enrichment = pseudonymiser_of(options, paths), enrichment_of(options)
        except (InputError, ForgottenListError) as error:
            console.print(f"[red]error:[/red] {markup(error)}", soft_wrap=True, highlight=False)
            raise typer.Exit(1) from error
        if enrichment.circuits is not None and enrichment.circuits.claimed_twice:
            count = enrichment.circuits.claimed_twice
            console.print(
                markup(
                    f"{options.circuits}: {counted(count, 'subnet')} claimed by several circuits and assigned to none"
                )
            )
        lake = paths.open_lake()
        try:
            work = survey(lake, remote, packets=options.packets, largest=options.workers)
        except FileNotFoundError as error:
            raise typer.BadParameter(f"{error.filename}: {error.strerror}", param_hint="PATH") from error
        batches = chain([files] if files else [], work.batches())
        session_with = partial(
            IngestSession, lake, pseudonymiser, packets=options.packets, server_names=options.server_names,
            enrichment=enrichment, descriptions=work.descriptions,
        )  # fmt: skip
        if options.dry_run:
            session = session_with(runner=None)
            for batch in batches:
                session.prepare(batch)
                _print_formats(output_console(), session, batch)
            return
        if not options.ignore_disk:
            _refuse_too_small_a_disk(console, options, lake, files, work)
        holding = _runner(options, paths, lake)
        by_path: dict[Path, Attempt] = {}
        try:
            with lake.writing(), holding as runner, _progress(console, len(files) + work.objects) as show:
                session = session_with(runner=runner)
                for batch in batches:
                    for attempt in session.run(batch, show):
                        # A description counts once, in the batch that needed it first.
                        by_path.setdefault(attempt.path, attempt)
        except LakeBusyError as error:
            console.print(f"[red]error:[/red] {markup(error)}", soft_wrap=True, highlight=False)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            console.print("stopped; committed files are kept, and the same command ingests the rest")
            raise typer.Exit(130) from error
        attempts = list(by_path.values())
        print_summary(output_console(), attempts)
        imperfect = [a for a in attempts if a.commit.status != "ok"]
        if (options.strict and imperfect) or (
            attempts and len(imperfect) == len(attempts) and not _any_facts(attempts)
        ):
            raise typer.Exit(1)


@contextmanager
def _local_files(options: IngestOptions, paths: Paths) -> Iterator[list[Path]]:
    """Yield the files below the sources, or those that a crate lists, while paths are recorded as the options say."""
    if options.crate is None:
        with recorded_below(options.root):
            try:
                files = files_below(path for path in options.sources if not is_remote(path))
            except FileNotFoundError as error:
                raise typer.BadParameter(str(error), param_hint="PATH") from error
            yield files
        return
    with staged_inputs(options.crate, options.sources, paths.generated / "inputs-of-crate") as staged:
        for warning in staged.warnings:
            typer.echo(f"warning: {printable(warning)}", err=True)
        with recorded_below(staged.root):
            yield list(staged.files)


def pseudonymiser_of(options: IngestOptions, paths: Paths) -> Pseudonymiser:
    """Return what replaces addresses; raises ForgottenListError if the list of forgotten hosts cannot be read."""
    # A dry run writes no address, and no key either.
    of_addresses = b"dry run" if options.dry_run else address_key(paths.secrets)
    of_forgotten = b"dry run" if options.dry_run else forget_key(paths.secrets)
    return Pseudonymiser(of_addresses, options.addresses, ForgottenHosts.load(paths.forgotten, of_forgotten))


def enrichment_of(options: IngestOptions) -> Enrichment:
    """Return what is looked up of addresses; raises InputError if a table or the rules cannot be read."""
    return Enrichment(
        prefix_lists=tuple(PrefixList.load(path) for path in options.prefix_tables),
        rules=bundled_rules() if options.access_rules is None else AccessRules.load(options.access_rules),
        lookups_win=options.lookups_win,
        circuits=None if options.circuits is None else CircuitTable.load(options.circuits),
        keep_site_names=options.keep_site_names,
    )


def _refuse_too_small_a_disk(
    console: Console, options: IngestOptions, lake: Lake, files: list[Path], work: Survey
) -> None:
    # Facts of a lake elsewhere, and those that tasks of a cluster write, are not on this disk. Nor are the copies of a
    # task: it says when it has no room for one.
    if options.engine == "spark":
        return

    def say(text: str) -> None:
        console.print(markup(text), soft_wrap=True)

    need = disk_need(lake, files, packets=options.packets) + work.need
    copied = sum(work.largest_bytes) if work.need.files else 0
    folder = folder_of_copies()
    what = f"ingest of {counted(need.files, 'new or changed file')} of {size_text(need.read_bytes)}"
    if isinstance(lake.storage, FolderStorage) and need.files:
        # On one disk they are there together.
        shared = copied if copied and _on_one_disk(lake.storage.root, folder) else 0
        refuse_too_small_a_disk(what, need.needed_bytes + shared, lake.storage.root, say)
        copied -= shared
    if copied:
        refuse_too_small_a_disk(f"copies of the {len(work.largest_bytes)} largest objects", copied, folder, say)


def _on_one_disk(one: Path, other: Path) -> bool:
    def disk(folder: Path) -> int:
        return next(path for path in (folder, *folder.parents) if path.exists()).stat().st_dev

    return disk(one) == disk(other)


def _runner(options: IngestOptions, paths: Paths, lake: Lake) -> AbstractContextManager[Runner]:
    # duckdb is what the other commands call the engine of one machine.
    if options.engine in ("threads", "duckdb"):
        return nullcontext(ThreadRunner(options.workers))
    engines = {entry.name: entry for entry in entry_points(group=ENGINE_GROUP)}
    if options.engine not in engines:
        raise typer.BadParameter(
            f"give threads or {' or '.join(sorted(engines)) or 'install another'}", param_hint="--engine"
        )
    holding: AbstractContextManager[Runner] = engines[options.engine].load()(
        paths, lake, options.master, list(options.spark_conf)
    )
    return holding


def _any_facts(attempts: Iterable[Attempt]) -> bool:
    return any(attempt.commit.status != "rejected" for attempt in attempts)


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[Attempt], None]]:
    """Yield what shows that an attempt has ended."""
    columns = (
        TextColumn("ingest"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)

        def show(attempt: Attempt) -> None:
            progress.update(task, advance=1, description=markup(f"{attempt.path.parent.name}/{attempt.path.name}"))

        yield show


def _print_formats(console: Console, session: IngestSession, files: list[Path]) -> None:
    table = Table(title="dry run: nothing is written", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("would be read as", overflow="fold")
    for path in files:
        try:
            chosen, _ = session.recognise(path)
            recording = session.recording_of(path)
            read_as = chosen.name if recording is None else f"part of {recording.name}"
            table.add_row(markup(path), markup(read_as))
        except InputError as error:
            table.add_row(markup(path), f"[yellow]rejected, {error.reason}[/yellow]: {markup(error.message)}")
    console.print(table)


def print_summary(console: Console, attempts: list[Attempt]) -> None:
    """Print what became of each format's files, why records were refused, and what is to be said of single files."""
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
        table.add_row(markup(name), *(f"{counts[heading]:,}" for heading in shown))
    console.print(table)
    _print_refusals(console, attempts)
    _print_messages(console, attempts)


def _print_refusals(console: Console, attempts: list[Attempt]) -> None:
    """Say of each format why records of the files that were read now were refused, the most frequent reason first."""
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for attempt in attempts:
        if attempt.disposition == "new":
            reasons[attempt.commit.format or "not recognised"].update(attempt.refused_by_reason)
    for name, counts in sorted(reasons.items()):
        if counts:
            shown = "; ".join(f"{reason} ({count:,})" for reason, count in counts.most_common(REASONS_SHOWN))
            more = len(counts) - REASONS_SHOWN
            text = f"refused, {name}: {shown}" + (f"; and {counted(more, 'more reason')}" if more > 0 else "")
            console.print(markup(text), soft_wrap=True, highlight=False)


def _disposition(attempt: Attempt) -> str:
    if attempt.commit.status == "rejected":
        return "rejected"
    if attempt.disposition == "unchanged":
        return "unchanged"
    return "new" if attempt.commit.duplicate_of is None else "duplicate"


def _print_messages(console: Console, attempts: list[Attempt]) -> None:
    spoken: list[Attempt] = []
    unknown: list[Attempt] = []
    for attempt in attempts:
        commit = attempt.commit
        if commit.status != "ok":
            is_unknown = commit.reason == "unrecognised_format" and commit.message == UNKNOWN_TEXT
            (unknown if is_unknown else spoken).append(attempt)
    for attempt in spoken[:MESSAGES_SHOWN]:
        commit = attempt.commit
        colour = "red" if commit.status == "rejected" else "yellow"
        message = markup(commit.message or commit.reason or "")
        console.print(
            f"[{colour}]{commit.status}[/{colour}] {markup(attempt.path)}: {message}",
            soft_wrap=True,
            highlight=False,
        )
    if len(spoken) > MESSAGES_SHOWN:
        console.print(f"… and {len(spoken) - MESSAGES_SHOWN} more; all of them are in the table ingest_outcome")
    if unknown:
        names = Counter(attempt.path.name for attempt in unknown)
        shown = ", ".join(markup(name) for name, _ in names.most_common(6))
        more = ", …" if len(names) > 6 else ""
        console.print(f"skipped, {UNKNOWN_TEXT}: {counted(len(unknown), 'file')} ({shown}{more})", highlight=False)
