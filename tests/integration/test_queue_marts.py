"""Marts of queues over the whole testbed: against plain code on the raw events, and with sources made to disagree."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn_snapshot.pointer import read_pointer
from sojourn_transforms.validation_report import QUANTITIES, Snapshot, agreement, report

from .conftest import SOJOURN, Service, serving

pytestmark = pytest.mark.integration

STUDY = "vca-fairness-vm-2026"
WINDOW_NS = 100_000_000
FRAME_BYTES = 1514


def built(var: Path, *inputs: Path) -> Path:
    """Ingest and build, and return the snapshot's folder."""
    for arguments in (["ingest", *map(str, inputs)], ["build"]):
        done = subprocess.run(
            [str(SOJOURN), *arguments, "--var", str(var)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
    served = read_pointer(var / "snapshots")
    assert served is not None
    return var / "snapshots" / served.build_id


def copied(source: Path, target: Path, change: Callable[[Path], None]) -> None:
    """Copy a run, named after the change, without the list of its hashes, and change a file of it."""
    target.mkdir(parents=True)
    manifest = json.loads((source / "manifest.json").read_text())
    del manifest["files"]
    manifest |= {"study": "changed", "run_id": change.__name__}
    (target / "manifest.json").write_text(json.dumps(manifest))
    for name in ("before.pcap", "after.pcap", "queue_bpftrace.txt", "qdisc_stats.jsonl"):
        path = source / name
        if path.exists():
            shutil.copy(path, target / name)
        else:
            (target / name).write_bytes(gzip.decompress((source / f"{name}.gz").read_bytes()))
    change(target)


def drop_events(folder: Path) -> None:
    """Take every 50th dequeue out of the queue log, without a report of its probe."""
    path = folder / "queue_bpftrace.txt"
    kept, seen = [], 0
    for line in path.read_text().splitlines(keepends=True):
        seen += line.startswith("D ")
        if not (line.startswith("D ") and seen % 50 == 0):
            kept.append(line)
    path.write_text("".join(kept))


def lose_events(folder: Path) -> None:
    """The probe says that it lost events."""
    path = folder / "queue_bpftrace.txt"
    path.write_text(path.read_text() + "Lost 7 events\n")


def cut_in_a_record(folder: Path) -> None:
    path = folder / "after.pcap"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.7) | 1])


def end_before_its_time(folder: Path) -> None:
    """End the capture after the bottleneck between two records, as if it had been stopped early."""
    path = folder / "after.pcap"
    content = path.read_bytes()
    offset = 24
    while offset < len(content) * 0.7:
        offset += 16 + int.from_bytes(content[offset + 8 : offset + 12], "little")
    path.write_bytes(content[:offset])


def lose_after_packets(folder: Path) -> None:
    """Take every 20th record out of the capture after the bottleneck."""
    path = folder / "after.pcap"
    content = path.read_bytes()
    kept, offset, number = [content[:24]], 24, 0
    while offset < len(content):
        size = 16 + int.from_bytes(content[offset + 8 : offset + 12], "little")
        number += 1
        if number % 20:
            kept.append(content[offset : offset + size])
        offset += size
    path.write_bytes(b"".join(kept))


def untouched(folder: Path) -> None:
    """Leave the run as it is."""


CHANGED_RUN = "cbr_dn_bw1000_rtt50_taildrop-2bdp_cubic_rtp-cbr_appfirst_rep1"
CHANGES = (untouched, drop_events, lose_events, cut_in_a_record, end_before_its_time, lose_after_packets)


@pytest.fixture(scope="module")
def snapshot_folder(testbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build of the testbed and, as another study, of one of its runs with changed files."""
    folder = tmp_path_factory.mktemp("testbed")
    for change in CHANGES:
        copied(testbed / CHANGED_RUN, folder / "changed" / change.__name__, change)
    return built(folder / "var", testbed, folder / "changed")


@pytest.fixture(scope="module")
def snapshot(snapshot_folder: Path) -> Snapshot:
    return Snapshot(snapshot_folder)


def of_run(snapshot: Snapshot, mart: str, run_id: str, condition: str = "true") -> dict[str, Any]:
    (row,) = snapshot.rows(f"select * from {mart} where run_id = '{run_id}' and {condition}")
    return row


def plain(folder: Path, name: str) -> str:
    path = folder / name
    return path.read_text() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()


def raw_events(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return manifest, [json.loads(line) for line in plain(folder, "queue.jsonl").splitlines()]


RUNS = (
    "cbr_dn_bw1000_rtt50_taildrop-10bdp_cubic_rtp-cbr_tcpfirst_rep1",
    "cbr_dn_bw4000_rtt50_codel-2bdp_cubic_rtp-cbr_appfirst_rep1",
    "gcc_dn_bw4000_rtt50_fq_codel-2bdp_cubic_webrtc-gcc_tcpfirst_rep1",
)


def test_the_committed_validation_is_what_the_pipeline_makes(
    snapshot_folder: Path, testbed: Path, repository: Path
) -> None:
    committed = (repository / "docs" / "validation.md").read_text(encoding="utf-8")
    assert report(snapshot_folder, testbed / "validation.csv") == committed, "run make validation"


def test_every_run_of_the_testbed_agrees_with_its_validation(snapshot: Snapshot, testbed: Path) -> None:
    with (testbed / "validation.csv").open(encoding="utf-8") as handle:
        theirs = list(csv.DictReader(handle))
    assert len(theirs) == 39
    for quantity in QUANTITIES:
        agreed = agreement(snapshot, theirs, quantity)
        assert agreed.equal == agreed.runs == 39, quantity.theirs
    # A figure that is off by one count or by one last digit is reported.
    for name, off in (("queue_deq", 1.0), ("sojourn_p95_ms", 0.0101)):
        changed = [dict(row) for row in theirs]
        changed[7][name] = str(float(changed[7][name]) + off)
        quantity = next(quantity for quantity in QUANTITIES if quantity.theirs == name)
        assert agreement(snapshot, changed, quantity).equal == 38


@pytest.mark.parametrize("run_id", RUNS)
def test_standing_queue_is_what_a_plain_sliding_minimum_says(snapshot: Snapshot, testbed: Path, run_id: str) -> None:
    manifest, events = raw_events(testbed / run_id)
    start, end = (round(manifest["window"][key] * 1e9) for key in ("start_epoch_s", "end_epoch_s"))
    for role in ("app", "tcp", "all"):
        kept: deque[tuple[int, int]] = deque()
        minima, above_ns, shown = [], 0, None
        left = [
            (event["ts_ns"], event["sojourn_ns"])
            for event in events
            if event["event"] == "dequeue" and event["sojourn_ns"] > 0 and role in ("all", event.get("flow"))
        ]
        for time_ns, sojourn_ns in left:
            if shown is not None and shown[1] > 5_000_000:
                held_from, held_to = max(shown[0], start), min(time_ns, shown[0] + WINDOW_NS, end)
                above_ns += max(held_to - held_from, 0)
            while kept and kept[0][0] <= time_ns - WINDOW_NS:
                kept.popleft()
            while kept and kept[-1][1] >= sojourn_ns:
                kept.pop()
            kept.append((time_ns, sojourn_ns))
            shown = (time_ns, kept[0][1])
            if start <= time_ns < end:
                minima.append(kept[0][1])
        served = of_run(snapshot, "run_standing_queue", run_id, f"role = '{role}'")
        ordered = sorted(minima)
        assert served["windows"] == len(minima) > 500
        assert served["minimum_sojourn_median_ms"] == pytest.approx(ordered[len(ordered) // 2] / 1e6, abs=1e-4)
        assert served["minimum_sojourn_p95_ms"] == pytest.approx(ordered[int(0.95 * len(ordered))] / 1e6, abs=1e-4)
        assert served["time_above_target_ms"] == pytest.approx(above_ns / 1e6, abs=0.01)
        assert served["lost_events"] == 0


@pytest.mark.parametrize("run_id", RUNS)
def test_load_loss_and_shares_are_those_of_the_raw_events(snapshot: Snapshot, testbed: Path, run_id: str) -> None:
    manifest, events = raw_events(testbed / run_id)
    start, end = (round(manifest["window"][key] * 1e9) for key in ("start_epoch_s", "end_epoch_s"))
    rate_bps = manifest["bandwidth_bps"]
    window = [event for event in events if start <= event["ts_ns"] < end]
    seconds = np.zeros(20)
    for event in window:
        if event["event"] == "dequeue":
            seconds[(event["ts_ns"] - start) // 1_000_000_000] += event["len"] * 8 / rate_bps
    load = of_run(snapshot, "run_utilisation", run_id)
    assert load["seconds"] == 20
    quartiles = np.quantile(seconds, [0, 0.25, 0.5, 0.75, 1])
    names = ("min", "q1", "median", "q3", "max")
    assert [load[f"utilisation_{name}_ratio"] for name in names] == pytest.approx(quartiles)
    assert load["utilisation_mean_ratio"] == pytest.approx(seconds.mean())
    for role in ("app", "tcp"):
        loss = of_run(snapshot, "run_flow_loss", run_id, f"role = '{role}'")
        received = [event["len"] for event in window if event["event"] == "dequeue" and event.get("flow") == role]
        dropped = [event["len"] for event in window if event["event"] == "drop" and event.get("flow") == role]
        assert (loss["received_packets"], loss["received_bytes"]) == (len(received), sum(received))
        assert (loss["dropped_packets"], loss["dropped_bytes"]) == (len(dropped), sum(dropped))
        assert loss["loss_ratio"] == pytest.approx(len(dropped) / (len(dropped) + len(received)))
    queue = manifest["queue"]
    limit = queue["size_packets"] * FRAME_BYTES if queue["discipline"] != "bfifo" else queue["size_bytes"]
    verdict = of_run(snapshot, "run_delay_verdict", run_id, "role = 'all'")
    assert verdict["maximum_delay_ms"] == pytest.approx(limit * 8000 / rate_bps)
    assert verdict["mean_share_of_maximum_ratio"] == pytest.approx(verdict["mean_ms"] / verdict["maximum_delay_ms"])
    one_way = 25 + verdict["mean_ms"]
    expected = "acceptable" if one_way <= 150 else "problematic" if one_way <= 400 else "bad"
    assert verdict["delay_class"] == expected


@pytest.fixture(scope="module")
def served(snapshot_folder: Path) -> Iterator[Service]:
    with serving(snapshot_folder.parent.parent) as running:
        yield running


@pytest.mark.parametrize(
    ("run_id", "verdict", "reason"),
    [
        ("untouched", "agree", None),
        ("drop_events", "disagree", "packets: queue log 2850, capture pair 2908"),
        ("lose_events", "incomplete", "the queue log lost 7 events"),
        ("cut_in_a_record", "incomplete", "the capture after the bottleneck is damaged"),
        ("end_before_its_time", "incomplete", "the capture after the bottleneck ends"),
        ("lose_after_packets", "disagree", "drops: queue log 94, capture pair"),
    ],
)
def test_a_run_whose_sources_disagree_is_flagged_with_the_reason(
    served: Service, run_id: str, verdict: str, reason: str | None
) -> None:
    (run,) = served.rows("run", run_id=run_id)
    assert run["reconciliation_verdict"] == verdict, run["reconciliation_reason"]
    if reason is None:
        assert run["reconciliation_reason"] is None
    else:
        assert reason in str(run["reconciliation_reason"])
    for mart in ("run_queue_count", "run_standing_queue", "run_delay_verdict"):
        rows = served.rows(mart, run_id=run_id)
        assert rows
        assert {row["reconciliation_verdict"] for row in rows} == {verdict}, mart
