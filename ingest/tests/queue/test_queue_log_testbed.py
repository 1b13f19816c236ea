"""Every queue log of the testbed, in both of its forms, against figures computed without this code."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sojourn_ingest import _native
from sojourn_ingest.formats.queue.queue_log_table import bundled_queue_log_descriptions

pytestmark = pytest.mark.integration

FORMS = ("bpftrace", "table")
(TESTBED,) = [description for description in bundled_queue_log_descriptions() if description.name == "testbed"]


def decode(folder: Path, form: str) -> dict[str, pa.Table]:
    name = "queue_bpftrace.txt" if form == "bpftrace" else "queue.jsonl"
    path = folder / name if (folder / name).exists() else folder / f"{name}.gz"
    declaration = TESTBED.for_decoder() if form == "table" else None
    decoder = _native.QueueLogDecoder(str(path), form=form, declaration=declaration)
    batches: defaultdict[str, list[pa.RecordBatch]] = defaultdict(list)
    for table, batch in decoder:
        batches[table].append(batch)
    assert (decoder.summary().refused, decoder.summary().fault) == ({}, None)
    return {table: pa.Table.from_batches(batches_of_table) for table, batches_of_table in batches.items()}


class Run:
    """One run: its log in both forms, its manifest, and the figures of validation.csv."""

    def __init__(self, folder: Path, validation: dict[str, str]) -> None:
        self.validation = validation
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.tables = {form: decode(folder, form) for form in FORMS}
        self.packets: list[dict[str, Any]] = self.tables["table"]["queue_packet"].to_pylist()

    def role(self, packet: dict[str, Any]) -> str:
        for flow in self.manifest["flows"]:
            ends = (packet["protocol"], packet["source_address"], packet["source_port"])
            if ends == (flow["proto"], flow["src"], flow["sport"]):
                return str(flow["role"])
        return "other"

    def sojourns_ms(self) -> dict[str, list[float]]:
        offset_ns = self.manifest["clock"]["mono_to_realtime_offset_ns"]
        start, end = (round(self.manifest["window"][f"{end}_epoch_s"] * 1e9) - offset_ns for end in ("start", "end"))
        times_ms: defaultdict[str, list[float]] = defaultdict(list)
        for packet in self.packets:
            if packet["sojourn_ns"] is not None and start <= packet["dequeue_ns"] < end:
                times_ms[self.role(packet)].append(packet["sojourn_ns"] / 1e6)
        return times_ms


def _p95(values: list[float]) -> float:
    """Return the quantile as the validation takes it."""
    return sorted(values)[int(0.95 * len(values))]


@pytest.fixture(scope="module")
def runs(testbed: Path) -> list[Run]:
    with (testbed / "validation.csv").open() as handle:
        return [Run(testbed / row["run_id"], row) for row in csv.DictReader(handle)]


def test_both_forms_give_the_same_facts(runs: list[Run]) -> None:
    assert len(runs) == 39
    for run in runs:
        text, decoded = (run.tables[form] for form in FORMS)
        for name in ("queue_interval", "queue", "queue_log"):
            assert text[name].equals(decoded[name]), run.validation["run_id"]
        # The decoded form has the fields of RTP in place of the first bytes of a UDP payload.
        left_out = ["transport_word"]
        assert text["queue_packet"].drop(left_out).equals(decoded["queue_packet"].drop(left_out))
        tcp = [table["queue_packet"].filter(pa.compute.field("protocol") == "tcp") for table in (text, decoded)]
        assert tcp[0]["transport_word"].equals(tcp[1]["transport_word"])


def test_counts_are_those_of_the_kernel(runs: list[Run]) -> None:
    for run in runs:
        count = {name: int(float(value)) for name, value in run.validation.items() if value.replace(".", "").isdigit()}
        (log,) = run.tables["table"]["queue_log"].to_pylist()
        assert (log["enqueue_events"], log["dequeue_events"]) == (count["queue_enq"], count["queue_deq"])
        assert log["drop_events"] == count["drops_total_ebpf_with_nonip"]
        assert log["lost_events"] == count["ebpf_lost"]
        dropped = [packet for packet in run.packets if packet["drop_ns"] is not None]
        assert sum(packet["protocol"] is not None for packet in dropped) == count["drops_total_tc"]
        assert sum(packet["fate"] == "dropped_in_queue" for packet in dropped) == count["drops_of_queued"]


def test_sojourn_times_are_those_of_the_validation(runs: list[Run]) -> None:
    for run in runs:
        times_ms = run.sojourns_ms()
        figures = {
            "sojourn_mean_ms": (np.mean, times_ms["tcp"] + times_ms["app"]),
            "sojourn_p95_ms": (_p95, times_ms["tcp"] + times_ms["app"]),
            "sojourn_max_ms": (np.max, times_ms["tcp"] + times_ms["app"]),
            "sojourn_tcp_mean_ms": (np.mean, times_ms["tcp"]),
            "sojourn_app_mean_ms": (np.mean, times_ms["app"]),
        }
        for column, (statistic, values) in figures.items():
            expected = run.validation[column]
            assert bool(expected) == bool(values), (run.validation["run_id"], column)
            if expected:
                assert statistic(values) == pytest.approx(float(expected), abs=0.01), (run.validation["run_id"], column)


def test_intervals_add_up_to_the_events_and_end_where_the_kernel_does(runs: list[Run]) -> None:
    for run in runs:
        intervals = run.tables["bpftrace"]["queue_interval"].to_pylist()
        (log,) = run.tables["bpftrace"]["queue_log"].to_pylist()
        sums = {name: sum(row[name] for row in intervals) for name in intervals[0] if name.endswith("_packets")}
        at_enqueue = sums["dropped_at_enqueue_packets"]
        assert sums["arrived_packets"] - at_enqueue == log["enqueue_events"]
        assert sums["departed_packets"] == log["dequeue_events"]
        assert sums["dropped_packets"] == at_enqueue + sums["dropped_in_queue_packets"] == log["drop_events"]
        assert sum(row["observed_ns"] for row in intervals) == log["last_event_ns"] - log["first_event_ns"]
        assert all(0 <= row["busy_ratio"] <= 1 for row in intervals if row["busy_ratio"] is not None)
        # Little's law over the whole log, which begins and ends with an empty queue: the integral of the queue's
        # length is the sum of the times in it. Drops out of the queue have a time too, which the log prints.
        packet_ms = sum((row["occupancy_mean_packets"] or 0) * row["observed_ns"] for row in intervals) / 1e6
        stays_ms = sum(
            ((packet["dequeue_ns"] or packet["drop_ns"]) - packet["enqueue_ns"]) / 1e6
            for packet in run.packets
            if packet["enqueue_ns"] is not None and packet["fate"] != "queued_at_end"
        )
        # A packet whose enqueue was not seen is in the length, not in the stays.
        unseen_ms = sum(200 for packet in run.packets if packet["enqueue_ns"] is None and packet["dequeue_ns"])
        assert packet_ms == pytest.approx(stays_ms, rel=0.002, abs=1 + unseen_ms), run.validation["run_id"]


def test_occupancy_is_that_of_the_polls_of_tc(testbed: Path, runs: list[Run]) -> None:
    for run in runs[:12]:
        folder = testbed / run.validation["run_id"]
        path = folder / "qdisc_stats.jsonl"
        content = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
        polls = [json.loads(line) for line in content.splitlines()]
        offset_ns = run.manifest["clock"]["mono_to_realtime_offset_ns"]
        rows = {row["interval_start_ns"]: row for row in run.tables["bpftrace"]["queue_interval"].to_pylist()}
        close = 0
        for poll in polls:
            row = rows.get((poll["ts_ns"] - offset_ns) // 100_000_000 * 100_000_000)
            end = rows.get((poll["ts_end_ns"] - offset_ns) // 100_000_000 * 100_000_000)
            if row is not None and end is not None:
                most = max(row["occupancy_max_packets"], end["occupancy_max_packets"])
                assert poll["qdiscs"][0]["qlen"] <= most
                close += 1
        assert close > 300
