"""Superset's own database: what a request may ask of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

LONGEST_PATTERN_BYTES = 100
"""Longest pattern of LIKE, by which lists are searched: it takes the time of the pattern and the text, multiplied."""
LONG_TEXTS = ("css", "position_json", "json_metadata")
"""Columns of dashboards that are loaded when they are read, not with each dashboard that is listed."""
MOST_FILTERS = 10
"""Filters of a list. SQLite compares a row with all of them before it looks at the time."""
STEPS_BETWEEN_CHECKS = 50
"""Steps of SQLite between two looks at the time."""


def bound_statements(is_late: Callable[[], bool]) -> None:
    """Have Superset keep the bounds, load long texts only as they are read, and end a statement whose request is late.

    In SQLite, no exception reaches it.
    """
    # Superset's own modules can be imported only now that it is configured.
    from flask_appbuilder.exceptions import InvalidColumnFilterFABException
    from flask_appbuilder.models.filters import Filters
    from sqlalchemy import event
    from sqlalchemy.orm import deferred
    from superset.extensions import db
    from superset.models.dashboard import Dashboard

    add = Filters.rest_add_filters

    def add_few(filters: Filters, data: list[dict[str, object]]) -> None:
        if len(data) > MOST_FILTERS:
            raise InvalidColumnFilterFABException(f"a list has at most {MOST_FILTERS} filters")
        add(filters, data)

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN_BYTES)
        connection.set_progress_handler(is_late, STEPS_BETWEEN_CHECKS)

    for name in LONG_TEXTS:
        Dashboard.__mapper__.add_property(name, deferred(Dashboard.__table__.c[name]))
    Filters.rest_add_filters = add_few
    event.listen(db.engine, "connect", limit)
