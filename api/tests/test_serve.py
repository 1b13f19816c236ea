"""The command as it runs: a process of its own, and a real socket."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sojourn_process.own_folder import MARKER, own_folder

COMMAND = [
    sys.executable,
    "-c",
    "import typer; from sojourn_api.cli import register; app = typer.Typer(); app.callback()(lambda: None); "
    "register(app); app()",
    "serve",
]


def environment(**extra: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SOJOURN_")}
    return {**inherited, "COLUMNS": "120", **extra}


def run(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], env=environment(**extra), capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(params=[1, 2], ids=["one process", "two workers"])
def server(publish: Any, build: Any, request: Any) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    folder = publish(build)
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--processes", str(request.param), "--snapshots", str(folder)],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    first = process.stdout.readline()
    match = re.search(r"http://127\.0\.0\.1:\d+", first)
    if not match:
        process.kill()
        pytest.fail(f"{first}{process.communicate()[1]}")
    yield process, match.group(), folder
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_a_real_server_answers_switches_and_stops(
    server: tuple[subprocess.Popen[str], str, Path], publish: Any, build: Any
) -> None:
    process, base, _ = server
    with httpx.Client(base_url=base, timeout=300) as client:
        assert client.get("/healthz").json() == {"status": "ok", "build_id": "b1"}
        rows = client.get("/v1/datasets/run_harm/rows?limit=100000")
        assert rows.json()["rows"] == build.rows("run_harm")
        assert "server" not in rows.headers
        assert client.get("/v1/distributions/queuing_delay?format=csv").text.startswith('"delay_basis","n","runs"')
        publish(build, "b2")
        for _ in range(10):
            with httpx.Client(base_url=base, timeout=300) as another:  # a connection of its own, to any worker
                assert another.get("/healthz").json()["build_id"] == "b2"
                assert another.get("/v1/studies").json()["build_id"] == "b2"
        # Whichever answers has counted for all.
        counted = re.search(r'requests_total\{.*route="/v1/studies".*\} (.*)', client.get("/metrics").text)
        assert counted
        assert counted.group(1) == "10.0"
        assert client.get("/v1/nope").json()["status"] == 404
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=300)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in errors
    assert "leaked" not in errors


@pytest.mark.parametrize("seconds", [0.1, 0.6, 1.2, None])
def test_workers_end_with_a_killed_parent(publish: Any, build: Any, seconds: float | None) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--processes", "2", "--snapshots", str(publish(build))],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    base = process.stdout.readline().split(" on ")[1].split(" ")[0]
    if seconds is None:
        assert httpx.get(f"{base}/healthz", timeout=300).status_code == 200
    else:  # while they start
        time.sleep(seconds)
    opened = [file.readlink() for file in Path(f"/proc/{process.pid}/fd").iterdir() if file.is_symlink()]
    process.kill()
    # The pipe is open for as long as any of them lives.
    process.communicate(timeout=300)
    if seconds is None:
        # What they counted in goes with the next start.
        (left,) = [path.parent for path in opened if path.name == MARKER]
        assert any(left.glob("*.db"))
        with own_folder("sojourn-metrics-", left.parent):
            assert not left.exists()


def test_no_build_is_one_line(tmp_path: Path) -> None:
    ended = run("--snapshots", str(tmp_path / "none"), "--port", "0")
    assert ended.returncode == 1
    assert ended.stderr == (f"error: no build published under {tmp_path / 'none'}: run `sojourn build`\n")
    from_var = run(SOJOURN_VAR=str(tmp_path))
    assert from_var.stderr.startswith(f"error: no build published under {tmp_path / 'snapshots'}")


def test_a_port_in_use_is_one_line(example_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("--snapshots", str(example_folder), "--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"error: cannot listen on 127.0.0.1 port {port}: Address already in use (choose another with --port)\n"
    )


def test_an_unknown_host_and_a_bad_setting_are_one_line(example_folder: Path) -> None:
    host = run("--snapshots", str(example_folder), "--host", "no.such.host.invalid")
    assert (host.returncode, host.stderr.count("\n")) == (1, 1)
    setting = run("--snapshots", str(example_folder), SOJOURN_API_MAX_ROWS="many")
    assert (setting.returncode, setting.stderr.count("\n")) == (1, 1)
    assert "SOJOURN_API_MAX_ROWS" in setting.stderr


def test_help_teaches() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for phrase in ("curl", "/docs", "SOJOURN_API_KEYS", "--port", "--snapshots"):
        assert phrase in shown.stdout


def test_the_folder_of_the_other_commands_is_taken(tmp_path: Path) -> None:
    done = run("--port", "0", "--var", str(tmp_path))
    assert done.returncode == 1
    assert str(tmp_path / "snapshots") in done.stderr
    done = run("--port", "0", "--var", str(tmp_path), "--snapshots", str(tmp_path))
    assert (done.returncode, "give only one" in done.stderr) == (2, True)
