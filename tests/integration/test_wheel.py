"""The files of a release in an empty environment: no Rust, no checkout, another folder."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.long]
READY_S = 1800
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
DATA = {
    "models": "sojourn_transforms/project",
    "ingest/sample/runs": "sojourn_ingest/sample/runs",
    "ingest/sample/marks": "sojourn_ingest/sample/marks",
    "ingest/sample/connections": "sojourn_ingest/sample/connections",
    "ingest/sample/percentiles": "sojourn_ingest/sample/percentiles",
    "ingest/sample/tma23": "sojourn_ingest/sample/tma23",
}


@pytest.fixture(scope="module")
def uv(repository: Path) -> str:
    done = subprocess.run([repository / "infra/setup/uv.sh", "path"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def release(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the files that `make release` leaves: SOJOURN_RELEASE, or one made here."""
    if folder := os.environ.get("SOJOURN_RELEASE"):
        return Path(folder).resolve()
    out = tmp_path_factory.mktemp("dist")
    for script in ("build.sh", "release.sh"):
        done = subprocess.run(
            [repository / "infra/wheel" / script, out], cwd=repository, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(release: Path) -> Path:
    (built,) = release.glob(f"sojourn-*_{platform.machine()}.whl")
    return built


@pytest.fixture(scope="module")
def outside() -> dict[str, str]:
    """An environment without Rust, without this environment, and without settings of Sojourn."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SOJOURN_", "PYTHON", "VIRTUAL_ENV", "CARGO", "RUST"))
    }
    rustless = [folder for folder in kept["PATH"].split(os.pathsep) if not (Path(folder) / "cargo").exists()]
    kept["PATH"] = os.pathsep.join(rustless)
    assert shutil.which("cargo", path=kept["PATH"]) is None
    return kept


@pytest.fixture(scope="module")
def installed(release: Path, uv: str, outside: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install what the README says, from a folder that also holds another version and another architecture."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(release, folder / "dist")
    for other in ("sojourn-0.0.9-cp311-abi3-manylinux_2_28_x86_64.whl", "sojourn-0.1.0-py3-none-riscv64.whl"):
        (folder / "dist" / other).touch()
    (requirement,) = re.findall(r"^pip install (.+)$", README, re.MULTILINE)
    into = "--quiet --compile-bytecode --python venv/bin/python"
    for command in ("venv --quiet venv", f"pip install {into} {requirement} dist/sojourn_client-*.whl"):
        done = subprocess.run(
            ["bash", "-c", f"{uv} {command}"], cwd=folder, env=outside, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return folder / "venv" / "bin" / "sojourn"


def test_a_release_has_checksums_and_the_list_of_what_it_is_made_of(release: Path, repository: Path) -> None:
    version = (repository / "VERSION").read_text().strip()
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    names = {line.partition(":")[0] for line in checked.stdout.splitlines()}
    assert names == {path.name for path in release.iterdir()} - {"SHA256SUMS"}
    assert {f"sojourn-{version}.cdx.json", f"sojourn-{version}-Cargo.lock"} < names
    assert {name.split("-")[0] for name in names if name.endswith(".whl")} == {"sojourn", "sojourn_client"}
    listed = json.loads((release / f"sojourn-{version}.cdx.json").read_text(encoding="utf-8"))
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.5")
    assert {"duckdb", "fastapi", "numpy", "pyarrow"} <= {component["name"] for component in listed["components"]}
    assert 'name = "sojourn-decode"' in (release / f"sojourn-{version}-Cargo.lock").read_text(encoding="utf-8")


def test_the_wheel_runs_on_every_python_and_holds_the_project_and_the_sample(wheel: Path, repository: Path) -> None:
    version = (repository / "VERSION").read_text().strip()
    assert wheel.name == f"sojourn-{version}-cp311-abi3-manylinux_2_28_{platform.machine()}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = Parser().parsestr(archive.read(f"sojourn-{version}.dist-info/METADATA").decode())
    assert {f"sojourn_transforms/project/compiled-{engine}.json" for engine in ("duckdb", "spark")} <= names
    for folder, place in DATA.items():
        listed = subprocess.run(["git", "ls-files", folder], cwd=repository, capture_output=True, text=True, check=True)
        tracked = [Path(line).relative_to(folder) for line in listed.stdout.splitlines()]
        assert tracked
        missing = {
            f"{place}/{one}" for one in tracked if not one.name.startswith(".") and ".sqlfluff" not in one.parts[0]
        } - names
        assert not missing
    assert not [name for name in names if name.endswith(".pyc") or "secrets.env" in name]
    requirements = metadata.get_all("Requires-Dist") or []
    assert not [one for one in requirements if one.startswith("sojourn")]
    assert {"serve", "client", "dbt", "spark", "testbed", "object-store"} <= set(
        metadata.get_all("Provides-Extra") or []
    )


def test_ingest_build_and_serve_from_another_folder(
    installed: Path, outside: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [installed, "run", "--port", str(port)],
        cwd=tmp_path,
        env=outside,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + READY_S
        while True:
            try:
                health = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=300))
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None, server.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.5)
        studies = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/studies", timeout=300))
        url = f"http://127.0.0.1:{port}/v1/distributions/queuing_delay?group=queue_label"
        delay = json.load(urllib.request.urlopen(url, timeout=300))
        (question,) = re.findall(r"^curl '(http\S+)'$", README, re.MULTILINE)
        question = question.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
        finding = json.load(urllib.request.urlopen(question, timeout=300))
        client = _python(
            installed,
            "from sojourn_client import Client\n"
            "rows = Client().records('run_harm', [('study_id', 'sojourn-sample'), ('role', 'app')])\n"
            "print(len(rows))",
            {**outside, "SOJOURN_API_URL": f"http://127.0.0.1:{port}"},
            tmp_path,
        )
        maps = Path(f"/proc/{server.pid}/maps").read_text()
    finally:
        # The whole group: until the service takes its place, the command waits for an ingest or a build.
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
        server.communicate(timeout=300)
    assert health["status"] == "ok"
    assert studies["studies"]
    assert delay["rows"]
    (shown,) = re.findall(r"^```json\n(\{\"verdict.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert finding["rows"] == [json.loads(shown)]
    assert int(client) > 10
    # The same build in SQL, without the service, as its page shows.
    page = (repository / "docs/how-to/ask-in-sql.md").read_text(encoding="utf-8")
    (shown_in_python,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    in_sql = _python(
        installed,
        f"{shown_in_python}\n"
        "print((harm['study_id'] == 'sojourn-sample').sum())\n"
        "assert db.sql('select count(*) from lake.ingest_outcome').fetchall()[0][0] > 0",
        outside,
        tmp_path,
    )
    assert in_sql == client
    # What was generated is in the folder where the command ran, and nothing was loaded from the checkout.
    assert (tmp_path / "var" / "snapshots" / "CURRENT").exists()
    assert str(repository) not in maps


def _python(installed: Path, programme: str, environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [installed.with_name("python"), "-c", programme],
        env=environment, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_first_command_of_the_readme_says_what_it_shows(
    installed: Path, outside: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    (command,) = re.findall(r"^\.venv/bin/sojourn (look \S+)$", README, re.MULTILINE)
    page = tmp_path / "look.html"
    done = subprocess.run(
        ["bash", "-c", f"{installed} {command} --no-open --out {page}"],
        env=outside, cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (sentence,) = re.findall(r"^> (.+)$", README, re.MULTILINE)
    assert sentence in re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


def test_no_dbt_is_installed(installed: Path) -> None:
    assert not list(installed.parents[1].glob("lib/python3*/site-packages/dbt*"))


def test_a_look_needs_no_extra_checkout_or_project_folder(
    installed: Path, outside: dict[str, str], sample: Path, tmp_path: Path
) -> None:
    capture = sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1" / "after.pcap.xz"
    command = [installed, "look", capture, "--no-open"]
    done = subprocess.run(command, env=outside, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["sojourn-look.html"]
    assert "<svg" in (tmp_path / "sojourn-look.html").read_text(encoding="utf-8")


def test_without_the_extra_serve_says_what_to_install(
    wheel: Path, uv: str, outside: dict[str, str], tmp_path: Path
) -> None:
    for command in (
        ["venv", "--quiet", "venv"],
        ["pip", "install", "--quiet", "--python", "venv/bin/python", str(wheel)],
    ):
        subprocess.run([uv, *command], env=outside, cwd=tmp_path, check=True)
    done = subprocess.run(
        [tmp_path / "venv/bin/sojourn", "serve"], env=outside, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith("pip install 'sojourn[serve]'\n")
    assert done.stderr.count("\n") == 1


def test_uvx_runs_it(wheel: Path, uv: str, outside: dict[str, str], repository: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [uv, "tool", "run", "--from", f"{wheel}[serve]", "sojourn", "--version"],
        env=outside,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"sojourn {(repository / 'VERSION').read_text().strip()}\n", done.stderr
