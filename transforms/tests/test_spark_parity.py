"""Both engines make the same tables and the same marts of the same inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOJOURN = Path(sys.executable).parent / "sojourn"
WORLD = ("--rows", "1000000", "--days", "3", "--seed", "5")
#: A Java that runs for two minutes gains nothing from its second compiler, which takes half of the time.
SHORT_LIVED = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
SPARK = ("--engine", "spark", "--master", "local[2]", "--spark-conf", SHORT_LIVED)

pytestmark = [pytest.mark.integration, pytest.mark.long]


def sojourn(var: Path, *arguments: str | Path) -> str:
    environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one key for both engines"}
    done = subprocess.run(
        [str(SOJOURN), *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_equal_on_both_engines(folder: Path, *inputs: Path) -> dict[str, int]:
    """Return the rows of each mart."""
    duckdb, spark = folder / "duckdb", folder / "spark"
    sojourn(duckdb, "ingest", *inputs)
    sojourn(duckdb, "build")
    sojourn(spark, "ingest", *SPARK, *inputs)
    sojourn(spark, "build", *SPARK)
    compared = sojourn(folder, "compare-builds", duckdb, spark)
    assert compared.strip().endswith("rows: equal"), compared
    served = spark / "snapshots" / json.loads((spark / "snapshots" / "CURRENT").read_text())["build_id"]
    assert json.loads((served / "build.json").read_text())["engine"] == "spark"
    # A build of one engine that is served does not let the other engine skip its own, but it lets the same engine skip.
    assert "nothing changed" in sojourn(spark, "build", "--engine", "spark")
    catalog = json.loads((served / "catalog.json").read_text())
    return {entry["name"]: entry["rows"] for entry in catalog["datasets"]}


def test_every_table_and_mart_of_the_sample_and_a_world_is_equal_on_both_engines(tmp_path: Path, sample: Path) -> None:
    world = tmp_path / "world"
    sojourn(tmp_path, "generate", "connections", *WORLD, "--out", world)
    # Two repetitions of each configuration: enough for every mart, and a Spark task for each file takes its time.
    rows = assert_equal_on_both_engines(tmp_path, *sorted(sample.glob("*_rep[12]")), world)
    # Both halves are there: what was compared is not two times nothing.
    assert rows["run_queuing_delay"] > 0
    assert rows["rtt_histogram"] > 1000
    assert rows["queuing_delay_share"] > 0


def test_every_table_and_mart_of_a_published_study_is_equal_on_both_engines(tmp_path: Path, tma23: Path) -> None:
    rows = assert_equal_on_both_engines(tmp_path, tma23)
    assert rows["comparison"] > 0
    assert rows["harm_qoe_correlation"] > 0
