"""Charts, dashboards, datasets and what users have in SQL Lab are changed by their owners and administrators alone.

Superset checks owners in each of its commands, by the object that the request names, and a few commands check less.
So owners are checked again for all that a session is about to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import Any

#: Models that have owners, with the words for them.
KINDS = {
    "Dashboard": "dashboard", "Slice": "chart", "SqlaTable": "dataset", "SavedQuery": "saved query",
    "Query": "query", "TabState": "tab of SQL Lab",
}  # fmt: skip
#: Models of which lists, or SQL Lab with its tabs, load texts, and the most characters of each text.
LISTED = frozenset(
    ("Dashboard", "Slice", "SqlaTable", "TableColumn", "SqlMetric", "SavedQuery", "Annotation", "AnnotationLayer",
     "CssTemplate", "TableSchema")
)  # fmt: skip
LONGEST_TEXT = 2**16
#: Columns of texts that people read, and the most characters of each.
READ = frozenset(("description", "certified_by", "certification_details", "descr", "long_descr"))
LONGEST_READ = 2**12
#: Characters of all texts of a dataset's columns, or of its metrics: a dashboard sends those of many datasets at once.
LONGEST_TEXTS = 2**17
#: Columns with other bounds: what a dashboard of many charts and filters has, and what SQL Lab tells of a table.
LONGEST_OF = {
    ("Dashboard", "position_json"): 2**18, ("Dashboard", "json_metadata"): 2**18, ("TableSchema", "description"): 2**16,
}  # fmt: skip
#: Columns of JSON that others read, and how deep it may be nested: Python's parser calls itself for each level.
NESTED = frozenset(("params", "query_context", "position_json", "json_metadata"))
DEEPEST = 100
#: A text within JSON, or where an object or list begins or ends.
PARTS_OF_JSON = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[][{}]', re.DOTALL)
#: Dashboards that a chart is on, of which each list of charts has the titles; and charts that a dashboard has.
MOST_DASHBOARDS = 100
MOST_CHARTS = 200
#: Columns that say which one an entity is, and whose.
IDENTITY = frozenset(("id", "uuid", "user_id", "created_by_fk", "table_id", "tab_state_id"))
#: Models whose owners are those of another, by the column that names it.
PARTS = {"TableColumn": "table_id", "SqlMetric": "table_id", "TableSchema": "tab_state_id"}


def keep_to_owners(app: Any) -> None:
    """Refuse to write what belongs to someone else, in every request of who is no administrator."""
    # Superset's own modules can be imported only now that it is configured.
    from sqlalchemy import event
    from superset import db
    from superset.connectors.sqla.models import SqlMetric, TableColumn
    from superset.daos.dataset import DatasetDAO

    event.listen(db.session, "before_flush", _refuse_changes_of_others)
    event.listen(db.session, "do_orm_execute", _refuse_statements_on_others)
    event.listen(db.session, "after_flush", _note_new)
    event.listen(db.session, "after_transaction_end", _forget_new)
    # These write rows that the session knows nothing of.
    DatasetDAO.update_columns = staticmethod(_bounded_update(TableColumn, DatasetDAO.update_columns))
    DatasetDAO.update_metrics = staticmethod(_bounded_update(SqlMetric, DatasetDAO.update_metrics))
    app.after_request(_in_words)


def _bounded_update(model: Any, update: Callable[..., None]) -> Callable[..., None]:
    """Return what writes columns or metrics of a dataset, if it is the user's and no text is too long."""

    def bounded(dataset: Any, parts: list[dict[str, Any]], **options: Any) -> None:
        if _is_restricted():
            from superset import db

            _require_own(db.session, dataset)
            columns = {column.key: column for column in model.__mapper__.columns}
            given = [(columns[name], value) for part in parts for name, value in part.items() if name in columns]
            for column, value in given:
                _refuse_long(model.__name__, column, value)
            # A part with a number keeps what it is not given, and other stored parts are deleted. Of a request that
            # overrides all columns, which deletes every one, this counts too much.
            stored = {part.id: part for part in db.session.query(model).filter(model.table_id == dataset.id)}
            texts = (
                part[name] if name in part else getattr(stored.get(part.get("id")), name, None)
                for part in parts
                for name in columns
            )
            if sum(len(text) for text in texts if isinstance(text, str)) > LONGEST_TEXTS:
                raise _refusal(model.__name__, f"those of a dataset have texts of at most {LONGEST_TEXTS:,} characters")
        update(dataset, parts, **options)

    return bounded


def _refuse_changes_of_others(session: Any, _context: Any, _objects: Any) -> None:
    from superset import security_manager

    if not _is_restricted():
        return
    for entity in session.deleted:
        _require_own(session, entity)
    for entity in session.dirty:
        if session.is_modified(entity, include_collections=False) or _is_changed(entity, "owners"):
            _require_own(session, entity)
    for entity in (*session.dirty, *session.new):
        _refuse_long_texts(entity)
        for dashboard, chart in _charts_put_on_dashboards(entity):
            _require_own(session, dashboard)
            if len(chart.dashboards) > MOST_DASHBOARDS:
                raise _refusal("Slice", f"a chart is on at most {MOST_DASHBOARDS} dashboards")
            if len(dashboard.slices) > MOST_CHARTS:
                raise _refusal("Dashboard", f"a dashboard has at most {MOST_CHARTS} charts")
            # Whoever opens the dashboard reads the chart's parameters.
            if not (chart in session.new or security_manager.can_access_chart(chart)):
                raise _refusal("Slice", "only charts that you may read can be put on a dashboard")
        if type(entity).__name__ == "Slice" and (entity in session.new or _is_changed(entity, "datasource_id")):
            _require_readable_dataset(entity)
    for entity in session.new:
        # A column or metric that an existing dataset gets, or a table that a tab shows.
        if type(entity).__name__ in PARTS:
            _require_own(session, entity)


def _refuse_statements_on_others(execution: Any) -> None:
    """Look at the owners of what a statement would change or delete, which is not loaded."""
    # A statement on a table, such as one that only links two models, has no mapper.
    if not (execution.is_update or execution.is_delete) or execution.bind_mapper is None or not _is_restricted():
        return
    model, session, statement = execution.bind_mapper.class_, execution.session, execution.statement
    kind = model.__name__
    if kind not in (*KINDS, *PARTS):
        return
    columns = {column.key: column for column in model.__mapper__.columns}
    for column, value in (getattr(statement, "_values", None) or {}).items():
        name = getattr(column, "key", column)
        # Also not the name of a relation, which stands for a condition on columns.
        if name not in columns or name in IDENTITY:
            raise _refusal(kind)
        _refuse_long(kind, columns[name], getattr(value, "value", value))
    # A tab has megabytes of SQL: of what one user owns, only that user is looked up.
    owners = [getattr(model, PARTS[kind])] if kind in PARTS else _owner_columns(model) or [model.id]
    rows = session.query(*owners).distinct()
    for row in rows if statement.whereclause is None else rows.filter(statement.whereclause):
        if kind in PARTS:
            for whole in _stored(session, PARTS[kind], {row[0]}):
                _require_own(session, whole)
        elif not _owner_columns(model):
            _require_own(session, session.get(model, row[0]))
        elif _user() not in set(row) - {None}:
            raise _refusal(kind)


def _require_readable_dataset(chart: Any) -> None:
    """Refuse a chart of a dataset that the user may not read: a dashboard tells the columns of what it shows."""
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable

    with db.session.no_autoflush:
        dataset = db.session.get(SqlaTable, chart.datasource_id)
    if dataset is not None and not security_manager.can_access_datasource(dataset):
        raise _refusal("Slice", "a chart needs a dataset that you may read")


def _refuse_long_texts(entity: Any) -> None:
    kind = type(entity).__name__
    if kind in (*KINDS, *PARTS, *LISTED):
        state = _state(entity)
        for column in state.mapper.columns:
            for value in state.attrs[state.mapper.get_property_by_column(column).key].history.added or ():
                _refuse_long(kind, column, value)


def _refuse_long(kind: str, column: Any, value: Any) -> None:
    """Have texts be as long as their columns say, which SQLite does not: lists load many of them."""
    if not isinstance(value, str):
        return
    longest = LONGEST_OF.get((kind, column.name), LONGEST_READ if column.name in READ else LONGEST_TEXT)
    most = min(getattr(column.type, "length", None) or inf, longest if kind in LISTED else inf)
    if len(value) > most:
        raise _refusal(kind, f"{column.name} has at most {most:,} characters")
    if kind in LISTED and column.name in NESTED and _is_nested_deeply(value):
        raise _refusal(kind, f"{column.name} is nested at most {DEEPEST} deep")


def _is_nested_deeply(text: str) -> bool:
    depth = 0
    for each in PARTS_OF_JSON.finditer(text):
        depth += (each[0] in "[{") - (each[0] in "]}")
        if depth > DEEPEST:
            return True
    return False


def _is_restricted() -> bool:
    """Return whether this is a request, by who is no administrator."""
    from flask import has_request_context
    from superset import security_manager

    return has_request_context() and not security_manager.is_admin()


def _require_own(session: Any, entity: Any) -> None:
    """Refuse an entity, or what it is part of, that existed before and belongs to others."""
    kind = type(entity).__name__
    if kind in PARTS:
        for whole in _wholes(session, entity, PARTS[kind]):
            _require_own(session, whole)
    elif kind in KINDS and not (entity in session.new or _state(entity) in _new(session) or _is_own(entity)):
        raise _refusal(kind)


def _wholes(session: Any, part: Any, column: str) -> list[Any]:
    """Return what an entity is, and was, part of."""
    stored = _stored(session, column, {*_before(part, column), getattr(part, column)})
    # One that has no number yet.
    assigned = getattr(part, "table", None)
    return [*stored, assigned] if type(assigned).__name__ in KINDS else stored


def _stored(session: Any, column: str, keys: set[Any]) -> list[Any]:
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.sql_lab import TabState

    model = TabState if column == "tab_state_id" else SqlaTable
    with session.no_autoflush:
        wholes = [session.get(model, key) for key in keys - {None}]
    return [whole for whole in wholes if whole is not None]


def _owner_columns(model: Any) -> list[Any]:
    """Return the columns that name the user who owns an entity; none if it has a list of owners."""
    names = () if hasattr(model, "owners") else ("user_id", "created_by_fk")
    return [getattr(model, name) for name in names if hasattr(model, name)]


def _user() -> int | None:
    from superset.utils.core import get_user_id

    number: int | None = get_user_id()
    return number


def _is_own(entity: Any) -> bool:
    """Return whether the user owns an entity, by what the database has of it."""
    columns = _owner_columns(type(entity))
    if columns:
        owners = {owner for column in columns for owner in _before(entity, column.key)}
    else:
        owners = {owner.id for owner in _before(entity, "owners")}
    return _user() in owners - {None}


def _before(entity: Any, attribute: str) -> tuple[Any, ...]:
    """Return an attribute's values, or members, in the database."""
    history = _state(entity).attrs[attribute].load_history()
    return (*(history.unchanged or ()), *(history.deleted or ()))


def _is_changed(entity: Any, attribute: str) -> bool:
    attributes = _state(entity).attrs
    return attribute in attributes and attributes[attribute].load_history().has_changes()


def _charts_put_on_dashboards(entity: Any) -> list[tuple[Any, Any]]:
    """Return each dashboard with a chart that it gets by what is written of an entity."""
    kind = type(entity).__name__
    if kind == "Slice":
        return [(dashboard, entity) for dashboard in _state(entity).attrs.dashboards.load_history().added or ()]
    if kind == "Dashboard":
        return [(entity, chart) for chart in _state(entity).attrs.slices.load_history().added or ()]
    return []


def _state(entity: Any) -> Any:
    from sqlalchemy import inspect

    return inspect(entity)


def _new(session: Any) -> set[Any]:
    """Return the states of what the session's transaction has made."""
    made: set[Any] = session.info.setdefault("made by this transaction", set())
    return made


def _note_new(session: Any, _context: Any) -> None:
    _new(session).update(_state(entity) for entity in session.new)


def _forget_new(session: Any, transaction: Any) -> None:
    if transaction.parent is None:
        _new(session).clear()


def _in_words(answer: Any) -> Any:
    """Say what was refused where Superset says that something is wrong with itself."""
    from flask import g, jsonify, make_response

    refusal = g.pop("refused_change", None)
    return make_response(jsonify(message=refusal), 403) if refusal and answer.status_code >= 500 else answer


def _refusal(kind: str, message: str | None = None) -> Exception:
    from flask import g
    from superset.commands.exceptions import ForbiddenError

    whole = {"table_id": "SqlaTable", "tab_state_id": "TabState"}.get(PARTS.get(kind, ""), kind)
    g.refused_change = message or f"only its owners can change a {KINDS[whole]}"
    refusal: Exception = ForbiddenError(g.refused_change)
    return refusal
