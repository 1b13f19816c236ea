"""Values of result files that are none: markers of failures, impossible shares, ways and units that a name decides.

Right values are those that the tool's own lines state, or a computation that the test shows.
"""

from __future__ import annotations

import copy
import gzip
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from results import Tables, read
from tool_results import IPERF2, START_S, flent_document, iperf3

from sojourn_ingest.formats.interface import InputError

CASES = "data/cases"


def written(folder: Path, content: Any, name: str = "result") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def values(tables: Tables, name: str) -> list[float | None]:
    return [row["value"] for row in tables["series"] if row["series_name"] == name]


def of_metric(tables: Tables, metric: str) -> list[tuple[str, float | None]]:
    return [(row["series_name"], row["value"]) for row in tables["series"] if row["metric"] == metric]


# ---------------------------------------------------------------- iperf 2


def test_the_report_of_the_receiver_is_of_the_transfer_of_its_sender(shared: Path, tmp_path: Path) -> None:
    path = shared / CASES / "iperf2/iperf2_udp_2009.csv"
    with pytest.raises(InputError, match="put each test into a separate file") as caught:
        read(path)
    assert caught.value.reason == "several_results"
    lines = path.read_text().splitlines(keepends=True)
    for test, sent_bps, received_bps, jitter_ms in (
        (lines[:2], 999957, 1000047, 0.005),
        (lines[2:], 999964, 1000013, 0.010),
    ):
        # The receiver's line alone says UDP; it comes after, or before, or is all that there is.
        for order in (test, test[::-1]):
            _, tables, reading = read(written(tmp_path, "".join(order)))
            assert (reading.refused, reading.fault) == ({}, None)
            assert sorted(value for _, value in of_metric(tables, "rate_bps")) == [sent_bps, received_bps]
            assert {row["value"] for row in tables["series"] if row["metric"] == "jitter_ms"} == {jitter_ms}
            assert [value for _, value in of_metric(tables, "sent_packets")] == [87.0]
            assert {row["role"] for row in tables["series"]} == {"app"}
            # One flow, of which the other end's figures are a sum beside: they do not count twice.
            assert {row["flow_name"] for row in tables["series"]} == {"transfer 3"}
            bases = [row["sample_basis"] for row in tables["series"] if row["metric"] == "rate_bps"]
            assert sorted(bases) == ["intervals", "total"]
            (run,) = tables["run"]
            assert (run["workload"], run["application"]) == ("iperf2_udp", "udp")


UDP_LINE = "{time},10.0.0.1,{port},10.0.0.2,5001,{id},{a}-{b},125000,{bps}\n"
REPORT = "{time},10.0.0.2,5001,10.0.0.1,{port},{id},0.0-{b},250000,{bps},0.250,{lost},{packets},2.2,0\n"


def test_parallel_udp_with_intervals_and_reports_of_a_later_release(tmp_path: Path) -> None:
    text = "".join(
        UDP_LINE.format(time=20231114221320 + n, port=port, id=number, a=f"{n}.0", b=f"{n + 1}.0", bps=1_000_000 + n)
        for n in range(2)
        for number, port in ((3, 40000), (4, 40002))
    )
    # Reports are waited for, up to 2.5 s.
    text += "".join(
        REPORT.format(time=20231114221323, port=port, id=number, b="2.0", bps=990_000 + number, lost=lost, packets=170)
        for number, port, lost in ((3, 40000, 2), (4, 40002, 171))
    )
    _, tables, reading = read(written(tmp_path, text))
    assert reading.refused == {"lost_packets: above the number of packets": 1}
    assert values(tables, "transfer 3 rate_bps") == values(tables, "transfer 4 rate_bps") == [1_000_000, 1_000_001]
    assert of_metric(tables, "lost_packets") == [("transfer 3 receiver lost_packets", 2.0)]
    assert [value for _, value in of_metric(tables, "sent_packets")] == [170.0, 170.0]
    assert {row["role"] for row in tables["series"]} == {"app"}
    # A receiver that counted packets twice states a negative number.
    negative = REPORT.format(time=20231114221323, port=40000, id=3, b="2.0", bps=1, lost=-2, packets=170)
    _, tables, reading = read(written(tmp_path, negative))
    assert (of_metric(tables, "lost_packets"), reading.refused) == ([], {"lost_packets: below 0": 1})


def test_one_id_of_two_clients_is_two_transfers_and_a_later_test_is_refused(tmp_path: Path) -> None:
    other = IPERF2.replace("8.8.8.8,40000", "7.7.7.7,40000").replace("10000000", "5000000")
    _, tables, _ = read(written(tmp_path, IPERF2 + other))
    assert {row["flow_name"] for row in tables["series"]} == {"transfer 3", "transfer 3 of 2"}
    assert values(tables, "transfer 3 rate_bps")[0] == 1e7
    assert values(tables, "transfer 3 of 2 rate_bps")[0] == 5e6
    # Of one second each, two seconds apart: they did not compete.
    short = UDP_LINE.format(time=20231114221321, port=40000, id=3, a="0.0", b="1.0", bps=1)
    for apart_s, is_several in ((0, False), (1, False), (2, True)):
        text = short + UDP_LINE.format(time=20231114221321 + apart_s, port=40002, id=4, a="0.0", b="1.0", bps=1)
        if is_several:
            with pytest.raises(InputError, match="began at different times"):
                read(written(tmp_path, text))
        else:
            assert len(read(written(tmp_path, text))[1]["series"]) == 2
    for later in (
        other.replace("202311142213", "202311142214"),
        IPERF2.replace("202311142213", "202311150013"),
        # The other way after the first one (-r), ten seconds later, with a zone and a fraction.
        "+0000:20231114221330.5,9.9.9.9,40001,8.8.8.8,5001,4,0.0-1.0,1250000,10000000\n",
    ):
        with pytest.raises(InputError, match="began at different times"):
            read(written(tmp_path, IPERF2 + later))


def test_reports_that_a_server_dates_1970_are_of_one_transfer_each(tmp_path: Path) -> None:
    # iperf 2.1.8 -s -y C without -i: seconds apart or at once, they look the same.
    line = "19700101000000,10.0.0.1,{},10.0.0.2,5001,{},0.0-2.0,2500000,10000000\n"
    _, tables, reading = read(written(tmp_path, line.format(40000, 1)))
    assert (values(tables, "transfer 1 rate_bps"), reading.refused) == ([1e7], {})
    dated = "20261126084600,10.0.0.1,40002,10.0.0.2,5001,2,0.0-2.0,2500000,10000000\n"
    for other in (line.format(40002, 2), dated):
        for text in (line.format(40000, 1) + other, other + line.format(40000, 1)):
            with pytest.raises(InputError, match="several transfers without their start times") as caught:
                read(written(tmp_path, text))
            assert caught.value.reason == "several_results"


def test_an_interval_without_length_is_counted(tmp_path: Path) -> None:
    last = IPERF2.splitlines()[1].replace("1.0-2.0,1000000,8000000", "2.0-2.0,100,0")
    _, tables, reading = read(written(tmp_path, f"{IPERF2}{last}\n"))
    assert (reading.refused, reading.records_read) == ({"interval_without_length": 1}, 4)
    assert tables["series"] == read(written(tmp_path, IPERF2))[1]["series"]


# ---------------------------------------------------------------- speed tests

CLI: dict[str, Any] = {
    "download": 56_080_000.0, "upload": 35_370_000.0, "ping": 12.5, "bytes_sent": 44_000_000,
    "bytes_received": 70_000_000, "server": {"latency": 12.5}, "client": {"ip": "203.0.113.7"},
    "timestamp": "2023-11-14T22:13:20.000000Z",
}  # fmt: skip


def test_what_speedtest_cli_writes_for_a_failure_is_no_round_trip(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "bugs/speedtest_cli_ping_1800000.json")
    assert reading.refused == {"ping: what the tool writes for a failure": 1}
    assert of_metric(tables, "rate_bps") == [("download", 56_080_000.0), ("upload", 35_370_000.0)]
    assert of_metric(tables, "rtt_ms") == []
    assert tables.get("connection", []) == []
    # speedtest.py: round(sum / 6 * 1000, 3) of three requests of two round trips each, 3600 s for one that fails.
    for failed in (1, 2, 3):
        ping = round((3600 * failed + 0.05 * (3 - failed)) / 6 * 1000.0, 3)
        _, tables, reading = read(written(tmp_path, CLI | {"ping": ping}))
        assert (of_metric(tables, "rtt_ms"), sum(reading.refused.values())) == ([], 1)
    _, tables, reading = read(written(tmp_path, CLI))
    assert (of_metric(tables, "rtt_ms"), reading.refused, len(tables["connection"])) == ([("ping", 12.5)], {}, 1)


def test_siblings_of_failure_markers_in_other_speed_tests(tmp_path: Path) -> None:
    # Without a download: its 0 is no rate.
    _, tables, reading = read(written(tmp_path, CLI | {"download": 0, "bytes_received": 0}))
    assert of_metric(tables, "rate_bps") == [("upload", 35_370_000.0)]
    assert reading.refused == {"download: not tested": 1}
    # A line that carried nothing, although bytes were sent, stays.
    assert of_metric(read(written(tmp_path, CLI | {"upload": 0}))[1], "rate_bps")[1] == ("upload", 0.0)
    libre = {"timestamp": "2023-11-14T22:13:20Z", "ping": 0, "jitter": 0, "download": 50.0, "upload": 0,
             "bytes_received": 1, "bytes_sent": 0, "server": {}, "client": {"ip": "8.8.8.8"}}  # fmt: skip
    _, tables, reading = read(written(tmp_path, [libre]))
    assert (of_metric(tables, "rtt_ms"), of_metric(tables, "rate_bps")) == ([], [("download", 5e7)])
    assert reading.refused == {"ping: what the tool writes for a failure": 1, "upload: not tested": 1}
    ookla = {"type": "result", "isp": "x", "timestamp": "2023-11-14T22:13:20Z", "ping": {"latency": 0, "jitter": 1.0},
             "download": {"bandwidth": 100}, "upload": {"bandwidth": 100}, "packetLoss": 179.6}  # fmt: skip
    _, tables, reading = read(written(tmp_path, ookla))
    assert (of_metric(tables, "rtt_ms"), of_metric(tables, "other")) == ([], [])
    assert reading.refused == {"ping.latency: what the tool writes for a failure": 1, "packetLoss: not a share": 1}
    apple = {
        "dl_throughput": 1e7,
        "ul_throughput": 1e6,
        "base_rtt": 0,
        "responsiveness": 100,
        "il_h2_req_resp": [0, 30],
    }
    _, tables, reading = read(written(tmp_path, apple))
    assert (of_metric(tables, "rtt_ms"), of_metric(tables, "http_latency_ms")) == ([], [("il_h2_req_resp", 30.0)])
    assert sum(reading.refused.values()) == 2


# ---------------------------------------------------------------- iperf3


def ways(tables: Tables) -> dict[str, set[str | None]]:
    """Return the ways of each sum at the end."""
    directions: dict[str, set[str | None]] = {}
    for row in tables["series"]:
        if row["series_name"].startswith("end sum"):
            directions.setdefault(row["series_name"].split()[1], set()).add(row["direction"])
    return directions


UP = {name: {"uplink"} for name in ("sum_sent", "sum_received", "sum")}
DOWN = {f"{name}_bidir_reverse": {"downlink"} for name in UP}


def test_the_name_of_a_sum_of_udp_decides_its_way(shared: Path, tmp_path: Path) -> None:
    both = shared / CASES / "iperf3/iperf3_3.22_udp_bidir_P2.json"
    _, tables, _ = read(both)
    assert ways(tables) == UP | DOWN
    # Uplink: sockets 6 and 8, 418 packets each; downlink: 10 and 12, whose jitters' mean is stated.
    assert (
        values(tables, "end sum_received packets")
        == values(tables, "end sum_received_bidir_reverse packets")
        == [836.0]
    )
    assert values(tables, "end sum_received_bidir_reverse jitter_ms")[0] == pytest.approx(
        (0.00832387 + 0.02766375) / 2, 1e-6
    )
    # The sender's own sum has 0 for what only the receiver knows.
    assert values(tables, "end sum_sent jitter_ms") == []
    _, tables, _ = read(shared / CASES / "iperf3/udp_up.json")
    assert ways(tables) == UP
    document = json.loads(both.read_text())
    for interval in document["intervals"]:
        for name in ("sum", "sum_bidir_reverse"):
            interval[name].pop("sender")
    # Before 3.7 nothing says who sends but the names, in any order of the keys.
    document["end"] = dict(reversed(document["end"].items()))
    assert ways(read(written(tmp_path, document))[1]) == UP | DOWN
    up = json.loads((shared / CASES / "iperf3/udp_up.json").read_text())
    for reverse, server, way in ((1, False, "downlink"), (0, True, "uplink"), (1, True, "downlink")):
        changed = copy.deepcopy(up)
        changed["start"]["test_start"]["reverse"] = reverse
        for interval in changed["intervals"]:
            interval["sum"]["sender"] = bool(reverse) == server
        if server:
            changed["start"]["accepted_connection"] = changed["start"].pop("connecting_to")
        assert ways(read(written(tmp_path, changed))[1]) == {name: {way} for name in UP}


def test_more_lost_than_sent_and_a_round_trip_of_zero_are_refused(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "bugs/iperf3_udp_lost_percent_179.json")
    # Of the interval, of the stream and of the sum at the end.
    assert reading.refused == {"lost_packets: above the number of packets": 3}
    assert of_metric(tables, "lost_packets") == []
    assert values(tables, "stream 5 bits_per_second") == [11_584_000.0]
    for lost, refused in (
        (90, {}),
        (91, {"lost_packets: above the number of packets": 1}),
        (-1, {"lost_packets: below 0": 1}),
    ):
        content = iperf3()
        content["start"]["test_start"]["protocol"] = "UDP"
        stream = {"socket": 5, "end": 1.0, "seconds": 1.0, "bits_per_second": 1e6, "packets": 90, "lost_packets": lost}
        _, tables, reading = read(written(tmp_path, content | {"intervals": [{"streams": [stream]}], "end": {}}))
        assert reading.refused == refused
        assert [value for _, value in of_metric(tables, "lost_packets")] == ([] if refused else [90.0])
    content = iperf3()
    content["intervals"][0]["streams"][0]["rtt"] = 0
    _, tables, reading = read(written(tmp_path, content))
    assert 0.0 not in [value for _, value in of_metric(tables, "srtt_ms")]
    assert reading.refused["srtt_ms: 0, no round trip was measured"] >= 1


# ---------------------------------------------------------------- dates


@pytest.mark.parametrize("start_s", [0, 51_234, 31_536_000])
def test_every_reader_gives_no_date_of_a_clock_that_was_never_set(tmp_path: Path, start_s: int) -> None:
    content = iperf3()
    content["start"]["timestamp"]["timesecs"] = start_s
    flent = json.loads(json.dumps(flent_document()))
    flent["raw_values"]["qdisc_stats_router"] = [{"t": START_S, "dropped": 1}]
    for raw in flent["raw_values"].values():
        for value in raw:
            value["t"] += start_s - START_S
    flent["metadata"] |= {"T0": "1970-01-01T00:00:10.000000Z", "TIME": "1970-01-01T00:00:10.000000Z"}
    for document, name in (
        (content, "iperf3"),
        (flent, "flent"),
        (CLI | {"timestamp": "1970-01-02T00:00:00Z"}, "speed_test"),
    ):
        form, tables, reading = read(written(tmp_path, document))
        assert form == name
        assert {row["time_ns"] for row in tables["series"]} == {None} == {row["start_ns"] for row in tables["run"]}
        assert tables.get("connection", []) == [] == tables.get("queue_counter", [])
        assert reading.refused.get("queue_poll_without_date", 0) == int(name == "flent")
        if name != "speed_test":
            assert reading.refused["clock_not_set"] == 1
            assert any(row["time_s"] is not None for row in tables["series"])


# ---------------------------------------------------------------- flent


def test_a_series_whose_name_says_fairness_index_or_ratio_is_no_rate(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "probes.flent.gz"
    monkeypatch.setattr(sys, "argv", ["make", str(path)])
    runpy.run_path(str(shared / CASES / "make_flent_probes.py"))
    _, tables, _ = read(path)
    fairness = [row for row in tables["series"] if row["series_name"] == "TCP upload fairness"]
    # Jain's index of 9, 4, 2 and 1: 16^2 / (4 * (81 + 16 + 4 + 1)).
    assert {row["value"] for row in fairness} == {round(256 / 408, 6)}
    assert {(row["metric"], row["unit"]) for row in fairness} == {("other", None)}
    document = json.loads(gzip.decompress(path.read_bytes()))
    for name in ("TCP totals ratio", "Jain Index", "TCP download Fairness"):
        renamed = json.loads(json.dumps(document).replace("TCP upload fairness", name))
        _, tables, _ = read(written(tmp_path, renamed))
        rows = [row for row in tables["series"] if row["series_name"] == name]
        assert {(row["metric"], row["unit"], row["value"]) for row in rows} == {("other", None, round(256 / 408, 6))}
    # A host's name says nothing of the unit.
    renamed = json.loads(json.dumps(document).replace("192.0.2.10 ", "index-host "))
    assert {
        row["metric"] for row in read(written(tmp_path, renamed))[1]["series"] if "index" in row["series_name"]
    } == {"rtt_ms"}


def test_a_test_of_several_congestion_controls_names_each_flow_its_own(shared: Path, tmp_path: Path) -> None:
    (path,) = (shared / CASES / "flent").glob("dtaht__tcp_4up_squarewave*")
    _, tables, reading = read(path)
    assert {row["flow_name"]: row["congestion_control"] for row in tables["series_flow"]} == {
        "TCP bbr 1": "bbr", "TCP cubic 2": "cubic", "TCP cubic 3": "cubic", "TCP bbr 4": "bbr",
    }  # fmt: skip
    assert ([run["congestion_control"] for run in tables["run"]], reading.refused) == (["bbr+cubic"], {})
    document = flent_document()
    document["metadata"] = document["metadata"] | {"SYSCTLS": {"net.ipv4.tcp_congestion_control": "bbr"}}
    renames: tuple[tuple[str, dict[str, Any], str | None], ...] = (
        ("TCP upload reno", {}, "reno"),
        ("TCP upload BBR::1", {}, "bbr"),
        # Words beside: classes of traffic are no algorithms.
        ("TCP upload BE", {}, "bbr"),
        ("TCP upload", {"cc_algos": "cubic,bbr,cubic"}, "bbr+cubic"),
        ("TCP upload", {"tcp_cong_control": "vegas"}, "vegas"),
    )
    for name, parameters, expected in renames:
        changed = json.loads(json.dumps(document).replace("TCP upload", name))
        for series in changed["metadata"].get("SERIES_META", {}).values():
            series.pop("CONG_CONTROL", None)
        changed["metadata"]["TEST_PARAMETERS"] = parameters
        _, tables, _ = read(written(tmp_path, changed))
        assert tables["run"][0]["congestion_control"] == expected, name
