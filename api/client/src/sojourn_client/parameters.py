"""Python values as the query string that the API takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Value = str | int | float | bool
Query = list[tuple[str, str]]

LISTS = frozenset(("select", "group", "aggregate", "order", "quantiles", "thresholds_ms"))
"""Parameters whose values the API takes comma-separated; a list for any other name is a filter on any of its values."""


def _text(name: str, value: Value | None) -> str:
    if value is None:
        raise TypeError(f"{name} is None: ask for nulls with {name}__null=True")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def query_of(parameters: Mapping[str, Value | Sequence[Value]]) -> Query:
    """Return parameters as names and texts.

    Raises
    ------
    TypeError
        For None, which no filter compares with.
    """
    items: Query = []
    for name, value in parameters.items():
        values = [value] if isinstance(value, str | int | float) or value is None else list(value)
        texts = [_text(name, one) for one in values]
        if name in LISTS:
            items.append((name, ",".join(texts)))
        else:
            items += [(name, text) for text in texts]
    return items
