"""What the API serves equals what other tools and plain code make of the same files."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from .conftest import Service

pytestmark = pytest.mark.integration

STUDY = "vca-fairness-vm-2026"


def of_run(service: Service, dataset: str, run_id: str, **more: str) -> dict[str, object] | None:
    rows = service.rows(dataset, study_id=STUDY, run_id=run_id, **more)
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def sample_runs(sample: Path) -> list[str]:
    return sorted(path.name for path in sample.iterdir())


def test_bytes_of_a_run_are_those_tshark_counts(service: Service, sample: Path) -> None:
    run_id = "cbr_dn_bw1000_rtt50_codel-2bdp_cubic_rtp-cbr_appfirst_rep1"
    manifest = json.loads((sample / run_id / "manifest.json").read_text())
    start, end = manifest["window"]["start_epoch_s"], manifest["window"]["end_epoch_s"]
    for role, condition in (
        ("tcp", "ip.src == 10.0.1.2 && tcp.srcport == 40001"),
        ("app", "ip.src == 10.0.1.3 && udp.srcport == 5004"),
    ):
        window = f"frame.time_epoch >= {start} && frame.time_epoch < {end}"
        lengths = subprocess.run(
            [
                *("tshark", "-r", str(sample / run_id / "after.pcap.gz"), "-Y", f"{condition} && {window}"),
                *("-T", "fields", "-e", "frame.len"),
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        served = of_run(service, "run_rate", run_id, role=role)
        assert served is not None
        assert served["bytes"] == sum(map(int, lengths))
        assert served["packets"] == len(lengths)


def test_every_sample_run_agrees_with_the_independent_validation(service: Service, sample: Path, testbed: Path) -> None:
    with (testbed / "validation.csv").open() as handle:
        expected = {row["run_id"]: row for row in csv.DictReader(handle)}
    for run_id in sample_runs(sample):
        row = expected[run_id]
        for role in ("tcp", "app"):
            rate = of_run(service, "run_rate", run_id, role=role)
            served_mbps = 0.0 if rate is None else round(float(str(rate["rate_bps"])) / 1e6, 3)
            assert served_mbps == float(row[f"{role}_mbps"]), (run_id, role)
        delay = of_run(service, "run_queuing_delay", run_id, role="all")
        assert delay is not None
        for column, theirs in (
            ("mean_ms", "sojourn_mean_ms"),
            ("p95_ms", "sojourn_p95_ms"),
            ("max_ms", "sojourn_max_ms"),
        ):
            assert float(str(delay[column])) == pytest.approx(float(row[theirs]), abs=0.0051), (run_id, column)
        smoothed = of_run(service, "run_smoothed_rtt", run_id)
        assert (smoothed is None) == (row["srtt_mean_ms"] == "")
        if smoothed is not None:
            assert float(str(smoothed["srtt_mean_ms"])) == pytest.approx(float(row["srtt_mean_ms"]), abs=0.051)
        counts = of_run(service, "run_queue_count", run_id, role="all")
        assert counts is not None
        assert counts["dropped_packets"] == int(row["drops_total_ebpf_with_nonip"]), run_id
        assert counts["enqueued_packets"] == int(row["queue_enq"]), run_id
        assert counts["dequeued_packets"] == int(row["queue_deq"]), run_id
        assert counts["lost_events"] == int(row["ebpf_lost"]), run_id


@pytest.fixture(scope="module")
def tma23_harm(tma23: Path) -> pd.DataFrame:
    """Harm by plain pandas, from the published tables alone."""
    runs = pd.read_csv(tma23 / "index.csv").merge(pd.read_csv(tma23 / "index_avgbwdist.csv"), on="guid")
    runs = runs[~runs.didCallBreak.astype(bool)]
    runs["rate_bps"] = runs.call_bytes * 8 / runs.obsdur
    solo = runs[(runs.scenario == "JUST_CALL") & (runs.bw == 5) & (runs.rtt == 50)]
    demand = solo[solo.innerqdisc == "bfifo limit 62500"].groupby("mvca").rate_bps.median()
    shared = runs[runs.scenario.isin(["INCUMBENT_CALL", "INCUMBENT_TCP"])].copy()
    wanted = shared.mvca.map(demand)
    shared["harm_ratio"] = (wanted - shared.rate_bps) / wanted
    return shared


@pytest.mark.parametrize(
    ("application", "aqm", "innerqdisc", "congestion_control"),
    [("signal", "tail-drop", "bfifo limit 62500", "cubic"), ("telegram", "codel", "codel", "bbr2")],
)
def test_harm_of_tma23_equals_plain_pandas(
    service: Service, tma23_harm: pd.DataFrame, application: str, aqm: str, innerqdisc: str, congestion_control: str
) -> None:
    cell = tma23_harm[
        (tma23_harm.mvca == application.upper())
        & (tma23_harm.innerqdisc == innerqdisc)
        & (tma23_harm.cong == congestion_control)
        & (tma23_harm.bw == 5)
        & (tma23_harm.rtt == 50)
    ]
    by_order = cell.groupby(cell.scenario.map({"INCUMBENT_CALL": "app_first", "INCUMBENT_TCP": "tcp_first"}))
    condition: dict[str, str | int] = {
        "study_id": "tma23-imvca",
        "role": "app",
        "workload": "call",
        "application": application,
        "aqm": aqm,
        "congestion_control": congestion_control,
        "bandwidth_bps": 5_000_000,
        "exclusion_reason__null": "true",
    }
    if aqm == "tail-drop":
        condition["queue_size_bdp"] = 2
    served = service.rows("run_harm", group="start_order", aggregate="median:harm_ratio", **condition)
    assert {str(row["start_order"]): row["n"] for row in served} == by_order.size().to_dict()
    for row in served:
        expected = by_order.harm_ratio.median()[str(row["start_order"])]
        assert row["median_harm_ratio"] == pytest.approx(expected, rel=1e-9)


def test_signal_harm_lies_in_the_band_of_the_published_finding(service: Service, shared: Path) -> None:
    with (shared / "published" / "findings.csv").open() as handle:
        finding = next(row for row in csv.DictReader(handle) if row["finding_id"] == "tma23-04")
    served = service.rows(
        "run_harm",
        application="signal",
        aqm="tail-drop",
        congestion_control="cubic",
        bandwidth_bps=5_000_000,
        rtt_ms=50,
        queue_size_bdp=2,
        workload="call",
        role="app",
        group="start_order",
        aggregate="median:harm_ratio",
    )
    assert {row["start_order"] for row in served} == {"app_first", "tcp_first"}
    for row in served:
        median = float(str(row["median_harm_ratio"]))
        assert float(finding["tolerance_low"]) <= median <= float(finding["tolerance_high"])


def test_served_distribution_is_within_one_percent_of_the_exact_quantiles(service: Service) -> None:
    exact = {str(row["run_id"]): row for row in service.rows("run_queuing_delay", study_id=STUDY, role="app")}
    answer = service.client.get(
        "/v1/distributions/queuing_delay",
        params={
            "study_id": STUDY,
            "role": "app",
            "group": "run_id",
            "statistic": "quantiles",
            "quantiles": "0.5,0.95",
        },
    )
    assert answer.status_code == 200, answer.text
    seen = 0
    for row in answer.json()["rows"]:
        column = {0.5: "median_ms", 0.95: "p95_ms"}[row["quantile_ratio"]]
        truth = float(str(exact[row["run_id"]][column]))
        # Bins hold whole microseconds, so the smallest delays are off by at most one of them.
        assert row["queuing_delay_ms"] == pytest.approx(truth, rel=0.01, abs=0.001), row
        seen += 1
    assert seen == 2 * len(exact) > 0
