"""``sojourn forget``: removes a host from the lake, and keeps it out."""

from __future__ import annotations

from typing import Annotated

import typer

from sojourn_ingest.command_line import DryRunOption, VarOption, YesOption


def register(app: typer.Typer) -> None:
    """Add ``forget`` to the command line."""
    app.command("forget", short_help="Remove a host permanently.")(forget)


def forget(
    host: Annotated[str, typer.Argument(metavar="HOST", help="An address, a host key (hk-…), or a name in a table.")],
    var: VarOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Remove a host's rows from every table of the lake, and keep them out of later ingests.

    The command lists what it would remove, and asks for a confirmation. It adds the host to a list next to the lake
    (without its address), and later ingests leave it out. To remove rows under an older address key, run it again with
    that key in SOJOURN_ADDRESS_KEY. Run sojourn build afterwards, which removes older snapshots.

    For example:

      sojourn forget 198.51.100.7 --dry-run

      sojourn forget hk-0123456789abcdef0123456789abcdef --yes
    """
    # Bytes of the command line that are not UTF-8 are surrogates.
    if not host.strip() or any("\ud800" <= character <= "\udfff" for character in host):
        raise typer.BadParameter("give an address, a host key, or a name in a table", param_hint="HOST")
    from sojourn_ingest.cli.forgetting import run_forget

    run_forget(host, var, dry_run=dry_run, yes=yes)
