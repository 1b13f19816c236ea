"""How much of what users send Superset keeps in its database: states of filters and charts, and links to them.

Superset keeps up to 16 MiB of each, and as many as are sent. Anyone who reads a dashboard may send them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sojourn_superset.parsing_bounds import LARGEST_WITHOUT_FILE_BYTES, LONGEST_SQL

MOST_CHANGED = 200
"""Queries of SQL Lab with which a request for those changed since a time is answered, the latest."""
LARGEST_BODY_BYTES = 64 * 2**10
"""Largest body of a request to `SMALL`. The state of a dashboard's filters has some kB."""
MOST_ITEMS = 5_000
"""Most items of a list that a request has, except the questions of charts, which have bounds of their own.

Superset compares each of the filters of a dashboard with all others.
"""
MOST_TABLES = 30
"""Most tables that a tab of SQL Lab shows. A further one replaces the oldest."""
MOST_ENTRIES = 500
"""Most entries of a kind that a user has. A further one replaces the oldest."""
KEEPING = frozenset(
    {
        "DashboardFilterStateRestApi",
        "DashboardPermalinkRestApi",
        "ExploreFormDataRestApi",
        "ExplorePermalinkRestApi",
        "SqlLabPermalinkRestApi",
    }
)
"""Parts of Superset that keep what is sent."""
SMALL = KEEPING | {"SecurityApi"}
"""The same, and the login by the API, which needs no session."""


def bound_kept_state(app: Any) -> None:
    """Have Superset keep the bounds."""
    from flask import request
    from sqlalchemy import event, select
    from superset.daos.key_value import KeyValueDAO
    from superset.daos.query import QueryDAO
    from superset.extensions import db
    from superset.key_value.models import KeyValueEntry
    from superset.models.sql_lab import Query, TableSchema
    from superset.utils.core import get_user_id

    create = KeyValueDAO.create_entry

    def refuse_large_body() -> Any:
        if request.endpoint in (None, "static"):
            # Nothing reads the body.
            return None
        is_small = request.blueprint in SMALL
        has_file = request.mimetype == "multipart/form-data"
        if not has_file and (request.content_length or 0) > LARGEST_WITHOUT_FILE_BYTES:
            return {"message": f"a request without a file has at most {LARGEST_WITHOUT_FILE_BYTES // 2**20} MiB"}, 413
        if is_small and (request.content_length or 0) > LARGEST_BODY_BYTES:
            return {"message": f"the body of this request has at most {LARGEST_BODY_BYTES // 2**10} KiB"}, 413
        try:
            body = request.get_json(silent=True)
            if is_small:
                json.dumps(body, ensure_ascii=False).encode()
        except (RecursionError, UnicodeEncodeError):
            return {"message": "the body is nested too deeply, or has half a surrogate pair"}, 400
        sql = body.get("sql") if isinstance(body, dict) and request.path.startswith("/api/v1/sqllab/") else None
        if isinstance(sql, str) and len(sql) > LONGEST_SQL:
            # Superset keeps what it does not parse.
            return {"message": f"SQL has at most {LONGEST_SQL:,} characters"}, 413
        if not request.path.endswith("/chart/data") and has_long_list(body):
            return {"message": f"a list has at most {MOST_ITEMS:,} items"}, 413
        return None

    def create_and_drop_oldest(resource: Any, *arguments: Any, **named: Any) -> Any:
        entry = create(resource, *arguments, **named)
        of_user = db.session.query(KeyValueEntry.id).filter_by(resource=resource.value, created_by_fk=get_user_id())
        oldest = of_user.order_by(KeyValueEntry.id.desc()).offset(MOST_ENTRIES)
        db.session.query(KeyValueEntry).filter(KeyValueEntry.id.in_(oldest)).delete(synchronize_session=False)
        return entry

    def latest_changed(since_ms: float) -> Any:
        since = datetime.fromtimestamp(since_ms / 1000, UTC).replace(tzinfo=None)
        changed = db.session.query(Query).filter(Query.user_id == get_user_id(), Query.changed_on >= since)
        return changed.order_by(Query.changed_on.desc()).limit(MOST_CHANGED).all()

    def drop_oldest_tables(_mapper: Any, connection: Any, added: Any) -> None:
        tables = TableSchema.__table__.c
        of_tab = select(tables.id).where(tables.tab_state_id == added.tab_state_id)
        oldest = of_tab.order_by(tables.id.desc()).offset(MOST_TABLES)
        connection.execute(TableSchema.__table__.delete().where(tables.id.in_(oldest)))

    event.listen(TableSchema, "after_insert", drop_oldest_tables)
    app.before_request(refuse_large_body)
    QueryDAO.get_queries_changed_after = latest_changed
    KeyValueDAO.create_entry = create_and_drop_oldest


def has_long_list(body: Any) -> bool:
    """Return whether a list anywhere in a body has more than `MOST_ITEMS`."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list) and len(value) > MOST_ITEMS:
            return True
        waiting += value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return False
