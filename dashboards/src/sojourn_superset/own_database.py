"""Superset's own database: what a request may ask of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

LONGEST_PATTERN_BYTES = 250
"""Longest pattern of LIKE, by which lists are searched: it takes the time of the pattern and the text, multiplied."""
STEPS_BETWEEN_CHECKS = 1_000
"""Steps of SQLite between two looks at the time."""


def bound_statements(is_late: Callable[[], bool]) -> None:
    """Have Superset keep the bound, and end a statement whose request is late: in SQLite, no exception reaches it."""
    # Superset's own modules can be imported only now that it is configured.
    from sqlalchemy import event
    from superset.extensions import db

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN_BYTES)
        connection.set_progress_handler(is_late, STEPS_BETWEEN_CHECKS)

    event.listen(db.engine, "connect", limit)
