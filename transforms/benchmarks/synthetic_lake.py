"""A generated lake for measuring the models: many runs of made-up flows, labelled synthetic in the study and its name.

Nothing in it was measured. Each run has a capture with one application flow and one TCP flow, of which the first starts
at 0 s and the other at 5 s of 30, and flows of others beside them; a tenth of the runs is solo.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.schema import table

STUDY = "synthetic-benchmark"
VERSION = "synthetic-1"
RUNS_A_CHUNK = 2_000
SECONDS = 30
START_NS = 1_700_000_000 * 10**9
QUEUES = (
    ("tail-drop", "bfifo", 2.0),
    ("tail-drop", "bfifo", 10.0),
    ("codel", "codel", None),
    ("fq_codel", "fq_codel", None),
)
NS = 10**9


class _Tables:
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
            given = columns.get(field.name)
            if given is None:
                arrays.append(pa.nulls(rows, field.type))
            elif isinstance(given, str | int | float | bool):
                arrays.append(pa.repeat(pa.scalar(given, field.type), rows))
            else:
                arrays.append(pa.array(given, field.type))
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
        return tuple(
            DataFile(name, f"data/{name}/synthetic.parquet", rows, (self._lake / "data" / name).stat().st_size)
            for name, rows in sorted(self._rows.items())
        )


def generate(folder: Path, runs: int, flows: int, seed: int = 1) -> None:
    """Write a lake of ``runs`` runs and ``flows`` flows (the same number in each run) into ``folder``."""
    Lake(folder)
    tables = _Tables(folder)
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
    files = tables.finish()
    commit = Commit(
        source_path="synthetic", content_hash="synthetic", decoder_version=VERSION, size_bytes=1, modified_ns=1,
        format="synthetic", status="ok", holds_facts=True, reason=None, message=None, records_read=flows, files=files,
    )  # fmt: skip
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "commits" / f"{commit.name}.json").write_text(commit.to_json())


def _chunk(tables: _Tables, numbers: np.ndarray, flows_a_run: int, random: np.random.Generator) -> None:
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
    tables.write(
        "run_source",
        {**keys, "source_hash": manifests, "measurement": "capture_after", "file_name": "after.pcap",
         "measurement_hash": hashes},
        n,
    )  # fmt: skip
    tables.write(
        "ingest_outcome",
        {"source_path": [f"synthetic/{name}/after.pcap" for name in names], "content_hash": hashes,
         "source_hash": hashes, "decoder_version": VERSION, "size_bytes": 1, "modified_ns": 1, "compression": "none",
         "format": "synthetic", "status": "ok", "records_read": flows_a_run, "records_refused": 0,
         "refused_by_reason": "{}", "started_ns": START_NS, "duration_ms": 1.0},
        n,
    )  # fmt: skip
    for number, role, protocol, port, present in (
        (0, "app", "udp", 5004, has_app), (1, "tcp", "tcp", 5201, has_tcp),
    ):  # fmt: skip
        chosen = np.flatnonzero(present)
        tables.write(
            "run_flow",
            {"decoder_version": VERSION, "study_id": STUDY, "run_id": [names[i] for i in chosen],
             "source_hash": [manifests[i] for i in chosen], "flow_number": number, "role": role, "protocol": protocol,
             "source_host_key": "10.0.0.1", "source_port": port, "destination_host_key": "10.0.1.1",
             "destination_port": port},
            len(chosen),
        )  # fmt: skip
        # Sharing halves the rate, more or less; alone an application takes half of the link and TCP all of it.
        share = np.where(solo, 0.5 if role == "app" else 0.97, random.beta(8, 8, n))[chosen]
        _declared_flow(tables, [hashes[i] for i in chosen], number, protocol, port, rate[chosen] * share / 8, random)
    _other_flows(tables, hashes, flows_a_run - 2, random)


def _flow(columns: dict[str, object]) -> dict[str, object]:
    counts = dict.fromkeys(
        ("fwd_payload_bytes", "rev_packets", "rev_bytes", "rev_payload_bytes", "fwd_active_intervals",
         "rev_active_intervals", "fwd_ecn_ce_packets", "rev_ecn_ce_packets"),
        0,
    )  # fmt: skip
    return {**counts, "decoder_version": VERSION, "ip_version": 4, "end_reason": "end_of_capture", **columns}


def _declared_flow(
    tables: _Tables, hashes: list[str], flow_id: int, protocol: str, port: int, bytes_a_second: np.ndarray,
    random: np.random.Generator,
) -> None:  # fmt: skip
    n = len(hashes)
    seconds = np.maximum(bytes_a_second[:, None] * random.normal(1, 0.05, (n, SECONDS)), 0).astype(np.int64)
    tables.write(
        "flow",
        _flow(
            {"source_hash": hashes, "flow_id": flow_id, "protocol": protocol, "initiator_host_key": "10.0.0.1",
             "initiator_port": port, "responder_host_key": "10.0.1.1", "responder_port": port,
             "first_packet_ns": START_NS, "last_packet_ns": START_NS + (SECONDS + 1) * NS,
             "fwd_packets": seconds.sum(axis=1) // 1000, "fwd_bytes": seconds.sum(axis=1)}
        ),
        n,
    )  # fmt: skip
    tables.write(
        "flow_interval",
        {"decoder_version": VERSION, "source_hash": pa.array(hashes).take(np.repeat(np.arange(n), SECONDS)),
         "flow_id": flow_id, "direction": "fwd", "interval_ms": 100,
         "interval_start_ns": np.tile(START_NS + np.arange(SECONDS) * NS, n),
         "packets": seconds.ravel() // 1000, "bytes": seconds.ravel()},
        n * SECONDS,
    )  # fmt: skip


def _other_flows(tables: _Tables, hashes: list[str], each: int, random: np.random.Generator) -> None:
    n = len(hashes) * each
    if n <= 0:
        return
    source = pa.array(hashes).take(np.repeat(np.arange(len(hashes)), each))
    flow_id = np.tile(np.arange(2, each + 2), len(hashes))
    size = random.integers(100, 20_000, n)
    start = START_NS + random.integers(0, SECONDS * 10, n) * (NS // 10)
    tables.write(
        "flow",
        _flow(
            {"source_hash": source, "flow_id": flow_id, "protocol": "udp", "initiator_host_key": "10.0.2.1",
             "initiator_port": flow_id % 60_000 + 1024, "responder_host_key": "10.0.3.1", "responder_port": 53,
             "first_packet_ns": start, "last_packet_ns": start, "fwd_packets": size // 1000 + 1, "fwd_bytes": size}
        ),
        n,
    )  # fmt: skip
    tables.write(
        "flow_interval",
        {"decoder_version": VERSION, "source_hash": source, "flow_id": flow_id, "direction": "fwd",
         "interval_ms": 100, "interval_start_ns": start, "packets": size // 1000 + 1, "bytes": size},
        n,
    )  # fmt: skip
