"""``sojourn merge``: the lakes of two installations become one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.command_line import DryRunOption, no_installation


def register(app: typer.Typer) -> None:
    """Add ``merge`` to the command line."""
    app.command("merge", short_help="Merge the lakes of several installations.")(merge)


def merge(
    sources: Annotated[
        list[Path], typer.Argument(metavar="VAR VAR…", help="Folders of all generated files, two or more.")
    ],
    into: Annotated[
        Path,
        typer.Option(
            metavar="VAR", help="Folder of the merged installation: a new one, or that of an interrupted merge."
        ),
    ],
    dry_run: DryRunOption = False,
    forgotten_checked: Annotated[
        bool,
        typer.Option(
            "--forgotten-checked", help="Confirm that hosts forgotten in one installation are forgotten in all."
        ),
    ] = False,
) -> None:
    """Merge the lakes of several installations, such as those of two labs, into one lake.

    All outcomes are kept, and shared content is stored once. A build of the merged lake equals a build of all inputs
    together. The source lakes are not changed. If the command is killed, run it again to complete the merge.

    Host keys do not change. With two address keys, a host has two keys and counts as two hosts. Private addresses are
    not pseudonymised: the same address is one host.

    If a path, a run or the description of a study differs between the lakes, the command refuses and explains what to
    do. It also refuses if the lists of forgotten hosts differ, because a host may still be in the other lake.

    For example:

      sojourn merge lab-a/var lab-b/var --into var --dry-run

      sojourn merge lab-a/var lab-b/var --into var

      sojourn build --var var
    """
    if len(sources) < 2:
        raise typer.BadParameter("give two or more folders", param_hint="VAR VAR…")
    for path in sources:
        if not (path / "lake").is_dir():
            raise typer.BadParameter(f"{path}: {no_installation(path)}", param_hint="VAR")
    resolved = [path.resolve() for path in sources]
    if len({*resolved, into.resolve()}) <= len(resolved):
        raise typer.BadParameter("name each folder once, and another one for --into", param_hint="VAR")
    for path, source in zip(sources, resolved, strict=True):
        if _overlap(source, into.resolve()):
            raise typer.BadParameter(
                f"{into} overlaps {path}; give a folder that is neither in it nor around it", param_hint="--into"
            )
    from sojourn_ingest.cli.merging import run_merge

    run_merge(resolved, into.resolve(), dry_run, forgotten_checked)


def _overlap(source: Path, into: Path) -> bool:
    """Return whether an installation or its lake, which may be a link to elsewhere, is in the other one."""
    places = [{var, (var / "lake").resolve()} for var in (source, into)]
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one in places[0] for other in places[1])
