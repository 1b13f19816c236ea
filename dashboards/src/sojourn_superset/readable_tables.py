"""Which of the API's tables a statement may read: those of the datasets that its user may read.

Superset looks for tables in the text of statements and expressions. SQLite names each table that it is about to read,
also one that Superset overlooks.
"""

from __future__ import annotations

from typing import Any

from sqlglot.expressions import In


def readable_tables() -> frozenset[str] | None:
    """Return the names of the tables that the user of this request may read; None if all, or if this is no request."""
    from flask import g, has_request_context

    if not has_request_context():
        return None
    # Superset's own modules can be imported only once it is configured.
    from superset.utils.core import get_user_id

    by_user: dict[int | None, frozenset[str] | None] = g.setdefault("readable_tables", {})
    user = get_user_id()
    if user not in by_user:
        by_user[user] = _of_user()
    return by_user[user]


def _of_user() -> frozenset[str] | None:
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database

    from sojourn_superset.security import DRIVER

    with db.session.no_autoflush:
        databases = [each for each in db.session.query(Database) if each.backend == DRIVER.partition("+")[0]]
        if any(security_manager.can_access_database(each) for each in databases):
            return None
        datasets = [each for each in db.session.query(SqlaTable) if security_manager.can_access_datasource(each)]
        return frozenset(name for dataset in datasets for name in _tables_of(dataset))


def _tables_of(dataset: Any) -> list[str]:
    """Return the tables that a dataset reads: its own, or those of its statement; none if nobody can tell."""
    from superset.exceptions import SupersetParseError
    from superset.sql.parse import SQLScript

    if not dataset.sql:
        return [table_name(dataset.table_name)]
    try:
        statements = SQLScript(dataset.sql, engine=dataset.database.db_engine_spec.engine).statements
    except SupersetParseError:
        return []
    tables = [table.table for statement in statements for table in statement.tables]
    after_in = [node.name for statement in statements for node in tables_after_in(statement)]
    return [table_name(name) for name in (*tables, *after_in)]


def tables_after_in(statement: Any) -> list[Any]:
    """Return the nodes that stand for a table after IN, which Superset takes for columns."""
    return [field for node in statement._parsed.find_all(In) if (field := node.args.get("field")) is not None]


def table_name(name: str) -> str:
    """Return the name of a table of the API without the question that may follow it (`run?group=aqm`)."""
    return name.partition("?")[0].lower()
