"""The commands: what they say when something is missing."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from sojourn_superset import cli

SECRETS = ("SUPERSET_SECRET_KEY", "SUPERSET_ADMIN_USER", "SUPERSET_ADMIN_PASSWORD")


@pytest.mark.parametrize("command", [[], ["prepare"], ["import-assets"], ["serve"]])
def test_every_command_explains_itself(command: list[str]) -> None:
    result = CliRunner().invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize("missing", SECRETS)
def test_a_missing_secret_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "x")
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
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr("sys.argv", ["sojourn-superset", "import-assets", "--api", "http://127.0.0.1:9"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == (
        "sojourn-superset: Sojourn API unreachable at http://127.0.0.1:9: no connection (is `sojourn serve` running?)\n"
    )
