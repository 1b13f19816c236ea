"""What ``sojourn merge`` does: it decides, says what it will do, and writes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import typer

from sojourn_ingest.forgotten import list_fingerprint, pending_in, write_list
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.merge import MergeError, MergePlan, forgotten_entries, merge, plan_merge, refuse_other
from sojourn_ingest.lake.verification import refuse_damage
from sojourn_ingest.paths import Paths
from sojourn_process.printable import counted, printable


def run_merge(sources: Sequence[Path], into: Path, dry_run: bool, forgotten_checked: bool) -> None:
    """Merge the lakes below some folders into one below another.

    Raises
    ------
    MergeError
        If the lakes cannot become one as they are.
    LakeDamagedError
        If one of them is damaged.
    typer.Exit
        If one of them, or the merged lake, is being written.
    """
    installations, target = [Paths(path) for path in sources], Paths(into)
    try:
        with ExitStack() as stack:
            lakes = [Lake(paths.lake) for paths in installations]
            lists: list[str] = []
            if not dry_run:
                for lake, paths in zip(lakes, installations, strict=True):
                    # What is live now stays until the merge has read it, even if files are ingested meanwhile.
                    stack.enter_context(lake.reading())
                    # From here on no host is forgotten in it. Where one is just being forgotten, the list may have it
                    # already, and the lake still its rows.
                    with lake.storage.held():
                        lists.append(list_fingerprint(paths.forgotten))
                        lake.refresh()
            entries = _forgotten(installations, target, forgotten_checked)
            for lake in lakes:
                refuse_damage(lake)
            plan = plan_merge(lakes)
            merged = Lake(target.lake)
            if dry_run:
                refuse_other(plan, merged)
            _tell(plan, sources)
            if dry_run:
                typer.echo("nothing was changed: --dry-run")
                return
            with merged.writing():
                # A lake that has rows of a host must not get the host on its list.
                refuse_other(plan, merged)
                _write_forgotten(target.forgotten, entries)
                try:
                    written = merge(plan, merged)
                finally:
                    # Also where a file is missing now, because it had rows of the host.
                    _refuse_forgotten_since(installations, lists, into)
    except LakeBusyError as error:
        typer.echo(f"error: {printable(error)}", err=True)
        raise typer.Exit(1) from error
    typer.echo(
        printable(f"{counted(written, 'source')} added to {into}; run sojourn build --var {shlex.quote(str(into))}")
    )
    if not target.secrets.exists():
        typer.echo(
            f"{printable(target.secrets)} is missing: before you ingest or forget, copy it from the installation "
            "whose keys you keep; otherwise, the next ingest creates new keys"
        )


def _forgotten(installations: Sequence[Paths], target: Paths, checked: bool) -> list[str]:
    """Return the lines of the merged list of forgotten hosts."""
    lists = [forgotten_entries(paths.forgotten) for paths in installations]
    there = forgotten_entries(target.forgotten)
    if pending := [line for paths in (*installations, target) for line in pending_in(paths.forgotten)]:
        raise MergeError(pending[0])
    if not checked and any(set(one) != set(lists[0]) for one in lists):
        raise MergeError(
            "the installations have forgotten different hosts; run sojourn forget for each of them in the "
            "other installations, then give --forgotten-checked"
        )
    if not checked and not there.keys() <= lists[0].keys():
        raise MergeError(
            f"{target.forgotten} has hosts that the installations have not forgotten; run sojourn forget for each of "
            "them there, then give --forgotten-checked"
        )
    return list({name: line for one in lists for name, line in one.items()}.values())


def _refuse_forgotten_since(installations: Sequence[Paths], lists: Sequence[str], into: Path) -> None:
    # What was suspended for longer than a hold lasts holds no lake. A host is listed before its rows are removed.
    for paths, before in zip(installations, lists, strict=True):
        if list_fingerprint(paths.forgotten) != before:
            raise MergeError(
                f"a host was forgotten in {paths.var} during the merge: give a new folder, and delete {into}, which "
                "may have rows of the host"
            )


def _write_forgotten(path: Path, lines: Sequence[str]) -> None:
    if not lines:
        return
    write_list(path, dict.fromkeys([*forgotten_entries(path).values(), *lines]))


def _tell(plan: MergePlan, sources: Sequence[Path]) -> None:
    typer.echo(
        f"{counted(len(plan.commits), 'source')}: {plan.same_paths:,} in several lakes, and "
        f"{plan.same_contents:,} with the same content as another path, which become duplicates"
    )
    for path, keys in zip(sources, plan.keys, strict=True):
        typer.echo(f"{printable(path)}: addresses under {', '.join(keys) or 'no key'}")
    if len({key for keys in plan.keys for key in keys}) > 1:
        typer.echo("the lakes use different address keys: count hosts within one key only")
