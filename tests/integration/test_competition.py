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
RTT_STEP = {
    "name": "longer-way",
    "steps": [
        {"at_s": 0, "bandwidth_bps": 1_000_000, "rtt_ms": 20},
        {"at_s": 30, "bandwidth_bps": 1_000_000, "rtt_ms": 100},
    ],
}
SHORT_MANY = {
    "name": "short-many",
    "parts": [
        {
            "direction": "uplink", "sessions": 1, "flow_length": "short",
            "interarrival": {"distribution": "exponential", "mean_s": 2},
            "flow_size": {"distribution": "weibull", "shape": 0.35, "scale_bytes": 10039, "mean_bytes": 50500},
        },
        {"direction": "downlink", "sessions": 16, "flow_length": "long"},
    ],
}  # fmt: skip
LINKS = {
    "uplink": {"bandwidth_bps": 1_000_000, "delay_ms": 5, "queue": {"discipline": "pfifo", "size_packets": 8}},
    "downlink": {"bandwidth_bps": 16_000_000, "delay_ms": 20, "queue": {"discipline": "pfifo", "size_packets": 64}},
}


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
    describe(runs, programmes=[RTT_STEP], workloads=[SHORT_MANY])
    # 100 packets/s alone; 30 s alone, 120 s together, 60 s alone again.
    both = {"app": [100] * 30 + [25] * 120 + [100] * 60, "rival": [0] * 30 + [75] * 120 + [0] * 60}
    write_run(runs, both, run_id="zoom-meet-1", app="zoom", rival="meet", order="app_first")
    turned = {"app": both["rival"], "rival": both["app"]}
    write_run(runs, turned, run_id="meet-zoom-1", app="meet", rival="zoom", order="rival_first")
    meet_first = {"app": [100] * 30 + [60] * 120 + [100] * 60, "rival": [0] * 30 + [40] * 120 + [0] * 60}
    write_run(runs, meet_first, run_id="meet-first-1", app="meet", rival="zoom", order="app_first")
    stepped = [100] * 31 + [50] * 2 + [100] * 5 + [120] + [100] * 21
    write_run(
        runs, {"app": stepped}, run_id="stepped-1", app="zoom", order="solo", bandwidth_programme="longer-way",
        bandwidth_bps=None,
    )  # fmt: skip
    write_run(
        runs, {"app": [50] * 10}, run_id="two-ways-1", app="zoom", order="solo", workload="short-many",
        direction="uplink", links=LINKS, bandwidth_bps=None, rtt_ms=None, queue=None,
        phases=[{"phase": "recovery", "start_s": 4, "end_s": 8}],
    )  # fmt: skip
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
    configurations = competition.rows("configuration", study_id=STUDY, rival_application="meet")
    assert [(row["application"], row["start_order"], row["runs"]) for row in configurations] == [
        ("zoom", "app_first", 1)
    ]
    assert "/rival_application=meet/" in str(configurations[0]["configuration_id"])
    answer = competition.client.get(
        "/v1/comparisons/app_link_share",
        params={"factor": "rival_application", "baseline": "meet", "study_id": STUDY},
    )
    assert answer.status_code == 200, answer.text


def test_phases_follow_from_the_flows_and_have_what_was_planted(competition: Service) -> None:
    # The last second, which the recording does not hold to its end, is not counted.
    rows = competition.rows("run_phase", study_id=STUDY, run_id="zoom-meet-1", order="phase_start_ms")
    assert [(row["run_phase"], row["phase_basis"], row["seconds"]) for row in rows] == [
        ("solo", "flows", 30), ("competing", "flows", 120), ("recovery", "flows", 59),
    ]  # fmt: skip
    assert [row["incumbent_rate_bps"] for row in rows] == [800_000, 200_000, 800_000]
    assert [row["competitor_rate_bps"] for row in rows] == [0, 600_000, 0]
    assert [row["incumbent_share_of_link_ratio"] for row in rows] == pytest.approx([0.8, 0.2, 0.8])
    assert rows[1]["incumbent_share_ratio"] == pytest.approx(0.25)
    assert {(row["incumbent"], row["competitor"]) for row in rows} == {("zoom", "meet")}
    # Whichever of the two is called app, who starts first is the incumbent.
    (turned,) = competition.rows("run_phase", study_id=STUDY, run_id="meet-zoom-1", run_phase="competing")
    assert (turned["incumbent"], turned["incumbent_role"]) == ("zoom", "rival")
    assert turned["incumbent_share_ratio"] == pytest.approx(0.25)
    (phase,) = competition.rows("run_phase", study_id=STUDY, run_id="two-ways-1")
    assert (phase["run_phase"], phase["phase_basis"], phase["seconds"]) == ("recovery", "manifest", 4)
    # A measured run: the TCP flow starts 5 s after the application.
    measured = competition.rows("run_phase", study_id="vca-fairness-vm-2026", run_id=SHARED_RUN, run_phase="competing")
    assert measured[0]["phase_start_ms"] == pytest.approx(5000, abs=500)
    assert (measured[0]["incumbent"], measured[0]["competitor"]) == ("rtp-cbr", "tcp bbr")


def test_seconds_are_counted_from_the_start_of_the_competition(competition: Service) -> None:
    rows = competition.rows("run_phase_second", study_id=STUDY, run_id="zoom-meet-1", role="rival", order="run_second")
    assert [row["competition_second"] for row in rows] == list(range(-30, 179))
    assert {row["side"] for row in rows} == {"competitor"}
    assert [row["rate_bps"] for row in rows] == [0] * 30 + [600_000] * 120 + [0] * 59
    assert rows[40]["share_of_link_ratio"] == pytest.approx(0.6)


def test_the_matrix_checks_pairs_that_change_places(competition: Service) -> None:
    rows = competition.rows("competition_matrix", study_id=STUDY)
    cells = {(row["incumbent"], row["competitor"]): row for row in rows}
    assert set(cells) == {("zoom", "meet"), ("meet", "zoom")}
    zoom, meet = cells["zoom", "meet"], cells["meet", "zoom"]
    assert (zoom["runs"], zoom["turned_runs"]) == (2, 1)
    assert zoom["incumbent_share_median_ratio"] == pytest.approx(0.25)
    assert meet["incumbent_share_median_ratio"] == pytest.approx(0.6)
    assert zoom["complement_excess_ratio"] == meet["complement_excess_ratio"] == pytest.approx(-0.15)


def test_both_directions_and_the_workload_are_served_and_part_of_the_configuration(competition: Service) -> None:
    rows = competition.rows("run_link", study_id=STUDY, run_id="two-ways-1", order="link_direction")
    down, up = rows
    assert (down["link_bandwidth_bps"], down["link_delay_ms"], down["link_queue_limit_packets"]) == (16_000_000, 20, 64)
    assert (up["is_bottleneck"], up["rtt_ms"], up["queue_label"]) == (True, 25, "tail-drop 8 packets")
    assert down["opposite_link"] == "downlink 16000000 bit/s 20 ms tail-drop 64 packets"
    assert up["bdp_packets"] == pytest.approx(1e6 * 0.025 / 12000)
    assert up["bdp_null_reason"] == "no packet of the other direction in the queue log"
    (configuration,) = competition.rows("configuration", study_id=STUDY, opposite_link=str(down["opposite_link"]))
    assert "/opposite_link=downlink 16000000 bit/s" in str(configuration["configuration_id"])
    parts = competition.rows("workload_part", study_id=STUDY, order="part_number")
    assert [(row["direction"], row["sessions"], row["size_scale_bytes"]) for row in parts] == [
        ("uplink", 1, 10039), ("downlink", 16, None),
    ]  # fmt: skip
    # A run that says nothing of its links has that of its bottleneck.
    (old,) = competition.rows("run_link", study_id="vca-fairness-vm-2026", run_id=SHARED_RUN)
    assert (old["link_basis"], old["link_bandwidth_bps"], old["opposite_link"]) == ("run", 1_000_000, None)
    assert old["queuing_delay_mean_ms"] == pytest.approx(37.8, rel=0.02)


def test_a_step_of_the_round_trip_time_has_its_reaction(competition: Service) -> None:
    (row,) = competition.rows("rtt_step_reaction", study_id=STUDY, run_id="stepped-1")
    assert (row["from_rtt_ms"], row["to_rtt_ms"], row["rate_before_bps"]) == (20, 100, 800_000)
    assert (row["fall_ms"], row["recovery_ms"], row["lowest_bps"]) == (1000, 3000, 400_000)
    assert row["overshoot_ratio"] == pytest.approx(1.2)
