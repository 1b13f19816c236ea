"""`sojourn sql`: rows of a published build in every form, and nothing written."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from sojourn_ingest.cli import application
from sojourn_ingest.operator_error import OperatorError
from sojourn_snapshot.documents import write_document
from sojourn_snapshot.pointer import Pointer, write_pointer
from sojourn_transforms.sql.command import run_sql
from sojourn_transforms.sql.forms import Form
from sojourn_transforms.sql.local import connect_local


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published build with a mart of one file and one of two, and an empty lake."""
    folder = tmp_path_factory.mktemp("it's var")
    snapshot = folder / "snapshots" / "b1"
    snapshot.mkdir(parents=True)
    (folder / "lake").mkdir()
    column = {"name": "run_id", "type": "VARCHAR"}
    datasets = [
        {"name": name, "grain": "one run", "description": "Runs.", "key": ["run_id"], "rows": 2, "columns": [column]}
        for name in ("run", "study")
    ]
    for name in ("run", "study"):
        quoted = str(snapshot / f"{name}.parquet").replace("'", "''")
        duckdb.execute(f"copy (from (values ('a'), (null)) as runs (run_id)) to '{quoted}'")
    (snapshot / "catalog.json").write_text(json.dumps({"datasets": datasets}))
    write_document(snapshot / "build.json", {"build_id": "b1"})
    write_pointer(folder / "snapshots", Pointer(build_id="b1", published_at="2026-11-25T00:00:00Z"))
    return folder


def test_rows_have_the_form_that_is_asked_for(var: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    question = "select run_id, 1 as one from run -- all\n;"
    run_sql(question, Form.CSV, None, var)
    assert capsys.readouterr().out == "run_id,one\na,1\n,1\n"
    run_sql(question, Form.JSON, None, var)
    rows = [{"run_id": "a", "one": 1}, {"run_id": None, "one": 1}]
    assert json.loads(capsys.readouterr().out) == rows
    run_sql(question, Form.TABLE, None, var)
    assert "│ NULL    │" in (drawn := capsys.readouterr().out)
    assert "\x1b" not in drawn
    run_sql(question, Form.PARQUET, tmp_path / "it's.parquet", var)
    exported = duckdb.read_parquet(str(tmp_path / "it's.parquet"))
    assert [dict(zip(exported.columns, row, strict=True)) for row in exported.fetchall()] == rows
    run_sql("select 0.1::double + 0.2 as sum", Form.CSV, None, var)
    assert capsys.readouterr().out == f"sum\n{0.1 + 0.2!r}\n"
    run_sql("show tables", Form.CSV, None, var)
    assert capsys.readouterr().out == "name\ncolumn_description\nrun\nstudy\n"


@pytest.mark.parametrize(
    "statement", ["select chr(155) || '31m' as a, chr(8238) || chr(27) as b", "explain select '{}'"]
)
def test_a_table_has_no_control_characters(var: Path, capsys: pytest.CaptureFixture[str], statement: str) -> None:
    run_sql(statement.format("\x9b31m\u202e"), Form.TABLE, None, var)
    drawn = capsys.readouterr().out
    assert r"\x9b31m" in drawn
    assert r"\u202e" in drawn
    assert drawn.replace("\n", "").isprintable()


def test_the_end_of_a_file_s_name_decides_the_form(var: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    done = CliRunner().invoke(application(), ["sql", "select 1 as one", "--out", str(out), "--var", str(var)])
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text()) == [{"one": 1}]


def test_facts_are_in_the_schema_lake(var: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_sql("select count(*) as n from lake.ingest_outcome", Form.CSV, None, var)
    assert capsys.readouterr().out == "n\n0\n"


def test_what_is_created_is_in_memory(var: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_sql("create table two as select 2 as n; from two; drop table two", Form.CSV, None, var)
    assert capsys.readouterr().out == "n\n2\n"


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{file}'",
        "explain analyze copy (select 1) to '{file}'",
        "attach '{file}' as other",
        "export database '{file}'",
        "set memory_limit = '1GB'",
        "install httpfs",
        "insert into run values ('b')",
    ],
)
def test_statements_that_write_are_refused(var: Path, tmp_path: Path, statement: str) -> None:
    file = tmp_path / "written"
    with pytest.raises(
        OperatorError, match=r"^[A-Z]+ is not allowed: the connection is read-only; `create table … as`"
    ):
        run_sql(statement.format(file=file), Form.TABLE, None, var)
    assert not file.exists()


@pytest.mark.parametrize("begin", ["", "explain analyze ", "create table t as "])
@pytest.mark.parametrize(
    "query",
    [
        "with x as (copy (select 1) to '{file}') from x",
        "with x as (copy (from range(10)) to '{file}' (format parquet)) from x",
        "from json_execute_serialized_sql(json_serialize_sql('with x as (copy (select 1) to ''{file}'') from x'))",
    ],
)
def test_a_query_whose_part_writes_a_file_is_refused(var: Path, tmp_path: Path, begin: str, query: str) -> None:
    file = tmp_path / "written"
    with pytest.raises(
        OperatorError, match=r"^(COPY … TO|json_execute_serialized_sql) is not allowed: the connection is read-only; "
    ):
        run_sql(begin + query.format(file=file), Form.CSV, None, var)
    assert not file.exists()


@pytest.mark.parametrize("statement", ["explain select 1", "create table t as select 1"])
def test_a_file_is_not_promised_for_a_statement_without_rows(var: Path, tmp_path: Path, statement: str) -> None:
    with pytest.raises(OperatorError, match=r"^(EXPLAIN|CREATE) has no rows for --out$"):
        run_sql(statement, Form.CSV, tmp_path / "out.csv", var)


@pytest.mark.parametrize("how", ["", "analyze", "(format json)", "(analyze, format json)"])
def test_a_query_is_explained_with_options_too(var: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    run_sql(f"explain {how} select 1", Form.TABLE, None, var)
    assert "PROJECTION" in capsys.readouterr().out.upper()
    with pytest.raises(OperatorError, match="read-only"):
        run_sql(f"explain {how} copy (select 1) to 'written'", Form.TABLE, None, var)
    assert not Path("written").exists()


def test_pivot_without_values_is_refused_with_what_to_write(var: Path) -> None:
    with pytest.raises(OperatorError, match=r"^list the values of PIVOT: "):
        run_sql("pivot run on study_id using count(*)", Form.CSV, None, var)


def test_what_others_depend_on_is_told_when_it_is_dropped(var: Path) -> None:
    with pytest.raises(OperatorError, match="Cannot drop entry"):
        run_sql("create schema s; create table s.t as select 1; drop schema s", Form.CSV, None, var)


def test_output_that_cannot_be_written_is_named(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def echo(*_: object, **__: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("typer.echo", echo)
    with pytest.raises(OperatorError, match=r"^standard output: Broken pipe$"):
        run_sql("select 1", Form.CSV, None, var)


def test_statements_that_are_not_in_utf_8_are_refused_in_one_line(var: Path) -> None:
    with pytest.raises(OperatorError, match=r"^the statements are not in UTF-8$"):
        run_sql("select '\udcff'", Form.CSV, None, var)


@pytest.mark.parametrize(
    "statement", ["drop table x", "drop table run", "drop view run", "drop view lake.flow", "drop schema lake cascade"]
)
def test_what_the_command_did_not_create_cannot_be_dropped(var: Path, statement: str) -> None:
    refused = "DROP is not allowed: the connection is read-only; only what the same command created can be dropped"
    with pytest.raises(OperatorError, match=f"^{refused}$"):
        run_sql(f"from lake.flow limit 0; create table y as select 1; {statement}", Form.CSV, None, var)


def test_a_secret_is_not_kept(var: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(OperatorError, match="Persistent secrets are disabled"):
        run_sql("create persistent secret one (type http, bearer_token 'x')", Form.TABLE, None, var)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["text", "each"])
def test_variables_of_python_are_no_tables(var: Path, variable: str) -> None:
    with pytest.raises(OperatorError, match=f"Table with name {variable} does not exist"):
        run_sql(f"from {variable}", Form.TABLE, None, var)


def test_nothing_is_installed_and_temporary_files_are_not_in_the_working_folder(
    var: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("autoinstall_known_extensions", "lock_configuration", "temp_directory")
    run_sql(f"select {', '.join(f'current_setting({n!r}) as {n}' for n in names)}", Form.JSON, None, var)
    ((installs, is_locked, folder),) = (row.values() for row in json.loads(capsys.readouterr().out))
    assert (installs, is_locked) == (False, True)
    assert Path(folder).is_absolute()
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    "options", [["--out", "rows.txt"], ["--out", "rows.csv", "--format", "table"], ["--out", "rows"]]
)
def test_no_file_has_a_table_which_shows_some_rows(var: Path, tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / options[1]
    command = ["sql", "from range(100)", "--out", str(out), *options[2:], "--var", str(var)]
    done = CliRunner().invoke(application(), command)
    assert done.exit_code == 2
    assert "--out" in done.output
    assert not out.exists()
    done = CliRunner().invoke(application(), [*command, "--format", "csv"])
    assert (done.exit_code, len(out.read_text().splitlines())) == (0, 101)


def test_a_wrong_name_is_one_line_with_what_it_may_have_meant(var: Path) -> None:
    with pytest.raises(OperatorError, match='Table with name runs does not exist! Did you mean "run"') as caught:
        run_sql("select * from runs", Form.TABLE, None, var)
    assert "\n" not in str(caught.value)


def test_a_table_of_facts_without_its_schema_is_named_with_it(var: Path) -> None:
    with pytest.raises(OperatorError, match=r"Table with name flow does not exist; the lake has lake\.flow$"):
        run_sql("from flow", Form.TABLE, None, var)


def test_without_a_build_the_command_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"no build published under .*: run `sojourn build`"):
        connect_local(tmp_path)


def test_a_connection_in_python_has_the_same_views(var: Path) -> None:
    with connect_local(var) as connection:
        assert connection.sql("select count(*) from run").fetchall() == [(2,)]
        comments = connection.sql("select comment from duckdb_views() where view_name = 'run' and schema_name = 'main'")
        assert comments.fetchall() == [("Runs. One row: one run.",)]
        columns = connection.sql("select * from column_description where table_name = 'run'").fetchall()
        assert [column[:3] for column in columns] == [("run", "run_id", "VARCHAR")]


def test_a_dialogue_goes_on_after_an_error(var: Path) -> None:
    terminal, side = pty.openpty()
    command = [sys.executable, "-c", "from sojourn_ingest.cli import main; main()", "sql", "--var", str(var)]
    done = subprocess.Popen(command, stdin=side, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.close(side)
    os.write(terminal, b"select * from nothing;\nselect count(*)\nas rows_of_run from run;\n.quit\n")
    out, _ = done.communicate(timeout=60)
    os.close(terminal)
    assert done.returncode == 0
    assert b"error: Catalog Error: Table with name nothing does not exist!" in out
    assert b"rows_of_run" in out


def test_csv_on_a_terminal_is_printable(var: Path) -> None:
    terminal, side = pty.openpty()
    command = [sys.executable, "-c", "from sojourn_ingest.cli import main; main()", "sql"]
    statement = "select chr(27) || '[2J' || run_id as cleared from run where run_id = 'a'"
    done = subprocess.Popen([*command, statement, "--format", "csv", "--var", str(var)], stdout=side, stderr=side)
    os.close(side)
    assert done.wait(timeout=60) == 0
    written = os.read(terminal, 10_000)
    os.close(terminal)
    assert written == b"cleared\r\n\\x1b[2Ja\r\n"
