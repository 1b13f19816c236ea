"""The commands: what they say when something is missing."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from sojourn_superset import cli

#: Random once, and long enough to be accepted.
SECRET = "kq3Zt0uVdXw1RfYb7sLmNc5hGpJ9eA2oTiWy"
SECRETS = ("SUPERSET_SECRET_KEY", "SUPERSET_ADMIN_USER", "SUPERSET_ADMIN_PASSWORD")


@pytest.mark.parametrize("command", [[], ["prepare"], ["import-assets"], ["add-viewer"], ["serve"]])
def test_every_command_explains_itself(command: list[str]) -> None:
    result = CliRunner().invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize("missing", SECRETS)
def test_a_missing_secret_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, f"{SECRET}-{name}")
    monkeypatch.delenv(missing)
    monkeypatch.setattr("sys.argv", ["sojourn-superset", "prepare"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"sojourn-superset: {missing} is not set (`make run` keeps it in var/secrets.env)\n"
    )


def test_an_api_that_does_not_answer_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, f"{SECRET}-{name}")
    monkeypatch.setattr("sys.argv", ["sojourn-superset", "import-assets", "--api", "http://127.0.0.1:9"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == (
        "sojourn-superset: Sojourn API unreachable at http://127.0.0.1:9: no connection (is `sojourn serve` running?)\n"
    )


@pytest.mark.parametrize(
    ("name", "value"), [("SUPERSET_SECRET_KEY", "replace-me"), ("SUPERSET_ADMIN_PASSWORD", "admin")]
)
def test_a_secret_that_others_could_guess_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for secret in SECRETS:
        monkeypatch.setenv(secret, f"{SECRET}-{secret}")
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["sojourn-superset", "serve"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    message = capsys.readouterr().err
    assert message.startswith(f"sojourn-superset: {name} has {len(value)} characters; expected ")
    assert value not in message
    assert message.count("\n") == 1


def test_a_viewer_without_a_password_is_not_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for secret in SECRETS:
        monkeypatch.setenv(secret, f"{SECRET}-{secret}")
    monkeypatch.delenv("SUPERSET_VIEWER_PASSWORD", raising=False)
    monkeypatch.setattr("sys.argv", ["sojourn-superset", "add-viewer", "reader"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == (
        "sojourn-superset: SUPERSET_VIEWER_PASSWORD has 0 characters; expected 12 or more\n"
    )
