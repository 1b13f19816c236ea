"""Charts, dashboards, datasets and saved queries are changed by their owners and administrators, by whatever request.

Superset checks owners in each of its commands, by the object that the request names. An import may write to another
one, which has the same slug or name, and a few commands check less. So owners are checked again for all that a
session is about to write.
"""

from __future__ import annotations

from typing import Any

#: Models that have owners, with the words for them; and the parts of a dataset.
KINDS = {"Dashboard": "dashboard", "Slice": "chart", "SqlaTable": "dataset", "SavedQuery": "saved query"}
PARTS = ("TableColumn", "SqlMetric")


def keep_to_owners() -> None:
    """Refuse to write what belongs to someone else, in every request of who is no administrator."""
    # Superset's own modules can be imported only now that it is configured.
    from sqlalchemy import event
    from superset import db

    event.listen(db.session, "before_flush", _refuse_changes_of_others)
    event.listen(db.session, "after_flush", _note_new)
    event.listen(db.session, "after_transaction_end", _forget_new)
    _attach_nothing_by_import()


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
        for dashboard in _dashboards_that_get_charts(entity):
            _require_own(session, dashboard)
    for entity in session.new:
        if type(entity).__name__ == "SavedQuery" and not security_manager.can_access("can_write", "SavedQuery"):
            raise _refusal("SavedQuery")
        # A column or metric that an existing dataset gets.
        if type(entity).__name__ in PARTS:
            _require_own(session, entity)


def _is_restricted() -> bool:
    """Return whether this is a request, by who is no administrator."""
    from flask import has_request_context
    from superset import security_manager

    return has_request_context() and not security_manager.is_admin()


def _require_own(session: Any, entity: Any) -> None:
    """Refuse an entity, or the dataset that it is part of, that existed before and belongs to others."""
    kind = type(entity).__name__
    if kind in PARTS:
        for dataset in {*_before(entity, "table"), entity.table} - {None}:
            _require_own(session, dataset)
    elif kind in KINDS and not (entity in session.new or _state(entity) in _new(session) or _is_own(entity)):
        raise _refusal(kind)


def _is_own(entity: Any) -> bool:
    """Return whether the user owns an entity, by what the database has of it."""
    from superset.utils.core import get_user_id

    if type(entity).__name__ == "SavedQuery":
        owners = {*_before(entity, "user_id"), *_before(entity, "created_by_fk")}
    else:
        owners = {owner.id for owner in _before(entity, "owners")}
    return get_user_id() in owners - {None}


def _before(entity: Any, attribute: str) -> tuple[Any, ...]:
    """Return an attribute's values, or members, in the database."""
    history = _state(entity).attrs[attribute].load_history()
    return (*(history.unchanged or ()), *(history.deleted or ()))


def _is_changed(entity: Any, attribute: str) -> bool:
    attributes = _state(entity).attrs
    return attribute in attributes and attributes[attribute].load_history().has_changes()


def _dashboards_that_get_charts(entity: Any) -> list[Any]:
    kind = type(entity).__name__
    if kind == "Slice":
        return list(_state(entity).attrs.dashboards.load_history().added or ())
    return [entity] if kind == "Dashboard" and _state(entity).attrs.slices.load_history().added else []


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


def _refusal(kind: str) -> Exception:
    from superset.commands.exceptions import ForbiddenError

    refusal: Exception = ForbiddenError(f"a {KINDS[kind]} is changed by its owners alone")
    return refusal


def _attach_nothing_by_import() -> None:
    """Refuse an import that names someone else's dashboard: its charts would be attached, past the session."""
    from superset import db
    from superset.commands.dashboard.importers import v1 as dashboards
    from superset.commands.importers.v1 import assets
    from superset.models.dashboard import Dashboard

    write = dashboards.import_dashboard

    def write_own(config: dict[str, Any], *args: Any, **options: Any) -> Any:
        existing = db.session.query(Dashboard).filter_by(uuid=config["uuid"]).first()
        if existing and _is_restricted():
            _require_own(db.session(), existing)
        return write(config, *args, **options)

    for module in (dashboards, assets):
        module.import_dashboard = write_own
