"""A folder of flent files, ingested, built and served: their queue settings are compared without a manifest."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from sojourn_ingest.synthetic.flent_files import (
    LOAD_END_S,
    LOAD_START_S,
    LOADED_MS,
    REPETITIONS,
    START_S,
    flent_file,
    pings,
)

from .conftest import SOJOURN, Service, serving

pytestmark = pytest.mark.integration

#: Of iperf3 on a link of 20 Mbit/s: one flow up, one down, two up, one each way at once (README.md beside them).
IPERF3 = ("solo", "solo-down", "two", "ways")
#: A VoIP call and an upload, by flent's own authors.
VOIP = "data/public/tohojo__flent/unittests/test_data/test-voip-1up.flent.gz"


#: Rates in Mbit/s of CUBIC and BBR beside each other, and of each alone.
OF_CONTROLS = {"cubic": (5.0, 19.0), "bbr": (14.0, 18.0)}


def controls_file(rates: dict[str, float]) -> str:
    """Return a flent test of one upload for each congestion control, as netperf reports them."""
    names = {f"TCP upload::{place}": control for place, control in enumerate(rates, 1)}
    document = {
        "metadata": {
            "DATA_FILENAME": "a.flent", "NAME": "tcp_nup", "T0": "2023-11-14T22:13:20.000000Z",
            "TITLE": "qdisc:pie rtt:20ms rate:20Mbit rep:1",
            "SERIES_META": {name: {"UNITS": "Mbits/s", "CONG_CONTROL": control} for name, control in names.items()},
        },
        "raw_values": {
            name: [{"t": START_S + second + 1, "dur": 1.0, "val": rates[control]} for second in range(20)]
            for name, control in names.items()
        },
        "results": {name: [1.0] for name in names},
        "version": 4,
        "x_values": [0.0],
    }  # fmt: skip
    return json.dumps(document, sort_keys=True)


def crusader_file(queue: str, repetition: int) -> bytes:
    """Return a result of version 0: a download from 5 to 25 s, and the same probes."""
    content = struct.pack("<QQ", 0x5372AB82AE7C59CB, 0) + struct.pack("<QQQQ", 20, 5, 5, 200)
    content += struct.pack("<QIQI", 0, 0, 30, 0) + struct.pack("<QBBQ", 1, 1, 0, 1) + struct.pack("<Q", 21)
    content += b"".join(struct.pack("<QIQ", 5 + second, 0, second * 1_250_000) for second in range(21))
    probes = pings(queue, repetition)
    content += struct.pack("<Q", len(probes))
    for place, (time, rtt) in enumerate(probes):
        ns = round(time * 1e9)
        content += struct.pack("<QQIBQI", place, ns // 10**9, ns % 10**9, 1, 0, round(rtt * 1e6))
    return content


def qlog_file() -> str:
    """Return a connection with twelve samples of the RTT, from 20 to 31 ms."""
    events = [
        {"time": 10.0 * n, "name": "recovery:metrics_updated", "data": {"latest_rtt": 20.0 + n, "min_rtt": 20.0}}
        for n in range(12)
    ]
    common = {"reference_time": START_S * 1000, "time_format": "relative"}
    trace = {"vantage_point": {"type": "client"}, "common_fields": common, "events": events}
    return json.dumps({"qlog_version": "0.3", "traces": [trace]})


def pping_lines() -> str:
    """Return twelve samples of one inner host, from 2 to 13 ms, and nine of another, which are too few."""
    return "".join(
        json.dumps(
            {
                "timestamp": int(START_S) * 10**9 + n * 10**8, "src_ip": f"10.0.0.{host}", "src_port": 1,
                "dest_ip": "10.9.9.9", "dest_port": 443, "protocol": "TCP", "rtt": (2 + n) * 10**6,
                "min_rtt": 2 * 10**6, "sent_packets": 1, "sent_bytes": 1, "rec_packets": 1, "rec_bytes": 1,
                "match_on_egress": True,
            }
        )
        + "\n"
        for host, samples in ((1, 12), (2, 9))
        for n in range(samples)
    )  # fmt: skip


def recorded(repository: Path, name: str) -> Path:
    """Return a recorded result of iperf3."""
    return repository / "ingest" / "tests" / "series" / "recordings" / f"iperf3-{name}.json"


def rates_of_intervals(repository: Path, name: str) -> list[float]:
    """Return the rate in bit/s of each flow, in the file's order, from the bytes of iperf3's intervals."""
    flows: dict[int, list[dict[str, Any]]] = {}
    for interval in json.loads(recorded(repository, name).read_text())["intervals"]:
        for stream in interval["streams"]:
            flows.setdefault(stream["socket"], []).append(stream)
    return [sum(one["bytes"] for one in flow) * 8 / sum(one["seconds"] for one in flow) for flow in flows.values()]


def equality(first: float, second: float) -> float:
    """Return the flow-rate equality of two rates."""
    return 1 - second / first if first >= second else -1 + first / second


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, repository: Path, shared: Path) -> Iterator[Service]:
    """A service over flent files of two queues, as many of crusader, a qlog file, passive RTT, and real results."""
    folder = tmp_path_factory.mktemp("results")
    link = folder / "my-link"
    link.mkdir()
    for queue in LOADED_MS:
        for repetition in range(1, REPETITIONS + 1):
            (link / f"{queue}-{repetition}.flent.gz").write_bytes(flent_file(queue, repetition))
    others = folder / "others"
    others.mkdir()
    for queue in LOADED_MS:
        for repetition in range(1, REPETITIONS + 1):
            (others / f"{queue}-{repetition}.crr").write_bytes(crusader_file(queue, repetition))
    (others / "client.qlog").write_text(qlog_file())
    (others / "pping.json").write_text(pping_lines())
    controls = folder / "controls"
    controls.mkdir()
    (controls / "both.flent").write_text(controls_file({name: rates[0] for name, rates in OF_CONTROLS.items()}))
    for name, rates in OF_CONTROLS.items():
        (controls / f"{name}.flent").write_text(controls_file({name: rates[1]}))
    flows = folder / "flows"
    flows.mkdir()
    for name in IPERF3:
        (flows / f"{name}.json").write_bytes(recorded(repository, name).read_bytes())
    var = folder / "var"
    for arguments in (["ingest", *map(str, (link, others, controls, flows, shared / VOIP))], ["build"]):
        done = subprocess.run([SOJOURN, *arguments, "--var", str(var)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
    with serving(var) as running:
        yield running


def test_each_file_is_a_run_with_the_setting_of_its_title(results: Service) -> None:
    runs = results.rows("run", study_id="my-link")
    assert len(runs) == 2 * REPETITIONS
    assert {(run["study_id"], run["workload"], run["aqm"], run["bandwidth_bps"], run["rtt_ms"]) for run in runs} == {
        ("my-link", "tcp_upload", aqm, 10_000_000, 20.0) for aqm in ("tail-drop", "fq_codel")
    }
    assert sorted(run["run_number"] for run in runs) == sorted([*range(1, REPETITIONS + 1)] * 2)


def test_delay_before_and_under_load_is_what_was_planted(results: Service) -> None:
    by_run = {(row["aqm"], row["repetition"]): row for row in results.rows("run_load_delay", study_id="my-link")}
    assert len(by_run) == 2 * REPETITIONS
    for queue, aqm in (("pfifo", "tail-drop"), ("fq_codel", "fq_codel")):
        for repetition in range(1, REPETITIONS + 1):
            row = by_run[aqm, repetition]
            loaded = [rtt for time, rtt in pings(queue, repetition) if LOAD_START_S <= time <= LOAD_END_S]
            idle = [rtt for time, rtt in pings(queue, repetition) if time < LOAD_START_S]
            assert (row["loaded_samples"], row["idle_samples"]) == (len(loaded), len(idle))
            assert row["loaded_mean_ms"] == pytest.approx(sum(loaded) / len(loaded), abs=1e-6)
            assert row["loaded_median_ms"] == sorted(loaded)[(len(loaded) + 1) // 2 - 1]
            assert row["loaded_max_ms"] == max(loaded)
    rates = results.rows("run_load_rate", study_id="my-link")
    assert {(row["rate_bps"], row["flows"], row["rate_basis"]) for row in rates} == {
        (9_500_000.0, 1, "flent_uplink_intervals")
    }


def test_queue_settings_are_compared_with_an_interval(results: Service) -> None:
    answer = results.client.get(
        "/v1/comparisons/loaded_delay_median",
        params={"factor": "aqm", "baseline": "tail-drop", "study_id": "my-link"},
    ).json()
    (row,) = answer["rows"]
    assert (row["treatment"], row["treatment_n"], row["baseline_n"]) == ("fq_codel", REPETITIONS, REPETITIONS)
    planted = {
        queue: median(
            sorted(rtt for time, rtt in pings(queue, n) if LOAD_START_S <= time <= LOAD_END_S)[50]
            for n in range(1, REPETITIONS + 1)
        )
        for queue in LOADED_MS
    }
    assert row["effect"] == pytest.approx(planted["fq_codel"] - planted["pfifo"], abs=0.2)
    assert row["effect_lower"] <= row["effect"] <= row["effect_upper"] < 0
    # The mart holds the same comparison.
    (published,) = results.rows("comparison", metric="loaded_delay_median", study_id="my-link")
    assert published["effect"] == row["effect"]


def test_results_of_crusader_are_compared_alike(results: Service) -> None:
    delays = results.rows("run_load_delay", study_id="others", delay_basis="crusader_rtt_ms_samples")
    assert len(delays) == 2 * REPETITIONS
    for row in delays:
        queue = "pfifo" if row["aqm"] == "tail-drop" else "fq_codel"
        assert row["loaded_median_ms"] == pytest.approx(LOADED_MS[queue] + 3.8, abs=3)
        assert (row["idle_samples"], row["loaded_samples"]) == (25, 101)
    (rate,) = {(row["rate_bps"], row["rate_basis"]) for row in results.rows("run_load_rate", study_id="others")}
    assert rate == (pytest.approx(10e6), "crusader_downlink_intervals")
    params = {"factor": "aqm", "baseline": "tail-drop", "study_id": "others"}
    (row,) = results.client.get("/v1/comparisons/loaded_delay_median", params=params).json()["rows"]
    assert row["effect"] == pytest.approx(LOADED_MS["fq_codel"] - LOADED_MS["pfifo"], abs=3)
    assert row["effect_lower"] <= row["effect"] <= row["effect_upper"] < 0


def test_qlog_and_passive_rtt_are_connections_and_qlog_has_its_series(results: Service) -> None:
    counts = {(row["dataset"], row["outcome"]): row["connections"] for row in results.rows("connection_count")}
    assert counts["qlog-client", "counted"] == 1
    assert counts["pping-inside", "counted"] == 1
    # Nine samples are fewer than ten.
    (refused,) = [name for name in counts if name[0] == "pping-inside" and name[1] != "counted"]
    assert counts[refused] == 1
    (series,) = results.rows(
        "run_series", study_id="others", measurement="qlog", series_name="connection 1 client latest_rtt"
    )
    assert (series["series_metric"], series["unit"]) == ("rtt_ms", "ms")


@pytest.mark.parametrize(("name", "workload"), [("two", "iperf3_tcp streams=2"), ("ways", "iperf3_tcp bidir")])
def test_two_flows_of_one_test_have_shares_equality_and_harm_against_one_flow_alone(
    results: Service, repository: Path, name: str, workload: str
) -> None:
    first, second = rates_of_intervals(repository, name)
    (shared_link,) = results.rows("run_flow_rate_equality", study_id="flows", workload=workload)
    assert shared_link["start_order"] == "tcp_first"
    assert shared_link["flow_rate_equality"] == pytest.approx(equality(first, second), abs=1e-3)
    assert shared_link["tcp_link_share_ratio"] == pytest.approx(first / (first + second), abs=1e-3)
    assert shared_link["rival_link_share_ratio"] == pytest.approx(second / (first + second), abs=1e-3)
    assert shared_link["app_link_share_ratio"] is None
    # One flow alone that way, on the same link, is what each would have had.
    (up,), (down,) = rates_of_intervals(repository, "solo"), rates_of_intervals(repository, "solo-down")
    alone = {"tcp": up, "rival": down if name == "ways" else up}
    harms = {row["role"]: row for row in results.rows("run_harm", study_id="flows", workload=workload)}
    assert {role: (row["demand_runs"], row["harm_null_reason"]) for role, row in harms.items()} == {
        "tcp": (1, None), "rival": (1, None),
    }  # fmt: skip
    for role, rate in (("tcp", first), ("rival", second)):
        assert harms[role]["demand_bps"] == pytest.approx(alone[role], rel=1e-3)
        assert harms[role]["harm_ratio"] == pytest.approx((alone[role] - rate) / alone[role], abs=1e-3)


def test_flows_of_unlike_congestion_controls_are_each_judged_by_their_own(results: Service) -> None:
    harms = {row["role"]: row for row in results.rows("run_harm", study_id="controls")}
    for role, (control, (beside, alone)) in zip(("tcp", "rival"), OF_CONTROLS.items(), strict=True):
        row = harms[role]
        assert row["congestion_control"] == "bbr+cubic"
        assert f"/congestion_control={control}/" in row["demand_id"]
        assert (row["demand_bps"], row["demand_runs"], row["harm_null_reason"]) == (alone * 1e6, 1, None)
        assert row["harm_ratio"] == pytest.approx((alone - beside) / alone)


def test_series_by_second_are_those_of_the_file(results: Service) -> None:
    (run,) = results.rows("run", study_id="controls", congestion_control="bbr+cubic")
    rows = results.rows("run_series_over_time", study_id="controls", run_id=run["run_id"])
    drawn = {(row["flow_name"], row["second"]): row["value_mean"] for row in rows if row["series_metric"] == "rate_bps"}
    assert drawn == {
        (f"TCP upload::{place}", second): rates[0] * 1e6
        for place, rates in enumerate(OF_CONTROLS.values(), 1)
        for second in range(20)
    }


def test_one_flow_alone_is_no_shared_run(results: Service) -> None:
    runs = results.rows("run", study_id="flows", workload="iperf3_tcp")
    assert [run["start_order"] for run in runs] == ["solo", "solo"]
    assert results.rows("run_harm", study_id="flows", workload="iperf3_tcp") == []


def test_a_call_beside_an_upload_of_a_published_flent_file_has_shares(results: Service, shared: Path) -> None:
    document = json.loads(gzip.decompress((shared / VOIP).read_bytes()))
    upload = [raw for raw in document["raw_values"]["TCP upload"] if "dur" in raw]
    tcp_bps = sum(raw["val"] * raw["dur"] for raw in upload) * 1e6 / sum(raw["dur"] for raw in upload)
    # flent writes the bit rate of a call, which hardly changes, in kbit/s.
    app_bps = 1e3 * fmean(rate for rate in document["results"]["VoIP::bitrate"] if rate is not None)
    (row,) = results.rows("run_flow_rate_equality", application="voip")
    assert row["flow_rate_equality"] == pytest.approx(equality(app_bps, tcp_bps), abs=1e-5)
    assert row["app_link_share_ratio"] == pytest.approx(app_bps / (app_bps + tcp_bps), rel=0.01)
    assert row["rate_basis"] == "flent_both_interpolated and flent_uplink_intervals"
    reasons = {harm["role"]: harm["harm_null_reason"] for harm in results.rows("run_harm", application="voip")}
    assert reasons == {"app": "no selected solo run", "tcp": "no selected solo run"}
