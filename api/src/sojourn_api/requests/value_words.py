"""Values of a filter as people write them: the value of a row, its label, or what comes close to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import islice
from typing import Any, Final

from sojourn_api.catalogue import Column
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.suggestions import MOST_CLOSE, closest, plain

WORDS: Final = {
    "all packets": "all",
    "alone": "solo",
    "application": "app",
    "application first": "app_first",
    "BBRv1": "bbr",
    "BBRv2": "bbr2",
    "BBRv3": "bbr3",
    "other application": "rival",
    "other application first": "rival_first",
}
"""Labels of pages and dashboards that differ from the value in more than case and separators."""

MOST_VALUES: Final = 10_000
"""Columns with more values (hosts, times, measurements) are not checked: a filter on one may match nothing."""

IDENTIFIERS: Final = frozenset({"run_id", "study_id"})

_MOST_LISTED = 20
_VALUES: Final = {plain(label): value for label, value in WORDS.items()}


class ColumnValues:
    """The distinct values of a column, in the order given, and as people write them."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.each = dict.fromkeys(values)

    @cached_property
    def by_plain(self) -> dict[str, list[Any]]:
        """The values by their plain text: made once, because for many long values it takes longer than a request."""
        by_plain: dict[str, list[Any]] = {}
        for one in self.each:
            by_plain.setdefault(plain(_text(one)), []).append(one)
        return by_plain

    def close_to(self, text: str) -> list[str]:
        """Return the texts of the values that a text may have meant, the closest first: at most five."""
        return [_text(one) for form in closest(text, self.by_plain) for one in self.by_plain[form]][:MOST_CLOSE]


def labelled_value(value: Any, values: ColumnValues) -> Any:
    """Return the value of rows that a value means: itself, or the only one of which it is the label; else None."""
    if value in values.each:
        return value
    if not isinstance(value, str):
        return None
    text = plain(value)
    meant = {*values.by_plain.get(text, ()), *({_VALUES.get(text)} & values.each.keys())}
    return meant.pop() if len(meant) == 1 else None


def known_baseline(factor: str, baseline: Any, values: Collection[Any]) -> Any:
    """Return the value of a factor that a baseline means.

    Raises
    ------
    ProblemError
        422, when nothing that is selected has it.
    """
    meant = labelled_value(baseline, ColumnValues(values))
    if meant is None:
        raise invalid_parameter(
            "baseline",
            f"no selected row has {factor} = {quoted(str(baseline))}; values: {', '.join(map(str, values)) or 'none'}",
            known=values,
        )
    return meant


def known_value(name: str, value: Any, column: Column, values: ColumnValues) -> Any:
    """Return the value of rows that a value of a filter means: itself, or the only one of which it is the label.

    Parameters
    ----------
    name : str
        The parameter.
    value
        As parsed.
    column : Column
    values : ColumnValues
        Those of the column, in ascending order.

    Raises
    ------
    ProblemError
        422, when no row has it.
    """
    # An identifier has no label: one that is close to another is another.
    if column.name not in IDENTIFIERS:
        meant = labelled_value(value, values)
    else:
        meant = value if value in values.each else None
    if meant is not None:
        return meant
    texts = [_text(one) for one in islice(values.each, _MOST_LISTED)]
    written = _text(value) if column.kind != "text" else value if len(value) <= 80 else value[:80] + "…"
    detail = f"no row has {column.name}={written}; "
    if not texts:
        detail += "no row has a value of it"
    elif len(values.each) <= _MOST_LISTED:
        detail += f"values: {', '.join(texts)}"
    else:
        close = values.close_to(_text(value))
        detail += f"it has {len(values.each)} values" + (f", close to it: {', '.join(close)}" if close else "")
        texts = close or texts
    raise ProblemError("unknown-value", detail, parameter=name[:200], column=column.name, unit=column.unit, known=texts)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
