"""A real guest: real queue disciplines, the probe, captures and counters, held against each other and ingested."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from sojourn_ingest import _native
from sojourn_testbed.backend.backend import BackendError
from sojourn_testbed.backend.qemu import QemuBackend
from sojourn_testbed.execution import Progress, execute
from sojourn_testbed.ledger import Ledger
from sojourn_testbed.plan import Plan, PlanError
from sojourn_testbed.run_check import check_run
from sojourn_testbed.run_folder import device_in_log

pytestmark = pytest.mark.guest

SOJOURN = Path(sys.executable).parent / "sojourn"
#: Three runs of five seconds with the queue log in both forms: over tail-drop, over CAKE, which shapes by itself, and
#: over FQ-CoDel, which drops out of the queue.
SHORT = {
    "sojourn_testbed": 1,
    "study": "short",
    "axes": {
        "queue": [
            {"discipline": "tail-drop", "size_bdp": 2},
            "cake",
            {"discipline": "fq_codel", "size_packets": 30},
        ],
        "rate_mbps": [2],
    },
    "repetitions": 1,
    "solo": False,
    "queue_log": "both",
    "timing": {
        "second_start_s": 0.5, "start_spread_s": 0.2, "window_start_s": 1, "window_end_s": 4, "end_s": 4.2,
        "drain_s": 1,
    },
}  # fmt: skip
#: One run of six seconds with queues in both directions, background traffic in both, page loads and ping.
ACCESS = {
    "sojourn_testbed": 1,
    "study": "access",
    "links": {"downlink_mbps": 3, "uplink_mbps": 1},
    "axes": {
        "queue": [{"discipline": "tail-drop", "size_packets": 8}],
        "workload": ["three"],
        "congested": ["both"],
        "application": ["web"],
    },
    "workloads": {"three": {"uplink_sessions": 1, "downlink_sessions": 2, "flow_length": "long"}},
    "repetitions": 1,
    "solo": False,
    "ping_interval_ms": 200,
    "queue_log": "both",
    "poll_interval_ms": 500,
    "timing": {
        "second_start_s": 0.5, "start_spread_s": 0, "window_start_s": 0.5, "window_end_s": 5, "end_s": 6, "drain_s": 1,
    },
}  # fmt: skip
#: One run of six seconds: a call, and a player that joins it.
PAIR = {
    "sojourn_testbed": 1,
    "study": "pair",
    "axes": {
        "queue": [{"discipline": "tail-drop", "size_bdp": 2}],
        "rate_mbps": [2],
        "application": ["webrtc"],
        "rival": ["streaming"],
    },
    "repetitions": 1,
    "solo": False,
    "timing": {
        "second_start_s": 1, "start_spread_s": 0.2, "second_end_s": 5, "window_start_s": 1.5, "window_end_s": 5,
        "end_s": 6, "drain_s": 1,
    },
}  # fmt: skip
KILLED_WITHIN_S = 1200


@pytest.fixture(scope="module")
def image() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "testbed-image"
    return Path(os.environ.get("SOJOURN_TESTBED_IMAGE") or cache)


@pytest.fixture(scope="module")
def backend(image: Path) -> QemuBackend:
    qemu = QemuBackend(image)
    qemu.check(Plan.model_validate(SHORT))
    return qemu


@pytest.fixture(scope="module")
def study(backend: QemuBackend, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Progress]]:
    folder = tmp_path_factory.mktemp("study")
    progress: list[Progress] = []
    execute(Plan.model_validate(SHORT), 1, backend, folder, progress.append, "none")
    return folder, progress


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_probe_captures_and_counters_agree(study: tuple[Path, list[Progress]]) -> None:
    folder, progress = study
    assert [step.complaints for step in progress] == [()] * 3
    assert [attempt.status for attempt in Ledger(folder).attempts()] == ["kept"] * 3
    for run in (folder / "runs").iterdir():
        packets = (run / "queue_bpftrace.txt").read_text().splitlines()
        assert sum(line.startswith("D ") for line in packets) > 300
        assert any(line.startswith("X ") for line in packets), "a queue of 2 BDP and CAKE drop packets of CUBIC"
        counts = json.loads((run / "manifest.json").read_text())["check"]["counts"]
        assert counts["log_dequeued"] == counts["tc_sent"] == sum(line.startswith("D ") for line in packets)
        assert counts["log_dropped"] == counts["tc_dropped"] == counts["captures_dropped"] > 0
        assert (counts["lost_events"], counts["not_seen_before"]) == (0, 0)
        assert (counts["binary_log_dequeued"], counts["binary_log_dropped"]) == (
            counts["log_dequeued"],
            counts["log_dropped"],
        )
        assert counts["binary_lost_events"] == 0


def decoded(path: Path, form: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the packets of a queue log, in the order in which they came, and what the log says of itself."""
    decoder = _native.QueueLogDecoder(str(path), form=form)
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, batch in decoder:
        tables.setdefault(table, []).extend(batch.to_pylist())
    assert (decoder.summary().refused, decoder.summary().fault) == ({}, None)
    (log,) = tables["queue_log"]
    return sorted(tables["queue_packet"], key=lambda packet: packet["packet_index"]), log


def test_both_forms_of_the_queue_log_say_the_same(study: tuple[Path, list[Progress]]) -> None:
    folder, _ = study
    same = (
        "fate", "protocol", "source_address", "source_port", "destination_address", "destination_port", "ip_id",
        "transport_word", "packet_bytes", "ethertype", "ecn_ce", "enqueue_queue_packets", "enqueue_queue_bytes",
        "dequeue_queue_packets", "dequeue_queue_bytes",
    )  # fmt: skip
    fates = set()
    for run in (folder / "runs").iterdir():
        text, text_log = decoded(run / "queue_bpftrace.txt", "bpftrace")
        binary, binary_log = decoded(run / "queue.qmon", "qmon")
        assert [[packet[name] for name in same] for packet in binary] == [
            [packet[name] for name in same] for packet in text
        ]
        assert binary_log["stated_open_enqueues"] == binary_log["open_enqueues"]
        assert binary_log["stated_open_dequeues"] == binary_log["open_dequeues"]
        for one, other in zip(text, binary, strict=True):
            fates.add(one["fate"])
            for name in ("enqueue_ns", "dequeue_ns", "drop_ns"):
                assert (one[name] is None) == (other[name] is None)
                # A drop out of the queue is in the text; from the binary form it is inferred from later packets.
                if one[name] is None or (name, one["fate"]) == ("drop_ns", "dropped_in_queue"):
                    continue
                # The text's programme prints before the other has its turn at the same event: 3.6 to 7.4 us were seen.
                behind_ns = (other[name] - binary_log["clock_offset_ns"]) - (one[name] - text_log["clock_offset_ns"])
                assert 0 < behind_ns < 20_000
            if one["sojourn_ns"] is not None:
                # The difference of two such delays: at most 3.6 us was seen.
                assert other["sojourn_ns"] == pytest.approx(one["sojourn_ns"], abs=10_000)
    assert {"dequeued", "dropped_at_enqueue", "dropped_in_queue"} <= fates


@pytest.mark.parametrize(
    ("left_out", "read"), [("queue.qmon", "queue_bpftrace.txt"), ("queue_bpftrace.txt", "queue.qmon")]
)
def test_the_log_of_a_run_is_the_one_that_is_there(
    study: tuple[Path, list[Progress]], tmp_path: Path, left_out: str, read: str
) -> None:
    folder, _ = study
    run = next((folder / "runs").iterdir())
    copy = shutil.copytree(run, tmp_path / "out" / "runs" / run.name)
    (copy / left_out).unlink()
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["files"][left_out]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    rows = ingested(copy, tmp_path / "var")
    assert [one for one in rows("run_source", "measurement, file_name") if one[0] == "queue_log"] == [
        ("queue_log", read)
    ]


def test_a_plan_that_needs_a_module_the_guest_does_not_have_is_refused(backend: QemuBackend) -> None:
    axes = {"queue": ["codel", "dualpi2"], "rate_mbps": [1]}
    planned = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes})
    with pytest.raises(BackendError, match="no module sch_dualpi2; take the value out of the plan's axes"):
        backend.check(planned)


def test_a_done_study_is_not_run_again(study: tuple[Path, list[Progress]], backend: QemuBackend) -> None:
    folder, _ = study
    before = Ledger(folder).attempts()
    execute(Plan.model_validate(SHORT), 1, backend, folder, lambda _: pytest.fail("a run was repeated"), "none")
    assert Ledger(folder).attempts() == before


def test_a_second_process_on_the_same_folder_is_refused(backend: QemuBackend, tmp_path: Path) -> None:
    holds = (
        "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(PlanError, match="another sojourn testbed run uses"):
            execute(Plan.model_validate(SHORT), 1, backend, tmp_path, lambda _: pytest.fail("a run was begun"), "none")
        other.communicate()
    assert not list(tmp_path.iterdir())


def test_a_run_whose_capture_misses_packets_is_not_good(study: tuple[Path, list[Progress]], tmp_path: Path) -> None:
    folder, _ = study
    for run in sorted((folder / "runs").iterdir()):
        copy = tmp_path / run.name
        shutil.copytree(run, copy)
        assert not check_run(copy, 2_000_000, queue_log="both").complaints
        assert not check_run(copy, 2_000_000, queue_log="binary").complaints
        # The end of the capture after the bottleneck is gone, also where nothing was dropped after that.
        content = (copy / "after.pcap").read_bytes()
        (copy / "after.pcap").write_bytes(content[: len(content) * 9 // 10])
        assert any("in after.pcap or dropped" in complaint for complaint in check_run(copy, 2_000_000).complaints)


def test_the_results_are_ingested_without_a_complaint(study: tuple[Path, list[Progress]], tmp_path: Path) -> None:
    folder, _ = study
    ran = subprocess.run([SOJOURN, "ingest", folder, "--var", tmp_path], capture_output=True, text=True, check=True)
    assert [line for line in ran.stdout.splitlines() if line.startswith(("rejected ", "partial "))] == []

    def rows(table: str, columns: str) -> list[tuple[object, ...]]:
        files = str(tmp_path / "lake" / "data" / table / "*.parquet")
        return duckdb.sql(f"select distinct {columns} from '{files}' order by all").fetchall()

    assert rows("run", "aqm, bandwidth_bps, application, congestion_control") == [
        ("cake", 2_000_000, "voice", "cubic"),
        ("fq_codel", 2_000_000, "voice", "cubic"),
        ("tail-drop", 2_000_000, "voice", "cubic"),
    ]
    # Both forms are in the lake, and one of them is the run's.
    assert rows("queue", "interface_name") == [("btl",), (None,)]
    assert [name for measured, name in rows("run_source", "measurement, file_name") if measured == "queue_log"] == [
        "queue_bpftrace.txt"
    ]
    # Polls of CAKE's counters are polls of tc, which polls of ss resemble.
    assert ("cake",) in rows("queue_counter", "kind")


def executed(planned: dict[str, Any], backend: QemuBackend, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder and the manifest of a study's only run, which must be good."""
    progress: list[Progress] = []
    execute(Plan.model_validate(planned), 1, backend, folder / "out", progress.append, "none")
    assert [step.complaints for step in progress] == [()]
    (run,) = (folder / "out" / "runs").iterdir()
    return run, json.loads((run / "manifest.json").read_text())


def ingested(run: Path, var: Path) -> Callable[[str, str], list[tuple[Any, ...]]]:
    """Return what reads columns of a lake table, distinct and sorted, after the run's study was ingested."""
    command = [SOJOURN, "ingest", run.parents[1], "--var", var]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line for line in ran.stdout.splitlines() if line.startswith(("rejected ", "partial "))] == []

    def rows(table: str, columns: str) -> list[tuple[Any, ...]]:
        files = str(var / "lake" / "data" / table / "*.parquet")
        return duckdb.sql(f"select distinct {columns} from '{files}' order by all").fetchall()

    return rows


def test_an_access_link_has_two_queues_background_traffic_page_loads_and_ping(
    backend: QemuBackend, tmp_path: Path
) -> None:
    run, manifest = executed(ACCESS, backend, tmp_path)
    counts = manifest["check"]["counts"]
    for suffix in ("", "_rs"):
        assert counts[f"log_dequeued{suffix}"] == counts[f"tc_sent{suffix}"] > 100
        assert counts[f"log_dropped{suffix}"] == counts[f"tc_dropped{suffix}"] > 0
        assert counts[f"binary_log_dequeued{suffix}"] == counts[f"tc_sent{suffix}"]
        assert counts[f"binary_log_dropped{suffix}"] == counts[f"tc_dropped{suffix}"]
    rows = ingested(run, tmp_path / "var")
    assert rows("run", "direction, congested_direction, workload, application, start_order") == [
        ("downlink", "both", "three", "web", "tcp_first")
    ]
    assert rows("run_link", "direction, bandwidth_bps, queue_size_packets") == [
        ("downlink", 3_000_000, 8),
        ("uplink", 1_000_000, 8),
    ]
    # Two flows without end go down; those of the page come from the server's port of the web.
    assert rows("run_flow", "role, count(*) over (partition by role), source_port") == [
        ("app", len([flow for flow in manifest["flows"] if flow["role"] == "app"]), 80),
        ("tcp", 2, 5301),
    ]
    # The text has the number of a device, the binary form its name; the manifest has that of the text, which is read.
    numbers = [int((run / f"ifindex_{device}.txt").read_text()) for device in ("btl", "rs")]
    assert set(rows("queue", "interface_index, interface_name")) == {
        *((number, None) for number in numbers),
        (None, "btl"),
        (None, "rs"),
    }
    assert [row[0] for row in rows("run_link", "queue_interface")] == sorted(map(str, numbers))
    assert [
        device_in_log(Plan.model_validate(ACCESS | {"queue_log": "binary"}), run, one) for one in ("btl", "rs")
    ] == [
        "btl",
        "rs",
    ]
    loads = [json.loads(line) for line in (run / "page_loads.jsonl").read_text().splitlines()]
    whole = [load for load in loads if load["exitcode"] == 0]
    assert whole
    assert all(load["size_download"] == 80_800 for load in whole)
    times_ms = sorted(score for _, score in rows("tool_score", "item, score"))
    assert times_ms == pytest.approx(sorted(load["time_total"] * 1000 for load in whole))
    # A page takes some round trips of 50 ms and more than its bytes do.
    assert min(times_ms) > 300
    # One ping, its samples and what it says of them at its end; idle ones are no series of the run.
    assert {name for (name,) in rows("series", "series_name")} == {
        f"ping 1{stated}" for stated in ("", " avg", " max", " min")
    }
    assert len(rows("series", "sample_number")) > 15


@pytest.mark.long
def test_a_call_and_a_player_compete_and_the_second_ends_first(backend: QemuBackend, tmp_path: Path) -> None:
    run, manifest = executed(PAIR, backend, tmp_path)
    assert {flow["role"]: flow["app"] for flow in manifest["flows"]} == {"app": "webrtc", "rival": "streaming"}
    sent, got = (json.loads((run / f"app_{end}.json").read_text()) for end in ("sender", "receiver"))
    assert 170 <= got["frames_marked"] <= sent["frames"] <= 181
    player = json.loads((run / "rival_client.json").read_text())
    assert player["segments"] >= 2
    rows = ingested(run, tmp_path / "var")
    assert rows("run", "application, start_order") == [("webrtc", "app_first")]
    assert rows("run_rival", "rival_application") == [("streaming",)]
    assert rows("call_poll", "ssrc") == [(sent["ssrc"],)]


@pytest.mark.long
def test_two_boots_give_the_same_bytes(
    study: tuple[Path, list[Progress]], backend: QemuBackend, tmp_path: Path
) -> None:
    folder, _ = study
    execute(Plan.model_validate(SHORT), 1, backend, tmp_path, lambda _: None, "none")
    first, second = files_of(folder / "runs"), files_of(tmp_path / "runs")
    assert first.keys() == second.keys()
    assert [name for name, content in first.items() if second[name] != content] == []
    assert any(name.endswith("after.pcap") and len(content) > 50_000 for name, content in first.items())


@pytest.mark.long
def test_a_killed_study_goes_on_at_the_next_run(image: Path, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.yaml", tmp_path / "out"
    plan.write_text(yaml.safe_dump(SHORT | {"repetitions": 2}))
    command = [SOJOURN, "testbed", "run", plan, "--out", out, "--image", image, "--guests", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as killed:
        deadline = time.monotonic() + KILLED_WITHIN_S
        while not Ledger(out).kept():
            assert time.monotonic() < deadline, "no run ended"
            assert killed.poll() is None
            time.sleep(0.1)
        os.kill(killed.pid, signal.SIGKILL)
    before = Ledger(out).kept()
    assert 0 < len(before) < 6
    kept = {name: files_of(out / "runs" / name) for name in before}
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert len(Ledger(out).kept()) == 6
    assert [attempt.status for attempt in Ledger(out).attempts()] == ["kept"] * 6
    assert {name: files_of(out / "runs" / name) for name in before} == kept
    assert not list(out.glob(".scratch*"))
