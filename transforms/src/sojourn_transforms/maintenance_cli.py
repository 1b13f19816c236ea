"""``sojourn maintain``: what a lake needs from time to time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.compaction import (
    MIB,
    SMALL_BYTES,
    TARGET_BYTES,
    CompactionError,
    CompactionPlan,
    compact,
    plan_compaction,
    write_groups_here,
)
from sojourn_ingest.lake.expiry import expire, plan_expiry
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_transforms.engine_options import EngineOption, MasterOption, SparkConfOption, check_engine
from sojourn_transforms.spark.session import SparkError, SparkSettings, spark_session

VarOption = Annotated[Path | None, typer.Option(help="Folder of everything generated. Default: $SOJOURN_VAR or ./var.")]
DAY_NS = 86_400 * 10**9

maintain = typer.Typer(
    name="maintain", no_args_is_help=True, help="Keep a lake in order: put small files together, let old facts go."
)


def register(app: typer.Typer) -> None:
    """Add ``maintain`` to the command line."""
    app.add_typer(maintain)


def _fail(message: str) -> typer.Exit:
    Console(stderr=True).print(f"[red]error:[/red] {escape(message)}", soft_wrap=True, highlight=False)
    return typer.Exit(1)


@maintain.command("status")
def status_command(var: VarOption = None) -> None:
    """Show how many files each table has, how large they are, and how many rows wait for a compaction."""
    lake = Paths.from_environment(var).open_lake()
    shown = Table(title=f"lake {lake.storage.uri}", title_justify="left")
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
    out = Console()
    out.print(shown)
    packed = sum(len(pack.commits) for pack in lake.packs())
    out.print(f"{len(lake.live()):,} live commits, {packed:,} of them in packs", highlight=False)


@maintain.command("compact")
def compact_command(
    var: VarOption = None,
    small_mib: Annotated[int, typer.Option(min=1, help="Files below this are put together.")] = SMALL_BYTES // MIB,
    target_mib: Annotated[int, typer.Option(min=1, help="What files put together come to.")] = TARGET_BYTES // MIB,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Put small files together, sorted by what readers filter by, in the columns that are declared now.

    Facts stay what they are, and so does the id of the next build. A kill at any moment loses nothing. A build that
    reads meanwhile reads on: the files it looks at are removed by the next writer.

    Examples
    --------
      sojourn maintain compact --dry-run

      sojourn maintain compact --engine spark --master spark://cluster:7077
    """
    check_engine(engine)
    paths = Paths.from_environment(var)
    out, console = Console(), Console(stderr=True)
    lake = paths.open_lake()
    try:
        if dry_run:
            _say_plan(out, plan_compaction(lake, small_mib * MIB, target_mib * MIB), "would be")
            return
        with lake.writing(), console.status("compaction") as shown:
            plan = plan_compaction(lake, small_mib * MIB, target_mib * MIB)
            if not plan.is_empty:
                settings = SparkSettings.from_options(master, spark_conf or []) if engine == "spark" else None
                _compact(paths, lake, plan, settings, lambda step: shown.update(escape(step)))
    except (LakeBusyError, CompactionError, SparkError) as error:
        raise _fail(str(error)) from error
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
        out.print("nothing to put together")
        return
    for group in plan.groups:
        size = f"{group.size_bytes / MIB:,.1f} MiB, {group.rows:,} rows"
        out.print(f"{group.table}: {len(group.names):,} files ({size}) {verb} put into one", highlight=False)
    out.print(f"{plan.loose_commits:,} commits {verb} put into a pack", highlight=False)


@maintain.command("expire")
def expire_command(
    older_than: Annotated[str, typer.Option(help="Age of the source file, in days: 365d.")],
    table: Annotated[list[str], typer.Option(help="Table whose rows go; may be given several times.")],
    var: VarOption = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove them; otherwise it is only said what would go.")
    ] = False,
) -> None:
    """Remove the rows of some tables whose source file was last modified longer ago than a number of days.

    Without --apply nothing is removed. The outcome of each file stays on record, so another ingest of it does
    not bring the rows back.

    Examples
    --------
      sojourn maintain expire --table packet --table packet_pair --older-than 90d

      sojourn maintain expire --table packet --older-than 90d --apply
    """
    age = re.fullmatch(r"(\d+)d", older_than)
    if age is None:
        raise typer.BadParameter("give a number of days, such as 365d", param_hint="--older-than")
    unknown = sorted(set(table) - (set(TABLES) - {"ingest_outcome"}))
    if unknown:
        raise typer.BadParameter(f"no table of facts is called {', '.join(unknown)}", param_hint="--table")
    before_ns = time.time_ns() - int(age.group(1)) * DAY_NS
    lake = Paths.from_environment(var).open_lake()
    out = Console()
    try:
        if apply:
            with lake.writing():
                expiries = plan_expiry(lake, table, before_ns)
                for expiry in expiries:
                    expire(lake, expiry)
                lake.remove_leftovers()
        else:
            expiries = plan_expiry(lake, table, before_ns)
    except LakeBusyError as error:
        raise _fail(str(error)) from error
    rows, verb = sum(expiry.rows for expiry in expiries), "removed" if apply else "would be removed (give --apply)"
    out.print(f"{rows:,} rows of {len(expiries):,} sources {verb}", highlight=False)
    if apply and rows:
        out.print("rows in shared files are hidden now; `sojourn maintain compact` frees their space", soft_wrap=True)
