"""Requests that Schemathesis makes from the OpenAPI document, to a service with keys in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api.tests.wild_connections import add_connections, drawn

from .test_serve import COMMAND, environment

pytestmark = pytest.mark.integration

KEY = "the-key-of-this-test"
PHASES = ("examples", "coverage", "fuzzing", "stateful")
SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
#: Values that the build has, so that generated requests reach its data: the document alone knows none of them.
VALUES: dict[str, dict[str, list[str]]] = {
    "/v1/datasets/{name}": {"name": ["run", "run_harm", "types", "study"]},
    "/v1/datasets/{name}/rows": {
        "name": ["run_harm"],
        "select": ["run_id", "run_id,aqm,harm_ratio", "harm_ratio"],
        "order": ["-harm_ratio", "aqm,-rtt_ms", "congestion_control,run_id"],
    },
    "/v1/distributions/{metric}": {
        "metric": ["queuing_delay", "connection_queuing_delay"],
        "group": ["synthetic"],
        "quantiles": ["0", "0.5,0.95", "1"],
        "thresholds_ms": ["0", "100,500.125"],
    },
    "/v1/comparisons/{metric}": {
        "metric": ["harm"],
        "factor": ["aqm", "congestion_control", "bandwidth_bps"],
        "baseline": ["tail-drop", "cubic", "1000000"],
        "margin": ["0.1"],
    },
}
FILTERS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "synthetic": {"enum": ["true", "false"]},
        "synthetic__ne": {"enum": ["true"]},
    },
}


@pytest.fixture(scope="module")
def url(build: Any, write: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = type(build)(dict(build.tables), dict(build.keys))
    add_connections(made, drawn())
    folder = write(tmp_path_factory.mktemp("generated"), made, "b1")
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--snapshots", str(folder)],
        env=environment(PYTHONUNBUFFERED="1", SOJOURN_API_KEYS=KEY), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert process.stdout
    match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert match, "the service did not start"
    yield match.group()
    process.terminate()
    process.communicate(timeout=120)


def schemathesis(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Run every check and return the report; fail with what was found."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            SCHEMATHESIS, "--config-file", str(Path(__file__).with_name("schemathesis.toml")), "run", *arguments,
            "--header", f"Authorization: Bearer {KEY}", "--checks", "all", "--continue-on-failure",
            "--report", "json", "--report-json-path", str(report),
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def test_requests_from_the_document_find_nothing(url: str, tmp_path: Path) -> None:
    report = schemathesis(tmp_path, f"{url}/openapi.json", "--phases", ",".join(PHASES), "-n", "8")
    assert {phase: state["status"] for phase, state in report["phases"].items()} == dict.fromkeys(PHASES, "success")
    assert report["operations"]["tested"] == report["operations"]["total"] >= 10
    assert report["test_cases"]["generated"] > 400


def test_requests_with_values_of_the_build_find_nothing(url: str, tmp_path: Path, repository: Path) -> None:
    document = json.loads((repository / "docs" / "openapi.json").read_text())
    for path, values in VALUES.items():
        for parameter in document["paths"][path]["get"]["parameters"]:
            parameter.pop("examples", None)
            if parameter["name"] in values:
                parameter["schema"] = {"type": "string", "enum": values[parameter["name"]]}
            elif parameter["name"] == "filters":
                parameter["schema"] = FILTERS
            elif parameter["name"] in ("cursor", "group", "aggregate"):
                parameter["schema"] = {"enum": []}
    refined = tmp_path / "refined.json"
    refined.write_text(json.dumps(document))
    report = schemathesis(
        tmp_path, str(refined), "--url", url, "--mode", "positive", "--phases", "fuzzing", "-n", "20",
        "--include-path-regex", "^/v1/(datasets|distributions|comparisons)/",
    )  # fmt: skip
    assert report["operations"]["tested"] == 4
    # Most requests of the document alone are refused, because it does not know the build's columns.
    assert all(rates["fuzzing"]["accepted"] >= 5 for rates in report["valid_rates"].values())
