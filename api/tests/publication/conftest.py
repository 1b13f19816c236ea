"""A publication of the example build, and the commands that write and check it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner


@dataclass
class Commands:
    """The commands ``publish`` and ``verify`` in this process."""

    app: typer.Typer

    def run(self, *arguments: object, status: int = 0) -> str:
        """Return what a command printed; fails when it ends with another status."""
        done = CliRunner().invoke(self.app, [str(argument) for argument in arguments])
        assert done.exit_code == status, (done.output, done.exception)
        return done.output


@pytest.fixture
def commands() -> Commands:
    from sojourn_api.publication.command import register

    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return Commands(app)


@pytest.fixture
def var(publish: Any, build: Any) -> Path:
    """Return the folder of everything generated, with the example build as its snapshot."""
    snapshots = publish(build)
    var = snapshots.parent / "var"
    var.mkdir()
    snapshots.rename(var / "snapshots")
    return var


@pytest.fixture
def site(commands: Commands, var: Path, tmp_path: Path) -> Path:
    """Return a publication of the whole example build."""
    commands.run("publish", tmp_path / "site", "--var", var)
    return tmp_path / "site"
