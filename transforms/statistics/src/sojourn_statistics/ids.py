"""Values as text, and as parts of the ids of rows."""

from __future__ import annotations

from typing import Any, Final

#: Columns whose values are put together of escaped parts, with the slash of bit/s.
PUT_TOGETHER: Final = frozenset({"opposite_link"})


def value_text(value: Any, missing: str = "none") -> str:
    """Return a value as text: a number in its shortest form, and the word for a missing one for None."""
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value).removesuffix(".0")
    return missing if value is None else str(value)


def id_part(column: str, value: Any, missing: str = "none", separators: str = "/") -> str:
    """Return a value of a column as a part of an id, whose parts are joined by one of the separators.

    They are escaped in it, and a text that is the word for a missing value begins with %, so that different values are
    different parts.
    """
    text = value_text(value, missing)
    if not isinstance(value, str) or column in PUT_TOGETHER:
        return text
    escaped: dict[str, str | int | None] = {each: f"%{ord(each):02X}" for each in ("%", *separators)}
    return f"%{text}" if text == missing else text.translate(str.maketrans(escaped))
