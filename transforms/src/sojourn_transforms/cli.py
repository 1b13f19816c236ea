"""``sojourn build``: the lake into tested marts, published as a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn_ingest.command_line import IgnoreDiskOption, VarOption, require_spark_for
from sojourn_transforms.engine_options import (
    EngineOption,
    MasterOption,
    MemoryOption,
    SparkConfOption,
    engine_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn_transforms.build import BuildReport


def register(app: typer.Typer) -> None:
    """Add ``build`` and ``compare-builds`` to the command line."""
    app.command("build", short_help="Build, test and publish the marts.")(build_command)
    app.command("compare-builds", short_help="Compare two installations row for row.")(compare_builds_command)


def build_command(
    var: VarOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Build every table, not only those whose inputs changed.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Count every day of connections from scratch, not only days whose sources changed."
        ),
    ] = False,
    memory: MemoryOption = None,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    ignore_disk: IgnoreDiskOption = False,
) -> None:
    """Build the marts from the lake, test them, and publish them as an immutable snapshot.

    Only tables whose inputs changed are built. If a model or a test fails, nothing is published, and the previous build
    stays in service. If neither the facts nor the models have changed, the command does nothing.

    For example:

      sojourn build

      sojourn build --force

      sojourn build --memory 8GB

      sojourn build --engine spark --master spark://cluster:7077
    """
    require_spark_for(master, spark_conf, engine)
    # Imported here, because every `sojourn` command loads this module.
    import duckdb
    from rich.console import Console

    from sojourn_ingest.paths import Paths
    from sojourn_process.printable import counted, markup, output_console
    from sojourn_transforms.build import BuildError, build
    from sojourn_transforms.shown_progress import shown_progress
    from sojourn_transforms.spark.session import SparkError

    console = Console(stderr=True)
    paths = Paths.from_environment(var)
    try:
        with shown_progress(console, "build") as show:
            chosen = engine_of(engine, paths, master, spark_conf, full, memory)
            report = build(
                paths,
                show,
                force=force or full,
                engine=chosen,
                say=None if ignore_disk else lambda text: console.print(markup(text), soft_wrap=True),
            )
    except (BuildError, SparkError) as error:
        console.print(f"[red]error:[/red] {markup(error)}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    except duckdb.IOException as error:
        busy = f"{paths.warehouse} is in use by another process; wait for it to end"
        text = busy if "lock" in str(error) else str(error).splitlines()[0]
        console.print(f"[red]error:[/red] {markup(text)}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from error
    out = output_console()
    if report.built:
        print_changes(out, report)
        tables = f"{counted(report.tables_built, 'table')} built, {report.tables - report.tables_built} unchanged"
        out.print(
            f"{tables}; {counted(report.tests_passed, 'test')} passed; published to {markup(paths.snapshots)}",
            soft_wrap=True,
            highlight=False,
        )
    else:
        out.print(f"nothing changed since build {report.build_id}, which is being served")
    for warning in report.warnings:
        out.print(f"[yellow]warning:[/yellow] {markup(warning)}", soft_wrap=True, highlight=False)


def print_changes(out: Console, report: BuildReport) -> None:
    """Print the marts that changed; of those without rows, which most are in a small lake, only how many there are."""
    from rich.table import Table

    from sojourn_process.printable import counted

    with_rows = [change for change in report.changes if change.rows or change.rows_before]
    if with_rows:
        table = Table(title=f"build {report.build_id}: marts that changed", title_justify="left")
        table.add_column("mart")
        table.add_column("rows", justify="right")
        table.add_column("rows before", justify="right")
        for change in with_rows:
            before = "" if change.rows_before is None else f"{change.rows_before:,}"
            table.add_row(change.name, f"{change.rows:,}", before)
        out.print(table)
    empty = len(report.changes) - len(with_rows)
    if empty:
        out.print(f"without rows: {counted(empty, 'mart')}", highlight=False)
    if not report.changes:
        out.print(f"build {report.build_id}: no mart changed", highlight=False)


def compare_builds_command(
    left: Annotated[Path, typer.Argument(metavar="LEFT", help="Folder of all generated files, or one snapshot.")],
    right: Annotated[Path, typer.Argument(metavar="RIGHT", help="The other folder or snapshot.")],
) -> None:
    """Compare two installations row for row: every lake table, and every mart that both serve.

    Counts, integers, text, flags and bins must be equal; doubles may differ by 1e-9 of their value. Every difference is
    listed; if there is any, the exit status is 1. For snapshots, only the marts are compared.

    For example:

      sojourn compare-builds var-duckdb var-spark

      sojourn compare-builds var/snapshots/{617fa26a617beff6,0b1c2d3e4f5a6978}
    """
    for name, folder in (("LEFT", left), ("RIGHT", right)):
        if not folder.is_dir():
            raise typer.BadParameter(f"{folder}: no such folder", param_hint=name)
    import duckdb
    from rich.console import Console

    from sojourn_process.printable import counted, markup, output_console
    from sojourn_snapshot.errors import DamagedSnapshotError
    from sojourn_transforms.comparing_builds import compare_builds

    out = output_console()
    try:
        compared = compare_builds(left, right)
    except (FileNotFoundError, DamagedSnapshotError, duckdb.IOException) as error:
        Console(stderr=True).print(f"[red]error:[/red] {markup(error)}", soft_wrap=True, highlight=False)
        raise typer.Exit(2) from error
    for difference in compared.differences:
        out.print(markup(difference), soft_wrap=True, highlight=False)
    count = len(compared.differences)
    verdict = "equal" if not count else counted(count, "difference")
    out.print(
        f"{counted(len(compared.rows), 'relation')}, {counted(sum(compared.rows.values()), 'row')}: {verdict}",
        highlight=False,
    )
    if count:
        raise typer.Exit(1)
