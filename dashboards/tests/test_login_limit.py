"""Passwords cannot be tried one after the other: logins are counted as Superset counts them."""

import re
from pathlib import Path

from flask import Blueprint, Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

CONFIGURATION = Path(__file__).parents[2] / "infra" / "superset" / "superset_config.py"


def test_ten_logins_a_minute_are_taken_from_one_address() -> None:
    stated = re.search(r'^AUTH_RATE_LIMIT = "(.*)"$', CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    app, view = Flask(__name__), Blueprint("auth", __name__)
    limiter = Limiter(key_func=get_remote_address, storage_uri="memory://")
    limiter.init_app(app)
    view.add_url_rule("/login/", view_func=lambda: ("wrong", 401), methods=["GET", "POST"], endpoint="login")
    # As superset.security.manager limits the view of logins.
    limiter.limit(lambda: stated[1], methods=["POST"])(view)
    app.register_blueprint(view)
    client = app.test_client()
    assert [client.post("/login/").status_code for _ in range(13)] == [401] * 10 + [429] * 3
    assert client.get("/login/").status_code == 401
