"""What a release has besides the wheel of everything: it is whole, and the client works in an empty environment."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def released(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([repository / "infra/wheel/release.sh", out], check=True, capture_output=True, text=True)
    return out


def test_every_file_has_its_checksum(released: Path) -> None:
    words = [line.split() for line in (released / "SHA256SUMS").read_text().splitlines()]
    lines = {name: digest for digest, name in words}
    assert set(lines) == {path.name for path in released.iterdir()} - {"SHA256SUMS"}
    for name, digest in lines.items():
        assert hashlib.sha256((released / name).read_bytes()).hexdigest() == digest, name


def test_what_is_installed_with_the_packages_is_listed(released: Path, repository: Path) -> None:
    version = (repository / "VERSION").read_text().strip()
    listed = {one["name"] for one in json.loads((released / f"sojourn-{version}.cdx.json").read_bytes())["components"]}
    assert {"duckdb", "pyarrow", "fastapi", "httpx", "sojourn-client"} <= listed
    assert "pytest" not in listed
    assert 'name = "sojourn-decode"' in (released / f"sojourn-{version}-Cargo.lock").read_text()


def test_the_client_is_installed_alone(released: Path, repository: Path, tmp_path: Path) -> None:
    uv = subprocess.run([repository / "infra/setup/uv.sh", "path"], capture_output=True, text=True, check=True)
    python = tmp_path / "venv" / "bin" / "python"
    (wheel,) = released.glob("sojourn_client-*.whl")
    install: list[str | Path] = ["pip", "install", "--quiet", "--python", python, wheel]
    for command in (["venv", "--quiet", tmp_path / "venv"], install):
        subprocess.run([uv.stdout.strip(), *command], check=True, capture_output=True)
    code = "import sojourn_client; print(sojourn_client.Client('http://127.0.0.1:9'))"
    done = subprocess.run([python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
