"""What separates the columns of a table of text: a comma, or what spreadsheets write elsewhere."""

from __future__ import annotations

import csv
from collections.abc import Callable

DELIMITERS = (",", ";", "\t", "|")


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line of a table; none if it is no such line."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a line of another form, such as one with a carriage return in it
        return []


def numbers_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line of a table of numbers, in which a comma within a field is the decimal sign."""
    return [field.replace(",", ".") for field in fields_of(line, delimiter)]


def delimiter_of(line: str, fits: Callable[[list[str]], bool], declared: str = ",") -> str | None:
    """Return the delimiter with which the first line of a table is a header that fits; None if there is none.

    The ``declared`` one is tried first.
    """
    tried = (declared, *(one for one in DELIMITERS if one != declared)) if line else ()
    return next((delimiter for delimiter in tried if fits(fields_of(line, delimiter))), None)
