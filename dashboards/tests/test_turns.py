"""Who gets Superset's next thread: no user has many, some are kept free, and a session counts if it is Superset's."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, session
from flask_jwt_extended import JWTManager, create_access_token
from werkzeug.middleware.proxy_fix import ProxyFix

from sojourn_superset.turns import (
    FREE_THREADS,
    NO_ADDRESS,
    THREADS_OF_A_USER,
    Dispatcher,
    Turn,
    Turns,
    by_address,
    by_user,
    site,
)


@pytest.fixture
def dispatcher() -> Dispatcher:
    """Return one without threads, so that nothing takes a request."""
    return Dispatcher(0, by_address)


def waiting(turns: Turns, dispatcher: Any, *users: str | None) -> None:
    for user in users:
        turns.append(Turn(SimpleNamespace(service=lambda: None), user, dispatcher))


def taken(turns: Turns) -> list[Any]:
    """Give away threads as long as a request may have one."""
    given = []
    while turns:
        given.append(turns.popleft())
    return given


def test_a_user_has_a_few_threads_and_the_others_come_between(dispatcher: Dispatcher) -> None:
    turns = Turns(8)
    waiting(turns, dispatcher, "a", "a", "a", "a", "a", "b", "b")
    first = taken(turns)
    assert [each.whose for each in first] == ["a", "b", "a", "b"]
    assert len(turns) == 3, "the others wait"
    turns.end(first[1])
    assert [each.whose for each in taken(turns)] == ["a"]
    turns.end(first[0])
    assert [each.whose for each in taken(turns)] == ["a"]


def test_health_is_the_first_of_what_counts_for_nobody(dispatcher: Dispatcher) -> None:
    turns = Turns(8)
    waiting(turns, dispatcher, None, None, None)
    turns.append(Turn(SimpleNamespace(service=lambda: None), None, dispatcher, is_urgent=True))
    assert [each.is_urgent for each in taken(turns)] == [True, False, False, False]


def test_two_users_cannot_hold_all_threads(dispatcher: Dispatcher) -> None:
    turns = Turns(8)
    waiting(turns, dispatcher, *"aaaaaaaa")
    assert [each.whose for each in taken(turns)] == ["a"] * THREADS_OF_A_USER
    waiting(turns, dispatcher, *"bbbbbbbb")
    assert [each.whose for each in taken(turns)] == ["b"]
    waiting(turns, dispatcher, *"ccddee")
    assert [each.whose for each in taken(turns)] == ["c", "d"], "each gets one of the last two"


def test_some_threads_are_for_what_belongs_to_nobody(dispatcher: Dispatcher) -> None:
    turns = Turns(8)
    waiting(turns, dispatcher, *"abcdefgh", None, None)
    given = taken(turns)
    assert [each.whose for each in given] == [*"abcdef", None, None]
    # A user who has one already comes after one who has none.
    waiting(turns, dispatcher, "b", "z")
    turns.end(given[0])
    assert turns.popleft().whose == "g"


def test_what_belongs_to_nobody_cannot_hold_all_threads(dispatcher: Dispatcher) -> None:
    turns = Turns(8)
    waiting(turns, dispatcher, *[None] * 20)
    given = taken(turns)
    assert len(given) == 4
    waiting(turns, dispatcher, *"abcde")
    assert [each.whose for each in taken(turns)] == [*"abcde"]
    turns.end(given[0])
    assert [each.whose for each in taken(turns)] == [None]


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (2, 1), (3, 1), (6, 2), (8, THREADS_OF_A_USER)])
def test_with_few_threads_a_user_still_has_one(threads: int, most: int, dispatcher: Dispatcher) -> None:
    turns = Turns(threads)
    waiting(turns, dispatcher, *["a"] * 9)
    assert len(taken(turns)) == most
    with pytest.raises(IndexError):
        turns.popleft()


def test_a_thread_is_given_back_after_an_error() -> None:
    dispatcher = Dispatcher(0, by_address)

    def fail() -> None:
        raise ValueError

    channel = SimpleNamespace(service=fail, requests=[SimpleNamespace(path="/")], addr=("192.0.2.1", 1))
    for _ in range(THREADS_OF_A_USER + FREE_THREADS):
        dispatcher.add_task(channel)
        with pytest.raises(ValueError):
            dispatcher.queue.popleft().service()


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:443", "192.0.2.1"),
        ("[2001:db8:1:2::3]", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::3]:443", "2001:db8:1:2::/64"),
        ("unknown", NO_ADDRESS),
        (":1", NO_ADDRESS),
    ],
)
def test_the_addresses_of_a_network_count_as_one(address: str, counted: str) -> None:
    channel = SimpleNamespace(requests=[SimpleNamespace(path="/")], addr=(address, 1))
    assert by_address(channel) == ("address", counted)


def test_a_request_of_which_the_user_cannot_be_told_counts_for_its_address() -> None:
    def fail(channel: Any) -> None:
        raise ValueError

    dispatcher = Dispatcher(0, fail)
    dispatcher.add_task(SimpleNamespace(requests=[SimpleNamespace(path="/")], addr=("192.0.2.1", 1)))
    assert dispatcher.queue.popleft().whose == ("address", "192.0.2.1")


def test_a_request_counts_for_the_user_of_its_session_or_token() -> None:
    app = Flask("superset")
    app.secret_key = "k" * 40
    JWTManager(app)
    whose = by_user(app)

    @app.route("/login")
    def login() -> str:
        session["_user_id"] = "7"
        return ""

    with app.app_context():
        token = f"Bearer {create_access_token('7')}"
        of_yesterday = f"Bearer {create_access_token('7', expires_delta=timedelta(days=-1))}"
    cookie = app.test_client().get("/login").headers["Set-Cookie"].partition(";")[0]

    def counted(path: str, command: str = "GET", body: Any = None, head_bytes: int = 0, **headers: str) -> Any:
        request = SimpleNamespace(
            path=path, headers=headers, command=command, body_rcv=body, header_bytes_received=head_bytes
        )
        return whose(SimpleNamespace(requests=[request], addr=("192.0.2.1", 1)))

    of_address = ("address", "192.0.2.1")
    assert counted("/api/v1/chart/data", COOKIE=f"a=b; {cookie}") == ("user", "7")
    assert counted("/api/v1/chart/data") == of_address
    assert counted("/api/v1/chart/data", COOKIE=cookie[:-1]) == of_address
    assert counted("/healthy", COOKIE="session=") == of_address
    assert counted("/api/v1/chart/data", AUTHORIZATION=token) == ("user", "7")
    assert counted("/", AUTHORIZATION=f"Basic YTpi, {token}", COOKIE="session=x") == ("user", "7")
    for other in (of_yesterday, token[:-2], token.replace(".", "", 1), "Bearer", "Bearer a b", "Bearer \xe4", ","):
        assert counted("/", AUTHORIZATION=other) == of_address
    assert counted("/", AUTHORIZATION=f"Bearer a, {token}") == of_address, "Superset takes one token"
    assert counted("/", AUTHORIZATION=of_yesterday, COOKIE=cookie) == ("user", "7")
    assert counted("/", COOKIE="a=\xe4") == of_address, "it is not UTF-8"
    assert counted("/", COOKIE=f"a=\xe4; {cookie}") == ("user", "7")
    assert counted("/", COOKIE=f"xsession=a; session_=b;{cookie}; session=c") == ("user", "7")
    value = cookie.removeprefix("session=")
    for spelled in (
        "session ={}",
        "session\t= {}",
        'session="{}"',
        'a="x;session=z"; session={}',
        "session=z; session={}",
    ):
        assert counted("/", COOKIE=spelled.format(value)) == ("user", "7")
    many = "a=;" * 10_000
    began = time.thread_time()
    assert counted("/", COOKIE=many + cookie) == ("user", "7")
    assert counted("/", COOKIE=many) == of_address
    assert counted("/", AUTHORIZATION="," * 32_000) == of_address
    assert time.thread_time() - began < 0.01, "each takes the time of other connections"
    assert counted("/health", COOKIE=cookie) is None
    assert counted("/static/assets/a.js") is None
    assert counted("/static/assets/a.js", "POST") == of_address
    assert counted("/static/assets/a.js", head_bytes=4_096) is None
    assert counted("/static/assets/a.js", head_bytes=4_097) == of_address
    assert counted("/static/assets/a.js", RANGE="bytes=0-") == of_address
    assert counted("/health", "GET", b"a body") == of_address
    # What is no request has neither a path nor headers.
    malformed = SimpleNamespace(requests=[SimpleNamespace(headers={})], addr=("192.0.2.1", 1))
    assert whose(malformed) == of_address


@pytest.mark.parametrize("proxies", [0, 1, 2])
@pytest.mark.parametrize(
    "written",
    ["198.51.100.1", "203.0.113.1, 198.51.100.1", "203.0.113.1,2001:db8::1", '"[2001:db8::1]:1"', "unknown", "", None],
)
def test_behind_proxies_a_request_counts_for_the_address_that_they_write(proxies: int, written: str | None) -> None:
    app = Flask("superset")
    app.secret_key = "k" * 40
    app.config.update(ENABLE_PROXY_FIX=proxies > 0, PROXY_FIX_CONFIG={"x_for": proxies})
    JWTManager(app)
    headers = {} if written is None else {"X_FORWARDED_FOR": written}
    channel = SimpleNamespace(requests=[SimpleNamespace(path="/login/", headers=headers)], addr=("192.0.2.1", 1))
    # The address for which Superset limits logins.
    environ = {"REMOTE_ADDR": "192.0.2.1", **{f"HTTP_{name}": value for name, value in headers.items()}}
    ProxyFix(lambda *_: [], x_for=proxies)(environ, lambda *_: None)  # type: ignore[arg-type, return-value]
    assert by_user(app)(channel) == ("address", site(environ["REMOTE_ADDR"]))
