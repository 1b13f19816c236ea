"""Both engines make the same tables and the same marts of the same inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOJOURN = Path(sys.executable).parent / "sojourn"

pytestmark = pytest.mark.integration


def sojourn(var: Path, *arguments: str | Path) -> str:
    environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one key for both engines"}
    done = subprocess.run(
        [str(SOJOURN), *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_table_and_mart_is_equal_on_both_engines(tmp_path: Path, sample: Path, tma23: Path) -> None:
    duckdb, spark = tmp_path / "duckdb", tmp_path / "spark"
    sojourn(duckdb, "ingest", sample, tma23)
    sojourn(duckdb, "build")
    sojourn(spark, "ingest", "--engine", "spark", "--master", "local[2]", sample, tma23)
    sojourn(spark, "build", "--engine", "spark", "--master", "local[2]")

    served = json.loads((spark / "snapshots" / "CURRENT").read_text())["build_id"]
    described = json.loads((spark / "snapshots" / served / "build.json").read_text())
    assert described["engine"] == "spark"
    assert "equal" in sojourn(tmp_path, "compare-builds", duckdb, spark)
    # What is served by one engine is no reason for the other to do nothing, but for itself it is.
    assert "nothing changed" in sojourn(spark, "build", "--engine", "spark")
