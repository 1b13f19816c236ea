"""What the service loads until it answers: names of modules, because times depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Serves until /healthz has answered, and then writes the top names of what is loaded, and whether a timer waits.
RUNNER = """
import json, os, pathlib, signal, socket, sys, threading, time, urllib.request
out, port = pathlib.Path(sys.argv.pop(1)), int(sys.argv[sys.argv.index("--port") + 1])

def ask():
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=120).read()
            break
        except OSError:
            time.sleep(0.05)
    names = {name.partition(".")[0] for name in list(sys.modules)}
    later = {"a timer" for thread in threading.enumerate() if isinstance(thread, threading.Timer)}
    out.write_text(json.dumps(sorted(names | later)))
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=ask, daemon=True).start()
import typer
from sojourn_api.cli import register
app = typer.Typer()
app.callback()(lambda: None)
register(app)
app()
"""


def free_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_the_service_answers_before_it_loads_statistics_or_pandas(publish: Any, build: Any, tmp_path: Path) -> None:
    out = tmp_path / "modules.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SOJOURN_")}
    command = [sys.executable, "-c", RUNNER, str(out), "serve", "--port", str(free_port())]
    done = subprocess.run(
        [*command, "--snapshots", str(publish(build))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert out.exists(), done.stderr
    loaded = set(json.loads(out.read_text()))
    assert {"fastapi", "uvicorn", "duckdb", "sojourn_api"} <= loaded
    # Nor does it later, before a comparison asks for them: they take as much memory as all else.
    late = {
        "a timer",
        "statsmodels",
        "pandas",
        "patsy",
        "pyspark",
        "dbt",
        "sojourn_ingest",
        "sojourn_transforms",
        "rich",
        "yaml",
    }
    assert loaded & late == set()
