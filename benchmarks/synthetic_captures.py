"""A generated lake of captures that no manifest describes: recordings, and millions of flows in them.

Nothing in it was measured; its version, hashes and folders say so. Half of the flows have few packets, as in captures
of an access link: of TCP, two in five connections have the 10 samples that a queuing delay needs. Flows have a row of
`flow_interval` for every 100 ms and direction with packets. One flow in 500 is a call with an RTP stream.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from synthetic_lake import INTERVAL_NS, NS, START_NS, VERSION, Tables, commit_of

from sojourn_ingest.lake import Lake

FLOWS_OF_A_RECORDING = 10_000
FLOWS_A_CHUNK = 200_000
RECORDINGS_OF_A_FOLDER = 50
RECORDINGS_A_DAY = 40
SECONDS_OF_A_RECORDING = 3600
CLIENTS = 20_000
SERVERS = 5_000
PORTS = np.array([443, 80, 22, 25, 993, 8080, 5228, 9999])
PORT_SHARES = np.array([0.7, 0.1, 0.03, 0.02, 0.05, 0.04, 0.03, 0.03])
MOST_INTERVALS = 12
CALL_EVERY = 500
ENOUGH_SAMPLES_RATIO = 0.4

Integers = npt.NDArray[np.int64]


def generate_captures(folder: Path, flows: int, seed: int = 1) -> None:
    """Write a lake of recordings with ``flows`` flows in all, the same number in each but the last, into ``folder``."""
    Lake(folder)
    tables = Tables(folder)
    random = np.random.default_rng(seed)
    for first in range(0, flows, FLOWS_A_CHUNK):
        _chunk(tables, np.arange(first, min(first + FLOWS_A_CHUNK, flows)), random)
    commit = commit_of(tables, flows)
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "commits" / f"{commit.name}.json").write_text(commit.to_json())


def _chunk(tables: Tables, numbers: Integers, random: np.random.Generator) -> None:
    recordings = np.unique(numbers // FLOWS_OF_A_RECORDING)
    _recordings(tables, recordings, np.bincount(numbers // FLOWS_OF_A_RECORDING)[recordings])
    n = len(numbers)
    recording = numbers // FLOWS_OF_A_RECORDING
    hashes = pa.array([f"{number:064x}" for number in recordings]).take(recording - recordings[0])
    flow_id = numbers % FLOWS_OF_A_RECORDING
    is_call = numbers % CALL_EVERY == 0
    is_tcp = (random.random(n) < 0.7) & ~is_call
    port = np.where(is_call, 50_000, random.choice(PORTS, n, p=PORT_SHARES))
    start = START_NS + (recording // RECORDINGS_A_DAY) * 86_400 * NS
    start = start + random.integers(0, (SECONDS_OF_A_RECORDING - 60) * 1000, n) * 1_000_000
    intervals = np.where(is_call, MOST_INTERVALS, np.minimum(random.geometric(0.45, n), MOST_INTERVALS))
    packets = intervals * random.integers(1, 12, n)
    samples = np.where(random.random(n) < ENOUGH_SAMPLES_RATIO, 10 + packets, np.minimum(packets, 9))
    rtt = random.lognormal(10.3, 0.7, n)
    queue = random.lognormal(9, 1.3, n)
    # A few servers have most of the flows.
    server = np.minimum(random.zipf(1.3, n), SERVERS) - 1
    name = pa.array([f"server-{number}.example" for number in range(SERVERS)]).take(server)
    named = is_tcp & (port == 443)
    clients = pa.array([f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(CLIENTS)])
    servers = pa.array([f"10.200.{number >> 8}.{number & 255}" for number in range(SERVERS)])
    unless_tcp, unless_named = ~is_tcp, ~named

    def of_tcp(values: npt.NDArray[np.generic] | float) -> pa.Array:
        return pa.array(np.broadcast_to(values, n), mask=unless_tcp)

    columns: dict[str, object] = {
        "decoder_version": VERSION, "source_hash": hashes, "flow_id": flow_id, "ip_version": 4, "end_reason": "idle",
        "protocol": pa.array(["udp", "tcp"]).take(is_tcp.astype(int)),
        "initiator_host_key": clients.take(random.integers(0, CLIENTS, n)),
        "initiator_port": random.integers(1024, 65_536, n), "responder_host_key": servers.take(server),
        "responder_port": port, "first_packet_ns": start,
        "last_packet_ns": start + intervals * INTERVAL_NS - 1, "starts_in_mid_flow": of_tcp(np.zeros(n, dtype=bool)),
        "handshake_rtt_us": of_tcp((rtt * 1.2).astype(np.int64)),
        "server_name": pa.array(name.to_pandas(), mask=unless_named),
        "server_name_source": pa.array(np.full(n, "tls", dtype=object), mask=unless_named),
        "client_hello_outcome": pa.array(np.full(n, "named", dtype=object), mask=unless_named),
        "is_client_hello_encrypted": pa.array(np.zeros(n, dtype=bool), mask=unless_named),
        "tls_version_offered": pa.array(np.full(n, "1.3", dtype=object), mask=unless_named),
    }  # fmt: skip
    for direction, size, path in (("fwd", 200, rtt), ("rev", 1200, rtt / 10)):
        sent = packets * size
        columns |= {
            f"{direction}_packets": packets, f"{direction}_bytes": sent + packets * 66,
            f"{direction}_payload_bytes": sent, f"{direction}_active_intervals": intervals,
            f"{direction}_unique_payload_bytes": of_tcp(sent), f"{direction}_duplicate_packets": of_tcp(0),
            f"{direction}_tcp_flags": of_tcp(27), f"{direction}_retransmitted_packets": of_tcp(packets // 50),
            f"{direction}_spurious_retransmitted_packets": of_tcp(0),
            f"{direction}_out_of_order_packets": of_tcp(packets // 70),
            f"{direction}_duplicate_acknowledgements": of_tcp(0), f"{direction}_sack_packets": of_tcp(0),
            f"{direction}_dsack_packets": of_tcp(0), f"{direction}_zero_windows": of_tcp(0),
            f"{direction}_ecn_ce_packets": 0, f"{direction}_ecn_ece_packets": of_tcp(0),
            f"{direction}_ecn_cwr_packets": of_tcp(0), f"{direction}_rtt_samples": of_tcp(samples),
            f"{direction}_rtt_min_us": of_tcp(path.astype(np.int64)),
            f"{direction}_rtt_avg_us": of_tcp(path + queue / 2),
            f"{direction}_rtt_max_us": of_tcp((path + 2 * queue).astype(np.int64)),
            f"{direction}_srtt_min_us": of_tcp(path), f"{direction}_srtt_avg_us": of_tcp(path + queue / 2),
            f"{direction}_srtt_max_us": of_tcp(path + queue), f"{direction}_timestamp_rtt_samples": of_tcp(0),
        }  # fmt: skip
    tables.write("flow", columns, n)
    _intervals(tables, hashes, flow_id, start, intervals, packets)
    chosen = np.flatnonzero(is_call)
    _calls(tables, hashes.take(chosen), flow_id[chosen], start[chosen], packets[chosen])


def _recordings(tables: Tables, recordings: Integers, flows: Integers) -> None:
    n = len(recordings)
    hashes = [f"{number:064x}" for number in recordings]
    tables.write(
        "ingest_outcome",
        {"decoder_version": VERSION, "content_hash": hashes, "size_bytes": 1, "modified_ns": 1, "compression": "none",
         "source_path": [
             f"/synthetic/link-{number // RECORDINGS_OF_A_FOLDER}/{number:06d}.pcap" for number in recordings
         ],
         "format": "capture", "status": "ok", "records_read": flows, "records_refused": 0, "refused_by_reason": "{}",
         "started_ns": START_NS, "duration_ms": 1.0},
        n,
    )  # fmt: skip
    tables.write(
        "capture_link",
        {"decoder_version": VERSION, "source_hash": hashes, "link_type": 1, "link_type_name": "ethernet",
         "records": flows},
        n,
    )  # fmt: skip


def _intervals(
    tables: Tables, hashes: pa.Array, flow_id: Integers, start: Integers, intervals: Integers, packets: Integers
) -> None:
    rows = np.repeat(np.arange(len(flow_id)), intervals)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(intervals) - intervals, intervals)
    each = np.maximum(packets[rows] // intervals[rows], 1)
    for direction, size in (("fwd", 266), ("rev", 1266)):
        tables.write(
            "flow_interval",
            {"decoder_version": VERSION, "source_hash": hashes.take(rows), "flow_id": flow_id[rows],
             "direction": direction, "interval_ms": INTERVAL_NS // 10**6,
             "interval_start_ns": start[rows] // INTERVAL_NS * INTERVAL_NS + place * INTERVAL_NS, "packets": each,
             "bytes": each * size},
            len(rows),
        )  # fmt: skip


def _calls(tables: Tables, hashes: pa.Array, flow_id: Integers, start: Integers, packets: Integers) -> None:
    n = len(flow_id)
    stream: dict[str, object] = {
        "decoder_version": VERSION, "source_hash": hashes, "flow_id": flow_id, "direction": "fwd", "ssrc": flow_id + 1,
        "packets": packets, "expected_packets": packets + 1, "lost_packets": 1, "frames": packets,
        "payload_bytes": packets * 200, "jitter_ms": 2.0,
    }  # fmt: skip
    tables.write(
        "rtp_stream",
        {**stream, "payload_type": 111, "clock_rate_hz": 48_000, "clock_basis": "estimated", "first_packet_ns": start,
         "last_packet_ns": start + NS, "reordered_packets": 0, "duplicate_packets": 0, "jitter_mean_ms": 2.0,
         "jitter_max_ms": 9.0, "frame_rate_fps": 50.0, "rate_bps": 80_000.0, "recognised_by": "heuristics"},
        n,
    )  # fmt: skip
    tables.write("rtp_interval", {**stream, "interval_start_ns": start // NS * NS, "interval_ms": 1000}, n)
