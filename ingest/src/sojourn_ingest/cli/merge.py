"""``sojourn merge``: the lakes of two installations become one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.command_line import DryRunOption, no_installation


def register(app: typer.Typer) -> None:
    """Add ``merge`` to the command line."""
    app.command("merge", short_help="Make one lake of the lakes of several installations.")(merge)


def merge(
    sources: Annotated[
        list[Path], typer.Argument(metavar="VAR VAR…", help="Folders of everything generated, two or more.")
    ],
    into: Annotated[
        Path, typer.Option(metavar="VAR", help="Folder of the merged installation: new, or of this merge.")
    ],
    dry_run: DryRunOption = False,
    forgotten_checked: Annotated[
        bool,
        typer.Option(
            "--forgotten-checked", help="Hosts that one installation forgot were forgotten in the others too."
        ),
    ] = False,
) -> None:
    """Make one lake of the lakes of several installations, such as those of two labs.

    Every outcome is kept, and the same content is kept once. A build of the merged lake is that of all inputs together.
    The lakes are only read. If the command is killed, the same command completes the work.

    Keys of hosts stay as they are. Under two address keys one host has two keys, so it counts as two; nothing takes
    hosts of two keys for one. Private addresses are no pseudonyms: the same one is one host.

    The command refuses paths, runs and descriptions of studies that differ between the lakes under one name, and says
    what to do. It refuses lakes whose lists of forgotten hosts differ, because the host may still be in the other one.

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
        raise typer.BadParameter("each folder is given once, and the merged one is another", param_hint="VAR")
    from sojourn_ingest.cli.merging import run_merge

    run_merge(resolved, into.resolve(), dry_run, forgotten_checked)
