"""Columns of the API as SQLite has them: how values are spelled in a query parameter, and how SQLite compares them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from shillelagh.backends.apsw.vt import type_map
from shillelagh.fields import Field, Float, IntBoolean, Order, String

from sojourn_client import Column
from sojourn_superset.conditions import Conditions, Equality

_SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 64}
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 63}
INTEGERS = {name: range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for name, bits in _SIGNED.items()} | {
    name: range(2**bits) for name, bits in _UNSIGNED.items()
}
"""Values of each type of integers that SQLite has too."""
REALS = frozenset({"FLOAT", "DOUBLE"})
NUMBERS = frozenset({*INTEGERS, *REALS})

ROWS_OF_GROUP = "rows of the group"
"""The column of a table of groups that has the number of rows; no dataset has a name with spaces."""

NUMBER = re.compile(r"[ \t-\r]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t-\r]*")
"""A text that SQLite compares with a column of numbers as the number that it spells."""


def aggregate_name(function: str, column: str) -> str:
    """Return the column of a table of groups that has an aggregate."""
    return f"{function} of {column}"


def _number(value: Any) -> Any:
    """Return the number that a text spells, which SQLite compares with a column of numbers, or the value as it is."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        return value
    number = float(value)
    # A double does not hold each of the larger ones, and an integer of SQLite none beyond 64 bits.
    is_whole = value.strip().lstrip("+-").isdigit() and -(2.0**63) <= number <= 2.0**63
    return int(value) if is_whole and -(2**63) <= int(value) < 2**63 else number


class BigInteger(Field[int, int]):  # type: ignore[misc]
    """An exact integer of up to 64 bits.

    shillelagh's INTEGER travels through SQLite as text, so that MAX, ORDER BY and comparisons there would
    follow the alphabet ('9' > '10'). A type name of its own keeps it a number.
    """

    type = "BIGINT"
    db_api_type = "NUMBER"
    values = INTEGERS["BIGINT"]

    def quote(self, value: float | str | None) -> str | None:
        """Spell the value for a query parameter, or return None for what the column cannot have."""
        if not isinstance(value, int | float) or not math.isfinite(value) or value != value // 1:
            return None
        return str(int(value)) if int(value) in self.values else None

    def format(self, value: Any) -> Any:
        """Return the value that SQLite compares the column with."""
        return _number(value)


class Real(Float):  # type: ignore[misc]
    """A double; spelled so that it reads back as the same double."""

    def quote(self, value: float | str | None) -> str | None:
        """Spell the value for a query parameter, or return None for what is not a double."""
        if isinstance(value, int | float) and math.isfinite(value) and float(value) == value:
            return repr(float(value))
        return None

    def format(self, value: Any) -> Any:
        """Return the value that SQLite compares the column with."""
        return _number(value)


class Text(String):  # type: ignore[misc]
    """Text, sent as it is: a query parameter needs no SQL quotes."""

    def quote(self, value: Any) -> str | None:
        """Spell the value for a query parameter, or return None for what is not text."""
        return value if isinstance(value, str) else None


class Truth(IntBoolean):  # type: ignore[misc]
    """A boolean: true and false for the API, 1 and 0 for SQLite."""

    def parse(self, value: Any) -> Any:
        """Return the boolean, or what else a UNION has in its column as it is."""
        return bool(value) if value in (0, 1) else value

    def format(self, value: Any) -> Any:
        """Return the value that SQLite has, or compares the column with."""
        number = _number(value)
        return int(number) if isinstance(number, bool) else number

    def quote(self, value: Any) -> str | None:
        """Spell the value for a query parameter, or return None for what is not 0 or 1."""
        return {0: "false", 1: "true"}.get(value)


class Other(String):  # type: ignore[misc]
    """Anything else (timestamps, lists, structs) as text; lists and structs as JSON. Not pushed down."""

    def parse(self, value: Any) -> str | None:
        """Return text for any JSON that the API sent."""
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, sort_keys=True)


# looked up by shillelagh for every column type on the way into and out of SQLite
type_map[BigInteger.type] = BigInteger
type_map[Truth.type] = Truth


def field_of(column: Column) -> Field[Any, Any]:
    """Return the field for a catalogue column.

    `exact` stays false, so SQLite checks every condition again: it costs little, and an API that one day
    reads a filter differently gives fewer rows, never wrong ones. `order` is ANY throughout: with a column of
    another order, shillelagh still hands the LIMIT down, and the rows are cut before SQLite sorts them.
    """
    name = column.type.upper()
    kinds: dict[str, type[Field[Any, Any]]] = {
        **dict.fromkeys(INTEGERS, BigInteger),
        **dict.fromkeys(REALS, Real),
        "VARCHAR": Text,
        "BOOLEAN": Truth,
    }
    if name.startswith("DECIMAL"):
        return Real(order=Order.ANY)
    if name not in kinds:
        return Other(order=Order.ANY)
    field = kinds[name](filters=[Equality if name == "BOOLEAN" else Conditions], order=Order.ANY, exact=False)
    if isinstance(field, BigInteger):
        field.values = INTEGERS[name]
    return field
