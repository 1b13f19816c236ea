"""What ``sojourn maintain verify`` and ``repair`` do: damage of the lake and of published builds, found and told."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from rich.console import Console

from sojourn_ingest.file_sizes import MIB
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.stored_commits import unreadable_objects
from sojourn_ingest.lake.verification import REPAIR, Verification, record_hashes, unnamed_outcomes, verify
from sojourn_ingest.paths import Paths
from sojourn_ingest.printable import markup
from sojourn_ingest.session.repair import DamagedSource, RepairPlan, plan_repair, repair
from sojourn_snapshot.verification import REBUILD, damages, published_builds, wrong_documents, wrong_pointer

#: Names of files that are printed one by one.
SHOWN = 10
STATES = {
    "same": "can be ingested again",
    "changed": "has another content now",
    "gone": "is gone",
}


def _say(console: Console, text: str) -> None:
    console.print(markup(text), soft_wrap=True, highlight=False)


def run_verify(var: Path | None, full: bool, add_hashes: bool) -> None:
    """Print each damaged file of the lake and of the published builds; with ``add_hashes`` record missing hashes.

    Raises
    ------
    typer.Exit
        With status 1 if anything is damaged, or another process writes.
    """
    paths = Paths.from_environment(var)
    out, console = Console(), Console(stderr=True)
    storage = paths.open_storage()
    unreadable = unreadable_objects(storage)
    for name, reason in unreadable.items():
        _say(out, f"{name} cannot be read: {reason}")
    lake = Lake(storage, skip=unreadable)
    with console.status("verify") as shown:
        if add_hashes and not unreadable:
            try:
                with lake.writing():
                    added = record_hashes(lake, lambda name: shown.update(markup(name)))
            except LakeBusyError as error:
                _say(console, f"error: {error}")
                raise typer.Exit(1) from error
            _say(out, f"recorded the hashes of {added:,} files")
        found = verify(lake, full=full, on_file=lambda name: shown.update(markup(name)))
        published = _published_damages(paths.snapshots, full)
    _say_missing(out, lake, found)
    for damage in found.damages:
        _say(out, damage.text)
    for line in published:
        _say(out, line)
    compared = "sizes and hashes" if full else "sizes"
    _say(out, f"{found.files:,} files of the lake, {found.size_bytes / MIB:,.1f} MiB: {compared} compared")
    if found.without_hash:
        _say(out, f"{found.without_hash:,} files have no hash on record; --add-hashes records them as they are now")
    damaged = len(found.missing) + len(found.damages) + len(unreadable)
    if damaged:
        _say(out, f"{damaged:,} files of the lake are damaged; run {REPAIR}")
    if published:
        _say(out, f"{len(published):,} files of published builds are damaged; run {REBUILD}")
    if damaged or published:
        raise typer.Exit(1)


def _say_missing(out: Console, lake: Lake, found: Verification) -> None:
    """Print which commits are missing, and which files no commit names, with the sources that their outcomes name."""
    for line in found.missing:
        _say(out, line)
    if not found.unnamed:
        return
    for path in sorted({path for path, _ in unnamed_outcomes(lake)}):
        _say(out, f"no commit names an outcome of {path}")
    for name in found.unnamed[:SHOWN]:
        _say(out, f"no commit names {name}")
    if len(found.unnamed) > SHOWN:
        _say(out, f"no commit names {len(found.unnamed) - SHOWN:,} more files")
    fate = "stay until the damage is repaired" if found.missing else "are removed by the next writer"
    _say(out, f"{len(found.unnamed):,} files that no commit names {fate}")


def _published_damages(snapshots: Path, full: bool) -> list[str]:
    found = wrong_pointer(snapshots)
    for build in published_builds(snapshots):
        found += damages(build, full=full) or wrong_documents(build)
    return found


def run_repair(var: Path | None, dry_run: bool, drop: bool) -> None:
    """Set damaged facts aside, or say what would be; print the files to ingest again, one per line.

    Raises
    ------
    typer.Exit
        With status 1 if another process writes, or damage remains because a source is gone.
    """
    paths = Paths.from_environment(var)
    out, console = Console(), Console(stderr=True)
    storage = paths.open_storage()
    with console.status("repair"):
        plan = plan_repair(storage, full=True)
    if plan.is_empty:
        _say(out, "nothing is damaged")
        return
    _say_plan(out, plan)
    if not dry_run:
        try:
            repair(storage, plan, give_up=drop)
        except LakeBusyError as error:
            _say(console, f"error: {error}")
            raise typer.Exit(1) from error
    again = sorted({str(source.ingest) for source in plan.sources if source.state == "same"})
    if again:
        verb = "would be set aside" if dry_run else "were set aside"
        _say(out, f"{len(plan.sources) - len(plan.lost):,} sources {verb}; ingest them again, with the same options:")
        _say(out, "sojourn ingest " + " ".join(shlex.quote(path) for path in again))
    if dry_run:
        return
    if plan.lost and drop:
        _say(out, f"the facts of {len(plan.lost):,} sources were given up")
    elif plan.lost or unreadable_objects(storage) or paths.open_lake().missing():
        _say(console, "damage remains: put the named files back from a backup, or give their facts up with --drop")
        raise typer.Exit(1)


def _say_plan(out: Console, plan: RepairPlan) -> None:
    for line in plan.found.missing:
        _say(out, line)
    for name, reason in plan.unreadable.items():
        _say(out, f"{name} cannot be read: {reason}")
    for damage in plan.found.damages:
        _say(out, damage.text)
    for source in plan.sources:
        _say(out, f"{source.source_path} {STATES[source.state]}{_elsewhere(source)}")


def _elsewhere(source: DamagedSource) -> str:
    if source.state != "same" or str(source.ingest) == source.source_path:
        return ""
    return f", from {source.ingest}"
