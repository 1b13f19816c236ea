"""How much of what users send Superset keeps in its database: states of filters and charts, and links to them.

Superset keeps up to 16 MiB of each, and as many as are sent. Anyone who reads a dashboard may send them.
"""

from __future__ import annotations

import json
from typing import Any

LARGEST_BODY_BYTES = 64 * 2**10
"""Largest body of a request to `SMALL`. The state of a dashboard's filters has some kB."""
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
    from superset.daos.key_value import KeyValueDAO
    from superset.extensions import db
    from superset.key_value.models import KeyValueEntry
    from superset.utils.core import get_user_id

    create = KeyValueDAO.create_entry

    def refuse_large_body() -> Any:
        if request.blueprint not in SMALL:
            return None
        if (request.content_length or 0) > LARGEST_BODY_BYTES:
            return {"message": f"the body of this request has at most {LARGEST_BODY_BYTES // 2**10} KiB"}, 413
        try:
            json.dumps(request.get_json(silent=True), ensure_ascii=False).encode()
        except (RecursionError, UnicodeEncodeError):
            return {"message": "the body is nested too deeply, or has half a surrogate pair"}, 400
        return None

    def create_and_drop_oldest(resource: Any, *arguments: Any, **named: Any) -> Any:
        entry = create(resource, *arguments, **named)
        of_user = db.session.query(KeyValueEntry.id).filter_by(resource=resource.value, created_by_fk=get_user_id())
        oldest = of_user.order_by(KeyValueEntry.id.desc()).offset(MOST_ENTRIES)
        db.session.query(KeyValueEntry).filter(KeyValueEntry.id.in_(oldest)).delete(synchronize_session=False)
        return entry

    app.before_request(refuse_large_body)
    KeyValueDAO.create_entry = create_and_drop_oldest
