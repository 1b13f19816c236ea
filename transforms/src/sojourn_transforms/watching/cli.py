"""``sojourn watch``: keeps the lake and the marts up to date with folders.

This module has only what the help needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.cli.ingest_options import DEFAULT_WORKERS, AddressesOption, PrefixTableOption, ServerNamesOption
from sojourn_ingest.command_line import IgnoreDiskOption, VarOption, require_modules
from sojourn_transforms.engine_options import MemoryOption, check_memory


def register(app: typer.Typer) -> None:
    """Add ``watch`` to the command line."""
    app.command("watch", short_help="Ingest and build files as they arrive in folders.")(watch)


def watch(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders, watched with all subfolders.")],
    var: VarOption = None,
    once: Annotated[bool, typer.Option("--once", help="Publish everything that is complete now, and exit.")] = False,
    quiet: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Treat a file as complete after this time without a change, if open writers cannot be detected: on "
            "NFS, or for another user's files.",
        ),
    ] = 60.0,
    addresses: AddressesOption = "pseudonymise",
    server_names: ServerNamesOption = "registrable",
    prefix_table: PrefixTableOption = None,
    memory: MemoryOption = None,
    ignore_disk: IgnoreDiskOption = False,
) -> None:
    """Ingest files that arrive in folders, and build and publish the affected marts, until Ctrl-C or SIGTERM.

    A file is ingested when it is complete: no process has it open for writing any more, or it was renamed into the
    folder. sojourn serve and the dashboards pick up each build without a restart. You can end it at any time, even
    with SIGKILL, without losing data: the next watch continues from the lake.

    For example:

      tcpdump -i eth0 -G 60 -w '/captures/t-%Y%m%d%H%M%S.pcap' &

      sojourn watch /captures

      sojourn watch --once /captures

    Consecutive files of a rotated capture become one recording, with at most 60 files or 1 GiB; a connection that lasts
    longer is counted again in the next recording. sojourn ingest has no such limit.
    """
    missing = next((folder for folder in folders if not folder.is_dir()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such folder", param_hint="FOLDER")
    if memory is not None:
        check_memory(memory)
    require_modules("scipy")
    from sojourn_ingest.cli.ingesting import IngestOptions
    from sojourn_transforms.watching.command import run_watch

    options = IngestOptions(
        sources=folders,
        var=var,
        addresses=addresses,
        workers=DEFAULT_WORKERS,
        server_names=server_names,
        prefix_tables=tuple(prefix_table or ()),
        ignore_disk=ignore_disk,
    )
    run_watch(options, quiet_s=quiet, memory=memory, once=once)
