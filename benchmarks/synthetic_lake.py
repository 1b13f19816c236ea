"""A generated lake for measuring the models: many runs of synthetic flows, labelled so in the study and its name.

Nothing in it was measured. Each run has a capture with one application flow and one TCP flow of 30 s, of which a row
for every 100 ms and direction with packets; a tenth of the runs is solo. Beside them the capture holds short flows of
others, half of them from the server that sends the data. Every run of an application has a quality score; one run in 97
has a queue log with every packet that the link can carry.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.storage.interface import kept_of
from sojourn_ingest.schema import table

STUDY = "synthetic-benchmark"
VERSION = "synthetic-1"
RUNS_A_CHUNK = 2_000
SECONDS = 30
INTERVALS_A_SECOND = 10
INTERVAL_NS = 10**9 // INTERVALS_A_SECOND
LOGGED_EVERY = 97  # a prime, so that runs with a queue log are of every configuration
PACKET_BYTES = 1000
START_NS = 1_700_000_000 * 10**9
QUEUES = (
    ("tail-drop", "bfifo", 2.0),
    ("tail-drop", "bfifo", 10.0),
    ("codel", "codel", None),
    ("fq_codel", "fq_codel", None),
)
NS = 10**9
SERVER, CLIENT, OTHER_SERVER, OTHER_CLIENT = "10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.3.1"
PORTS = {"app": 5004, "tcp": 5201}
PROTOCOLS = {"app": "udp", "tcp": "tcp"}


class Tables:
    """One growing Parquet file for each table, written chunk by chunk."""

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._rows: dict[str, int] = {}

    def write(self, name: str, columns: dict[str, object], rows: int) -> None:
        """Append rows; what is not given is null, what is given as one value is constant."""
        schema = table(name).arrow_schema()
        arrays = []
        for field in schema:
            column = columns.get(field.name)
            if column is None:
                arrays.append(pa.nulls(rows, field.type))
            elif isinstance(column, str | int | float | bool):
                arrays.append(pa.repeat(pa.scalar(column, field.type), rows))
            else:
                arrays.append(pa.array(column, field.type))
        if name not in self._writers:
            path = self._lake / "data" / name / "synthetic.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writers[name] = pq.ParquetWriter(path, schema, compression="zstd")
        self._writers[name].write_table(pa.table(arrays, schema=schema), row_group_size=122_880)
        self._rows[name] = self._rows.get(name, 0) + rows

    def finish(self) -> tuple[DataFile, ...]:
        """Close every file and return them for the commit."""
        for writer in self._writers.values():
            writer.close()
        paths = {name: f"data/{name}/synthetic.parquet" for name in sorted(self._rows)}
        return tuple(
            DataFile.of(name, path, self._rows[name], kept_of(self._lake / path)) for name, path in paths.items()
        )


def generate(folder: Path, runs: int, flows: int, seed: int = 1) -> None:
    """Write a lake of ``runs`` runs and ``flows`` flows (the same number in each run) into ``folder``."""
    Lake(folder)
    tables = Tables(folder)
    constants = {"decoder_version": VERSION, "study_id": STUDY}
    tables.write(
        "study",
        {**constants, "source_hash": "study", "title": "Synthetic benchmark", "licence": "CC0-1.0", "synthetic": True,
         "description": "Generated to measure the models; nothing in it was measured."},
        1,
    )  # fmt: skip
    rules = {"selects": True, "rtt_rule": "same", "queue_size_bdp_rule": "any", "aqm_rule": "any"}
    tables.write(
        "demand_rule",
        {**constants, **rules, "source_hash": "study", "role": ["app", "tcp"], "application": "*",
         "bandwidth_rule": "same", "congestion_control_rule": ["any", "same"], "workload_rule": "same"},
        2,
    )  # fmt: skip
    random = np.random.default_rng(seed)
    for first in range(0, runs, RUNS_A_CHUNK):
        _chunk(tables, np.arange(first, min(first + RUNS_A_CHUNK, runs)), flows // runs, random)
    commit = commit_of(tables, flows)
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "commits" / f"{commit.name}.json").write_text(commit.to_json())


def commit_of(tables: Tables, records: int) -> Commit:
    """Close the files of the tables and return the commit that holds them."""
    return Commit(
        source_path="synthetic", content_hash="synthetic", decoder_version=VERSION, size_bytes=1, modified_ns=1,
        format="synthetic", status="ok", holds_facts=True, reason=None, message=None, records_read=records,
        files=tables.finish(),
    )  # fmt: skip


def _chunk(tables: Tables, numbers: np.ndarray, flows_a_run: int, random: np.random.Generator) -> None:
    n = len(numbers)
    names = [f"run-{number:06d}" for number in numbers]
    hashes = [f"{number:064x}" for number in numbers]
    solo, rate = numbers % 10 == 0, np.where(numbers // 10 % 2 == 0, 1_000_000, 4_000_000)
    queue = [QUEUES[place] for place in numbers // 20 % len(QUEUES)]
    has_app, has_tcp = ~solo | (numbers // 10 % 3 != 0), ~solo | (numbers // 10 % 3 == 0)
    applications = [f"app-{place}" if there else None for place, there in zip(numbers // 80 % 3, has_app, strict=True)]
    controls = [
        ("cubic", "bbr")[place] if there else None for place, there in zip(numbers // 240 % 2, has_tcp, strict=True)
    ]
    keys = {"decoder_version": VERSION, "study_id": STUDY, "run_id": names}
    manifests = [f"manifest-{number:06d}" for number in numbers]
    sizes = [
        None if size is None else int(bandwidth * 0.05 / 8 * size)
        for (_, _, size), bandwidth in zip(queue, rate, strict=True)
    ]
    tables.write(
        "run",
        {**keys, "source_hash": manifests, "workload": "call", "direction": "downlink", "bandwidth_bps": rate,
         "start_order": np.where(solo, "solo", np.where(numbers // 480 % 2 == 0, "app_first", "tcp_first")),
         "rtt_ms": 50.0, "aqm": [one[0] for one in queue], "queue_discipline": [one[1] for one in queue],
         "queue_size_bdp": [one[2] for one in queue], "queue_size_bytes": sizes, "congestion_control": controls,
         "application": applications, "repetition": (numbers // 960).astype(int), "start_ns": START_NS,
         "window_start_ns": START_NS + 10 * NS, "window_end_ns": START_NS + SECONDS * NS, "monotonic_offset_ns": 0},
        n,
    )  # fmt: skip
    logged = numbers % LOGGED_EVERY == 0
    log_hashes = [f"{number:063x}q" for number in numbers]
    for measurement, file_name, contents, present in (
        ("capture_after", "after.pcap", hashes, np.ones(n, dtype=bool)),
        ("queue_log", "queue.jsonl", log_hashes, logged),
    ):
        chosen = np.flatnonzero(present)
        texts = [contents[i] for i in chosen]
        tables.write(
            "run_source",
            {"decoder_version": VERSION, "study_id": STUDY, "run_id": [names[i] for i in chosen],
             "source_hash": [manifests[i] for i in chosen], "measurement": measurement, "file_name": file_name,
             "measurement_hash": texts},
            len(chosen),
        )  # fmt: skip
        tables.write(
            "ingest_outcome",
            {"source_path": [f"synthetic/{names[i]}/{file_name}" for i in chosen], "content_hash": texts,
             "source_hash": texts, "decoder_version": VERSION, "size_bytes": 1, "modified_ns": 1,
             "compression": "none", "format": "capture" if measurement.startswith("capture") else "synthetic",
             "status": "ok", "records_read": flows_a_run, "records_refused": 0,
             "refused_by_reason": "{}", "started_ns": START_NS, "duration_ms": 1.0},
            len(chosen),
        )  # fmt: skip
    scored = np.flatnonzero(has_app)
    tables.write(
        "qoe_score",
        {"decoder_version": VERSION, "study_id": STUDY, "source_hash": [manifests[i] for i in scored],
         "scored": [f"call-{numbers[i]:06d}" for i in scored], "run_id": [names[i] for i in scored],
         "metric": "brisque", "score_number": 0, "score": random.uniform(20, 80, len(scored))},
        len(scored),
    )  # fmt: skip
    for flow_id, (role, present) in enumerate((("app", has_app), ("tcp", has_tcp))):
        chosen = np.flatnonzero(present)
        tables.write(
            "run_flow",
            {"decoder_version": VERSION, "study_id": STUDY, "run_id": [names[i] for i in chosen],
             "source_hash": [manifests[i] for i in chosen], "flow_number": flow_id, "role": role,
             "protocol": PROTOCOLS[role], "source_host_key": SERVER, "source_port": PORTS[role],
             "destination_host_key": CLIENT, "destination_port": PORTS[role]},
            len(chosen),
        )  # fmt: skip
        # Sharing roughly halves the rate; in a solo run an application takes half of the link and TCP all of it.
        share = np.where(solo, 0.5 if role == "app" else 0.97, random.beta(8, 8, n))[chosen]
        _declared_flow(tables, [hashes[i] for i in chosen], flow_id, role, rate[chosen] * share / 8, random)
    _other_flows(tables, hashes, flows_a_run - 2, random)
    for i in np.flatnonzero(logged):
        roles = [role for role, there in (("app", has_app[i]), ("tcp", has_tcp[i])) if there]
        _queue_log(tables, log_hashes[i], roles, int(rate[i]), random)


def _flow(columns: dict[str, object]) -> dict[str, object]:
    counts = dict.fromkeys(
        ("fwd_payload_bytes", "rev_packets", "rev_bytes", "rev_payload_bytes", "fwd_active_intervals",
         "rev_active_intervals", "fwd_ecn_ce_packets", "rev_ecn_ce_packets"),
        0,
    )  # fmt: skip
    return {**counts, "decoder_version": VERSION, "ip_version": 4, "end_reason": "end_of_capture", **columns}


def _declared_flow(
    tables: Tables, hashes: list[str], flow_id: int, role: str, bytes_a_second: np.ndarray,
    random: np.random.Generator,
) -> None:  # fmt: skip
    """Write flows with data in every interval; those of TCP are acknowledged, every other packet of 60 bytes."""
    n, intervals = len(hashes), SECONDS * INTERVALS_A_SECOND
    mean = bytes_a_second[:, None] / INTERVALS_A_SECOND
    data = np.maximum(mean * random.normal(1, 0.15, (n, intervals)), PACKET_BYTES).astype(np.int64)
    packets = -(-data // PACKET_BYTES)
    acknowledgements = (packets + 1) // 2
    columns: dict[str, object] = {
        "source_hash": hashes, "flow_id": flow_id, "protocol": PROTOCOLS[role], "initiator_host_key": SERVER,
        "initiator_port": PORTS[role], "responder_host_key": CLIENT, "responder_port": PORTS[role],
        "first_packet_ns": START_NS, "last_packet_ns": START_NS + SECONDS * NS - 1,
        "fwd_packets": packets.sum(axis=1), "fwd_bytes": data.sum(axis=1), "fwd_active_intervals": intervals,
    }  # fmt: skip
    if role == "tcp":
        rtt = random.uniform(50_000, 90_000, n)
        columns |= {
            "rev_packets": acknowledgements.sum(axis=1), "rev_bytes": acknowledgements.sum(axis=1) * 60,
            "rev_active_intervals": intervals, "handshake_rtt_us": 50_000, "fwd_retransmitted_packets": 3,
            "fwd_rtt_samples": acknowledgements.sum(axis=1), "fwd_rtt_min_us": 50_000, "fwd_rtt_avg_us": rtt,
            "fwd_rtt_max_us": (2 * rtt).astype(np.int64), "fwd_srtt_min_us": 50_000.0, "fwd_srtt_avg_us": rtt,
            "fwd_srtt_max_us": 2 * rtt,
        }  # fmt: skip
    tables.write("flow", _flow(columns), n)
    both = [("fwd", packets, data)]
    if role == "tcp":
        both.append(("rev", acknowledgements, acknowledgements * 60))
    source = pa.array(hashes).take(np.repeat(np.arange(n), intervals))
    starts = np.tile(START_NS + np.arange(intervals) * INTERVAL_NS, n)
    for direction, counted, size in both:
        tables.write(
            "flow_interval",
            {"decoder_version": VERSION, "source_hash": source, "flow_id": flow_id, "direction": direction,
             "interval_ms": INTERVAL_NS // 10**6, "interval_start_ns": starts, "packets": counted.ravel(),
             "bytes": size.ravel()},
            n * intervals,
        )  # fmt: skip


def _other_flows(tables: Tables, hashes: list[str], each: int, random: np.random.Generator) -> None:
    n = len(hashes) * each
    if n <= 0:
        return
    source = pa.array(hashes).take(np.repeat(np.arange(len(hashes)), each))
    flow_id = np.tile(np.arange(2, each + 2), len(hashes))
    size = random.integers(100, 20_000, n)
    start = START_NS + random.integers(0, SECONDS * INTERVALS_A_SECOND, n) * INTERVAL_NS
    hosts = pa.array([SERVER, OTHER_SERVER]).take(flow_id % 2)
    tables.write(
        "flow",
        _flow(
            {"source_hash": source, "flow_id": flow_id, "protocol": "udp", "initiator_host_key": hosts,
             "initiator_port": flow_id % 60_000 + 1024, "responder_host_key": OTHER_CLIENT, "responder_port": 53,
             "first_packet_ns": start, "last_packet_ns": start, "fwd_packets": size // PACKET_BYTES + 1,
             "fwd_bytes": size, "fwd_active_intervals": 1}
        ),
        n,
    )  # fmt: skip
    tables.write(
        "flow_interval",
        {"decoder_version": VERSION, "source_hash": source, "flow_id": flow_id, "direction": "fwd",
         "interval_ms": INTERVAL_NS // 10**6, "interval_start_ns": start, "packets": size // PACKET_BYTES + 1,
         "bytes": size},
        n,
    )  # fmt: skip


def _queue_log(tables: Tables, log_hash: str, roles: list[str], rate: int, random: np.random.Generator) -> None:
    """Write the log of a full link: a FIFO whose delay swings around 30 ms, one packet in 50 dropped at its tail."""
    n = rate * SECONDS // (8 * PACKET_BYTES)
    enqueue = np.sort(random.integers(0, SECONDS * NS, n))
    swing = 30e6 + 20e6 * np.sin(enqueue / NS) + random.normal(0, 1e6, n)
    dequeue = np.maximum.accumulate(enqueue + swing.astype(np.int64))
    dropped = random.random(n) < 0.02
    role = random.integers(0, len(roles), n)
    protocols, ports = pa.array([PROTOCOLS[name] for name in roles]), np.array([PORTS[name] for name in roles])
    constants = {"decoder_version": VERSION, "source_hash": log_hash, "queue_number": 0, "clock": "utc"}
    tables.write(
        "queue_packet",
        {**constants, "packet_index": np.arange(n),
         "fate": pa.array(["dequeued", "dropped_at_enqueue"]).take(dropped.astype(int)),
         # A packet that the full queue refused was never in it.
         "enqueue_ns": pa.array(START_NS + enqueue, mask=dropped),
         "dequeue_ns": pa.array(START_NS + dequeue, mask=dropped),
         "drop_ns": pa.array(START_NS + enqueue, mask=~dropped),
         "sojourn_ns": pa.array(dequeue - enqueue, mask=dropped),
         "drop_kind": pa.array(["overlimit"]).take(pa.array(np.zeros(n, dtype=int), mask=~dropped)),
         "packet_bytes": PACKET_BYTES, "ecn_ce": False, "ecn_ce_at_enqueue": False, "ethertype": 2048,
         "protocol": protocols.take(role), "source_host_key": SERVER, "source_port": ports[role],
         "destination_host_key": CLIENT, "destination_port": ports[role]},
        n,
    )  # fmt: skip
    intervals = SECONDS * INTERVALS_A_SECOND + INTERVALS_A_SECOND
    kept = ~dropped
    arrived = np.bincount(enqueue // INTERVAL_NS, minlength=intervals)
    departed = np.bincount(dequeue[kept] // INTERVAL_NS, minlength=intervals)
    refused = np.bincount(enqueue[dropped] // INTERVAL_NS, minlength=intervals)
    # By Little's law, as if a packet waited only in the interval in which it leaves.
    waited = np.bincount(dequeue[kept] // INTERVAL_NS, weights=(dequeue - enqueue)[kept], minlength=intervals)
    waiting = waited / INTERVAL_NS
    tables.write(
        "queue_interval",
        {**constants, "interval_start_ns": START_NS + np.arange(intervals) * INTERVAL_NS,
         "interval_ms": INTERVAL_NS // 10**6, "observed_ns": INTERVAL_NS, "arrived_packets": arrived,
         "arrived_bytes": arrived * PACKET_BYTES, "departed_packets": departed,
         "departed_bytes": departed * PACKET_BYTES, "dropped_packets": refused,
         "dropped_bytes": refused * PACKET_BYTES, "dropped_at_enqueue_packets": refused,
         "dropped_in_queue_packets": 0, "occupancy_mean_packets": waiting,
         "occupancy_mean_bytes": waiting * PACKET_BYTES, "occupancy_max_packets": np.ceil(waiting).astype(int) + 1,
         "occupancy_max_bytes": (np.ceil(waiting).astype(int) + 1) * PACKET_BYTES,
         "busy_ratio": np.minimum(waiting, 1.0), "lost_events": 0},
        intervals,
    )  # fmt: skip
    drops = int(dropped.sum())
    first, last = START_NS + int(enqueue[0]), START_NS + int(max(dequeue[kept][-1], enqueue[-1]))
    counts = {"enqueue_events": n - drops, "dequeue_events": n - drops, "drop_events": drops,
              "first_event_ns": first, "last_event_ns": last}  # fmt: skip
    tables.write("queue", {**constants, **counts, "handle": "1:"}, 1)
    tables.write(
        "queue_log",
        {**constants, **counts, "lost_events": 0, "lost_events_is_minimum": False, "probe_failed": False,
         "open_enqueues": 0, "open_dequeues": 0},
        1,
    )  # fmt: skip
