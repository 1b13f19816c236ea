"""Requests end in time, whatever they do, and their threads go on."""

from __future__ import annotations

import contextlib
import io
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from sojourn_superset import request_time
from sojourn_superset.log_handlers import RequestEndedError, RotatingFile
from sojourn_superset.request_time import TimeBound, bound_request_time, longest_s

MOST_S = 0.2


class TooLongError(RequestEndedError):
    """What ends a request here."""


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_time, "AGAIN_AFTER_S", 0.2)
    monkeypatch.setattr(request_time, "LOOK_EACH_S", 0.01)


def endless() -> None:
    while True:
        pass


def catching() -> None:
    try:
        endless()
    except TooLongError:
        endless()


def swallowing() -> None:
    for _ in range(100):
        with contextlib.suppress(TooLongError):
            endless()


@pytest.mark.parametrize("work", [endless, catching, swallowing])
def test_what_never_ends_is_ended(work: Callable[[], None]) -> None:
    began = time.monotonic()
    with contextlib.suppress(TooLongError):
        TimeBound(TooLongError).run(work, MOST_S)
    assert time.monotonic() - began < 5


def test_what_only_logs_is_ended(tmp_path: Path) -> None:
    handler = RotatingFile(tmp_path / "x.log", maxBytes=50_000, backupCount=1)
    record = logging.makeLogRecord({"msg": "x"})

    def work() -> None:
        while True:
            handler.handle(record)

    bound = TimeBound(TooLongError)

    def ask_once() -> None:
        with contextlib.suppress(TooLongError):
            bound.run(work, MOST_S)

    threads = [threading.Thread(target=ask_once, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def test_a_thread_answers_further_requests() -> None:
    bound = TimeBound(TooLongError)
    for _ in range(3):
        with pytest.raises(TooLongError):
            bound.run(endless, MOST_S)
    # As long as a request that got an exception too late would need to get it.
    time.sleep(0.5)
    assert bound.run(lambda: "done", MOST_S) == "done"


def test_a_request_that_ends_as_its_time_does_is_answered_or_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_time, "LOOK_EACH_S", 0.0)
    bound = TimeBound(TooLongError)
    outcomes = []

    def work() -> None:
        for _ in range(300):
            try:
                outcomes.append(bound.run(lambda: time.sleep(0.0002), 0.0))
            except TooLongError:
                outcomes.append(None)
            # Here, none may come.
            sum(range(2_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1200
    assert not bound._ends


def test_a_statement_of_sqlite_is_ended() -> None:
    bound = TimeBound(TooLongError)
    connection = sqlite3.connect(":memory:")
    connection.set_progress_handler(bound.is_late, 1_000)
    endless_sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises((TooLongError, sqlite3.OperationalError)):
        bound.run(lambda: connection.execute(endless_sql).fetchall(), MOST_S)


def with_handler(handler: logging.Handler) -> None:
    handler.handle(logging.makeLogRecord({"msg": "x"}))


def with_condition(condition: threading.Condition) -> None:
    with condition:
        pass


def with_acquire(lock: threading.Lock) -> None:
    lock.acquire()
    try:
        pass
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("locked", "work"),
    [
        (logging.StreamHandler(io.StringIO()), with_handler),
        (threading.Condition(), with_condition),
        (threading.Lock(), with_acquire),
    ],
)
def test_no_lock_stays_locked(locked: Any, work: Callable[[Any], None]) -> None:
    outcomes = []

    def ask_once() -> None:
        try:
            TimeBound(TooLongError).run(lambda: (work(locked), endless()), MOST_S)  # type: ignore[func-returns-value]
        except TooLongError:
            outcomes.append("ended")

    locked.acquire()
    thread = threading.Thread(target=ask_once)
    thread.start()
    # The request is late, and about to lock.
    thread.join(1)
    locked.release()
    thread.join(5)
    assert outcomes == ["ended"]
    lock = getattr(locked, "lock", locked)
    assert lock.acquire(timeout=1)
    lock.release()


@pytest.mark.parametrize(
    ("request_line", "bound"),
    [
        ("POST /api/v1/chart/data", request_time.LONGEST_QUERY_S),
        ("GET /api/v1/chart/7/data/", request_time.LONGEST_QUERY_S),
        ("POST /api/v1/sqllab/execute/", request_time.LONGEST_QUERY_S),
        ("POST /superset/explore_json/", request_time.LONGEST_QUERY_S),
        ("POST /datasource/samples", request_time.LONGEST_QUERY_S),
        ("PUT /api/v1/dataset/7", request_time.LONGEST_QUERY_S),
        ("GET /api/v1/dataset/", request_time.LONGEST_S),
        ("GET /api/v1/dataset/export/", request_time.LONGEST_S),
        ("POST /api/v1/dataset/import/", request_time.LONGEST_S),
        ("GET /api/v1/chart/", request_time.LONGEST_S),
        ("DELETE /api/v1/chart/", request_time.LONGEST_S),
        ("GET /api/v1/dashboard/1/tabs", request_time.LONGEST_S),
    ],
)
def test_queries_have_more_time(request_line: str, bound: float) -> None:
    assert longest_s(*request_line.split()) == bound


def test_an_error_that_follows_says_why_the_request_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_time, "LONGEST_S", MOST_S)
    app = Flask("superset")

    @app.route("/<int:status>")
    def answer(status: int) -> tuple[str, int]:
        if status != 501:
            with contextlib.suppress(RequestEndedError):
                endless()
        return "for an unknown reason", status

    bound_request_time(app)
    client = app.test_client()
    answers = [client.get(f"/{status}") for status in (200, 500, 501)]
    assert [each.status_code for each in answers] == [200, 422, 501]
    assert "a request takes at most 0.2 s" in answers[1].text
