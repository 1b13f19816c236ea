"""Every run of the testbed, against figures computed without the decoder."""

from __future__ import annotations

import csv
import gzip
import json
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from native_inputs import (
    Rows,
    declared_fields,
    decode,
)

from sojourn_ingest import _native


def plain_or_gzip(folder: Path, name: str) -> str:
    plain = folder / name
    return str(plain if plain.exists() else folder / f"{name}.gz")


class Run:
    """One run of the testbed, decoded, beside what is known of it."""

    def __init__(self, folder: Path, validation: dict[str, str]) -> None:
        self.folder = folder
        self.validation = validation
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.log = _native.QueueLogDecoder(
            plain_or_gzip(folder, "queue_bpftrace.txt"), form="bpftrace", batch_rows=1000
        )
        self.queue = decode(self.log)
        self.capture = _native.CaptureDecoder(plain_or_gzip(folder, "after.pcap"))
        self.facts = decode(self.capture)
        window = self.manifest["window"]
        self.window = range(round(window["start_epoch_s"] * 1e9), round(window["end_epoch_s"] * 1e9))

    def count(self, column: str) -> int:
        return int(self.validation[column])

    def role(self, protocol: str, address: str, port: int) -> str | None:
        for flow in self.manifest["flows"]:
            if (flow["proto"], flow["src"], flow["sport"]) == (protocol, address, port):
                return str(flow["role"])
        return None


@pytest.fixture(scope="module")
def runs(shared: Path) -> list[Run]:
    testbed = shared / "data" / "testbed"
    with (testbed / "validation.csv").open() as file:
        return [Run(testbed / row["run_id"], row) for row in csv.DictReader(file)]


def rows_of(runs: list[Run], table: str) -> Iterator[tuple[Run, Rows]]:
    for run in runs:
        yield run, (run.queue if table.startswith("queue") else run.facts)[table]


def test_batches_have_the_declared_columns(runs: list[Run]) -> None:
    seen = set()
    run = next(run for run in runs if run.facts.get("rtp_stream"))
    decoders = (
        _native.CaptureDecoder(plain_or_gzip(run.folder, "after.pcap")),
        _native.QueueLogDecoder(plain_or_gzip(run.folder, "queue_bpftrace.txt"), form="bpftrace"),
    )
    for decoder in decoders:
        for name, batch in decoder:
            # Texts may come as dictionaries.
            fields = [
                (
                    field.name,
                    field.type.value_type if pa.types.is_dictionary(field.type) else field.type,
                    field.nullable,
                )
                for field in batch.schema
            ]
            assert fields == declared_fields(name)
            seen.add(name)
    assert seen == {
        "capture_link",
        "flow",
        "flow_interval",
        "rtp_stream",
        "rtp_interval",
        "queue_packet",
        "queue_interval",
        "queue",
        "queue_log",
    }


def test_there_are_39_runs_without_a_fault(runs: list[Run]) -> None:
    assert len(runs) == 39
    for run in runs:
        for decoder in (run.log, run.capture):
            assert (decoder.summary().refused, decoder.summary().fault) == ({}, None), run.folder.name


def test_queue_events_are_those_the_kernel_counted(runs: list[Run]) -> None:
    for run, (log,) in rows_of(runs, "queue_log"):
        assert log["enqueue_events"] == run.count("queue_enq")
        assert log["dequeue_events"] == run.count("queue_deq")
        assert log["drop_events"] == run.count("drops_total_ebpf_with_nonip")
        assert log["lost_events"] == run.count("ebpf_lost")


def test_every_packet_has_its_fate(runs: list[Run]) -> None:
    for run, packets in rows_of(runs, "queue_packet"):
        assert [packet["packet_index"] for packet in packets] == list(range(len(packets)))
        fates = Counter(packet["fate"] for packet in packets)
        assert fates["dequeued"] == run.count("queue_deq")
        assert fates["dropped_in_queue"] == run.count("drops_of_queued")
        assert fates["queued_at_end"] == run.count("tc_left_in_queue")
        unseen = [packet for packet in packets if packet["fate"] == "dequeued" and packet["enqueue_ns"] is None]
        assert len(unseen) == run.count("deq_without_enq")
        assert all(packet["sojourn_ns"] is None for packet in unseen)
        drops = [packet for packet in packets if packet["drop_ns"] is not None and packet["protocol"] is not None]
        assert len(drops) == run.count("drops_total_ebpf")
        assert sum(packet["drop_kind"] == "aqm" for packet in drops) == run.count("aqm_drops")


def test_sojourn_times_are_those_of_the_probe(runs: list[Run]) -> None:
    for run, packets in rows_of(runs, "queue_packet"):
        offset_ns = run.manifest["clock"]["mono_to_realtime_offset_ns"]
        sojourn_ns: dict[str, list[int]] = {"tcp": [], "app": []}
        for packet in packets:
            if packet["sojourn_ns"] is None or packet["protocol"] is None:
                continue
            role = run.role(packet["protocol"], packet["source_address"], packet["source_port"])
            if role in sojourn_ns and packet["dequeue_ns"] + offset_ns in run.window:
                sojourn_ns[role].append(packet["sojourn_ns"])
        for column, times_ns in (
            ("sojourn_mean_ms", sojourn_ns["tcp"] + sojourn_ns["app"]),
            ("sojourn_tcp_mean_ms", sojourn_ns["tcp"]),
            ("sojourn_app_mean_ms", sojourn_ns["app"]),
        ):
            expected = run.validation[column]
            assert bool(expected) == bool(times_ns)
            if expected:
                assert round(sum(times_ns) / len(times_ns) / 1e6, 2) == float(expected)


def test_rates_in_the_window_are_those_of_the_wire(runs: list[Run]) -> None:
    for run, intervals in rows_of(runs, "flow_interval"):
        flows = {flow["flow_id"]: flow for flow in run.facts["flow"]}
        found_bytes: Counter[str | None] = Counter()
        for interval in intervals:
            flow = flows[interval["flow_id"]]
            sender = "initiator" if interval["direction"] == "fwd" else "responder"
            role = run.role(flow["protocol"], flow[f"{sender}_address"], flow[f"{sender}_port"])
            if interval["interval_start_ns"] in run.window:
                found_bytes[role] += interval["bytes"]
        for role in ("tcp", "app"):
            mbps = found_bytes[role] * 8 / (len(run.window) / 1e9) / 1e6
            # The window starts anywhere in an interval, so that up to two intervals may differ.
            edge_mbps = 2 * 0.1 * run.manifest["bandwidth_bps"] / 1e6 / (len(run.window) / 1e9)
            assert mbps == pytest.approx(float(run.validation[f"{role}_mbps"]), abs=edge_mbps + 0.0005)


def test_rtp_streams_are_the_media_and_nothing_else(runs: list[Run]) -> None:
    for run in runs:
        ssrcs = [flow["ssrc"] for flow in run.manifest["flows"] if flow["role"] == "app"]
        streams = run.facts.get("rtp_stream", [])
        assert [stream["ssrc"] for stream in streams] == ssrcs, run.folder.name
        for stream in streams:
            assert (stream["payload_type"], stream["clock_rate_hz"], stream["clock_basis"]) == (96, 90_000, "estimated")


def test_rtp_losses_and_jitter_are_those_of_the_receiver(runs: list[Run]) -> None:
    compared = 0
    for run in runs:
        if run.manifest["app"] != "rtp-cbr":
            continue
        (stream,) = run.facts["rtp_stream"]
        lines = (run.folder / "app_receiver.jsonl").read_text().splitlines()
        reports = [json.loads(line) for line in lines]
        total = next(report for report in reports if report.get("total"))
        seconds = [report["jitter_ms"] for report in reports if "jitter_ms" in report]
        # The receiver stops at its planned end, while the packets still queued then are in the capture.
        assert 0 <= stream["lost_packets"] - total["lost"] <= 2
        assert total["packets"] <= stream["packets"] <= total["packets"] * 1.03
        # It reports jitter once a second, at the same place of the 30 Hz frame cycle each time.
        assert stream["jitter_mean_ms"] == pytest.approx(sum(seconds) / len(seconds), rel=0.12)
        compared += 1
    assert compared == 26


def rfc_3550_jitter_ms(path: str, port: int) -> tuple[int, float, float]:
    """Return packets, last and mean jitter of the 90 kHz stream to ``port``, straight from the bytes."""
    content = gzip.decompress(Path(path).read_bytes()) if path.endswith(".gz") else Path(path).read_bytes()
    place, packets, jitter, total = 24, 0, 0.0, 0.0
    previous: tuple[int, int] | None = None
    while place < len(content):
        seconds, nanoseconds, captured, _ = struct.unpack_from("<IIII", content, place)
        frame = content[place + 16 : place + 16 + captured]
        place += 16 + captured
        if frame[23] != 17 or struct.unpack_from("!H", frame, 36)[0] != port:
            continue
        time_ns, timestamp = seconds * 10**9 + nanoseconds, struct.unpack_from("!I", frame, 46)[0]
        if previous is not None:
            apart = (timestamp - previous[1] + 2**31) % 2**32 - 2**31
            jitter += (abs((time_ns - previous[0]) * 9e-5 - apart) - jitter) / 16
            total += jitter
        previous = (time_ns, timestamp)
        packets += 1
    return packets, jitter / 90, total / (packets - 1) / 90


def test_jitter_is_that_of_the_formula(runs: list[Run]) -> None:
    for run in [run for run in runs if run.manifest["app"] == "rtp-cbr"][:5]:
        (stream,) = run.facts["rtp_stream"]
        packets, last, mean = rfc_3550_jitter_ms(plain_or_gzip(run.folder, "after.pcap"), 5004)
        assert stream["packets"] == packets
        assert stream["jitter_ms"] == pytest.approx(last, rel=1e-6)
        assert stream["jitter_mean_ms"] == pytest.approx(mean, rel=1e-6)


def test_handshakes_take_the_round_trip_time_of_the_path(runs: list[Run]) -> None:
    for run, flows in rows_of(runs, "flow"):
        base_us = run.manifest["rtt_ms"] * 1000
        for flow in flows:
            if flow["protocol"] == "tcp" and flow["handshake_rtt_us"] is not None:
                assert base_us <= flow["handshake_rtt_us"] <= base_us * 6
                # The capture is at the receiver: its own legs are the short ones.
                assert flow["fwd_rtt_min_us"] < 1000 < flow["rev_rtt_max_us"]


def test_the_same_file_gives_the_same_rows_from_several_threads(runs: list[Run]) -> None:
    path = plain_or_gzip(runs[0].folder, "after.pcap")
    facts_of_threads: list[dict[str, Rows]] = []
    threads = [
        threading.Thread(target=lambda: facts_of_threads.append(decode(_native.CaptureDecoder(path, batch_rows=77))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert facts_of_threads == [runs[0].facts] * 4
