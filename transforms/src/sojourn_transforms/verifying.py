"""What ``sojourn maintain verify`` and ``repair`` do: damage of the lake and of published builds, found and told."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from rich.console import Console

from sojourn_ingest.command_line import confirmed, require_lake
from sojourn_ingest.file_sizes import MIB
from sojourn_ingest.forgotten import pending_in
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.stored_commits import repair_command, unreadable_objects
from sojourn_ingest.lake.verification import Verification, record_hashes, unnamed_outcomes, verify
from sojourn_ingest.paths import Paths
from sojourn_ingest.session.repair import DamagedSource, RepairPlan, plan_repair, repair
from sojourn_process.printable import counted, markup, output_console
from sojourn_snapshot.pointer import read_pointer
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
    """Print each damaged file of the lake and of the published builds, and forgotten hosts whose rows may be left.

    With ``add_hashes`` record missing hashes.

    Raises
    ------
    typer.Exit
        With status 1 if anything is damaged or left, or another process writes.
    """
    paths = Paths.from_environment(var)
    if not paths.snapshots.is_dir():
        require_lake(paths)
    out, console = output_console(), Console(stderr=True)
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
            _say(out, f"recorded the hashes of {counted(added, 'file')}")
        verification = verify(lake, full=full, on_file=lambda name: shown.update(markup(name)))
        published, older = _published_damages(paths.snapshots, full)
    _say_missing(out, lake, verification)
    for damage in verification.damages:
        _say(out, damage.text)
    for line in published:
        _say(out, line)
    compared = "sizes and hashes" if full else "sizes"
    _say(
        out,
        f"{counted(verification.files, 'file')} of the lake, "
        f"{verification.size_bytes / MIB:,.1f} MiB: {compared} compared",
    )
    if verification.without_hash:
        _say(
            out,
            f"without a hash: {counted(verification.without_hash, 'file')}; --add-hashes records their current hashes",
        )
    damaged = len(verification.missing) + len(verification.damages) + len(unreadable)
    if damaged:
        _say(out, f"damaged in the lake: {counted(damaged, 'file')}; run {repair_command(storage.uri)}")
    if published:
        again = f"{REBUILD} --force --var {shlex.quote(str(paths.var))}"
        _say(out, f"damaged in published builds: {counted(len(published), 'file')}; run {again}")
    for build in older:
        _say(out, f"{build} is an older build, which nothing makes again; remove the folder")
    pending = pending_in(paths.forgotten)
    for line in pending:
        _say(out, line)
    if damaged or published or pending:
        raise typer.Exit(1)


def _say_missing(out: Console, lake: Lake, verification: Verification) -> None:
    """Print which commits are missing, and which files no commit names, with the sources that their outcomes name."""
    for line in verification.missing:
        _say(out, line)
    if not verification.unnamed:
        return
    for path in sorted({path for path, _ in unnamed_outcomes(lake)}):
        _say(out, f"no commit names the outcome of {path}")
    for name in verification.unnamed[:SHOWN]:
        _say(out, f"no commit names {name}")
    if len(verification.unnamed) > SHOWN:
        _say(out, f"no commit names {counted(len(verification.unnamed) - SHOWN, 'more file', 'more files')}")
    is_kept = verification.missing or any(damage.kind == "missing" for damage in verification.damages)
    fate = "kept until the damage is repaired" if is_kept else "removed by the next writer"
    _say(out, f"{counted(len(verification.unnamed), 'file')} that no commit names: {fate}")


def _published_damages(snapshots: Path, full: bool) -> tuple[list[str], list[Path]]:
    """Return one line for each damaged file of the published builds, and the folders of damaged builds not served."""
    wrong, older = wrong_pointer(snapshots), []
    served = None if wrong else read_pointer(snapshots)
    for build in published_builds(snapshots):
        of_build = damages(build, full=full) or wrong_documents(build)
        wrong += of_build
        if of_build and served is not None and served.build_id != build.name:
            older.append(build)
    return wrong, older


def run_repair(var: Path | None, *, drop: bool, dry_run: bool, yes: bool) -> None:
    """Say which facts are damaged; if that is confirmed, set them aside. Print the files to ingest again, one per line.

    Raises
    ------
    UnconfirmedError
        If nobody says whether to set them aside.
    typer.Exit
        With status 1 if another process writes, or damage remains because a source is gone.
    """
    paths = Paths.from_environment(var)
    require_lake(paths)
    out, console = output_console(), Console(stderr=True)
    storage = paths.open_storage()
    with console.status("repair"):
        plan = plan_repair(storage, full=True)
    if plan.is_empty:
        _say(out, "nothing is damaged")
        return
    _say_plan(out, plan)
    aside = counted(len(plan.sources) - len(plan.lost), "source")
    again = sorted({str(source.ingest) for source in plan.sources if source.state == "same"})
    command = " ".join(shlex.quote(part) for part in ("sojourn", "ingest", *again, "--var", str(paths.var)))
    if dry_run or not yes:
        if again:
            _say(out, f"{aside} would be set aside, to be ingested again with the same options:")
            _say(out, command)
        if plan.lost and drop:
            _say(out, f"the facts of {counted(len(plan.lost), 'source')} would be dropped")
    if not confirmed(yes, dry_run):
        return
    try:
        is_done = repair(storage, plan, give_up=drop)
    except LakeBusyError as error:
        _say(console, f"error: {error}")
        raise typer.Exit(1) from error
    if again and is_done:
        _say(out, f"{aside} set aside; ingest again, with the same options:")
        _say(out, command)
    if plan.lost and drop:
        _say(out, f"the facts of {counted(len(plan.lost), 'source')} were dropped")
    elif plan.lost or unreadable_objects(storage) or paths.open_lake().missing():
        _say(console, "damage remains: restore the named files from a backup, or drop their facts with --drop")
        raise typer.Exit(1)


def _say_plan(out: Console, plan: RepairPlan) -> None:
    for line in plan.verification.missing:
        _say(out, line)
    for name, reason in plan.unreadable.items():
        _say(out, f"{name} cannot be read: {reason}")
    for damage in plan.verification.damages:
        _say(out, damage.text)
    for source in plan.sources:
        _say(out, f"{source.source_path} {STATES[source.state]}{_elsewhere(source)}")


def _elsewhere(source: DamagedSource) -> str:
    if source.state != "same" or str(source.ingest) == source.source_path:
        return ""
    return f", from {source.ingest}"
