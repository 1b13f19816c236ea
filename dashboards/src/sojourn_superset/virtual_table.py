"""Replacements of functions of shillelagh 1.4.5, by which SQLite hands conditions to its tables.

SQLite offers conditions by number, some of them not usable for the plan at hand. shillelagh leaves those out and then
answers by position in the shortened list, so that its answer is about other conditions: SQLite refuses the query
("xBestIndex malfunction"), as it does for `a IN (1, 2) AND b = 3`, which is what a dashboard filter of two values asks.

It also has SQLite ask once for each value of an IN, which is a request to the API each. Here, all values come at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Flag, auto
from typing import Any

import apsw
from apsw.ext import index_info_to_dict
from shillelagh.backends.apsw import vt
from shillelagh.backends.apsw.vt import VTTable
from shillelagh.fields import Field, IntBoolean, String
from shillelagh.filters import Operator

ROW_COUNTS = {apsw.SQLITE_INDEX_CONSTRAINT_LIMIT, apsw.SQLITE_INDEX_CONSTRAINT_OFFSET}

_bounds_of_single_values = vt.get_all_bounds


class With(Flag):
    """What a statement has that takes another plan; of the first two, SQLite tells only once it runs."""

    EMPTY_LIST = auto()
    """Ask for each value of an IN on its own: apsw has no list of none."""
    NUMBER_FOR_TEXT = auto()
    """Hand down no LIMIT, and no values of a column of texts on their own: only SQLite knows which rows compare."""
    RIGHT_JOIN = auto()
    """Number rows by their key: SQLite reads the table again, without the conditions, for those it has not met."""


PLAIN = With(0)

_planned_for = ContextVar("_planned_for", default=PLAIN)


@contextmanager
def planning_for(properties: With) -> Iterator[None]:
    """Have statements that are planned meanwhile heed these properties."""
    token = _planned_for.set(properties)
    try:
        yield
    finally:
        _planned_for.reset(token)


def rows_have_keys() -> bool:
    """Return whether SQLite knows rows by their key, and not by their place in the answer."""
    return With.RIGHT_JOIN in _planned_for.get()


class NumberForTextError(Exception):
    """A column of texts is compared with a number, for which the statement was not planned."""


class AnyOf(frozenset[Any]):
    """Values of which a column has one: what stands for the value of a condition `IN`."""


def best_index(table: VTTable, info: Any) -> bool:
    """Inform SQLite which of its conditions the table takes, each under its own number."""
    columns = table.adapter.get_columns()
    names, fields = list(columns), list(columns.values())
    # For a text, SQLite checks each value of an IN again, but not as it compares with a number.
    one_by_one = With.EMPTY_LIST | With.NUMBER_FOR_TEXT in _planned_for.get()
    offered = index_info_to_dict(info, column_names=names)
    order = [(term["iColumn"], term["desc"]) for term in offered["aOrderBy"]]
    # The row id is generated here, so the API cannot sort by it, nor limit rows that are not sorted yet.
    by_row_id = any(column < 0 for column, _ in order)
    taken = [
        (number, constraint.get("iColumn", -1), constraint["op"])
        for number, constraint in enumerate(offered["aConstraint"])
        if constraint["usable"]
        and _about_rows(constraint, by_row_id)
        and _compares_bytes(info, number, constraint)
        and not (one_by_one and info.get_aConstraintUsage_in(number) and _is_text(constraint, fields))
    ]
    used, number_of_index, indexes, ordered, consumed, cost = table._build_index(
        [(column, operator) for _, column, operator in taken], [] if by_row_id else order
    )
    for (number, column, _), use in zip(taken, used, strict=True):
        if use is not None:
            position, checked = use
            # As a boolean, a 2 would become true before anybody could tell.
            is_list = With.EMPTY_LIST not in _planned_for.get() and info.get_aConstraintUsage_in(number)
            if is_list and not isinstance(fields[column], IntBoolean):
                info.set_aConstraintUsage_in(number, True)
            info.set_aConstraintUsage_argvIndex(number, position + 1)
            info.set_aConstraintUsage_omit(number, checked)
    info.idxNum = number_of_index
    info.idxStr = json.dumps(
        {
            "indexes": indexes,
            "orderbys_to_process": ordered,
            "requested_columns": sorted(offered["colUsed_names"]),
        }
    )
    info.orderByConsumed = consumed and not by_row_id
    info.estimatedCost = cost
    return True


def _about_rows(constraint: dict[str, Any], by_row_id: bool) -> bool:
    """Whether a condition is on a column, or a LIMIT or OFFSET that may be handed down; not one on the row id."""
    if constraint["op"] in ROW_COUNTS:
        return not by_row_id and With.NUMBER_FOR_TEXT not in _planned_for.get()
    return bool(constraint.get("iColumn", -1) >= 0)


def _is_text(constraint: dict[str, Any], fields: list[Field[Any, Any]]) -> bool:
    """Whether a condition is on a column of texts."""
    return isinstance(fields[constraint["iColumn"]], String)


def _compares_bytes(info: Any, number: int, constraint: dict[str, Any]) -> bool:
    """Whether texts are compared as they are; the API knows no other collation, such as NOCASE."""
    return bool(constraint.get("iColumn", -1) < 0 or info.get_aConstraint_collation(number) == "BINARY")


def all_bounds(
    indexes: list[Any], arguments: list[Any], columns: dict[str, Field[Any, Any]]
) -> dict[str, set[tuple[Operator, Any]]]:
    """Return the conditions on each column; those with several values have one `AnyOf`.

    A text compares with a column of numbers as the number that it spells, and with a number in the statement by the
    number's own spelling. Here both look alike, so such conditions are left to SQLite, which checks all of them.

    Raises
    ------
    NumberForTextError
        If there is such a condition, and the statement is not planned for it.
    """
    fields = list(columns.values())
    for_sqlite = {
        number
        for number, ((column, _), argument) in enumerate(zip(indexes, arguments, strict=True))
        if column != vt.LIMIT_OFFSET_INDEX and isinstance(fields[column], String) and _has_number(argument)
    }
    if for_sqlite and With.NUMBER_FOR_TEXT not in _planned_for.get():
        raise NumberForTextError
    kept = [number for number in range(len(indexes)) if number not in for_sqlite]
    single = [number for number in kept if not isinstance(arguments[number], set)]
    bounds: dict[str, set[tuple[Operator, Any]]] = _bounds_of_single_values(
        [indexes[number] for number in single], [arguments[number] for number in single], columns
    )
    for number in kept:
        argument = arguments[number]
        if isinstance(argument, set):
            name = list(columns)[indexes[number][0]]
            parse, spell = vt.type_map[columns[name].type]().parse, columns[name].format
            # Nothing equals a null.
            values = AnyOf(spell(parse(value)) for value in argument if value is not None)
            bounds[name].add((Operator.EQ, values))
    return bounds


def _has_number(argument: Any) -> bool:
    """Whether the value of a condition, or one of its values, is a number."""
    return any(isinstance(value, int | float) for value in (argument if isinstance(argument, set) else [argument]))


def install_virtual_table() -> None:
    """Replace shillelagh's functions; shillelagh creates the tables itself and accepts no subclass."""
    VTTable.BestIndexObject = best_index
    vt.get_all_bounds = all_bounds
