"""What ``sojourn maintain`` does: the state of a lake, compaction, and letting old facts go."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from sojourn_ingest.command_line import confirmed, require_lake
from sojourn_ingest.file_sizes import MIB, SMALL_BYTES
from sojourn_ingest.lake import Lake, LakeBusyError, LakeDamagedError
from sojourn_ingest.lake.compaction import (
    CompactionError,
    CompactionPlan,
    compact,
    plan_compaction,
    write_groups_here,
)
from sojourn_ingest.lake.expiry import Expiry, expire, plan_expiry
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_process.printable import counted, markup, output_console
from sojourn_transforms.spark.session import SparkError, SparkSettings, spark_session

DAY_NS = 86_400 * 10**9
SHOWN_SOURCES = 20


def _fail(message: str) -> typer.Exit:
    Console(stderr=True).print(f"[red]error:[/red] {markup(message)}", soft_wrap=True, highlight=False)
    return typer.Exit(1)


def show_status(var: Path | None) -> None:
    """Print the files of each table of the lake, and what waits for a compaction."""
    paths = Paths.from_environment(var)
    require_lake(paths)
    lake = paths.open_lake()
    shown = Table(title=f"lake {markup(lake.storage.uri)}", title_justify="left")
    for heading in ("table", "files", "small", "MiB", "rows", "sources with hidden rows"):
        shown.add_column(heading, justify="left" if heading == "table" else "right")
    for name in TABLES:
        files: dict[str, int] = {}
        rows = 0
        shared = {item.file.path: item.file for pack in lake.packs() for item in pack.shared}
        for commit in lake.live():
            for file in commit.files:
                if file.table == name:
                    place = lake.place_of(file)
                    files[place] = shared[place].size_bytes if place in shared else file.size_bytes
                    rows += file.rows
        if files:
            small = sum(size < SMALL_BYTES for size in files.values())
            hidden = sum(len(parts) for parts in lake.hidden(name).values())
            size = f"{sum(files.values()) / MIB:,.1f}"
            shown.add_row(name, f"{len(files):,}", f"{small:,}", size, f"{rows:,}", f"{hidden:,}")
    out = output_console()
    out.print(shown)
    packed = sum(len(pack.commits) for pack in lake.packs())
    out.print(f"{counted(len(lake.live()), 'live commit')}, {packed:,} of them in packs", highlight=False)


def run_compaction(
    var: Path | None, small_mib: int, target_mib: int, dry_run: bool, spark: tuple[str | None, list[str]] | None
) -> None:
    """Put small files together, on Spark if its master and settings are given; print what was done.

    Raises
    ------
    typer.Exit
        With status 1 if another process writes, or the compaction failed.
    """
    paths = Paths.from_environment(var)
    require_lake(paths)
    out, console = output_console(), Console(stderr=True)
    lake = paths.open_lake()
    try:
        if dry_run:
            _say_plan(out, plan_compaction(lake, small_mib * MIB, target_mib * MIB), "would be")
            return
        with lake.writing(), console.status("compaction") as shown:
            plans = [plan_compaction(lake, small_mib * MIB, target_mib * MIB)]
            settings = SparkSettings.from_options(*spark) if spark is not None else None
            while not plans[-1].is_empty:
                _compact(paths, lake, plans[-1], settings, lambda step: shown.update(markup(step)))
                if not plans[-1].is_first_of_several:
                    break
                plans.append(plan_compaction(lake, small_mib * MIB, target_mib * MIB))
    except (LakeBusyError, LakeDamagedError, CompactionError, SparkError) as error:
        raise _fail(str(error)) from error
    for place, plan in enumerate(plans):
        if place == 0 or not plan.is_empty:
            _say_plan(out, plan, "were")


def _compact(
    paths: Paths, lake: Lake, plan: CompactionPlan, spark: SparkSettings | None, on_step: Callable[[str], None]
) -> None:
    if spark is None:
        compact(lake, plan, partial(write_groups_here, on_step=on_step))
        return
    from sojourn_transforms.spark.compaction import write_groups_on

    with spark_session(paths, spark) as session:
        compact(lake, plan, write_groups_on(session))


def _say_plan(out: Console, plan: CompactionPlan, verb: str) -> None:
    if plan.is_empty:
        out.print("nothing to compact")
        return
    for group in plan.groups:
        size = f"{group.size_bytes / MIB:,.1f} MiB, {counted(group.rows, 'row')}"
        out.print(
            f"{group.table}: {counted(len(group.names), 'file')} ({size}) {verb} combined into one", highlight=False
        )
    if plan.loose_commits:
        out.print(f"{counted(plan.loose_commits, 'commit')} {verb} combined into a pack", highlight=False)


def run_expiry(
    var: Path | None, tables: list[str], age_days: int | None, sources: list[str], *, dry_run: bool, yes: bool
) -> None:
    """Say which rows have a source that is older than ``age_days`` and among ``sources``; if confirmed, remove them.

    Raises
    ------
    UnconfirmedError
        If nobody says whether to remove them.
    typer.Exit
        With status 1 if another process writes.
    """
    before_ns = None if age_days is None else time.time_ns() - age_days * DAY_NS
    paths = Paths.from_environment(var)
    require_lake(paths)
    lake = paths.open_lake()
    out = output_console()
    expiries = plan_expiry(lake, tables, before_ns=before_ns, sources=sources)
    if not expiries:
        out.print("nothing to expire")
        return
    if dry_run or not yes:
        _say_expiries(out, expiries, "would be removed")
    if not confirmed(yes, dry_run):
        return
    try:
        with lake.writing():
            expiries = plan_expiry(lake, tables, before_ns=before_ns, sources=sources)
            for expiry in expiries:
                expire(lake, expiry)
            lake.remove_leftovers()
    except LakeBusyError as error:
        raise _fail(str(error)) from error
    _say_expiries(out, expiries, "removed")
    out.print("rows in shared files are hidden now; `sojourn maintain compact` frees their space", soft_wrap=True)


def _say_expiries(out: Console, expiries: Sequence[Expiry], verb: str) -> None:
    for expiry in expiries[:SHOWN_SOURCES]:
        what = f"{counted(expiry.rows, 'row')} of {', '.join(expiry.tables)}"
        out.print(f"{markup(expiry.commit.source_path)}: {what}", soft_wrap=True, highlight=False)
    if len(expiries) > SHOWN_SOURCES:
        out.print(f"and of {counted(len(expiries) - SHOWN_SOURCES, 'more source')}", highlight=False)
    rows = sum(expiry.rows for expiry in expiries)
    out.print(f"{counted(rows, 'row')} of {counted(len(expiries), 'source')} {verb}", highlight=False)
