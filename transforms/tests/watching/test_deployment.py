"""The unit of systemd and the container start the watch with options that it has, and in a folder that it may write."""

from __future__ import annotations

import shlex
from configparser import ConfigParser
from pathlib import Path

import typer.main
import yaml

from sojourn_ingest.cli import application

INFRA = Path(__file__).resolve().parents[3] / "infra"


def parsed(arguments: list[str], tmp_path: Path) -> dict[str, object]:
    """Return what ``sojourn watch`` understands of a command line, with a folder that exists for its own."""
    command = typer.main.get_command(application()).commands["watch"]  # type: ignore[attr-defined]
    in_folder = [str(tmp_path) if argument.startswith("/") else argument for argument in arguments]
    return dict(command.make_context("watch", in_folder).params)


def test_unit_of_systemd(tmp_path: Path) -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(INFRA / "systemd" / "sojourn-watch.service")
    program, name, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert (program, name) == ("/opt/sojourn/bin/sojourn", "watch")
    assert parsed(arguments, tmp_path)["folders"] == (str(tmp_path),)
    assert unit["Service"]["StateDirectory"] == "sojourn"
    assert "Environment=SOJOURN_VAR=/var/lib/sojourn\n" in (INFRA / "systemd" / "sojourn-watch.service").read_text()


def test_container(tmp_path: Path) -> None:
    deployment = yaml.safe_load((INFRA / "kubernetes" / "watch.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    program, name, *arguments = container["command"]
    assert (program, name) == ("sojourn", "watch")
    understood = parsed(arguments, tmp_path)
    assert (understood["folders"], understood["quiet"]) == ((str(tmp_path),), 120.0)
    assert deployment["spec"]["replicas"] == 1
    writable = {volume["mountPath"] for volume in container["volumeMounts"] if not volume.get("readOnly")}
    assert writable == {"/var/sojourn", "/tmp"}
