"""Excluded runs: rows show them with their reason, aggregates leave them out unless asked otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn_api.catalogue import Column
from sojourn_api.filters import Condition, Filters
from sojourn_api.parameters import Items, Parameter, comma_list, one_of, text

LEAVE_OUT, INCLUDE = "leave_out", "include"
_COLUMN = "exclusion_reason"

PARAMETER: Parameter = text(
    "excluded",
    "What to do with excluded runs. Rows include them (with `exclusion_reason`); aggregates and "
    "distributions leave them out, unless the request itself filters or groups by `exclusion_reason`.",
    INCLUDE,
    LEAVE_OUT,
    INCLUDE,
)


def excluded_runs(items: Items, columns: Mapping[str, Column], filters: Filters, default: str) -> tuple[Filters, str]:
    """Return the filters with the treatment of excluded runs added, and that treatment."""
    chosen = one_of(items, PARAMETER.name, (LEAVE_OUT, INCLUDE))
    if _COLUMN not in columns:
        return filters, INCLUDE
    by_reason = _COLUMN in filters.columns or _COLUMN in (comma_list(items, "group") or ())
    treatment = chosen or (INCLUDE if by_reason else default)
    if treatment == LEAVE_OUT:
        filters = filters.and_also(Condition(f"{columns[_COLUMN].sql} is null"))
    return filters, treatment
