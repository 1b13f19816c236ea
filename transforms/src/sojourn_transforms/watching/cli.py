"""``sojourn watch``: folders that fill, kept up to date in the lake and in the marts.

This module has only what the help needs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.cli.ingest import Addresses, ServerNames
from sojourn_ingest.command_line import VarOption
from sojourn_ingest.disk_space import IGNORE_OPTION, IGNORE_VARIABLE
from sojourn_ingest.memory import workers_that_fit
from sojourn_transforms.engine_options import MemoryOption, check_memory


def register(app: typer.Typer) -> None:
    """Add ``watch`` to the command line."""
    app.command("watch", short_help="Ingest and build what arrives in folders.")(watch)


def watch(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders, watched to the bottom.")],
    var: VarOption = None,
    once: Annotated[
        bool, typer.Option("--once", help="End when everything that is complete now was ingested and published.")
    ] = False,
    quiet: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Take a file that nobody changed for so long as complete, where it cannot be seen whether it is still "
            "open for writing: on NFS, or if another user owns it.",
        ),
    ] = 60.0,
    addresses: Annotated[Addresses, typer.Option(help="As of sojourn ingest.")] = "pseudonymise",
    server_names: Annotated[ServerNames, typer.Option(help="As of sojourn ingest.")] = "registrable",
    prefix_table: Annotated[
        list[Path] | None,
        typer.Option(help="CSV or MMDB file of AS and country by prefix, as of sojourn ingest; may be given again."),
    ] = None,
    memory: MemoryOption = None,
    ignore_disk: Annotated[
        bool,
        typer.Option(
            IGNORE_OPTION,
            envvar=IGNORE_VARIABLE,
            help="Begin a step although the estimate of what will be written does not fit on the disk.",
        ),
    ] = False,
) -> None:
    """Ingest what arrives in folders, build and publish the marts it changes, and go on until Ctrl-C or SIGTERM.

    A file is ingested when it is complete: no process has it open for writing any more, or it was renamed into its
    place. sojourn serve and the dashboards follow each build by themselves. A kill at any moment loses nothing:
    the next watch goes on from what is in the lake.

    For example:

      tcpdump -i eth0 -G 60 -w '/captures/t-%Y%m%d%H%M%S.pcap' &

      sojourn watch /captures

      sojourn watch --once /captures

    Rotated captures that continue one another are one recording, of 60 files or 1 GiB at most; a connection that goes
    on longer is counted again in the next. sojourn ingest has no such limit.
    """
    missing = next((folder for folder in folders if not folder.is_dir()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such folder", param_hint="FOLDER")
    if memory is not None:
        check_memory(memory)
    from sojourn_ingest.cli.ingesting import IngestOptions
    from sojourn_transforms.watching.command import run_watch

    options = IngestOptions(
        sources=folders,
        var=var,
        addresses=addresses,
        workers=workers_that_fit(os.cpu_count() or 1),
        server_names=server_names,
        prefix_tables=tuple(prefix_table or ()),
        ignore_disk=ignore_disk,
    )
    run_watch(options, quiet_s=quiet, memory=memory, once=once)
