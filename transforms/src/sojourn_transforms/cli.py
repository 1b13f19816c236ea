"""``sojourn build``: the lake into tested marts, published as a snapshot."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sojourn_ingest.paths import Paths
from sojourn_transforms.build import BuildError, build


def register(app: typer.Typer) -> None:
    """Add ``build`` to the command line."""
    app.command("build")(build_command)


def build_command(
    var: Annotated[
        Path | None, typer.Option(help="Folder of everything generated. [default: $SOJOURN_VAR or ./var]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build although neither facts nor models changed.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Count every day of connections anew, not only those whose sources changed.")
    ] = False,
) -> None:
    """Build the marts from the lake with dbt, test them, and publish them as an immutable snapshot.

    Nothing is published when a model or a test fails: what was served before is served on. When neither the
    facts nor the models changed since the build being served, nothing is done.

    Examples
    --------
      sojourn build

      sojourn build --force
    """
    console = Console(stderr=True)
    logging.getLogger("dbt").setLevel(logging.ERROR)
    paths = Paths.from_environment(var)
    try:
        with console.status("build") as status:
            report = build(paths, lambda step: status.update(escape(step)), force=force, full=full)
    except BuildError as error:
        console.print(f"[red]error:[/red] {escape(str(error))}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    except duckdb.IOException as error:
        busy = f"{paths.warehouse} is in use by another process; wait for it to end"
        text = busy if "lock" in str(error) else str(error).splitlines()[0]
        console.print(f"[red]error:[/red] {escape(text)}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    out = Console()
    if not report.built:
        out.print(f"nothing changed since build {report.build_id}, which is being served")
        return
    table = Table(title=f"build {report.build_id}", title_justify="left")
    table.add_column("mart")
    table.add_column("rows", justify="right")
    for name, rows in report.rows.items():
        table.add_row(name, f"{rows:,}")
    out.print(table)
    out.print(
        f"{report.models} models, {report.tests_passed} tests passed; published to {paths.snapshots}",
        soft_wrap=True,
    )
    for warning in report.warnings:
        out.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True, highlight=False)
