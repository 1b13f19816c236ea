"""What a run does, and how it reaches the guest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sojourn_testbed.backend.qemu import archive
from sojourn_testbed.cells import blocks
from sojourn_testbed.plan import Application, Plan
from sojourn_testbed.specification import BOTTLENECK, OPPOSITE, ends_ms, flows, queues_of, specification, starts_ms


def plan(**changed: Any) -> Plan:
    axes = {"queue": ["cake"], "rate_mbps": [1], "start_order": ["app_first", "tcp_first"]}
    return Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes} | changed)


def test_the_second_flow_starts_later_by_a_spread_of_the_run() -> None:
    planned = plan()
    seconds = set()
    for block in blocks(planned):
        for run in block:
            app_ms, tcp_ms = starts_ms(planned, run)
            if run.cell.start_order == "solo":
                assert {app_ms, tcp_ms} == {0, None}
            else:
                first, second = (app_ms, tcp_ms) if run.cell.start_order == "app_first" else (tcp_ms, app_ms)
                assert first == 0
                assert second is not None
                assert 5000 <= second <= 5500
                seconds.add(second)
    assert len(seconds) > 5


def test_every_flow_has_a_sender_and_every_run_its_recording(tmp_path: Path) -> None:
    planned = plan(rate_steps=[{"at_s": 20, "rate_mbps": 0.5}])
    for run in blocks(planned)[0]:
        described = specification(planned, run)
        names = {one["name"] for one in described["processes"]}
        assert {"capture_before", "capture_after", "queue_polls"} <= names
        roles = {flow["role"] for flow in flows(planned, run, tmp_path)}
        assert ("app_sender" in names) == ("app" in roles)
        assert ("tcp_client" in names) == ("tcp" in roles)
        (step,) = described["steps"]
        assert step["at_ms"] == 20_000
        assert "500000bit" in step["argv"]


def test_the_binary_log_begins_before_the_queue_does() -> None:
    for form, names in (("text", []), ("binary", ["queue_record"]), ("both", ["queue_record"])):
        planned = plan(queue_log=form)
        described = specification(planned, blocks(planned)[0][0])
        assert [one["name"] for one in described["probes"]] == names
        for one in described["probes"]:
            assert one["argv"][-1] == "queue.qmon"
            assert one["ready"]
        assert not {one["name"] for one in described["processes"]} & set(names)
        assert (planned.has_text_log, planned.has_binary_log) == (form != "binary", form != "text")


def test_a_step_of_the_round_trip_time_changes_both_ways_to_half_of_it() -> None:
    planned = plan(rtt_steps=[{"at_s": 7, "rtt_ms": 90}], uplink_mbps=2)
    described = specification(planned, blocks(planned)[0][0])
    assert [step["at_ms"] for step in described["steps"]] == [7000, 7000]
    added = [one["argv"] for one in described["setup"] if "netem" in one["argv"]]
    for before, step, device in zip(added, described["steps"], ("ifb0", "ifb1"), strict=True):
        after = step["argv"]
        assert (before.count("add"), after.count("change"), after.count("45ms"), device in after) == (1, 1, 1, True)
        # The rate of the way back stays.
        assert before[before.index("limit") :] == after[after.index("limit") :]


def test_hosts_ask_for_ecn_if_the_plan_says_so_and_the_manifest_has_it() -> None:
    axes = {"queue": [{"discipline": "codel", "ecn": True}], "rate_mbps": [1], "ecn": ["none", "classic"]}
    planned = plan(axes=axes, solo=False)
    hosts_with_ecn = {}
    for run in blocks(planned)[0]:
        words = [word for command in specification(planned, run)["setup"] for word in command["argv"]]
        hosts_with_ecn[run.cell.ecn] = words.count("net.ipv4.tcp_ecn=1")
    assert hosts_with_ecn == {"none": 0, "classic": 2}


def test_the_archive_is_what_cpio_reads() -> None:
    files = {"job/job.json": b"{}", "job/0000.json": b"abc"}
    packed = archive(files)
    assert len(packed) % 512 == 0
    listed = subprocess.run(["cpio", "-t", "--quiet"], input=packed, capture_output=True, check=True).stdout
    assert listed.decode().split() == ["job", "job/0000.json", "job/job.json"]


ACCESS = {
    "links": {"downlink_mbps": 16, "uplink_mbps": 1},
    "axes": {
        "queue": [{"discipline": "tail-drop", "size_packets": 64}],
        "workload": ["noBG", "short-many"],
        "congested": ["downstream", "upstream", "both"],
        "application": ["voice"],
    },
    "solo": False,
}


def named(described: dict[str, Any], name: str) -> list[str]:
    (argv,) = (one["argv"] for one in described["processes"] if one["name"] == name)
    return list(argv)


def test_both_directions_have_the_queue_at_their_own_rate() -> None:
    planned = plan(**ACCESS)
    for run in blocks(planned)[0]:
        assert queues_of(run) == [BOTTLENECK, OPPOSITE]
        commands = [" ".join(one["argv"]) for one in specification(planned, run)["setup"]]
        for device, rate in ((BOTTLENECK, 16_000_000), (OPPOSITE, 1_000_000)):
            (shaper,) = (words for words in commands if f"dev {device} root" in words)
            assert f"tbf rate {rate}bit" in shaper
            (child,) = (words for words in commands if f"dev {device} parent b0:1" in words)
            assert child.endswith("pfifo limit 64")


def test_background_traffic_goes_the_directions_that_are_congested(tmp_path: Path) -> None:
    planned = plan(**ACCESS)
    listed = {"flows": [{"local_port": port} for port in (40_100, 40_102, 40_100, 0)]}
    for direction in ("downlink", "uplink"):
        (tmp_path / f"background_{direction}.json").write_text(json.dumps(listed))
    seen = {}
    for run in blocks(planned)[0]:
        described = specification(planned, run)
        clients = {one["name"] for one in described["processes"]} & {"background_downlink", "background_uplink"}
        seen[run.cell.congested] = clients
        declared = [flow for flow in flows(planned, run, tmp_path) if flow["role"] == "tcp"]
        # Only flows whose data pass the bottleneck (here the downlink) are TCP of the run: from the server, by port.
        assert [(flow["src"], flow["sport"], flow["dport"]) for flow in declared] == (
            [("10.0.1.2", 5301, 40_100), ("10.0.1.2", 5301, 40_102)] if "background_downlink" in clients else []
        )
        for name, direction in (("background_downlink", "16"), ("background_uplink", "1")):
            if name in clients:
                words = named(described, name)
                assert f"-sessions={direction}" in words
                assert ("-upload" in words) == (name == "background_uplink")
                assert words[:4] == ["ip", "netns", "exec", "c"], "the home is behind the bottleneck"
    assert seen == {
        "none": set(),
        "downstream": {"background_downlink"},
        "upstream": {"background_uplink"},
        "both": {"background_downlink", "background_uplink"},
    }


def test_on_the_uplink_the_home_is_where_the_packets_of_the_bottleneck_come_from(tmp_path: Path) -> None:
    axes = ACCESS["axes"] | {"direction": ["uplink"], "workload": ["long-many"], "congested": ["upstream"]}
    planned = plan(**ACCESS | {"axes": axes})
    (tmp_path / "background_uplink.json").write_text(json.dumps({"flows": [{"local_port": 40_100}]}))
    (run,) = blocks(planned)[0]
    assert (run.cell.rate_mbps, run.cell.opposite_mbps) == (1, 16)
    assert named(specification(planned, run), "background_uplink")[3] == "s"
    (tcp, voice) = flows(planned, run, tmp_path)
    assert (tcp["src"], tcp["sport"], tcp["dport"]) == ("10.0.1.2", 40_100, 5301)
    assert (voice["src"], voice["dst"]) == ("10.0.1.3", "10.0.2.3")


@pytest.mark.parametrize("application", ["voice", "video", "web", "web-parallel", "streaming", "webrtc", "clip"])
def test_each_application_has_both_ends_and_declares_its_flows(application: Application, tmp_path: Path) -> None:
    axes = {"queue": ["codel"], "rate_mbps": [2], "application": [application], "rival": [application]}
    (tmp_path / "clip.ts").write_bytes(b"")
    clip = {"clip": tmp_path / "clip.ts", "snap_length_bytes": 1514} if application == "clip" else {}
    planned = plan(axes=axes, solo=False, timing={"second_end_s": 20}, **clip)
    (run,) = blocks(planned)[0]
    described = specification(planned, run)
    for role in ("app", "rival"):
        (tmp_path / f"{role}_client.json").write_text(json.dumps({"local_ports": [50_000, 50_002]}))
        (tmp_path / f"{role}_sender.json").write_text(json.dumps({"ssrc": 7, "payload_type": 96}))
    processes = {one["name"]: one for one in described["processes"]}
    for role in ("app", "rival"):
        assert {f"{role}_server", f"{role}_client"} <= processes.keys() or {
            f"{role}_sender",
            f"{role}_receiver",
        } <= processes.keys()
    declared = flows(planned, run, tmp_path)
    assert {flow["role"] for flow in declared} == {"app", "rival"}
    assert {flow["src"] for flow in declared} == {"10.0.1.3", "10.0.1.4"}
    assert all(flow["app"] == application for flow in declared)
    # The second ends before the run does; the first goes on.
    ends = {
        role: [word for name, one in processes.items() if name.startswith(role) for word in one["argv"]]
        for role in ("app", "rival")
    }
    assert any("{ns:31000}" in word or "-duration-s=31" in word for word in ends["app"])
    assert not any("{ns:31000}" in word for word in ends["rival"])


def test_what_is_read_as_the_run_s_quality_is_that_of_the_application_alone() -> None:
    for application, file in (("web", "page_loads.jsonl"), ("webrtc", "get_stats.jsonl")):
        axes = {"queue": ["codel"], "rate_mbps": [2], "application": [application], "rival": [application]}
        planned = plan(axes=axes, solo=False)
        logs = [
            word.removeprefix("-log=")
            for one in specification(planned, blocks(planned)[0][0])["processes"]
            for word in one["argv"]
            if word.startswith("-log=")
        ]
        assert logs.count(file) == 1
        assert len(set(logs)) == len(logs)


def test_ping_runs_beside_the_application_and_leaves_the_idle_one_its_own_file() -> None:
    planned = plan(ping_interval_ms=200)
    described = specification(planned, blocks(planned)[0][0])
    (ping,) = (one for one in described["processes"] if one["name"] == "ping")
    assert ping["output"] == "ping.txt"
    assert {"-D", "0.2", "31"} <= set(ping["argv"])
    assert {one["output"] for one in described["setup"] if "ping" in one["argv"]} == {"ping_idle.txt"}


def test_recording_goes_on_until_the_fullest_queue_is_empty_and_the_hosts_are_silent() -> None:
    axes = ACCESS["axes"] | {"queue": [{"discipline": "tail-drop", "size_packets": 256}]}
    planned = plan(**ACCESS | {"axes": axes})
    for run in blocks(planned)[0]:
        described = specification(planned, run)
        silenced = [one for one in described["steps"] if one["argv"][-3:] == ["route", "del", "default"]]
        if run.cell.has_background:
            # 256 frames of 1514 bytes at 1 Mbit/s take 3.1 s.
            assert described["drain_ms"] == 400 + 50 + 3101 + 500
            assert [one["at_ms"] for one in silenced] == [31_400, 31_400]
        else:
            assert (described["drain_ms"], silenced) == (1500, [])


def test_only_the_second_of_two_ends_before_the_run() -> None:
    planned = plan(timing={"second_end_s": 20})
    expected = {"app_first": (31_000, 20_000), "tcp_first": (20_000, 31_000), "solo": (31_000, 31_000)}
    runs = blocks(planned)[0]
    assert {run.cell.start_order: ends_ms(planned, run) for run in runs} == expected
