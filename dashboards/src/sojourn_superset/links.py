"""Links in a table's cells that open a dashboard with filters set, as SQL of SQLite.

Superset takes filters from the part `native_filters` of an address, written in Rison, a spelling of JSON for
addresses. A value may hold any character that a file name may hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn_superset.layout import filter_id

IN_RISON = {"!": "!!", "'": "!'"}
"""Characters that Rison escapes within quotes."""

IN_ADDRESS = {
    "%": "%25", " ": "%20", '"': "%22", "&": "%26", "#": "%23", "+": "%2B", "<": "%3C", ">": "%3E",
    "\\": "%5C", ",": "%2C",
}  # fmt: skip
"""Characters that have a meaning in an address or in an attribute of HTML."""

IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

BELOW = '<div style="font-size:11px;line-height:1.3;color:#5c5a54">'


def link(
    dashboard: str,
    sets: dict[str, str],
    text: str,
    numbers: Sequence[str] = (),
    values: dict[str, str] | None = None,
    below: str | None = None,
) -> str:
    """Return the SQL of a link that opens a dashboard with filters set to values of the row.

    A filter whose value is null is left as the dashboard begins with it.

    Parameters
    ----------
    dashboard
        Slug of the dashboard.
    sets
        Short name of a filter to the column that has its value, which is also the column that it filters.
    text
        SQL of what the link shows.
    numbers
        Columns whose values are numbers.
    values
        Columns to the SQL of their value, for those that Superset calculates: an expression cannot name them.
    below
        SQL of a smaller line below the link, which says what the row is of; a null is no line.

    Raises
    ------
    KeyError
        For a link that sets no filter.
    """
    if not sets:
        raise KeyError("a link sets a filter")
    masks = " || ".join(
        _mask(filter_id(name), column, (values or {}).get(column, column), column in numbers)
        for name, column in sets.items()
    )
    line = f" || COALESCE('{BELOW}' || {_replaced(below, IN_HTML)} || '</div>', '')" if below else ""
    return (
        f"'<a href=\"/superset/dashboard/{dashboard}/?native_filters=(' || RTRIM({masks}, ',') || ')\">' || "
        f"{_replaced(text, IN_HTML)} || '</a>'{line}"
    )


def _mask(name: str, column: str, sql: str, is_number: bool) -> str:
    """Return the SQL of one filter's state in Rison with a comma after it, or of the empty text for a null."""
    if is_number:
        # SQLite's printf makes a 0 of a null.
        label, value = f"CASE WHEN {sql} IS NOT NULL THEN printf('%g', {sql}) END", f"CAST({sql} AS TEXT)"
    else:
        label = _replaced(_replaced(sql, IN_RISON), IN_ADDRESS)
        value = f"char(39) || {label} || char(39)"
    text = (
        f"'{name}:(extraFormData:(filters:!((col:{column},op:IN,val:!(' || {value} || ')))),"
        f"filterState:(label:' || char(39) || {label} || char(39) || ',value:!(' || {value} || ')),"
        f"id:{name},ownState:()),'"
    )
    return f"COALESCE({text}, '')"


def _replaced(value: str, by: dict[str, str]) -> str:
    for one, other in by.items():
        one, other = one.replace("'", "''"), other.replace("'", "''")
        value = f"REPLACE({value}, '{one}', '{other}')"
    return value
