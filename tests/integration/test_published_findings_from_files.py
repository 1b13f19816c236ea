"""Published findings recomputed from captures, page loads and manifests whose contents are known."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.lake import Lake
from sojourn_transforms.models_in_memory import ModelsInMemory

from .competition_runs import describe, write_capture, write_run
from .conftest import SOJOURN

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "ingest/tests/golden/page_loads"
HALF = {"bandwidth_bps": 500_000}
FALL = {"name": "fall", "steps": [{"at_s": 0, "bandwidth_bps": 4_000_000}, {"at_s": 30, "bandwidth_bps": 500_000}]}
PLAYED = {"app": [50] * 10 + [15] * 30 + [50] * 10, "rival": [0] * 10 + [45] * 30 + [0] * 10}


@pytest.fixture(scope="module")
def recomputed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("published")
    runs, var = folder / "runs", folder / "var"
    turned = {"app": PLAYED["rival"], "rival": PLAYED["app"]}
    pair = {"study": "imc21-vca", **HALF}
    write_run(runs, PLAYED, run_id="pair", app="zoom", rival="meet", order="app_first", **pair)
    write_run(runs, turned, run_id="turned", app="meet", rival="zoom", order="rival_first", **pair)
    describe(runs, "pam21-zoom", programmes=[FALL])
    # What is sent falls twelve seconds after the link; what is received, with the link.
    stepped = write_run(
        runs, {"app": [500] * 30 + [60] * 30}, before=True, study="pam21-zoom", run_id="stepped", app="zoom",
        order="solo", bandwidth_programme="fall", bandwidth_bps=None, queue={"discipline": "bfifo", "size_bdp": 10},
    )  # fmt: skip
    write_capture(stepped / "before.pcap", {"app": [500] * 30 + [200] * 12 + [60] * 18})
    for seconds, packets in ((60, 20), (30, 30)):
        write_run(
            runs, {"app": [40] * seconds, "tcp": [packets] * seconds}, study="pam21-zoom", run_id=f"table-{seconds}s",
            app="zoom", cc="cubic", order="app_first", queue={"discipline": "bfifo", "size_bdp": 2}, **HALF,
        )  # fmt: skip
    page = write_run(
        runs, {"app": [1]}, study="imc14-buffers", run_id="page", app="web", order="solo", workload="noBG",
        bandwidth_bps=16_000_000, flows=[], t0=None, window=None,
    )  # fmt: skip
    shutil.copy(RECORDED / "page_loads.pcap", page / "after.pcap")
    shutil.copy(RECORDED / "curl.jsonl", page / "page_loads.jsonl")
    done = subprocess.run(
        [str(SOJOURN), "ingest", str(runs), "--var", str(var)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    by_finding: dict[str, list[dict[str, Any]]] = {}
    models = ModelsInMemory(ROOT / "models", Lake(var / "lake"))
    for row in models.rows("published_comparison"):
        by_finding.setdefault(row["finding_id"], []).append(row)
    models.close()
    return by_finding


def test_a_pair_has_the_share_of_the_incumbent_in_either_role(recomputed: dict[str, list[dict[str, Any]]]) -> None:
    (zoom_before_meet,) = recomputed["vca21-13"]
    assert (zoom_before_meet["own_value"], zoom_before_meet["runs"]) == (pytest.approx(0.25), 2)
    (meet_before_zoom,) = recomputed["vca21-03"]
    assert meet_before_zoom["own_value"] is None


def test_a_step_is_followed_by_what_is_sent(recomputed: dict[str, list[dict[str, Any]]]) -> None:
    (reaction,) = recomputed["pam21-16"]
    assert (reaction["own_value"], reaction["runs"]) == (pytest.approx(12), 1)
    (sent,) = recomputed["pam21-17"]
    assert (sent["own_value"], sent["is_inside_tolerance"]) == (pytest.approx(4), True)


def test_packets_are_counted_in_runs_of_the_stated_window(recomputed: dict[str, list[dict[str, Any]]]) -> None:
    (tcp,), (app,) = recomputed["pam21-01"], recomputed["pam21-03"]
    assert (tcp["own_value"], tcp["runs"]) == (20 * 60, 1)
    assert (app["own_value"], app["runs"]) == (40 * 60, 1)


def test_page_loads_are_those_that_the_tool_measured(recomputed: dict[str, list[dict[str, Any]]]) -> None:
    measured = [json.loads(line)["time_total"] for line in (RECORDED / "curl.jsonl").read_text().splitlines()]
    (fastest,) = recomputed["imc14-35"]
    assert fastest["own_value"] == pytest.approx(min(measured), rel=1e-6)
    (median,) = [row for row in recomputed["imc14-f10"] if row["workload"] == "noBG"]
    assert (median["units"], median["runs"]) == (len(measured), 1)
