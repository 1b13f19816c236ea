"""Values of a filter as people write them: the value of a row, its label, or what comes close to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sojourn_api.catalogue import Column
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.suggestions import close_to, plain

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


def labelled_value(value: Any, values: Collection[Any]) -> Any:
    """Return the value of rows that a value means: itself, or the only one of which it is the label; else None."""
    if value in values:
        return value
    if not isinstance(value, str):
        return None
    meant = [one for one in values if plain(one) == plain(value) or one == _VALUES.get(plain(value))]
    return meant[0] if len(meant) == 1 else None


def known_baseline(factor: str, baseline: Any, values: Collection[Any]) -> Any:
    """Return the value of a factor that a baseline means.

    Raises
    ------
    ProblemError
        422, when nothing that is selected has it.
    """
    meant = labelled_value(baseline, values)
    if meant is None:
        raise invalid_parameter(
            "baseline",
            f"no selected row has {factor} = {quoted(str(baseline))}; values: {', '.join(map(str, values)) or 'none'}",
            known=values,
        )
    return meant


def known_value(name: str, value: Any, column: Column, values: Collection[Any]) -> Any:
    """Return the value of rows that a value of a filter means: itself, or the only one of which it is the label.

    Parameters
    ----------
    name : str
        The parameter.
    value
        As parsed.
    column : Column
    values : collection
        The distinct values of the column, in ascending order.

    Raises
    ------
    ProblemError
        422, when no row has it.
    """
    # An identifier has no label: one that is close to another is another.
    meant = labelled_value(value, values) if column.name not in IDENTIFIERS else value if value in values else None
    if meant is not None:
        return meant
    texts = [_text(one) for one in values]
    written = _text(value) if column.kind != "text" else value if len(value) <= 80 else value[:80] + "…"
    detail = f"no row has {column.name}={written}; "
    if not texts:
        detail += "no row has a value of it"
    elif len(texts) <= _MOST_LISTED:
        detail += f"values: {', '.join(texts)}"
    else:
        close = close_to(written, texts)
        detail += f"it has {len(texts)} values" + (f", close to it: {', '.join(close)}" if close else "")
        texts = close or texts[:_MOST_LISTED]
    raise ProblemError("unknown-value", detail, parameter=name[:200], column=column.name, unit=column.unit, known=texts)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
