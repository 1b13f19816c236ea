"""Requests are counted, whatever the number of threads that count at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from limits.storage import MemoryStorage

from sojourn_superset.request_limits import CountedOneByOne

PROGRAM = """
import json
import superset_config
from flask import Flask, url_for
from flask_limiter import Limiter
from werkzeug.middleware.proxy_fix import ProxyFix

app = Flask("superset")
app.config["RATELIMIT_STORAGE_URI"] = superset_config.RATELIMIT_STORAGE_URI

@app.route("/login/")
@Limiter(app=app, key_func=superset_config.RATELIMIT_KEY_FUNC).limit(superset_config.AUTH_RATE_LIMIT)
def login():
    return url_for("login")

app.wsgi_app = ProxyFix(app.wsgi_app, **superset_config.PROXY_FIX_CONFIG)
client = app.test_client()

def asked(address):
    answer = client.get("/login/", headers={"X-Forwarded-For": address, "X-Forwarded-Prefix": "/other"})
    return [answer.status_code, answer.text]

print(json.dumps({
    "a network": [asked(f"2001:db8:1:2::{n}")[0] for n in range(12)],
    "another network": asked("2001:db8:1:3::1"),
}))
"""
ROOT = Path(__file__).resolve().parents[2]


class Slowly:
    """A storage that takes a moment before it reads its timer, in which other threads set theirs."""

    STORAGE_SCHEME = None

    @property
    def timer(self) -> threading.Timer:
        """The timer that was set last."""
        time.sleep(0.005)
        timer: threading.Timer = self.__dict__["timer"]
        return timer

    @timer.setter
    def timer(self, timer: threading.Timer) -> None:
        self.__dict__["timer"] = timer


class OneByOne(Slowly, CountedOneByOne):
    """Ours."""


class OfThePackage(Slowly, MemoryStorage):
    """Without a lock."""


def count(storage: MemoryStorage) -> None:
    """Count 16 requests at the same time."""
    time.sleep(0.1)  # until its first timer has ended
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: storage.incr("address", 60), range(16)))


def test_threads_that_count_at_the_same_time_do_not_fail() -> None:
    storage = OneByOne()
    count(storage)
    assert storage.get("address") == 16


def test_those_of_the_package_do() -> None:
    """Fails once the package locks its own counters; then delete CountedOneByOne."""
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        count(OfThePackage())


def test_logins_are_limited_by_network_and_a_client_sets_no_prefix(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SOJOURN_VAR": str(tmp_path),
        "SUPERSET_SECRET_KEY": "kq3Zt0uVdXw1RfYb7sLmNc5hGpJ9eA2oTiWy",
        "SOJOURN_SUPERSET_TLS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT / "infra" / "superset",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    assert answers["a network"] == [200] * 10 + [429] * 2
    assert answers["another network"] == [200, "/login/"]
