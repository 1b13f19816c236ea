"""Which of the API's tables a request may read: those of the datasets that its user may read.

Superset looks for tables in the text of statements and expressions, and overlooks some. Every row of a table comes
through its adapter, whatever the SQL looks like, so it is the adapter that asks.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from shillelagh.exceptions import ProgrammingError
from sqlglot.expressions import In

_reads_statement: ContextVar[bool] = ContextVar("_reads_statement", default=False)
"""Whether the request is about a statement of SQL Lab. Superset reads its rows in a request within the request, which
has another path and other globals."""


def refuse_hidden(table: str) -> None:
    """Go on if the user of this request may read a table, or if this is no request.

    Raises
    ------
    ProgrammingError
        If not.
    """
    readable = readable_tables()
    if readable is not None and table not in readable:
        raise ProgrammingError(f"your role may not read the table {table}")


def begin_requests(app: Any) -> None:
    """Have each request begin without a statement."""

    def begin() -> None:
        _reads_statement.set(False)

    app.before_request(begin)


def note_statement() -> None:
    """Have the rest of this request read whole tables alone: it is about a statement of SQL Lab."""
    _reads_statement.set(True)


def readable_tables() -> frozenset[str] | None:
    """Return the names of the tables that the user of this request may read; None if all, or if this is no request."""
    from flask import g, has_request_context

    if not has_request_context():
        return None
    # Superset's own modules can be imported only once it is configured.
    from superset.utils.core import get_user_id

    remembered: dict[tuple[int | None, bool], frozenset[str] | None] = g.setdefault("readable_tables", {})
    key = get_user_id(), _reads_statement.get()
    if key not in remembered:
        remembered[key] = _of_user()
    return remembered[key]


def _of_user() -> frozenset[str] | None:
    from sqlalchemy import or_
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database
    from superset.utils.core import get_user_id

    from sojourn_superset.security import DRIVER

    with db.session.no_autoflush:
        databases = [each for each in db.session.query(Database) if each.backend == DRIVER.partition("+")[0]]
        if any(security_manager.can_access_database(each) for each in databases):
            return None
        # Superset takes milliseconds for each that it is asked about.
        may_be_read = (
            SqlaTable.perm.in_(security_manager.user_view_menu_names("datasource_access")),
            SqlaTable.schema_perm.in_(security_manager.user_view_menu_names("schema_access")),
            SqlaTable.catalog_perm.in_(security_manager.user_view_menu_names("catalog_access")),
            SqlaTable.owners.any(id=get_user_id()),
        )
        candidates = db.session.query(SqlaTable).filter(or_(*may_be_read))
        datasets = [each for each in candidates if security_manager.can_access_datasource(each)]
        if _reads_statement.get():
            # Who may read the result of a dataset's statement, or groups of a table, may not read all of its tables.
            datasets = [each for each in datasets if not (each.sql or "?" in each.table_name)]
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
