"""Saved queries of SQL Lab: only their owner and administrators change them, also by an import."""

from __future__ import annotations

from typing import Any


def keep_to_owners() -> None:
    """Refuse an import that would write a saved query of someone else, or by who may write none."""
    # Superset's own modules can be imported only now that it is configured.
    from superset import db, security_manager
    from superset.commands.exceptions import ImportFailedError
    from superset.commands.importers.v1 import assets
    from superset.commands.query.importers import v1 as queries
    from superset.models.sql_lab import SavedQuery
    from superset.utils.core import get_user_id

    write = queries.import_saved_query

    def write_own(config: dict[str, Any], overwrite: bool = False) -> Any:
        existing = db.session.query(SavedQuery).filter_by(uuid=config["uuid"]).first()
        is_own = existing is None or get_user_id() in (existing.user_id, existing.created_by_fk)
        if not security_manager.is_admin() and not (is_own and security_manager.can_access("can_write", "SavedQuery")):
            raise ImportFailedError("a saved query is changed by its owner alone")
        return write(config, overwrite)

    for module in (queries, assets):
        module.import_saved_query = write_own
