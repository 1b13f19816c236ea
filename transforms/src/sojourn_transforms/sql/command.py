"""What ``sojourn sql`` does with its options: statements, their rows in a form, and the dialogue."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import typer

from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.schema import TABLES
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import printable
from sojourn_transforms.sql.forms import Form
from sojourn_transforms.sql.local import connect_local

_READ_ONLY = "is not allowed: the connection is read-only"
_INSTEAD = "`create table … as` makes a table in memory, and --out FILE writes rows"
_VIEWS = "select schema_name, view_name from duckdb_views() where not internal"
_MISSING = re.compile(r"Table with name (\w+) does not exist")
#: An explanation with `analyze` runs what it explains.
_EXPLAIN = re.compile(r"^\s*explain\b\s*(?:\([^)]*\)|analyze\b)?\s*", re.IGNORECASE)
#: Parts of a plan by which a query writes files: a `with` whose body is `copy … to`, and queries that no plan shows.
_WRITING = {
    "COPY_TO_FILE": "COPY … TO",
    "BATCH_COPY_TO_FILE": "COPY … TO",
    "JSON_EXECUTE_SERIALIZED_SQL": "json_execute_serialized_sql",
}
_COPIED = {Form.CSV: "format csv, header true", Form.JSON: "format json, array true", Form.PARQUET: "format parquet"}
_ANSWER = "answer of sojourn sql"
_MOST_SHOWN = 40
_PROMPT, _CONTINUED = "sojourn> ", "     ... "
_HELP = (
    "A statement ends with a semicolon. `show tables;` lists the marts, `describe NAME;` the columns of one, "
    "and `.quit` or Ctrl-D exits."
)


def run_sql(statement: str | None, form: Form, out: Path | None, var: Path | None) -> None:
    """Run one text of statements, or those of standard input, and write their rows.

    Raises
    ------
    OperatorError
        If there is no build, a statement is wrong or would write, or the file cannot be written.
    """
    keep_pandas_out()
    text = sys.stdin.read() if statement is None and not sys.stdin.isatty() else statement
    # The facts are looked up only where somebody may ask for them.
    with (
        tempfile.TemporaryDirectory() as spill,
        connect_local(var, lake=text is None or "lake" in text.lower()) as connection,
    ):
        _restrict(connection, spill)
        build = set(connection.execute(_VIEWS).fetchall())
        if text is None:
            _converse(connection, build, form, out)
        else:
            _run(connection, build, text, form, out)


def _restrict(connection: duckdb.DuckDBPyConnection, spill: str) -> None:
    """Have statements write nothing but temporary files, and see no variable of Python as a table."""
    connection.execute("set allow_persistent_secrets = false")
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set python_enable_replacements = false")
    connection.execute("set temp_directory = ?", [spill])
    connection.execute("set lock_configuration = true")


def _run(
    connection: duckdb.DuckDBPyConnection, build: set[tuple[str, str]], text: str, form: Form, out: Path | None
) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise OperatorError("the statements are not in UTF-8")
    try:
        statements = connection.extract_statements(text)
        if out is not None and len(statements) != 1:
            raise OperatorError(f"--out takes the rows of one statement, but there are {len(statements)}")
        for each in statements:
            kind = _kind(connection, each)
            if kind in (duckdb.StatementType.CREATE, duckdb.StatementType.SELECT):
                _refuse_writing(connection, _EXPLAIN.sub("", each.query))
                if out is not None and each.type is not duckdb.StatementType.SELECT:
                    raise OperatorError(f"{each.type.name} has no rows for --out")
            if kind is duckdb.StatementType.CREATE:
                # In memory, for as long as the connection.
                connection.execute(each)
            elif kind is duckdb.StatementType.DROP:
                _drop(connection, build, each)
            elif kind is duckdb.StatementType.MULTI:
                # DuckDB would first create a type of the values.
                raise OperatorError("list the values of PIVOT: pivot TABLE on COLUMN in (…) using …")
            elif kind is not duckdb.StatementType.SELECT:
                what = kind.name.replace("_", " ")
                raise OperatorError(f"{what} {_READ_ONLY}; {_INSTEAD}")
            elif each.type is duckdb.StatementType.EXPLAIN:
                typer.echo(_printable("\n".join(str(row[-1]) for row in connection.execute(each).fetchall())))
            else:
                _write(connection, connection.sql(each), form, out)
    except duckdb.Error as error:
        raise OperatorError(_message(error)) from error
    except OSError as error:
        where = "standard output" if out is None else out
        raise OperatorError(f"{where}: {error.strerror or error}") from error


def _drop(connection: duckdb.DuckDBPyConnection, build: set[tuple[str, str]], statement: duckdb.Statement) -> None:
    """Drop what an earlier statement created in memory; the views of the build stay."""
    connection.execute("begin")
    try:
        connection.execute(statement)
        is_own = build <= set(connection.execute(_VIEWS).fetchall())
    except duckdb.DependencyException:
        connection.execute("rollback")
        raise
    except duckdb.Error:
        is_own = False
    connection.execute("commit" if is_own else "rollback")
    if not is_own:
        raise OperatorError(f"DROP {_READ_ONLY}; only what the same command created can be dropped")


def _kind(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> duckdb.StatementType:
    """Return the kind of a statement; of an explanation, the kind of what it explains."""
    if statement.type is not duckdb.StatementType.EXPLAIN:
        return statement.type
    return connection.extract_statements(_EXPLAIN.sub("", statement.query))[0].type


def _refuse_writing(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    ((_, plan),) = connection.execute(f"explain (format json) {query}").fetchall()
    parts = json.loads(plan)
    while parts:
        part = parts.pop()
        if what := _WRITING.get(part["name"].strip()):
            raise OperatorError(f"{what} {_READ_ONLY}; {_INSTEAD}")
        parts += part["children"]


def _message(error: duckdb.Error) -> str:
    """Return what DuckDB says in one line, with what it suggests and without the statement."""
    said = str(error).partition("\n\n")[0]
    text = " ".join(line.strip() for line in said.splitlines() if line.strip() and not line.startswith("LINE "))
    missing = _MISSING.search(text)
    # DuckDB proposes a mart.
    return f"{missing[0]}; the lake has lake.{missing[1]}" if missing and missing[1] in TABLES else text


def _write(connection: duckdb.DuckDBPyConnection, rows: duckdb.DuckDBPyRelation, form: Form, out: Path | None) -> None:
    if form is Form.TABLE:
        typer.echo(_drawn(rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        # DuckDB would begin to write a redirected /dev/stdout from its start.
        file = Path(folder) / "rows" if out is None else out
        connection.register(_ANSWER, rows.to_arrow_table())
        try:
            quoted = str(file).replace("'", "''")
            connection.execute(f"copy \"{_ANSWER}\" to '{quoted}' ({_COPIED[form]})")
        finally:
            connection.unregister(_ANSWER)
        if out is None:
            text = file.read_text(encoding="utf-8")
            # A file or a program gets the values as they are.
            typer.echo(_printable(text) if sys.stdout.isatty() else text, nl=False)


def _drawn(rows: duckdb.DuckDBPyRelation) -> str:
    """Return rows as DuckDB draws them, as wide as the terminal."""
    drawn = io.StringIO()
    with contextlib.redirect_stdout(drawn):
        rows.show(max_width=shutil.get_terminal_size((160, 24)).columns, max_rows=_MOST_SHOWN)
    return _printable(drawn.getvalue().rstrip("\n"))


def _printable(text: str) -> str:
    """Return printable lines: DuckDB escapes few of the characters in a value that a terminal acts on."""
    return "\n".join(map(printable, text.split("\n")))


def _converse(connection: duckdb.DuckDBPyConnection, build: set[tuple[str, str]], form: Form, out: Path | None) -> None:
    """Run statements as they are typed; an error is said, and the dialogue goes on."""
    # Loaded for what it does to `input`: arrow keys and a history.
    import readline  # noqa: F401

    typer.echo(_HELP)
    for text in _typed():
        try:
            _run(connection, build, text, form, out)
        except OperatorError as error:
            typer.echo(f"error: {printable(error)}", err=True)


def _typed() -> Iterator[str]:
    """Yield each text that ends with a semicolon."""
    lines: list[str] = []
    while True:
        try:
            line = input(_CONTINUED if lines else _PROMPT)
        except EOFError:
            typer.echo()
            return
        except KeyboardInterrupt:
            typer.echo()
            lines = []
            continue
        if not lines and line.strip() in (".quit", ".exit", "quit", "exit"):
            return
        if not lines and line.strip() in (".help", "help"):
            typer.echo(_HELP)
            continue
        if line.strip() or lines:
            lines.append(line)
        if lines and line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines = []
