"""The SQLite connection behind Superset: it reads the API's tables, and can do nothing else.

shillelagh opens a SQLite database in memory, with all that SQLite can do: `ATTACH` reads and writes any file of the
process, such as Superset's own database with its users, and `VACUUM INTO` writes one. Whoever may use SQL Lab would be
administrator. So SQLite asks `reading` about every action of every statement, and what is not listed here is refused.
Memory and time of a statement are limited too.
"""

from __future__ import annotations

import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
from shillelagh.backends.apsw import db
from shillelagh.exceptions import OperationalError, ProgrammingError

from sojourn_superset.percentiles import bound_percentiles
from sojourn_superset.virtual_table import PLAIN, NumberForTextError, With, planning_for

LARGEST_VALUE_BYTES = 2**18
"""Largest text, blob or row within SQLite. The largest cell of a dashboard, bars with words in HTML, has some kB.

A function call cannot be interrupted, and several take time with the square of it (`instr`, `replace`): at this size,
a call takes up to a second.
"""
LARGEST_STATEMENT_BYTES = 2**20
"""Longest SQL. The longest of a dashboard has some tens of kB, and a filter of many values adds to it."""
LONGEST_PATTERN_BYTES = 1_000
"""Longest pattern of LIKE and GLOB."""
LONGEST_TRIMMED_CHARACTERS = 100
"""Most characters that `trim` takes off: SQLite compares each of the text with each of these."""
MOST_PERCENTILE_VALUES = 10_000_000
"""Most values that the medians and percentiles of a statement take, of 8 bytes each."""
LARGEST_RESULT_BYTES = 128 * 2**20
"""Memory of the values of a statement's result. Superset has each several times over, as rows, tables and JSON."""
LARGEST_HEAP_BYTES = 512 * 2**20
"""Most memory of SQLite for all statements at a time. Sorting and grouping go to temporary files long before."""
DEFAULT_TIMEOUT_S = 60.0
"""Seconds that a statement may take, unless the database's `timeout_s` says otherwise."""
STEPS_BETWEEN_CHECKS = 100
"""Steps of SQLite's machine after which it asks for the time: some microseconds, but each may call a function."""

RIGHT_JOIN = re.compile(r"\b(RIGHT|FULL)\b", re.IGNORECASE)
"""What a statement with such a join has somewhere; others may have it too."""
PLANNED_FOR = {With(value): f"\n/* {secrets.token_hex()} */" if value else "" for value in range(2 ** len(With))}
"""What makes a statement another text for each plan: apsw keeps a plan for each text, and nobody else writes these."""
EMPTY_LIST_ERROR = "<NULL>"
"""What apsw 3.54.1 says where an IN has no values, and its table takes them all at once."""

ALLOWED = frozenset(
    {
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_RECURSIVE,
        apsw.SQLITE_PRAGMA,
    }
)
"""Actions of a statement; PRAGMA and functions within the two lists below."""

#: What SQLAlchemy asks about schemas and tables. Each only tells something, with any argument.
PRAGMAS = frozenset(
    {"database_list", "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_xinfo"}
)
#: What SQLAlchemy asks as it connects; with an argument it would change something.
PRAGMAS_WITHOUT_ARGUMENT = frozenset({"read_uncommitted"})

#: Code of a file, waiting that nothing interrupts, an address in memory, lines in the log and on the terminal.
HARMFUL_FUNCTIONS = frozenset({"load_extension", "sleep", "fts3_tokenizer", "sqlite_log", "geopoly_debug"})
#: Several seconds to a minute for values within the limit, in one call that nothing interrupts.
SLOW_FUNCTIONS = frozenset({"json_patch", "jsonb_patch", "json_pretty", "unhex", "geopoly_overlap", "geopoly_within"})
FORBIDDEN_FUNCTIONS = HARMFUL_FUNCTIONS | SLOW_FUNCTIONS

#: SQLite's functions that take off the characters of their second argument, and how Python does it.
TRIMMING: dict[str, Callable[[str, str], str]] = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}

#: What SQLite does besides, as it makes a virtual table: it notes it in its schema.
NOTED = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE})

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def reading(code: int, first: str | None, second: str | None, schema: str | None, within: str | None) -> int:
    """Answer SQLite whether a statement may do something (`sqlite3_set_authorizer`)."""
    if code == apsw.SQLITE_PRAGMA:
        name = (first or "").lower()
        allowed = name in PRAGMAS or (name in PRAGMAS_WITHOUT_ARGUMENT and second is None)
    elif code == apsw.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in FORBIDDEN_FUNCTIONS
    else:
        allowed = code in ALLOWED
    return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


def _trimming(name: str) -> Callable[[Any, Any], str | None]:
    """Return SQLite's function of two arguments with a bound on the second."""

    def trimmed(value: Any, characters: Any) -> str | None:
        if value is None or characters is None:
            return None
        text, taken_off = (
            each.decode(errors="replace") if isinstance(each, bytes) else str(each) for each in (value, characters)
        )
        if len(taken_off) > LONGEST_TRIMMED_CHARACTERS:
            raise ProgrammingError(f"{name} takes off at most {LONGEST_TRIMMED_CHARACTERS} characters")
        # Without any, Python takes off white space and SQLite nothing.
        return TRIMMING[name](text, taken_off) if taken_off else text

    return trimmed


def _memory(value: Any) -> int:
    """Return the memory of a value, of a text as Python or as Arrow has it.

    One emoji has Python take four bytes for each character of a text; Arrow takes two for an é where Python takes one.
    """
    size = sys.getsizeof(value)
    return max(size, len(value.encode())) if isinstance(value, str) and not value.isascii() else size


class ReadOnlyCursor(db.APSWCursor):  # type: ignore[misc]
    """A cursor of `ReadOnlyConnection`.

    Raises
    ------
    ProgrammingError
        By `execute`, if a statement would do anything but read.
    OperationalError
        By the same, if it takes too long, or too much memory.
    """

    def __init__(self, connection: ReadOnlyConnection, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection = connection

    def execute(self, operation: str, parameters: tuple[Any, ...] | None = None) -> ReadOnlyCursor:
        """Execute a statement and read its rows; its time begins."""
        self.connection.begin_statement()
        properties = With.RIGHT_JOIN if RIGHT_JOIN.search(operation) else PLAIN
        with self.connection.errors_in_words():
            while True:
                try:
                    with planning_for(properties):
                        self._read(f"{operation}{PLANNED_FOR[properties]}", parameters)
                except NumberForTextError:
                    properties |= With.NUMBER_FOR_TEXT
                except (ProgrammingError, apsw.SQLError) as error:
                    if str(error) != EMPTY_LIST_ERROR or With.EMPTY_LIST in properties:
                        raise
                    properties |= With.EMPTY_LIST
                else:
                    return self

    def _read(self, operation: str, parameters: tuple[Any, ...] | None) -> None:
        super().execute(operation, parameters)
        self._results: Iterator[tuple[Any, ...]] = iter(list(self._results))

    def _convert(self, cursor: Any) -> Iterator[tuple[Any, ...]]:
        size = 0
        for row in super()._convert(cursor):
            size += sys.getsizeof(row) + sum(map(_memory, row))
            if size > LARGEST_RESULT_BYTES:
                raise OperationalError(
                    f"the result is larger than {LARGEST_RESULT_BYTES // 2**20} MiB; ask for fewer rows or columns"
                )
            yield row

    def _create_table(self, uri: str) -> None:
        # by shillelagh, when a statement names a dataset for the first time
        with self.connection.making_a_table():
            super()._create_table(uri)


class ReadOnlyConnection(db.APSWConnection):  # type: ignore[misc]
    """A connection to a SQLite database in memory whose statements only read virtual tables.

    Raises
    ------
    OperationalError
        If a database in a file is asked for.
    """

    def __init__(self, path: str, *arguments: Any, **keywords: Any) -> None:
        if path != ":memory:":
            raise OperationalError("only a database in memory is opened")
        super().__init__(path, *arguments, **keywords)
        self.refused: str | None = None
        self.seconds = max(
            (each["timeout_s"] for each in self._adapter_kwargs.values() if "timeout_s" in each),
            default=DEFAULT_TIMEOUT_S,
        )
        self.begin_statement()
        sqlite = self._connection
        sqlite.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        sqlite.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES)
        sqlite.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, LARGEST_STATEMENT_BYTES)
        sqlite.limit(apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN_BYTES)
        for name in TRIMMING:
            sqlite.create_scalar_function(name, _trimming(name), 2, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
        bound_percentiles(sqlite, self.count_percentile_value)
        apsw.hard_heap_limit(LARGEST_HEAP_BYTES)
        sqlite.set_progress_handler(lambda: time.monotonic() > self.deadline, STEPS_BETWEEN_CHECKS)
        sqlite.set_authorizer(self._noting(reading))

    def cursor(self) -> ReadOnlyCursor:
        """Return a new cursor."""
        if self.closed:
            raise ProgrammingError(f"{self.__class__.__name__} already closed")
        cursor = ReadOnlyCursor(
            self, self._connection.cursor(), self._adapters, self._adapter_kwargs, self.isolation_level, self.schema
        )
        self.cursors.append(cursor)
        return cursor

    def begin_statement(self) -> None:
        """Count the time and the values of percentiles from now."""
        self.refused = None
        self.percentile_values = 0
        self.deadline = time.monotonic() + self.seconds

    def count_percentile_value(self) -> None:
        """Count a value of a median or percentile.

        Raises
        ------
        OperationalError
            If the statement has too many.
        """
        self.percentile_values += 1
        if self.percentile_values > MOST_PERCENTILE_VALUES:
            raise OperationalError(
                f"medians and percentiles of a statement take at most {MOST_PERCENTILE_VALUES:,} values; ask for fewer"
            )

    @contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Raise what SQLite says of a limit as the error that SQL users expect (PEP 249), in words."""
        try:
            yield
        except apsw.AuthError as error:
            raise ProgrammingError(f"this database only reads tables; refused: {self.refused or error}") from error
        except apsw.InterruptError as error:
            raise OperationalError(f"the statement took longer than {self.seconds:g} s and was stopped") from error
        except apsw.TooBigError as error:
            raise OperationalError(
                f"a value or a row is larger than {LARGEST_VALUE_BYTES // 2**10} KiB, "
                f"or the statement than {LARGEST_STATEMENT_BYTES // 2**20} MiB"
            ) from error
        except apsw.NoMemError as error:
            raise OperationalError(f"SQLite needs more than {LARGEST_HEAP_BYTES // 2**20} MiB of memory") from error

    @contextmanager
    def making_a_table(self) -> Iterator[None]:
        """Let SQLite make a virtual table of an adapter until it ends. SQLite then checks cached statements again."""
        modules = {adapter.__name__ for adapter in self._adapters}

        def making(code: int, first: str | None, second: str | None, schema: str | None, within: str | None) -> int:
            if code == apsw.SQLITE_CREATE_VTABLE and second in modules:
                return apsw.SQLITE_OK
            if code in NOTED and first == "sqlite_master":
                return apsw.SQLITE_OK
            return reading(code, first, second, schema, within)

        self._connection.set_authorizer(self._noting(making))
        try:
            yield
        finally:
            self._connection.set_authorizer(self._noting(reading))

    def _noting(self, authorizer: Authorizer) -> Authorizer:
        """Return an authorizer that keeps what it refused, for the message."""

        def noting(code: int, first: str | None, second: str | None, schema: str | None, within: str | None) -> int:
            answer = authorizer(code, first, second, schema, within)
            if answer != apsw.SQLITE_OK:
                action = apsw.mapping_authorizer_function[code]
                self.refused = " ".join(str(part) for part in (action, first, second) if part)
            return answer

        return noting


def install_read_only() -> None:
    """Have shillelagh open such connections only; it names its own class and accepts no other."""
    db.APSWConnection = ReadOnlyConnection
