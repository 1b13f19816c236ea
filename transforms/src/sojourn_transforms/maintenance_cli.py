"""``sojourn maintain``: maintenance of a lake."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from sojourn_ingest.command_line import DryRunOption, OneOf, VarOption, YesOption, require_spark_for
from sojourn_ingest.file_sizes import MIB, SMALL_BYTES, TARGET_BYTES
from sojourn_ingest.schema import TABLES
from sojourn_transforms.engine_options import EngineOption, MasterOption, SparkConfOption

#: Tables of facts: an outcome stays on record.
FACTS = OneOf(name for name in TABLES if name != "ingest_outcome")

maintain = typer.Typer(
    name="maintain",
    no_args_is_help=True,
    help="Maintain a lake: find and repair damage, combine small files, remove old facts.",
)


def register(app: typer.Typer) -> None:
    """Add ``maintain`` to the command line."""
    app.add_typer(maintain, short_help="Repair, compact or expire the facts of a lake.")


@maintain.command("status", short_help="Show files and rows of each table.")
def status_command(var: VarOption = None) -> None:
    """Show the number and size of each table's files, and how many rows could be compacted.

    For example:

      sojourn maintain status
    """
    from sojourn_transforms.maintenance import show_status

    show_status(var)


@maintain.command("verify", short_help="Find missing, truncated or altered files.")
def verify_command(
    var: VarOption = None,
    hashes: Annotated[
        bool, typer.Option("--hashes", help="Read every byte and compare hashes; otherwise only sizes are compared.")
    ] = False,
    add_hashes: Annotated[
        bool,
        typer.Option("--add-hashes", help="Record the hashes of files that an older version wrote without one."),
    ] = False,
) -> None:
    """Check every file of the lake and of the published builds against the size and hash recorded for it.

    Each missing, truncated or altered file is listed with the source of its facts, and the exit status is then 1.
    Nothing is changed without --add-hashes.

    For example:

      sojourn maintain verify

      sojourn maintain verify --hashes
    """
    from sojourn_transforms.verifying import run_verify

    run_verify(var, hashes, add_hashes)


@maintain.command("repair", short_help="Set damaged facts aside, and name the files to ingest again.")
def repair_command(
    var: VarOption = None,
    dry_run: DryRunOption = False,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Also drop facts whose source no longer exists or has changed. They are lost."),
    ] = False,
    yes: YesOption = False,
) -> None:
    """Find damage like verify --hashes, set the affected sources aside, and list the files to ingest again.

    The outcome of such a source becomes rejected, with the reason damaged_in_lake, and builds continue without its
    facts until it is ingested again. If the source no longer exists or has changed, its facts stay as they are:
    restore the damaged file from a backup, or use --drop. A damaged published build needs no repair: sojourn build
    publishes it again.

    For example:

      sojourn maintain repair --dry-run

      sojourn maintain repair --yes
    """
    from sojourn_transforms.verifying import run_repair

    run_repair(var, drop=drop, dry_run=dry_run, yes=yes)


@maintain.command("compact", short_help="Combine small files.")
def compact_command(
    var: VarOption = None,
    small_mib: Annotated[int, typer.Option(min=1, help="Files below this size are combined.")] = SMALL_BYTES // MIB,
    target_mib: Annotated[int, typer.Option(min=1, help="Approximate size of a compacted file.")] = TARGET_BYTES // MIB,
    dry_run: DryRunOption = False,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Combine small files, sorted by the columns that readers filter by.

    The facts and the id of the next build do not change. A kill at any moment loses nothing. A running build is not
    disturbed: the next writer removes the files that it still reads.

    For example:

      sojourn maintain compact --dry-run

      sojourn maintain compact --engine spark --master spark://cluster:7077
    """
    require_spark_for(master, spark_conf, engine)
    from sojourn_transforms.maintenance import run_compaction

    run_compaction(var, small_mib, target_mib, dry_run, (master, spark_conf or []) if engine == "spark" else None)


@maintain.command("expire", short_help="Remove rows of old or given files.")
def expire_command(
    older_than: Annotated[str | None, typer.Option(help="Age of the source file, in days: 365d.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Source file, or folder with source files; may be repeated."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            click_type=FACTS,
            help="Table to remove rows from; may be repeated. Required without --source, otherwise all by default. "
            f"{FACTS.listed}",
        ),
    ] = None,
    var: VarOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Remove rows of source files that are older than a number of days, by their modification time, or given.

    The command lists what it would remove, and asks for a confirmation. The outcome of each file stays on record, so
    a later ingest does not bring the rows back unless the file or its reader has changed. Copies of a file share its
    rows.

    For example:

      sojourn maintain expire --table packet --older-than 90d --dry-run

      sojourn maintain expire --table packet --older-than 90d --yes

      sojourn maintain expire --source captures/run-7
    """
    if source is not None and not all(each.strip("/") for each in source):
        raise typer.BadParameter("give the path of a file or folder", param_hint="--source")
    if not source and (not older_than or not table):
        raise typer.BadParameter("give --source, or both --older-than and --table")
    age = re.fullmatch(r"(\d+)d", older_than) if older_than else None
    if older_than and age is None:
        raise typer.BadParameter("give a number of days, such as 365d", param_hint="--older-than")
    from sojourn_ingest.remote import as_path
    from sojourn_ingest.session.recorded_paths import path_text
    from sojourn_transforms.maintenance import run_expiry

    tables = table or [name for name in TABLES if name != "ingest_outcome"]
    # As the lake lists it, or as the path of a file here.
    names = [name for each in source or () for name in (each.rstrip("/"), path_text(as_path(each).resolve()))]
    run_expiry(var, tables, int(age.group(1)) if age else None, names, dry_run=dry_run, yes=yes)
