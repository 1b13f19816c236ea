"""What ``sojourn forget`` does: it finds a host's rows, asks, removes them and keeps them out."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from pathlib import Path

import typer
from rich.table import Table

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.command_line import confirmed, require_lake
from sojourn_ingest.forgotten import ForgottenHosts, add_to_list, complete_in_list
from sojourn_ingest.lake import Forgetting, Lake, LakeBusyError, find
from sojourn_ingest.lake import forget as forget_in
from sojourn_ingest.lake.merge import key_of
from sojourn_ingest.lake.verification import refuse_damage
from sojourn_ingest.paths import Paths
from sojourn_ingest.secrets_file import ADDRESS_KEY, FORGET_KEY, SecretsError, existing_key
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import output_console, printable

HOST_KEY = re.compile(r"hk-[0-9a-f]{32}")


def pseudonymiser_of(paths: Paths, lake: Lake) -> Pseudonymiser:
    """Return what makes the keys of hosts in the lake, and says if the lake also has facts under other address keys.

    Raises
    ------
    SecretsError
        If there are no keys, or no facts are under the address key: it would find no row of the host.
    """
    forgotten = ForgottenHosts(existing_key(paths.secrets, FORGET_KEY))
    pseudonymiser = Pseudonymiser(existing_key(paths.secrets, ADDRESS_KEY), forgotten=forgotten)
    own = pseudonymiser.fingerprint
    marks = _marks_of_keys(lake)
    others = ", ".join(sorted(marks - {own}))
    if marks and own not in marks:
        raise SecretsError(
            f"the addresses in {lake.storage.uri} are under {others}, but the key here is {own}: copy secrets.env from "
            f"the installation with that key, or set {ADDRESS_KEY} to that key"
        )
    if others:
        typer.echo(f"facts under {others} are not searched: run the command again with {ADDRESS_KEY} set to that key")
    return pseudonymiser


def _marks_of_keys(lake: Lake) -> set[str]:
    marks = {key_of(one.decoder_version) for one in lake.live() if one.holds_facts}
    return {mark for mark in marks if mark and mark.startswith("key-")}


def host_keys_of(host: str, pseudonymiser: Pseudonymiser | None) -> tuple[str, set[str], str | None]:
    """Return what a host was named by, the host keys that it may have in the lake, and what its fingerprint is made of.

    For an address these are its pseudonym, and the address itself if it was kept. A host key is used as it is and
    has no fingerprint: it is what has no ``pseudonymiser``. Anything else is the name of the host in a table of
    connections.
    """
    if pseudonymiser is None:
        return "host key", {host}, None
    try:
        pseudonym, _ = pseudonymiser.keys(host)
        kept, _ = Pseudonymiser(pseudonymiser.key, "keep").keys(host)
    except ValueError:
        return "name", {pseudonymiser.key_of_name(host)}, host
    return "address", {pseudonym, kept}, kept


def run_forget(host: str, var: Path | None, *, dry_run: bool, yes: bool) -> None:
    """Show what the lake has of a host; if that is confirmed, remove it and list it as forgotten.

    Raises
    ------
    UnconfirmedError
        If nobody says whether to remove it.
    SecretsError
        If the keys are not those of the lake.
    LakeDamagedError
        If a file of the lake is missing or damaged.
    typer.Exit
        If the lake is being read or written.
    """
    keep_pandas_out()
    paths = Paths.from_environment(var)
    if not paths.secrets.exists():
        # An installation without a lake can still list hosts, which its first ingest then leaves out.
        require_lake(paths)
    lake, named = paths.open_lake(), host.strip()
    # A host key is what the lake has, whatever key made it.
    pseudonymiser = None if HOST_KEY.fullmatch(named) else pseudonymiser_of(paths, lake)
    kind, host_keys, marked = host_keys_of(named, pseudonymiser)
    if dry_run or not yes:
        _print(find(lake, host_keys), "would be removed", kind)
    if not confirmed(yes, dry_run):
        return
    try:
        with lake.writing():
            _refuse_while_read(lake)
            forgettings = find(lake, host_keys)
            # While a live file is missing, nothing is removed: files with the host's rows would stay.
            refuse_damage(lake)
            # The list first: even if a later step fails, the host does not come back.
            fingerprint = pseudonymiser.forget_fingerprint(marked) if pseudonymiser and marked else None
            rows = sum((one.rows for one in forgettings), Counter[str]())
            searched = pseudonymiser.fingerprint if pseudonymiser else named
            add_to_list(
                paths.forgotten,
                fingerprint=fingerprint,
                host_keys=host_keys,
                forgotten_ns=time.time_ns(),
                rows=rows,
                pending=searched,
            )
            forget_in(lake, forgettings)
            _refuse_what_is_left(lake)
            # Copies of remote files may hold the host too; they are fetched again when they are needed.
            shutil.rmtree(paths.lake_cache, ignore_errors=True)
            elsewhere = _marks_of_keys(lake) - {searched} if fingerprint else set()
            complete_in_list(paths.forgotten, {fingerprint} if fingerprint else host_keys, elsewhere)
    except LakeBusyError as error:
        typer.echo(f"error: {printable(error)}", err=True)
        raise typer.Exit(1) from error
    _print(forgettings, "removed", kind)
    typer.echo(f"it is in {printable(paths.forgotten)}, which keeps it out of every later ingest")
    # A build refuses an empty lake.
    commands = "sojourn build" if lake.live() else "sojourn ingest, then sojourn build"
    typer.echo(f"run {commands} to rebuild the marts without it and remove older snapshots")
    typer.echo("publications and copies in other folders still contain it: publish again, and delete the old ones")


def _refuse_while_read(lake: Lake) -> None:
    if lake.is_read():
        what = "and would keep the host; wait for it to end, or for two minutes if it was killed"
        raise LakeBusyError(f"another command is reading {lake.storage.uri} {what}")


def _refuse_what_is_left(lake: Lake) -> None:
    # A command that began after the check before keeps every file that was there.
    if lake.leftovers():
        what = "and keeps files with the host's rows; wait for it to end, then run the same command again"
        raise LakeBusyError(f"another command began to read {lake.storage.uri} {what}")


def _print(forgettings: list[Forgetting], title: str, kind: str) -> None:
    if not forgettings:
        # A mistyped address or key is a name.
        typer.echo(f"no row in the lake has this {kind}")
        return
    rows: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for one in forgettings:
        rows += one.rows
        sources.update(one.rows.keys())
    table = Table(title=title, title_justify="left")
    table.add_column("table")
    table.add_column("sources", justify="right")
    table.add_column("rows", justify="right")
    for name, count in sorted(rows.items()):
        table.add_row(name, f"{sources[name]:,}", f"{count:,}")
    output_console().print(table)
