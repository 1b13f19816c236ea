"""Filters of a request, ``column=value`` and ``column__operator=value``, as typed and parametrised SQL."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from sojourn_api.catalogue import INTEGER_RANGES, Column, fits_decimal
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.requests.query_string import Items, unknown_parameter
from sojourn_api.suggestions import did_you_mean

#: Bounds of a request; repeats do not count. DuckDB plans conditions in the square of their number.
MOST_FILTERS = 100
MOST_FILTER_VALUES = 1000

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPERATORS = ("eq", "ne", *COMPARISONS, "in", "like", "null")

DESCRIPTION = (
    "Filters: `column=value` (repeat it for any of several values) or `column__op=value` with op one of "
    "`eq`, `ne`, `lt`, `le`, `gt`, `ge`, `in` (comma-separated), `like` (text: `%` any characters, `_` one) and `null` "
    "(`true` or `false`). "
    f"All filters must hold. A request may have {MOST_FILTERS} filters with {MOST_FILTER_VALUES} values in all. "
    "A comparison never matches a null, as in SQL."
)

_INTEGER = re.compile(r"^[+-]?[0-9]{1,40}$")
_REAL = re.compile(r"^[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$")
_QUANTITY = re.compile(
    r"^([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?) ?([kKMGT]?)(.{0,8})$"
)
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIXED_UNITS = ("bit/s", "bytes", "packets", "connections")
_UNIT_WORDS = {"bit/s": ("bit", "bps"), "bytes": ("B", "byte"), "packets": ("packet",)}
_BOOLEANS = {"true": True, "false": False}


IN, LIKE, NOT_EQUAL, IS_NULL, IS_NOT_NULL = "in", "like", "<>", "is null", "is not null"


@dataclass(frozen=True)
class Condition:
    """A condition that a column must meet: an operator of SQL, and the values that it compares with.

    A comparison has one value, `IN` any number, and the tests for null none.
    """

    column: Column
    operator: str
    values: tuple[Any, ...] = ()

    @property
    def sql(self) -> str:
        """The condition in a where clause, with a marker for each of its values."""
        markers = ", ".join([placeholder(self.column.type)] * len(self.values))
        compared = f" ({markers})" if self.operator == IN else f" {markers}" if markers else ""
        return f"{self.column.sql} {self.operator}{compared}"


@dataclass(frozen=True)
class Filters:
    """All conditions of a request; every one must hold."""

    conditions: tuple[Condition, ...]
    columns: frozenset[str]

    def and_also(self, condition: Condition) -> Filters:
        """Return these filters and one more condition."""
        return Filters((*self.conditions, condition), self.columns)

    @property
    def where(self) -> str:
        """The where clause, empty without conditions."""
        if not self.conditions:
            return ""
        return "where " + " and ".join(f"({condition.sql})" for condition in self.conditions)

    @property
    def parameters(self) -> list[Any]:
        """The parameters of the where clause, in its order."""
        return [value for condition in self.conditions for value in condition.values]


def placeholder(column_type: str) -> str:
    """Return a parameter marker of a type; `kind_of` knows it, so its name is from a fixed list."""
    return f"cast(? as {column_type})"


def _refusal(name: str, value: str, column: Column, wanted: str) -> ProblemError:
    detail = f"{quoted(value)} is not {wanted}" + (f", in {column.unit}" if column.unit else "")
    return invalid_parameter(name, detail, column=column.name, column_type=column.type, unit=column.unit)


def _number(value: str, unit: str | None) -> Decimal | None:
    """Return a number with an exponent, a prefix or its unit (``1e6``, ``1M``, ``1Mbit``), or None for what is none."""
    match = _QUANTITY.match(value)
    if match is None:
        return None
    number, prefix, written_unit = match.groups()
    if written_unit and written_unit not in (unit, *_UNIT_WORDS.get(unit or "", ())):
        return None
    if prefix and unit not in _PREFIXED_UNITS:
        return None
    return Decimal(number) * _PREFIXES[prefix]


def _parse_timestamp(value: str, column: Column) -> datetime:
    # A + in a query string means a space, so that "…T00:00:00+00:00" arrives as "…T00:00:00 00:00".
    moment = datetime.fromisoformat(re.sub(r" (?=[0-9]{2}:[0-9]{2}$)", "+", value) if "T" in value else value)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment if column.type == "TIMESTAMP WITH TIME ZONE" else moment.replace(tzinfo=None)


def parse_value(name: str, value: str, column: Column) -> Any:
    """Return a value of the query string as the Python value of its column's type.

    Raises
    ------
    ProblemError
        422, when the text is not a value of that type.
    """
    match column.kind:
        case "text":
            return value
        case "integer":
            lowest, highest = INTEGER_RANGES[column.type]
            whole = Decimal(value) if _INTEGER.match(value) else _number(value, column.unit)
            if whole is None or whole != whole.to_integral_value() or not lowest <= whole <= highest:
                raise _refusal(name, value, column, f"a whole number from {lowest} to {highest}")
            return int(whole)
        case "real":
            real = float(value) if _REAL.match(value) else _number(value, column.unit)
            if real is None or not math.isfinite(real):
                raise _refusal(name, value, column, "a finite number")
            return float(real)
        case "decimal":
            try:
                number = Decimal(value)
            except InvalidOperation:
                raise _refusal(name, value, column, "a decimal number") from None
            if not fits_decimal(number, column.type):
                # DuckDB would round it before it compares, or refuse it as a result.
                raise _refusal(name, value, column, f"a number of type {column.type}")
            return number
        case "boolean":
            if value not in _BOOLEANS:
                raise _refusal(name, value, column, "true or false")
            return _BOOLEANS[value]
        case "timestamp":
            try:
                return _parse_timestamp(value, column)
            except (ValueError, OverflowError):
                # In UTC it may be before the year 1, or after the year 9999.
                raise _refusal(name, value, column, "an ISO 8601 time such as 2026-11-21T01:02:03Z") from None
        case "date":
            try:
                return date.fromisoformat(value)
            except ValueError:
                raise _refusal(name, value, column, "a date such as 2026-11-21") from None
    raise invalid_parameter(
        name, f"values of type {column.type} cannot be compared; only {column.name}__null is possible"
    )


def split_name(name: str, columns: Mapping[str, Column]) -> tuple[Column, str] | None:
    """Return the column and operator that a parameter name means, or None when it means neither."""
    if name in columns:
        return columns[name], "eq"
    prefix, separator, operator = name.rpartition("__")
    if separator and operator in OPERATORS and prefix in columns:
        return columns[prefix], operator
    return None


def _unknown_filter(name: str, columns: Mapping[str, Column], reserved: Sequence[str]) -> ProblemError:
    prefix, separator, operator = name.rpartition("__")
    if separator and prefix in columns:
        detail = f"{quoted(operator)} is not an operator{did_you_mean(operator, OPERATORS)}"
        return ProblemError(
            "unknown-parameter", detail, parameter=name[:200], allowed=[*reserved, *columns], operators=list(OPERATORS)
        )
    return unknown_parameter(name, [*reserved, *columns], operators=list(OPERATORS))


def _condition(name: str, value: str, column: Column, operator: str) -> Condition:
    if operator == "null":
        if value not in _BOOLEANS:
            raise invalid_parameter(name, f"{quoted(value)} is not true or false")
        return Condition(column, IS_NULL if _BOOLEANS[value] else IS_NOT_NULL)
    if operator == "in":
        return Condition(column, IN, tuple(parse_value(name, part, column) for part in dict.fromkeys(value.split(","))))
    if operator == "like":
        if column.kind != "text":
            raise invalid_parameter(name, f"{column.name} is {column.type}, and like compares text")
        return Condition(column, LIKE, (value,))
    if operator in COMPARISONS and column.kind == "boolean":
        raise invalid_parameter(name, f"{column.name} is BOOLEAN and has no order")
    comparison = COMPARISONS.get(operator, NOT_EQUAL)
    return Condition(column, comparison, (parse_value(name, value, column),))


def parse_filters(items: Items, columns: Mapping[str, Column], reserved: Sequence[str]) -> Filters:
    """Return the filters among the parameters of a request.

    Parameters
    ----------
    items : sequence of (name, value)
        The query string.
    columns : mapping of str to Column
        The columns that may be filtered.
    reserved : sequence of str
        Parameters with a meaning of their own. A column of such a name is reached as ``name__eq``.

    Raises
    ------
    ProblemError
        422 for an unknown parameter, naming the allowed ones, for a value that is not of the column's type, and for
        more than `MOST_FILTERS` filters or `MOST_FILTER_VALUES` values.
    """
    conditions: list[Condition] = []
    any_of: dict[str, list[Any]] = {}
    used: set[str] = set()
    count = 0
    for name, value in dict.fromkeys(items):
        if name in reserved:
            continue
        meant = split_name(name, columns)
        if meant is None:
            raise _unknown_filter(name, columns, reserved)
        column, operator = meant
        used.add(column.name)
        if operator == "eq":
            any_of.setdefault(column.name, []).append(parse_value(name, value, column))
            count += 1
        else:
            conditions.append(_condition(name, value, column, operator))
            count += len(conditions[-1].values)
        if len(conditions) + len(any_of) > MOST_FILTERS:
            raise invalid_parameter(name, f"the request has more than {MOST_FILTERS} filters", maximum=MOST_FILTERS)
        if count > MOST_FILTER_VALUES:
            detail = f"the filters have more than {MOST_FILTER_VALUES} values; send several requests"
            raise invalid_parameter(name, detail, maximum=MOST_FILTER_VALUES)
    conditions += [Condition(columns[name], IN, tuple(values)) for name, values in any_of.items()]
    return Filters(tuple(conditions), frozenset(used))
