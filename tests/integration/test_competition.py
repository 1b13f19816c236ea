"""Two applications against each other: measures by role, from the manifest to the API."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .competition_runs import STUDY, describe, describe_anew, write_run
from .conftest import SOJOURN, Service, serving

pytestmark = pytest.mark.integration

SHARED_RUN = "cbr_dn_bw1000_rtt50_codel-2bdp_bbr_rtp-cbr_appfirst_rep1"
SOLO_APP = "base_dn_bw1000_rtt50_taildrop-2bdp_none_rtp-cbr_solo_rep1"
SOLO_TCP = "base_dn_bw1000_rtt50_taildrop-2bdp_bbr_none_solo_rep1"
RELABELLED = "relabelled"


def _as_rival(manifest: dict[str, Any]) -> None:
    """Say of a run's TCP flow that it is another application."""
    manifest |= {"study": RELABELLED, "cc": None, "rival": "bulk", "order": "app_first"}
    for flow in manifest["flows"]:
        flow["role"] = "rival" if flow["role"] == "tcp" else flow["role"]


def _as_application(manifest: dict[str, Any]) -> None:
    """Say of a solo run's TCP flow that it is an application."""
    manifest |= {"study": RELABELLED, "cc": None, "app": "bulk"}
    for flow in manifest["flows"]:
        flow["role"] = "app" if flow["role"] == "tcp" else flow["role"]


def _in_new_study(manifest: dict[str, Any]) -> None:
    manifest["study"] = RELABELLED


@pytest.fixture(scope="module")
def competition(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("competition")
    runs, var = folder / "runs", folder / "var"
    testbed = shared / "data" / "testbed"
    for name, change in ((SHARED_RUN, _as_rival), (SOLO_TCP, _as_application), (SOLO_APP, _in_new_study)):
        describe_anew(testbed / name, runs, change)
    describe(runs, RELABELLED, synthetic=False)
    describe(runs)
    # 100 packets/s alone; 30 s alone, 120 s together, 60 s alone again.
    both = {"app": [100] * 30 + [25] * 120 + [100] * 60, "rival": [0] * 30 + [75] * 120 + [0] * 60}
    write_run(runs, both, run_id="zoom-meet-1", app="zoom", rival="meet", order="app_first")
    turned = {"app": both["rival"], "rival": both["app"]}
    write_run(runs, turned, run_id="meet-zoom-1", app="meet", rival="zoom", order="rival_first")
    for name in ("zoom", "meet"):
        write_run(runs, {"app": [100] * 60}, run_id=f"{name}-solo-1", app=name, order="solo")
    for command in (
        ["ingest", str(runs), *(str(testbed / name) for name in (SHARED_RUN, SOLO_APP, SOLO_TCP))],
        ["build"],
    ):
        done = subprocess.run([str(SOJOURN), *command, "--var", str(var)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
    with serving(var) as running:
        yield running


def _metrics(service: Service, study: str) -> dict[tuple[object, object, object], object]:
    rows = service.rows("run_metric", study_id=study, run_id=SHARED_RUN)
    return {(row["metric"], row["role"], row["basis"]): row["metric_value"] for row in rows}


def test_a_tcp_flow_called_a_rival_has_every_measure_that_it_has_as_tcp(competition: Service) -> None:
    as_tcp = _metrics(competition, "vca-fairness-vm-2026")
    as_rival = _metrics(competition, RELABELLED)
    renamed = {
        (metric, "rival" if role == "tcp" else role, basis): value for (metric, role, basis), value in as_tcp.items()
    }
    names = {metric for metric, role, _ in as_rival if role == "rival"}
    assert {
        "rate_bps", "link_share_ratio", "drop_ratio", "queuing_delay_mean_ms", "harm_throughput_ratio",
        "harm_delay_ratio", "harm_loss_ratio",
    } <= names  # fmt: skip
    assert as_rival == pytest.approx(renamed)
    assert as_rival[("flow_rate_equality", "all", "none")] is not None


def test_shares_equality_and_harm_of_two_applications_are_what_was_planted(competition: Service) -> None:
    (row,) = competition.rows("run_flow_rate_equality", study_id=STUDY, run_id="zoom-meet-1")
    app, rival = 100 * 90 + 25 * 120, 75 * 120
    assert (row["application"], row["rival_application"], row["tcp_bytes"]) == ("zoom", "meet", None)
    assert (row["app_bytes"], row["rival_bytes"]) == (app * 1000, rival * 1000)
    assert row["app_link_share_ratio"] == pytest.approx(app / (app + rival))
    assert row["rival_link_share_ratio"] == pytest.approx(rival / (app + rival))
    assert row["flow_rate_equality"] == pytest.approx(1 - rival / app)
    harms = competition.rows("run_harm", study_id=STUDY, run_id="zoom-meet-1")
    # Alone, both send 100 packets in a second.
    assert {row["role"]: row["harm_ratio"] for row in harms} == {
        "app": pytest.approx(1 - app / (100 * 210)), "rival": pytest.approx(1 - rival / (100 * 210)),
    }  # fmt: skip
    assert {row["demand_id"] for row in harms} == {
        f"{STUDY}/{name}/bandwidth_bps=1000000/rtt_ms=50/queue_size_bdp=any/aqm=any/congestion_control=any/workload=call"
        for name in ("zoom", "meet")
    }


def test_the_rival_is_a_filter_and_a_part_of_the_configuration(competition: Service) -> None:
    found = competition.rows("configuration", study_id=STUDY, rival_application="meet")
    assert [(row["application"], row["start_order"], row["runs"]) for row in found] == [("zoom", "app_first", 1)]
    assert "/rival_application=meet/" in str(found[0]["configuration_id"])
    answer = competition.client.get(
        "/v1/comparisons/app_link_share",
        params={"factor": "rival_application", "baseline": "meet", "study_id": STUDY},
    )
    assert answer.status_code == 200, answer.text
