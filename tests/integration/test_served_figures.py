"""What the API serves equals what other tools and plain code make of the same files."""

from __future__ import annotations

import csv
import json
import lzma
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from .conftest import Service, log_to_utc_ns

pytestmark = pytest.mark.integration

STUDY = "sojourn-sample"


def of_run(service: Service, dataset: str, run_id: str, **more: str) -> dict[str, object] | None:
    rows = service.rows(dataset, study_id=STUDY, run_id=run_id, **more)
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def sample_runs(sample: Path) -> list[str]:
    return sorted(path.name for path in sample.iterdir())


def test_bytes_of_a_run_are_those_tshark_counts(service: Service, sample: Path, tmp_path: Path) -> None:
    run_id = "1000k_rtt50_codel_cubic_video_appfirst_rep1"
    manifest = json.loads((sample / run_id / "manifest.json").read_text())
    start, end = manifest["window"]["start_epoch_s"], manifest["window"]["end_epoch_s"]
    capture = tmp_path / "after.pcap"
    capture.write_bytes(lzma.decompress((sample / run_id / "after.pcap.xz").read_bytes()))
    for role, condition in (
        ("tcp", "ip.src == 10.0.1.2 && tcp.srcport == 40001"),
        ("app", "ip.src == 10.0.1.3 && udp.srcport == 5004"),
    ):
        window = f"frame.time_epoch >= {start} && frame.time_epoch < {end}"
        lengths = subprocess.run(
            ["tshark", "-r", str(capture), "-Y", f"{condition} && {window}", "-T", "fields", "-e", "frame.len"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        served = of_run(service, "run_rate", run_id, role=role)
        assert served is not None
        assert served["bytes"] == sum(map(int, lengths))
        assert served["packets"] == len(lengths)


def sojourn_ms(folder: Path, manifest: dict[str, Any]) -> list[float]:
    """Time in the queue of the packets of application and TCP that left it in the window, from the raw log."""
    start, end = (round(manifest["window"][key] * 1e9) for key in ("start_epoch_s", "end_epoch_s"))
    wanted = {(flow["src"], flow["sport"]) for flow in manifest["flows"]}
    times_ms = []
    lines = lzma.decompress((folder / "queue_bpftrace.txt.xz").read_bytes()).decode().splitlines()
    offset = log_to_utc_ns(lines)
    for line in lines:
        fields = line.split()
        if fields[0] != "D" or not start <= int(fields[1]) + offset < end:
            continue
        # The probe prints the bytes of a port as a number of the machine.
        port = int.from_bytes(int(fields[10]).to_bytes(2, "little"), "big")
        if (fields[9], port) in wanted and int(fields[15]) > 0:
            times_ms.append(int(fields[15]) / 1e6)
    return sorted(times_ms)


def test_every_sample_run_agrees_with_tc_and_with_its_raw_log(service: Service, sample: Path) -> None:
    for run_id in sample_runs(sample):
        manifest = json.loads((sample / run_id / "manifest.json").read_text())
        counters = manifest["check"]["counts"]
        counts = of_run(service, "run_queue_count", run_id, role="all")
        assert counts is not None
        assert (counts["dequeued_packets"], counts["dropped_packets"], counts["lost_events"]) == (
            counters["tc_sent"],
            counters["tc_dropped"],
            0,
        ), run_id
        assert counts["reconciliation_verdict"] == "agree", run_id
        delay = of_run(service, "run_queuing_delay", run_id, role="all")
        assert delay is not None
        expected = sojourn_ms(sample / run_id, manifest)
        assert delay["packets"] == len(expected) > 200, run_id
        for column, theirs in (
            ("mean_ms", statistics.fmean(expected)),
            ("p95_ms", expected[int(0.95 * len(expected))]),
            ("max_ms", expected[-1]),
        ):
            assert float(str(delay[column])) == pytest.approx(theirs, rel=1e-9), (run_id, column)


def test_the_sample_has_verdicts_with_intervals_by_default(service: Service, sample: Path) -> None:
    """Seven repetitions a cell: clear differences survive the correction, and each has an interval."""
    rows = service.rows("comparison", study_id=STUDY, factor="aqm", metric="queuing_delay_mean", role="app")
    assert len(rows) == 8
    for row in rows:
        assert (row["treatment_n"], row["baseline_n"], row["replication_unit"]) == (7, 7, "run")
        assert row["interval_null_reason"] is None
        assert float(str(row["effect_lower"])) <= float(str(row["effect"])) <= float(str(row["effect_upper"]))
        if row["queue_label"] == "FQ-CoDel":
            # The stream is a flow of its own, and waits for one packet of TCP at most.
            assert str(row["verdict"]).startswith("lower by "), row
            assert float(str(row["effect_upper"])) < 0


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


@pytest.mark.parametrize(
    ("kind", "column"),
    [("all", None), ("country", "country"), ("access_technology", "access_technology"), ("network", "asn")],
)
def test_scores_of_named_groups_are_those_of_the_mart(service: Service, kind: str, column: str | None) -> None:
    query = {"group": column} if column else {}
    served = service.client.get("/v1/outcomes/connection_queuing_delay", params=query).json()["rows"]
    stated = {
        (row["dataset"], row["sample_basis"], row["rtt_basis"], row["group_value"], row["percentile"]): row
        for row in service.rows("connection_outcome", group_kind=kind)
    }
    same = 0
    for row in served:
        value = str(row[column]) if column else "all"
        mart = stated.pop((row["dataset"], row["sample_basis"], row["rtt_basis"], value, row["percentile"]), None)
        if mart is None:
            # A withheld cell is no group there, and has no rank here.
            assert row["group_rank"] is None
            continue
        same += 1
        assert row["queuing_delay_ms"] == mart["added_delay_ms"]
        assert row["queuing_delay_lower_ms"] == mart["added_delay_lower_ms"]
        assert row["queuing_delay_upper_ms"] == mart["added_delay_upper_ms"]
        assert (row["replicates"], row["n"]) == (mart["replicates"], mart["connections"])
        for name in ("bufferbloat_grade", "group_rank", "group_rank_at_p95", "is_rank_changed", "replication_unit"):
            assert row[name] == mart[name], name
    assert same > 0
    assert stated == {}


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("all", None), ("country", "country"), ("access_technology", "access_technology"), ("network", "asn"),
        ("ip_version", "ip_version"), ("proximity_class", "proximity_class"),
        ("transfer_size_class", "transfer_size_class"), ("day", "start_date"),
    ],
)  # fmt: skip
def test_scores_of_rtts_are_those_of_the_mart_for_every_grouping(
    service: Service, kind: str, column: str | None
) -> None:
    # Not every mart has means.
    query = {"rtt_statistic__ne": "mean", "unknown_values": "allow", **({"group": column} if column else {})}
    served = {
        (
            row["dataset"], row["sample_basis"], row["rtt_basis"], str(row[column]) if column else "all",
            row["percentile"], row["rtt_statistic"],
        ): row
        for row in service.client.get("/v1/outcomes/rtt", params=query).json()["rows"]
    }  # fmt: skip
    marts = service.rows("connection_outcome", group_kind=kind)
    assert marts
    for mart in marts:
        key = (mart["dataset"], mart["sample_basis"], mart["rtt_basis"], mart["group_value"], mart["percentile"])
        idle, loaded = served[*key, "minimum"], served[*key, "maximum"]
        assert (idle["rtt_ms"], loaded["rtt_ms"]) == (mart["idle_rtt_ms"], mart["loaded_rtt_ms"])
        for name in ("iqb_lower_score", "iqb_upper_score"):
            assert idle[name] == pytest.approx(mart[name], abs=1e-9)
        assert loaded["qoo_latency_score"] == pytest.approx(mart["qoo_latency_score"])
        for name in ("responsiveness_rpm", "responsiveness_lower_rpm", "responsiveness_upper_rpm"):
            assert loaded[name] == (None if mart[name] is None else pytest.approx(mart[name])), name
        assert (loaded["replicates"], loaded["n"]) == (mart["replicates"], mart["connections"])


def test_several_columns_of_connections_make_one_grouping_of_scores(service: Service) -> None:
    rows = service.client.get(
        "/v1/outcomes/rtt", params={"group": "country,access_technology,ip_version", "rtt_statistic": "maximum"}
    ).json()["rows"]
    assert len({(row["country"], row["access_technology"], row["ip_version"]) for row in rows}) > 10
    assert {row["replication_unit"] for row in rows} == {"day"}
    assert any(row["is_rank_changed"] for row in rows)
    assert all((row["rtt_lower_ms"] is None) == (row["interval_null_reason"] is not None) for row in rows)
