"""flent data files: every series, on its own times and in one unit, and the run that a file is."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results import KEY, Tables, damaged, is_refused_or_read, read
from tool_results import START_S, flent_document

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import InputError

FACTORS = {"Mbits/s": 1e6, "Kbits/s": 1e3}


def written(folder: Path, content: Any, name: str = "a.flent") -> Path:
    """Write a data file as flent does."""
    path = folder / name
    path.write_text(json.dumps(content, indent=1, sort_keys=True))
    return path


def series(tables: Tables, name: str, basis: str) -> list[dict[str, Any]]:
    """Return the values of one series, by their own order."""
    rows = [row for row in tables["series"] if (row["series_name"], row["sample_basis"]) == (name, basis)]
    return sorted(rows, key=lambda row: row["sample_number"])


def test_every_series_has_its_own_times_and_the_units_of_the_lake(tmp_path: Path) -> None:
    _, tables, reading = read(written(tmp_path, flent_document()))
    assert (reading.records_read, reading.refused, reading.fault) == (5, {}, None)
    pings = series(tables, "Ping (ms) ICMP", "samples")
    assert [(row["time_s"], row["value"]) for row in pings] == [(float(n), 20.0 + n) for n in range(10)]
    assert pings[3]["time_ns"] == 1_700_000_003_000_000_000
    assert {(row["metric"], row["unit"], row["role"], row["direction"]) for row in pings} == {
        ("rtt_ms", "ms", "probe", None)
    }
    rates = series(tables, "TCP upload", "intervals")
    assert [(row["time_s"], row["duration_s"], row["value"]) for row in rates] == [
        (5.0 + n, 1.0, 2_070_000.0) for n in range(3)
    ]
    assert {(row["metric"], row["flow_name"], row["direction"]) for row in rates} == {
        ("rate_bps", "TCP upload", "uplink")
    }
    (poll,) = series(tables, "TCP upload::tcp_rtt", "polls")
    assert (poll["metric"], poll["flow_name"], poll["value"]) == ("srtt_ms", "TCP upload", 25.5)
    # What flent computed of other series is of no flow, so that a sum over flows does not count it twice.
    (average,) = series(tables, "TCP upload avg", "interpolated")
    assert (average["flow_name"], average["time_s"], average["value"]) == (None, 4.0, 2_070_000.0)
    (mean,) = series(tables, "Ping (ms) ICMP", "total")
    assert (mean["value"], mean["time_ns"]) == (24.5, None)


def test_a_name_of_many_parts_takes_no_square_of_their_number(tmp_path: Path) -> None:
    content = flent_document()
    content["results"]["TCP 1" + ":" * 200_000] = content["results"]["TCP upload"]
    started = time.process_time()
    _, _, reading = read(written(tmp_path, content))
    assert reading.records_read == 6
    assert time.process_time() - started < 5


def test_a_file_is_a_run_of_its_folder_with_the_setting_of_its_title(tmp_path: Path) -> None:
    folder = tmp_path / "my-link"
    folder.mkdir()
    _, tables, _ = read(written(folder, flent_document()))
    (run,) = tables["run"]
    expected = {
        "study_id": "my-link", "workload": "tcp_upload ecn=on", "direction": "uplink", "bandwidth_bps": 2_000_000,
        "rtt_ms": 20.0, "aqm": "fq_codel", "queue_discipline": "fq_codel", "congestion_control": "cubic",
        "application": None, "start_order": "solo", "repetition": 3, "start_ns": 1_700_000_000_000_000_000,
    }  # fmt: skip
    assert {name: run[name] for name in expected} == expected
    assert run["run_id"].startswith("flent-tcp_upload-")
    (bound,) = tables["run_source"]
    assert (bound["run_id"], bound["measurement"], len(bound["measurement_hash"])) == (run["run_id"], "flent", 64)
    # Beside a manifest it is one of the manifest's measurements.
    (folder / "manifest.json").write_text("{}")
    _, tables, _ = read(folder / "a.flent")
    assert "run" not in tables
    assert "run_source" not in tables
    assert tables["series"]


def test_each_flow_has_the_congestion_control_that_its_sender_reported(tmp_path: Path) -> None:
    content = flent_document()
    rates = content["raw_values"]["TCP upload"]
    content["raw_values"] |= {"TCP upload::1": rates, "TCP upload::2": rates}
    content["results"] |= {"TCP upload::1": [None, 2.07], "TCP upload::2": [None, 2.07]}
    of_series = content["metadata"]["SERIES_META"]
    of_series["TCP upload::1"] = {"UNITS": "Mbits/s", "CONG_CONTROL": "cubic"}
    of_series["TCP upload::2"] = {"UNITS": "Mbits/s", "CONG_CONTROL": "BBR"}
    of_series["TCP upload avg"]["CONG_CONTROL"] = "cubic"  # of no flow
    of_series["Ping (ms) ICMP"]["CONG_CONTROL"] = "$(reboot)"  # of no TCP flow, and no name
    _, tables, _ = read(written(tmp_path, content))
    controls = [(row["flow_name"], row["congestion_control"]) for row in tables["series_flow"]]
    assert controls == [("TCP upload::1", "cubic"), ("TCP upload::2", "bbr")]
    # The run has both.
    assert tables["run"][0]["congestion_control"] == "bbr+cubic"


def test_what_a_file_does_not_say_is_unknown(tmp_path: Path) -> None:
    content = flent_document()
    content["metadata"] |= {"TITLE": "evening", "SYSCTLS": None}
    (run,) = read(written(tmp_path, content))[1]["run"]
    assert (run["aqm"], run["rtt_ms"], run["bandwidth_bps"], run["congestion_control"]) == ("unknown", None, None, None)
    # A title that names nothing still tells one setting from another.
    assert run["workload"] == "tcp_upload evening"


def test_a_queue_in_a_shaper_is_the_bottleneck(tmp_path: Path) -> None:
    content = flent_document()
    shaped = [{"name": "tbf", "params": {"rate": "10Mbit"}}, {"name": "pie", "params": {}}]
    content["metadata"] |= {
        "TITLE": "", "EGRESS_INFO": {"qdiscs": [{"name": "fq", "params": {}}]},
        "REMOTE_METADATA": {"router": {"EGRESS_INFO": {"qdiscs": shaped}, "INGRESS_INFO": None}},
    }  # fmt: skip
    (run,) = read(written(tmp_path, content))[1]["run"]
    assert (run["aqm"], run["bandwidth_bps"]) == ("pie", 10_000_000)


def test_rates_and_round_trips_below_zero_are_refused(tmp_path: Path) -> None:
    content = flent_document()
    content["results"]["TCP upload avg"] = [None, -5]
    content["raw_values"]["Ping (ms) ICMP"][3]["val"] = -0.5
    content["raw_values"]["TCP upload"][0]["val"] = -2.07
    content["metadata"]["SERIES_META"]["Ping (ms) ICMP"]["MEAN_VALUE"] = -24.5
    _, tables, reading = read(written(tmp_path, content))
    assert min(row["value"] for row in tables["series"]) > 0
    assert reading.refused == {"rtt_ms: below 0": 2, "rate_bps: below 0": 2, "series_without_values": 1}
    assert [len(series(tables, "Ping (ms) ICMP", basis)) for basis in ("samples", "total")] == [9, 0]


def test_names_of_clients_and_public_addresses_are_not_kept(tmp_path: Path) -> None:
    content = flent_document()
    names = [
        "ping annas-laptop ICMP",
        "Ping 8.8.8.8",
        "Ping 2001:4860:4860::8888",
        "Ping 192.168.1.1",
        "a.example.org",
        # Parts of a series' name beside an address, and parts that look like one.
        "Ping::8.8.8.8::10",
        "Ping::2001:4860:4860::8844::10",
        "TCP upload::10::1",
    ]
    content["results"] |= {name: [1.0, 2.0] for name in names}
    content["raw_values"] |= {
        "qdisc_stats_annas-laptop": [{"t": START_S, "dropped": 1, "sent_bytes": 10}],
        "wifi_stats_router": [{"t": START_S, "stations": {"8c:70:5a:ff:6e:14": {"airtime_tx": 1.0}}}],
    }
    content["results"]["wifi_stats_router::stations::8c:70:5a:ff:6e:14::airtime_tx"] = [1.0, 2.0]
    content["metadata"]["TITLE"] = "from annas-laptop to 8.8.4.4"
    _, tables, _ = read(written(tmp_path, content))
    text = json.dumps(tables)
    for name in ("annas-laptop", "8.8.8.8", "8.8.4.4", "4860", "example.org", "8c:70"):
        assert name not in text
    assert "192.168.1.1" in text
    assert "TCP upload::10::1" in text
    assert Pseudonymiser(KEY).keys("8.8.4.4")[0] in tables["run"][0]["workload"]
    assert tables["queue_counter"][0]["device"].startswith("hk-")


@pytest.mark.parametrize(
    ("version", "name", "raw", "value"),
    [
        (3, "Ping (ms) UDP BE1", {"dur": 0.2, "val": 50.0}, 20.0),
        (4, "Ping (ms) UDP BE1", {"dur": 0.2, "val": 50.0}, 50.0),
        (3, "HTTP latency", {"val": 0.5}, 500.0),
        (4, "HTTP latency", {"val": 500.0}, 500.0),
    ],
)
def test_raw_values_of_older_versions_are_converted_as_flent_does(
    tmp_path: Path, version: int, name: str, raw: dict[str, float], value: float
) -> None:
    content = flent_document(version=version, results={name: [1.0]}, raw_values={name: [{"t": START_S} | raw]})
    content["metadata"]["SERIES_META"] = {name: {"UNITS": "ms"}}
    (row,) = read(written(tmp_path, content))[1]["series"]
    assert row["value"] == value


def test_version_1_without_raw_values_gives_what_flent_interpolated(tmp_path: Path) -> None:
    content = flent_document(version=1, raw_values={})
    content["metadata"]["T0"] = "2023-11-14T23:13:20"
    _, tables, _ = read(written(tmp_path, content))
    rows = series(tables, "TCP upload", "interpolated")
    # The zone of an old file's times is not known.
    assert [(row["time_s"], row["time_ns"], row["flow_name"]) for row in rows] == [(4.0, None, "TCP upload")]
    content["metadata"]["SERIES_META"]["TCP upload"]["RAW_VALUES"] = [{"t": START_S + 5, "val": 2.0}]
    _, tables, _ = read(written(tmp_path, content))
    assert [row["value"] for row in series(tables, "TCP upload", "samples")] == [2_000_000.0]


def test_what_cannot_be_read_is_refused_for_a_reason(tmp_path: Path) -> None:
    # A later version is read as the last one, unless it lacks what that has.
    newer, without_results = flent_document(version=5), flent_document(version=5)
    del without_results["results"]
    assert read(written(tmp_path, newer))[1]["series"] == read(written(tmp_path, flent_document()))[1]["series"]
    for content, reason in (
        (without_results, "unsupported_version"),
        (flent_document(version="4"), "corrupt_record"),
        (flent_document(results={}, raw_values={}), "no_measurement"),
        (flent_document(results={"TCP upload": [None, None]}, raw_values={}), "no_measurement"),
    ):
        with pytest.raises(InputError) as caught:
            read(written(tmp_path, content))
        assert caught.value.reason == reason
    content = flent_document()
    content["raw_values"]["Ping (ms) ICMP"] += [{"t": START_S, "val": value} for value in ("1", None, 10**400, True)]
    _, tables, reading = read(written(tmp_path, content))
    assert reading.refused == {"series_value: not a number": 3}
    assert len(series(tables, "Ping (ms) ICMP", "samples")) == 10


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    text = json.dumps(flent_document(), sort_keys=True).encode()
    path = tmp_path / "a.flent"
    for length in range(0, len(text), 7):
        path.write_bytes(text[:length])
        assert not is_refused_or_read(path), length


def test_a_file_whose_compressed_stream_is_cut_is_refused(tmp_path: Path) -> None:
    stored = gzip.compress(json.dumps(flent_document(), sort_keys=True).encode())
    path = tmp_path / "a.flent.gz"
    path.write_bytes(stored)
    assert is_refused_or_read(path)
    for length in (len(stored) - 9, len(stored) // 2, 30, 12):
        path.write_bytes(stored[:length])
        assert not is_refused_or_read(path), length


def test_a_wrong_value_anywhere_is_refused_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.flent"
    for content in damaged(flent_document()):
        path.write_text(json.dumps(content, sort_keys=True))
        is_refused_or_read(path)


# ---------------------------------------------------------------- flent itself as the judge


def stated(flent: Path, path: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Return what flent's formatter prints of each series: figure and unit, by name."""
    shown = subprocess.run([flent, "-f", "stats", path], check=True, capture_output=True, text=True).stdout
    figures: dict[str, dict[str, tuple[str, str]]] = {}
    name = ""
    for line in shown.splitlines():
        if (heading := re.match(r"^ (\S.*):$", line)) is not None:
            name = heading[1]
        elif (figure := re.match(r"^  (Min|Median|99th %|Max|Mean):\s+(\S+) ?(\S*)", line)) is not None:
            figures.setdefault(name, {})[figure[1]] = (figure[2], figure[3])
    return figures


@pytest.mark.integration
@pytest.mark.parametrize("name", ["http-1up", "rrul", "rrul-icmp", "tcp_nup", "voip-1up"])
def test_figures_equal_those_that_flent_prints(shared: Path, flent: Path, name: str) -> None:
    path = shared / "data" / "public" / "tohojo__flent" / "unittests" / "test_data" / f"test-{name}.flent.gz"
    _, tables, reading = read(path)
    assert reading.fault is None
    printed = stated(flent, path)
    values: dict[str, dict[str, list[float]]] = {}
    for row in tables["series"]:
        values.setdefault(row["series_name"], {}).setdefault(row["sample_basis"], []).append(row["value"])
    # It prints nothing of a series whose mean is 0.
    assert {name for name, of_series in values.items() if any(map(any, of_series.values()))} == set(printed)
    compared = 0
    for series_name, figures in printed.items():
        of_series = values[series_name]
        measured = next((values for basis, values in of_series.items() if basis not in ("interpolated", "total")), [])
        own = of_series.get("interpolated", measured)
        for figure, (text, unit) in figures.items():
            factor = FACTORS.get(unit, 1.0)
            sample = np.array([value / factor for value in own])
            computed = {
                "Min": sample.min(), "Max": sample.max(), "Median": np.median(sample),
                "99th %": np.percentile(sample, 99),
                "Mean": of_series["total"][0] / factor if "total" in of_series else np.mean(sample),
            }[figure]  # fmt: skip
            assert f"{computed:.6f}" == text, (series_name, figure)
            compared += 1
    assert compared >= 5 * len(printed) - 3
