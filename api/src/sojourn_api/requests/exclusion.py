"""Excluded runs: rows show them with their reason, aggregates leave them out unless asked otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn_api.catalogue import Column
from sojourn_api.requests.filters import IS_NULL, Condition, Filters

LEAVE_OUT, INCLUDE = "leave_out", "include"
_COLUMN = "exclusion_reason"


def excluded_runs(
    chosen: str | None, columns: Mapping[str, Column], filters: Filters, group: Sequence[str], default: str
) -> tuple[Filters, str]:
    """Return the filters with the treatment of excluded runs added, and that treatment."""
    if _COLUMN not in columns:
        return filters, INCLUDE
    by_reason = _COLUMN in filters.columns or _COLUMN in group
    treatment = chosen or (INCLUDE if by_reason else default)
    if treatment == LEAVE_OUT:
        filters = filters.and_also(Condition(columns[_COLUMN], IS_NULL))
    return filters, treatment
