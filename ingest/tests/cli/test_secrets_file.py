"""Secrets are generated once, kept, and readable by their owner only."""

import errno
import os
from pathlib import Path

import pytest

from sojourn_ingest.secrets_file import (
    ADDRESS_KEY,
    FORGOTTEN_LIST,
    GENERATORS,
    SecretsError,
    address_key,
    ensure_secrets,
    forget_key,
    read_secrets,
)


def test_every_secret_is_generated_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secrets.env"
    first = ensure_secrets(path)
    assert set(first) == set(GENERATORS)
    assert path.stat().st_mode & 0o777 == 0o600
    assert ensure_secrets(path) == first == read_secrets(path)


def test_two_installations_share_no_secret(tmp_path: Path) -> None:
    first, second = ensure_secrets(tmp_path / "a"), ensure_secrets(tmp_path / "b")
    assert {name for name in first if first[name] == second[name]} == {"SUPERSET_ADMIN_USER"}


def test_own_settings_survive_and_only_missing_ones_are_added(tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    path.write_text("SUPERSET_ADMIN_PASSWORD=mine\n")
    assert ensure_secrets(path)["SUPERSET_ADMIN_PASSWORD"] == "mine"


def test_a_lost_forget_key_is_not_replaced_while_hosts_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, forgotten = tmp_path / "secrets.env", tmp_path / FORGOTTEN_LIST
    forgotten.write_text('{"fingerprint": "f"}\n')
    for present in ("", "SOJOURN_ADDRESS_KEY=mine\n", "SOJOURN_FORGET_KEY=\n"):
        path.write_text(present)
        with pytest.raises(SecretsError, match="from a backup"):
            ensure_secrets(path)
        assert path.read_text() == present
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "")
    with pytest.raises(SecretsError, match="from a backup"):
        forget_key(path)
    path.write_text("SOJOURN_ADDRESS_KEY=mine\n")
    monkeypatch.setenv("SOJOURN_FORGET_KEY", "kept elsewhere")
    assert ensure_secrets(path)["SOJOURN_ADDRESS_KEY"] == "mine"
    monkeypatch.delenv("SOJOURN_FORGET_KEY")
    path.unlink()
    forgotten.write_text("")
    assert set(ensure_secrets(path)) == set(GENERATORS)


@pytest.mark.parametrize(
    "value", ["", "two words", "a # b", "it's \\ 'quoted'", '"double"', "a=b", "$HOME", "pass'word\\n"]
)
def test_any_value_survives_that_something_is_added(tmp_path: Path, value: str) -> None:
    path = tmp_path / "secrets.env"
    ensure_secrets(path)
    settings = read_secrets(path)
    with path.open("a") as handle:
        handle.write("\n# mine\nOWN=" + "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'\n")
    text = path.read_text()
    path.write_text(text.replace(f"{ADDRESS_KEY}={settings[ADDRESS_KEY]}\n", ""))
    again = ensure_secrets(path)
    assert again["OWN"] == read_secrets(path)["OWN"] == value
    assert again[ADDRESS_KEY] != settings[ADDRESS_KEY]


def test_malformed_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    path.write_text("# fine\nnonsense\n")
    with pytest.raises(ValueError, match=r":2: expected KEY=VALUE"):
        read_secrets(path)


def test_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", "from the environment")
    assert address_key(tmp_path / "secrets.env") == b"from the environment"
    assert not (tmp_path / "secrets.env").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_disk_that_is_full_leaves_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    path = tmp_path / "secrets.env"
    if is_there:
        path.write_text("OWN=1\n")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        ensure_secrets(path)
    assert list(tmp_path.iterdir()) == ([path] if is_there else [])
