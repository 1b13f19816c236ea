"""What keeps Superset closed, without Superset: secrets, and the only API that a database reaches."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from contract_server import Contract, serving
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from sojourn_superset import instance, security
from sojourn_superset.security import (
    ForbiddenDatabaseError,
    only_the_api,
    refuse_another_api,
    validate_database_uri,
    weakness_of_key,
    weakness_of_password,
)
from sojourn_superset.settings import Settings

STRONG = "kq3Zt0uVdXw1RfYb7sLmNc5hGpJ9eA2oTiWy"


@pytest.mark.parametrize(
    "key", ["", "x", "replace-me", "short-but-random-9fK2", "CHANGE_ME_TO_A_COMPLEX_RANDOM_SECRET", "superset-" * 5]
)
def test_a_key_of_an_example_or_a_short_one_is_refused(key: str) -> None:
    assert weakness_of_key(key)
    assert weakness_of_key(STRONG) is None


@pytest.mark.parametrize(
    "password", ["", "admin", "replace-me", "password1234", "long-name-of-user", "changeme-please"]
)
def test_a_password_of_an_example_or_a_short_one_is_refused(password: str) -> None:
    assert weakness_of_password(password, "Long-Name-Of-User")
    assert weakness_of_password(STRONG, "admin") is None


def test_derived_secrets_differ_by_purpose_and_from_the_key() -> None:
    names = {security.derived_secret(STRONG, purpose) for purpose in ("a", "b")}
    assert len(names | {STRONG}) == 3


@pytest.mark.parametrize(
    "other",
    [
        "http://evil.example",
        "http://api.example:8001",
        "https://api.example:8000",
        "http://api.example:8000@evil.example",
        "http://api.example:8000.evil.example",
        "http://evil.example:8000/",
        "file:///etc/passwd",
        "",
    ],
)
def test_another_origin_than_the_configured_one_is_refused(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_API_URL", "http://api.example:8000")
    refuse_another_api("http://api.example:8000/")
    with pytest.raises(ForbiddenDatabaseError):
        refuse_another_api(other)


def test_the_adapter_asks_no_other_host(contract: Contract) -> None:
    other = Contract()
    with serving(other):
        engine = create_engine(
            "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": other.url}}
        )
        with engine.connect() as connection, pytest.raises(OperationalError, match="names another API than SOJOURN"):
            connection.execute(text("SELECT run_id FROM run_harm"))
    assert other.requests == []
    assert contract.requests == []


@pytest.mark.parametrize(
    "uri",
    [
        "shillelagh://",
        "shillelagh+apsw://",
        "shillelagh+multicorn2://",
        "gsheets://",
        "superset://",
        "shillelagh+safe://host",
        "shillelagh+safe:///file.db",
        "shillelagh+safe://?adapters=csvfile",
    ],
)
def test_other_databases_of_the_family_are_refused(uri: str) -> None:
    validate_database_uri(make_url("shillelagh+safe://"))
    validate_database_uri(make_url("postgresql://host/db"))
    with pytest.raises(ForbiddenDatabaseError):
        validate_database_uri(make_url(uri))


def test_what_a_database_says_of_adapters_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_API_URL", "http://api.example:8000")
    uri = make_url("shillelagh+safe://")
    said: dict[str, Any] = {
        "adapters": ["csvfile", "genericjsonapi", "sojourn"],
        "adapter_kwargs": {"sojourn": {"page_size": 10**9, "max_rows": 5, "timeout_s": -1}, "csvfile": {"a": 1}},
        "pool_size": 3,
    }
    _, params = only_the_api(uri, said, "author", None, None)
    assert params == {
        "adapters": ["sojourn"],
        "adapter_kwargs": {"sojourn": {"page_size": 100_000, "max_rows": 5}},
        "pool_size": 3,
    }
    _, params = only_the_api(uri, {"adapter_kwargs": {"sojourn": {"base_url": "http://evil"}}}, None, None, None)
    assert params["adapter_kwargs"] == {"sojourn": {}}
    of_a_file = {"path": "/var/superset.db", "adapters": ["csvfile"], "safe": False}
    _, params = only_the_api(uri, {"connect_args": of_a_file}, None, None, None)
    assert params == {"adapters": ["sojourn"], "adapter_kwargs": {"sojourn": {}}}
    with pytest.raises(ForbiddenDatabaseError):
        only_the_api(make_url("shillelagh://"), {}, None, None, None)
    postgres = make_url("postgresql://host/db")
    assert only_the_api(postgres, {"a": 1}, None, None, None) == (postgres, {"a": 1})


@contextlib.contextmanager
def open_to_all() -> Iterator[None]:
    """Have new files readable and writable by everyone."""
    kept = os.umask(0)
    try:
        yield
    finally:
        os.umask(kept)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("existing", [False, True])
def test_the_database_of_superset_is_only_its_owners(
    existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "var" / "superset"
    settings = Settings(home, tmp_path / "config.py", STRONG, "admin", STRONG)
    with open_to_all():
        if existing:
            home.mkdir(parents=True)
            for name in ("superset.db", "superset.db-journal"):
                (home / name).write_bytes(b"")

        def started() -> Any:
            # What Superset finds as it starts, before it writes anything.
            assert mode(settings.database) == 0o600
            return SimpleNamespace(app_context=contextlib.nullcontext)

        started.cache_info = lambda: SimpleNamespace(currsize=0)  # type: ignore[attr-defined]
        monkeypatch.setattr(instance, "_create_app", started)
        # It is set for Superset, and would stay set for the tests that follow.
        monkeypatch.setenv("SUPERSET_CONFIG_PATH", str(settings.config))
        with instance._application(settings, print):
            pass
    assert mode(home) == 0o700
    assert {mode(file) for file in home.glob("superset.db*")} == {0o600}


def test_a_database_that_is_prepared_already_is_closed_to_others(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "superset", tmp_path / "config.py", STRONG, "admin", STRONG)
    with open_to_all():
        settings.home.mkdir()
        settings.database.write_bytes(b"")
        instance._write(settings.home / instance.PREPARED, instance._preparation(settings))
        instance.prepare(settings, print)
    assert (mode(settings.home), mode(settings.database)) == (0o700, 0o600)
