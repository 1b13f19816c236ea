"""The SQLite connection behind Superset: it reads the API's tables, and nothing else, within limits."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from contract_server import Contract
from shillelagh.exceptions import Error
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from sojourn_superset import readable_tables
from sojourn_superset.adapter_query import adapter
from sojourn_superset.percentiles import PERCENTILES
from sojourn_superset.read_only import (
    ALLOWED,
    FORBIDDEN_FUNCTIONS,
    HARMFUL_FUNCTIONS,
    LARGEST_VALUE_BYTES,
    LONGEST_TRIMMED_CHARACTERS,
    SLOW_FUNCTIONS,
    ReadOnlyConnection,
    reading,
)

CODES: dict[int, str] = {code: name for code, name in apsw.mapping_authorizer_function.items() if isinstance(code, int)}

OF_SHILLELAGH = {"date_trunc", "get_metadata", "version"}
"""Functions of shillelagh, in Python."""

READS = {
    "SQLITE_SELECT": "SELECT 1",
    "SQLITE_READ": "SELECT COUNT(aqm) FROM run_harm",
    "SQLITE_FUNCTION": "SELECT upper('a')",
    "SQLITE_RECURSIVE": "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT * FROM n",
    "SQLITE_PRAGMA": "PRAGMA main.table_info(run_harm)",
}
"""A statement of each action that is allowed."""

CHANGES = {
    "SQLITE_ALTER_TABLE": "ALTER TABLE held RENAME TO other",
    "SQLITE_ANALYZE": "ANALYZE held",
    "SQLITE_ATTACH": "ATTACH DATABASE '{file}' AS x",
    "SQLITE_CREATE_INDEX": "CREATE INDEX other ON held (a)",
    "SQLITE_CREATE_TABLE": "CREATE TABLE other (a)",
    "SQLITE_CREATE_TEMP_INDEX": "CREATE INDEX temp.other ON held_temp (a)",
    "SQLITE_CREATE_TEMP_TABLE": "CREATE TEMP TABLE other (a)",
    "SQLITE_CREATE_TEMP_TRIGGER": "CREATE TEMP TRIGGER other AFTER INSERT ON held BEGIN SELECT 1; END",
    "SQLITE_CREATE_TEMP_VIEW": "CREATE TEMP VIEW other AS SELECT 1",
    "SQLITE_CREATE_TRIGGER": "CREATE TRIGGER other AFTER INSERT ON held BEGIN SELECT 1; END",
    "SQLITE_CREATE_VIEW": "CREATE VIEW other AS SELECT 1",
    "SQLITE_CREATE_VTABLE": "CREATE VIRTUAL TABLE other USING SojournAPI('')",
    "SQLITE_DELETE": "DELETE FROM held",
    "SQLITE_DETACH": "DETACH DATABASE temp",
    "SQLITE_DROP_INDEX": "DROP INDEX held_index",
    "SQLITE_DROP_TABLE": "DROP TABLE held",
    "SQLITE_DROP_TEMP_INDEX": "DROP INDEX temp.held_temp_index",
    "SQLITE_DROP_TEMP_TABLE": "DROP TABLE temp.held_temp",
    "SQLITE_DROP_TEMP_TRIGGER": "DROP TRIGGER temp.held_temp_trigger",
    "SQLITE_DROP_TEMP_VIEW": "DROP VIEW temp.held_temp_view",
    "SQLITE_DROP_TRIGGER": "DROP TRIGGER held_trigger",
    "SQLITE_DROP_VIEW": "DROP VIEW held_view",
    "SQLITE_DROP_VTABLE": "DROP TABLE run_harm",
    "SQLITE_INSERT": "REPLACE INTO held VALUES (1)",
    "SQLITE_REINDEX": "REINDEX held",
    "SQLITE_SAVEPOINT": "SAVEPOINT other",
    "SQLITE_TRANSACTION": "BEGIN IMMEDIATE",
    "SQLITE_UPDATE": "UPDATE held SET a = 1",
}
"""A statement of each action that is refused."""

WITHOUT_A_STATEMENT = {"SQLITE_COPY"}
"""SQLite itself no longer asks for these."""

HELD = """
CREATE TABLE held (a); CREATE INDEX held_index ON held (a); CREATE VIEW held_view AS SELECT 1;
CREATE TRIGGER held_trigger AFTER INSERT ON held BEGIN SELECT 1; END;
CREATE TEMP TABLE held_temp (a); CREATE INDEX temp.held_temp_index ON held_temp (a);
CREATE TEMP VIEW held_temp_view AS SELECT 1;
CREATE TEMP TRIGGER held_temp_trigger AFTER INSERT ON held BEGIN SELECT 1; END;
"""
"""What a statement could change, if there were any."""


def sqlite_of(connection: Connection) -> apsw.Connection:
    """Return SQLite's own connection."""
    opened: apsw.Connection = connection.connection.dbapi_connection._connection
    return opened


@pytest.fixture
def connection(contract: Contract) -> Iterator[Connection]:
    """Connect as Superset does, to a database in which there is something to change."""
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"])
    with engine.connect() as opened:
        opened.execute(text("SELECT COUNT(*) FROM run_harm"))
        sqlite = sqlite_of(opened)
        kept = sqlite.authorizer
        sqlite.set_authorizer(None)
        sqlite.execute(HELD)
        sqlite.set_authorizer(kept)
        yield opened
    engine.dispose()


def refusal(connection: Connection, statement: str) -> str:
    """Return what SQL users are told of a statement that must fail."""
    with pytest.raises((DBAPIError, Error)) as caught:
        connection.execute(text(statement.replace(":", "\\:"))).fetchall()
    return str(caught.value)


def test_each_action_of_sqlite_is_read_or_refused() -> None:
    named = {*READS, *CHANGES, *WITHOUT_A_STATEMENT}
    assert named == set(CODES.values())
    assert {CODES[code] for code in ALLOWED} == set(READS)


@pytest.mark.parametrize("action", READS)
def test_an_action_that_reads_works(connection: Connection, action: str) -> None:
    assert connection.execute(text(READS[action])).fetchall()


@pytest.mark.parametrize("action", CHANGES)
def test_an_action_that_changes_something_is_refused(connection: Connection, action: str, tmp_path: Path) -> None:
    said = refusal(connection, CHANGES[action].format(file=tmp_path / "made.db"))
    assert "this database only reads tables" in said
    # SQLite asks for the note in its schema first.
    assert f"refused: {action}" in said or "sqlite_master" in said or "sqlite_temp_master" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [code for code, name in CODES.items() if name not in READS] + [-1, 34, 1000])
def test_what_is_not_listed_is_refused(code: int) -> None:
    assert reading(code, "sqlite_master", "SojournAPI", "main", None) == apsw.SQLITE_DENY


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE '{file}' AS x",
        "ATTACH DATABASE 'file:{file}?mode=ro' AS x",
        "ATTACH DATABASE ':memory:' AS x",
        "VACUUM",
        "VACUUM INTO '{file}'",
        "SELECT 1; ATTACH DATABASE '{file}' AS x; SELECT username, password FROM x.ab_user",
        "EXPLAIN ATTACH DATABASE '{file}' AS x",
        "/* read */ EXPLAIN QUERY PLAN ATTACH '{file}' AS x",
        "SELECT 1;; ATTACH DATABASE (SELECT '{file}') AS x",
        "CREATE TEMP TABLE other AS SELECT 1",
        "CREATE VIRTUAL TABLE other USING csv(filename='{file}')",
        'SELECT * FROM "file://{file}"',
        "SELECT readfile('{file}')",
        "PRAGMA main.page_size = 512",
        "WITH n AS (SELECT 1) INSERT INTO run_harm (run_id) SELECT * FROM n",
        "UPDATE run_harm SET run_id = 'x'",
        "DELETE FROM run_harm",
        "CREATE VIRTUAL TABLE other USING fts5(a)",
        "CREATE VIRTUAL TABLE temp.other USING dbstat",
        "CREATE TABLE other AS SELECT * FROM run_harm",
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 1, 'CREATE TABLE x (a)')",
        "SELECT load_extension('{file}')",
        "SELECT sleep(1)",
        "SELECT fts3_tokenizer('simple')",
        "PRAGMA writable_schema = 1",
        "PRAGMA temp_store_directory = '/'",
        "PRAGMA read_uncommitted = 1",
        "PRAGMA hard_heap_limit = 0",
        "PRAGMA journal_mode = WAL",
        "SELECT * FROM pragma_module_list",
    ],
)
def test_a_statement_reaches_no_file_and_changes_nothing(
    connection: Connection, statement: str, tmp_path: Path
) -> None:
    file = tmp_path / "superset.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE ab_user (username, password)")
    before = file.read_bytes()
    refusal(connection, statement.format(file=file))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    assert connection.execute(text("SELECT COUNT(*) FROM run_harm")).scalar() == 8


def test_a_dataset_is_made_a_table_and_then_nothing_more_is_allowed(connection: Connection, contract: Contract) -> None:
    contract.add("other", {"a": "BIGINT"}, ["a"], [{"a": 1}])
    assert connection.execute(text("SELECT a FROM other JOIN run_harm ON a < packets LIMIT 1")).scalar() == 1
    made = connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'other'")).scalar()
    assert "already exists" not in refusal(connection, made)
    assert "refused: " in refusal(connection, made.replace("other", "another"))
    # A name that cannot be a table leaves nothing open behind it.
    refusal(connection, "SELECT * FROM unknown_dataset")
    assert "refused: " in refusal(connection, "CREATE TABLE more (a)")


OF_OTHERS = (
    "SELECT COUNT(*) FROM run_harm",
    "SELECT run_id FROM main.run_harm",
    'SELECT EXISTS(SELECT 1 FROM "main".run_harm)',
    "SELECT ('s', 4) IN \"run_harm?group=study_id\"",
    "SELECT ('s', 4) IN main.\"run_harm?group=study_id\"",
    "WITH run_harm_copy AS (SELECT * FROM run_harm) SELECT COUNT(*) FROM run_harm_copy, other",
    "SELECT name FROM other WHERE name NOT IN (SELECT run_id FROM run_harm)",
    "SELECT (SELECT x.aqm FROM (SELECT * FROM run_harm) AS x)",
    "SELECT COUNT(*) FROM (SELECT 's' AS study_id) JOIN run_harm USING (study_id)",
    "SELECT COUNT(*) FROM other NATURAL JOIN main.run_harm",
    "WITH run_harm AS (SELECT 1) SELECT * FROM (SELECT run_id FROM main.run_harm)",
    "SELECT GET_METADATA('run_harm')",
)
"""Statements about more than the table `other`."""


@pytest.mark.parametrize("statement", OF_OTHERS)
@pytest.mark.parametrize("is_named_before", [True, False])
def test_a_statement_reads_only_tables_that_its_user_may(
    contract: Contract, monkeypatch: pytest.MonkeyPatch, statement: str, is_named_before: bool
) -> None:
    """SQLite keeps the plans of statements, and so the answer of whoever executed one before."""
    contract.add("other", {"name": "VARCHAR"}, ["name"], [{"name": "a"}])
    own = "WITH counted AS (SELECT name FROM other) SELECT COUNT(*), json_array(1) FROM counted, json_each('[1]')"
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"])
    with engine.connect() as connection:
        if is_named_before:
            assert connection.execute(text("SELECT COUNT(*), (SELECT COUNT(*) FROM other) FROM run_harm")).fetchall()
            assert connection.execute(text("SELECT EXISTS(SELECT 1 FROM RUN_HARM)")).fetchall()
        monkeypatch.setattr(readable_tables, "readable_tables", lambda: frozenset({"other"}))
        assert "your role may not read the table run_harm" in refusal(connection, statement)
        assert connection.execute(text(own)).fetchall() == [(1, "[1]")]
        monkeypatch.setattr(readable_tables, "readable_tables", lambda: None)
        assert connection.execute(text("SELECT COUNT(*) FROM main.run_harm")).fetchall()
    engine.dispose()


def test_no_database_is_attached_even_if_nobody_is_asked(connection: Connection) -> None:
    sqlite = sqlite_of(connection)
    sqlite.set_authorizer(None)
    with pytest.raises(apsw.SQLError, match="too many attached databases - max 0"):
        sqlite.execute("ATTACH DATABASE ':memory:' AS x")


def test_a_function_that_sqlite_does_not_call_harmless_is_known(connection: Connection) -> None:
    sqlite = sqlite_of(connection)
    sqlite.set_authorizer(None)
    innocuous = 0x200000
    listed = sqlite.execute("SELECT name, flags FROM pragma_function_list").fetchall()
    # Those of SQLite, which are listed beside ours.
    of_statistics = set(PERCENTILES)
    # They work on tables of full text and on trees, of which none can be made, or on their argument.
    of_modules = {
        "bm25", "fts5", "fts5_get_locale", "highlight", "match", "matchinfo", "offsets", "optimize", "snippet",
        "rtreecheck", "rtreedepth", "rtreenode",
    }  # fmt: skip
    assert {name for name, flags in listed if not flags & innocuous} == (
        HARMFUL_FUNCTIONS | of_statistics | OF_SHILLELAGH | of_modules
    )


def test_what_sqlalchemy_asks_of_tables_is_answered(connection: Connection) -> None:
    inspector = inspect(connection)
    assert inspector.get_schema_names() == ["main"]
    assert "run_harm" in inspector.get_table_names()
    assert inspector.get_columns("run_harm")
    assert inspector.get_pk_constraint("run_harm")["constrained_columns"] == []
    assert inspector.get_foreign_keys("run_harm") == inspector.get_indexes("run_harm") == []
    assert inspector.get_view_names() == ["held_view"]


def test_a_database_in_a_file_is_not_opened(contract: Contract, tmp_path: Path) -> None:
    file = tmp_path / "superset.db"
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"], connect_args={"path": str(file)})
    with pytest.raises((DBAPIError, Error), match="only a database in memory"):
        engine.connect()
    assert not file.exists()


def test_every_connection_of_the_adapter_is_of_this_kind(contract: Contract) -> None:
    from sojourn_client import Client

    with Client(contract.url) as client, adapter(client) as opened:
        assert isinstance(opened.connection.dbapi_connection, ReadOnlyConnection)


NUMBERS = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n LIMIT {rows})"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT MAX(hex(zeroblob(400000000))) FROM run_harm", "a value or a row is larger than 256 KiB"),
        ("SELECT printf('%.*c', 400000000, 'x')", "larger than 256 KiB"),
        (NUMBERS.format(rows=2_000) + " SELECT group_concat(printf('%.1000c', 'x')) FROM n", "larger than 256 KiB"),
        (f"SELECT 1 /* {'x' * 2**20} */", "or the statement than 1 MiB"),
        ("SELECT 'a' LIKE hex(zeroblob(600))", "LIKE or GLOB pattern too complex"),
        (f"SELECT {', '.join(['hex(zeroblob(130000))'] * 1900)}", "more than 512 MiB of memory"),
        (NUMBERS.format(rows=10**9) + " SELECT hex(zeroblob(130000)) FROM n", "the result is larger than 128 MiB"),
        (
            NUMBERS.format(rows=150) + " SELECT printf('%0262000d', x) || char(128512) FROM n",
            "the result is larger than 128 MiB",
        ),
        (
            NUMBERS.format(rows=800) + " SELECT replace(printf('%0100000d', x), '0', 'é') FROM n",
            "the result is larger than 128 MiB",
        ),
    ],
)
def test_a_statement_of_much_memory_is_refused(connection: Connection, statement: str, message: str) -> None:
    assert message in refusal(connection, statement)
    assert connection.execute(text("SELECT COUNT(*) FROM run_harm")).scalar() == 8


def test_a_value_that_is_too_large_takes_little_memory(connection: Connection) -> None:
    apsw.memory_high_water(True)
    before = apsw.memory_used()
    refusal(connection, "SELECT MAX(hex(zeroblob(400000000))) FROM run_harm")
    assert apsw.memory_high_water() - before < 10 * 2**20


def test_a_statement_that_takes_too_long_is_stopped(contract: Contract) -> None:
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"timeout_s": 0.5}})
    start = time.monotonic()
    with engine.connect() as opened:
        said = refusal(opened, NUMBERS.format(rows=10**12) + " SELECT COUNT(*) FROM n")
        assert "the statement took longer than 0.5 s and was stopped" in said
        # Its rows belong to it.
        with pytest.raises((DBAPIError, Error), match="took longer"):
            opened.execute(text(NUMBERS.format(rows=10**12) + " SELECT x FROM n"))
        # The time of the next begins anew.
        assert opened.execute(text("SELECT COUNT(*) FROM run_harm")).scalar() == 8
    engine.dispose()
    assert time.monotonic() - start < 20


def test_a_statement_has_the_time_limit_of_the_database(contract: Contract) -> None:
    for settings, seconds in (({}, 60.0), ({"timeout_s": 5}, 5)):
        engine = create_engine("shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": settings})
        with engine.connect() as opened:
            assert opened.connection.dbapi_connection.seconds == seconds
        engine.dispose()


MOST_SECONDS_OF_A_CALL = 2
"""CPU seconds; SECURITY.md says one."""


def texts_for_two_arguments(size: int) -> list[tuple[str, str]]:
    """Return pairs of texts of this many bytes with which functions of two texts have the most to do."""
    keys, half = range(size // 12), size // 2
    one, other = ("{" + ",".join(f'"{name}{key:06d}":1' for key in keys) + "}" for name in "kx")
    deep = "[" * 900 + "1" * (size - 1800) + "]" * 900
    return [
        ("a" * size, "a" * half + "b"),
        ("a" * size, "b" * (size - 1) + "a"),
        ("b" * (size - 1) + "a", "a" * (size - 1) + "b"),
        ("-" * (size - 2) + "41", "x" * (size - 1) + "-"),
        (one, other),
        (deep, "a" * size),
        (deep, "$" + "[0]" * (size // 3)),
    ]


def test_a_call_with_two_texts_takes_at_most_the_square_of_their_length_and_two_seconds(connection: Connection) -> None:
    sqlite = sqlite_of(connection)
    sqlite.set_authorizer(None)
    # Aggregates and window functions have a test of their own (test_aggregates.py).
    listed = sqlite.execute("SELECT name, narg FROM pragma_function_list WHERE type = 's'").fetchall()
    names = {name for name, count in listed if count == 2 or (count < 0 and -count <= 3)} - OF_SHILLELAGH
    assert {"instr", "trim", "json_patch", "json_extract", "like", "concat"} <= names
    size = LARGEST_VALUE_BYTES // 8
    pairs = list(zip(texts_for_two_arguments(size), texts_for_two_arguments(2 * size), strict=True))

    def seconds(name: str, texts: tuple[str, str]) -> float:
        start = time.process_time()
        with suppress(apsw.Error, Error):
            sqlite.execute(f"SELECT length({name}(?, ?))", texts).fetchall()
        return time.process_time() - start

    slow = {}
    for name in names - FORBIDDEN_FUNCTIONS:
        for texts, of_twice in pairs:
            if seconds(name, texts) > 0.01 and (least := min(seconds(name, texts) for _ in range(3))) > 0.005:
                twice = min(seconds(name, of_twice) for _ in range(3))
                largest = twice * (LARGEST_VALUE_BYTES / (2 * size)) ** 2
                if twice > 6 * least or largest > MOST_SECONDS_OF_A_CALL:
                    slow[name, texts[0][:9], texts[1][:9]] = least, twice, largest
    assert slow == {}


@pytest.mark.parametrize("name", sorted(SLOW_FUNCTIONS))
def test_a_function_that_takes_long_within_a_call_is_refused(connection: Connection, name: str) -> None:
    assert f"not authorized to use function: {name}" in refusal(connection, f"SELECT {name}('[]', '[]')")


@pytest.mark.parametrize(
    "arguments",
    [
        "'xxaxx', 'x'",
        "'  a b ', ' '",
        "'xyaxy', 'yx'",
        "' a ', ''",
        "12.5, '5.'",
        "NULL, 'x'",
        "'x', NULL",
        "x'6161', 'a'",
    ],
)
@pytest.mark.parametrize("name", ["trim", "ltrim", "rtrim"])
def test_trim_takes_off_what_sqlite_does(connection: Connection, name: str, arguments: str) -> None:
    statement = f"SELECT {name}({arguments})"
    (expected,) = sqlite3.connect(":memory:").execute(statement).fetchone()
    assert connection.execute(text(statement)).scalar() == expected


def test_trim_takes_off_few_characters(connection: Connection) -> None:
    many = "x" * (LONGEST_TRIMMED_CHARACTERS + 1)
    assert connection.execute(text(f"SELECT trim('xax', '{many[1:]}')")).scalar() == "a"
    assert "trim takes off at most 100 characters" in refusal(connection, f"SELECT trim('xax', '{many}')")
