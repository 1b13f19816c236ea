"""``sojourn sql``: DuckDB over the served build."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn_ingest.command_line import VarOption
from sojourn_transforms.sql.forms import Form


def register(app: typer.Typer) -> None:
    """Add ``sql`` to the command line."""
    app.command("sql", short_help="Query the served build in SQL (DuckDB).")(sql)


def sql(
    statement: Annotated[
        str | None,
        typer.Argument(
            metavar="[SQL]", help="Query to run. Default: read from standard input, interactive on a terminal."
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", help="Output format. Default: from the suffix of --out, otherwise table."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write to or replace. Required for parquet.")] = None,
    var: VarOption = None,
) -> None:
    """Query the served build with SQL: every mart is a view, and the schema lake has the decoded facts.

    The command only reads; it writes nothing except --out. You may create views and tables in memory. `show tables`
    lists the marts, and `from column_description where table_name = 'run_harm'` the columns of one with their units.

    For example:

      sojourn sql "from finding where study_id = 'sojourn-sample'"

      sojourn sql "from run_harm where role = 'app'" --out harm.parquet

      sojourn sql "select status, reason from lake.ingest_outcome" --format csv

      sojourn sql < questions.sql

      sojourn sql
    """
    if statement is not None and statement.endswith(".sql") and len(statement.split()) == 1:
        raise typer.BadParameter(f"give the statements of a file as input: sojourn sql < {statement}", param_hint="SQL")
    if form is None:
        ending = "" if out is None else out.suffix.removeprefix(".").lower()
        form = Form(ending) if ending in list(Form) else Form.TABLE
    if form is Form.TABLE and out is not None:
        # A table shows some of the rows.
        raise typer.BadParameter(
            "name a file that ends with .csv, .json or .parquet, or give --format", param_hint="--out"
        )
    if form is Form.PARQUET and out is None:
        raise typer.BadParameter("parquet is written to a file: give --out", param_hint="--format")
    from sojourn_transforms.sql.command import run_sql

    run_sql(statement, form, out, var)
