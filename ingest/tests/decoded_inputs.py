"""Small inputs of every format, the same each time: what decoded_facts.py decodes beside the bundled sample."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import shutil
import socket
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from call_files import CALLS
from captures import udp_frame, write_pcap
from connection_tables import write_tables
from qmon import simulate, write
from quality_files import CSV, HAR, JSON, LIGHTHOUSE, PAGE_LOADS, PSNR, SSIM, WGET_LOG, XML
from tool_results import FORMS, PPING_FORMS, QLOG_FORMS, SPEED_TESTS, crusader, flent_document, streamed

from sojourn_ingest.synthetic.connection_files import write_world
from sojourn_ingest.synthetic.connection_world import ConnectionWorld

START_NS = 1_700_000_000 * 10**9
#: Runs of the bundled sample: a solo run with RTP, and one with a queue that drops early.
SAMPLE_RUNS = (
    "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1",
    "1000k_rtt50_fq_codel_cubic_video_appfirst_rep1",
)
#: The folder whose captures are decoded with the table packet.
WITH_PACKETS = "with-packets"


def write_inputs(folder: Path, repository: Path) -> None:
    """Write all inputs below a folder, those of one kind in a folder of their own."""
    for name, make in {
        "captures": _captures,
        WITH_PACKETS: _captures,
        "recording": _recording,
        "queue-logs": _queue_logs,
        "polls": _polls,
        "connections": _connections,
        "archive": _archive,
        "results": _results,
        "study": _study,
        "quality": _quality,
        "calls": _calls,
    }.items():
        (folder / name).mkdir(parents=True)
        make(folder / name)
    golden = repository / "ingest" / "tests" / "golden" / "queue_perf.txt"
    shutil.copyfile(golden, folder / "queue-logs" / golden.name)
    for run in SAMPLE_RUNS:
        shutil.copytree(repository / "ingest" / "sample" / "runs" / run, folder / "sample" / run)


# ---------------------------------------------------------------- captures


def _ethernet(ether_type: int, payload: bytes) -> bytes:
    return bytes(12) + struct.pack("!H", ether_type) + payload


def _ipv4(protocol: int, payload: bytes, *, ecn: int = 0, identification: int = 1, fragment: int = 0) -> bytes:
    ends = socket.inet_aton("10.1.0.1") + socket.inet_aton("10.1.0.2")
    return (
        struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(payload), identification, fragment, 64, protocol, 0)
        + ends
        + payload
    )


def _ipv6(protocol: int, payload: bytes, *, ecn: int = 0) -> bytes:
    ends = socket.inet_pton(socket.AF_INET6, "2001:db8::1") + socket.inet_pton(socket.AF_INET6, "2001:db8::2")
    return struct.pack("!IHBB", 6 << 28 | ecn << 20, len(payload), protocol, 64) + ends + payload


def _udp(payload: bytes, source: int = 5000, destination: int = 5004) -> bytes:
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def _tcp(source: int, destination: int, sequence: int, acknowledged: int, flags: int, payload: bytes = b"") -> bytes:
    options = struct.pack("!BBIIBB", 8, 10, sequence % 1000 + 1, acknowledged % 1000, 1, 1)
    head = struct.pack("!HHIIBBHHH", source, destination, sequence, acknowledged, 8 << 4, flags, 500, 0, 0)
    return head + options + payload


def _tcp_exchange(packet: Any) -> list[bytes]:
    """Return a handshake, data of which one segment is sent twice and one is lost, acknowledgements and the end."""
    client, server = (40_000, 443), (443, 40_000)
    frames = [
        packet(6, _tcp(*client, 100, 0, 0xC2)),
        packet(6, _tcp(*server, 900, 101, 0x52)),
        packet(6, _tcp(*client, 101, 901, 0x10)),
    ]
    for segment in (0, 1, 2, 2, 4, 3):
        frames.append(packet(6, _tcp(*server, 901 + 1000 * segment, 101, 0x18, bytes(1000)), ecn=2 + (segment == 1)))
        frames.append(packet(6, _tcp(*client, 101, 901 + 1000 * min(segment, 3), 0x10)))
    return [*frames, packet(6, _tcp(*client, 101, 5901, 0x11)), packet(6, _tcp(*server, 5901, 102, 0x14))]


def _rtp_stream(lost: Sequence[int] = (7, 8)) -> list[bytes]:
    numbers = [*(n for n in range(40) if n not in lost), 39, 41, 40]
    heads = [struct.pack("!BBHII", 0x80, 96, n, 90 * 20 * n, 0xABCDEF01) for n in numbers]
    return [_ipv4(17, _udp(head + bytes(160))) for head in heads]


def _pcap(path: Path, link_type: int, packets: Sequence[bytes], gap_ns: int = 1_000_000) -> None:
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)
    for number, packet in enumerate(packets):
        seconds, nanoseconds = divmod(START_NS + number * gap_ns, 10**9)
        content += struct.pack("<IIII", seconds, nanoseconds, len(packet), len(packet)) + packet
    path.write_bytes(content)


def _pcapng(path: Path, packets: Sequence[bytes]) -> None:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    content = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 65535))
    for number, packet in enumerate(packets):
        high, low = divmod(START_NS // 1000 + number * 1000, 2**32)
        content += block(6, struct.pack("<IIIII", 0, high, low, len(packet), len(packet)) + packet)
    path.write_bytes(content)


def _captures(folder: Path) -> None:
    exchange4, exchange6 = _tcp_exchange(_ipv4), _tcp_exchange(_ipv6)
    _pcap(folder / "tcp-raw.pcap", 101, exchange4)
    _pcap(folder / "tcp6-raw.pcap", 101, exchange6)
    _pcap(folder / "rtp-raw.pcap", 101, _rtp_stream(), gap_ns=20_000_000)
    _pcap(folder / "tcp-null.pcap", 0, [struct.pack("<I", 2) + packet for packet in exchange4])
    _pcap(folder / "tcp-sll.pcap", 113, [struct.pack("!HHH8sH", 0, 1, 6, bytes(8), 0x0800) + p for p in exchange4])
    _pcap(
        folder / "tcp-sll2.pcap",
        276,
        [struct.pack("!HHIHBB8s", 0x0800, 0, 2, 1, 0, 6, bytes(8)) + p for p in exchange4],
    )
    vlan = [_ethernet(0x8100, struct.pack("!HH", 5, 0x86DD) + packet) for packet in exchange6]
    gre = [_ethernet(0x0800, _ipv4(47, struct.pack("!HH", 0, 0x0800) + packet)) for packet in exchange4]
    vxlan = [
        _ethernet(0x0800, _ipv4(17, _udp(struct.pack("!II", 0x08 << 24, 7 << 8) + _ethernet(0x0800, p), 9, 4789)))
        for p in exchange4
    ]
    whole = _udp(bytes(3000))
    fragments = [
        _ethernet(0x0800, _ipv4(17, whole[:1480], identification=9, fragment=0x2000)),
        _ethernet(0x0800, _ipv4(17, whole[1480:2960], identification=9, fragment=0x2000 | 185)),
        _ethernet(0x0800, _ipv4(17, whole[2960:], identification=9, fragment=370)),
    ]
    arp = [_ethernet(0x0806, bytes(28)), _ethernet(0x0800, b"\x45"), _ethernet(0x0800, _ipv4(1, bytes(8)))]
    _pcapng(folder / "tunnels.pcapng", [*vlan, *gre, *vxlan, *fragments, *arp])
    _pcap(folder / "other.pcap", 230, [bytes(40)])
    cut = write_pcap(folder / "cut.pcap", [udp_frame(b"x" * 20)] * 5)
    cut.write_bytes(cut.read_bytes()[:-7])


def _recording(folder: Path) -> None:
    for number, name in enumerate(("t.pcap", "t.pcap1", "t.pcap2")):
        frames = [udp_frame(f"{number} {n}".encode()) for n in range(20)]
        write_pcap(folder / name, frames, START_NS + number * 2 * 10**9, 10**8)


# ---------------------------------------------------------------- queues

QUEUE_LOG = """sojourn_queue_log: 1
name: router
form: csv
delimiter: ";"
clock: utc
drops: logged
event: {column: what, enqueue: [in], dequeue: [out], drop: [drop], lost: [lost]}
packet: [flow, seq]
fields:
  time: {from: t, unit: s}
  packet_bytes: {from: size, unit: bytes}
  queue_bytes: {from: queue, unit: kB}
  flow_label: {from: flow}
  lost_events: {from: size}
"""
QUEUE_CSV = """t;what;flow;seq;size;queue
1700000000.000000001;in;video;1;1000;1
1700000000.100000001;in;web;1;500;1.5
noise;noise
1700000000.200000001;lost;;;3;
1700000000.250000001;drop;web;1;500;1
1700000000.350000001;out;video;1;1000;0
"""
CODEL = {
    "kind": "codel", "handle": "b1:", "parent": "b0:1", "bytes": 700, "packets": 6, "drops": 2, "overlimits": 0,
    "requeues": 0, "backlog": 98, "qlen": 1, "count": 3, "lastcount": 1, "ldelay": 38445, "dropping": True,
    "drop_next": -120, "maxpacket": 98, "ecn_mark": 4, "drop_overlimit": 5,
}  # fmt: skip


def _queue_logs(folder: Path) -> None:
    (folder / "router.yaml").write_text(QUEUE_LOG)
    (folder / "router.csv").write_text(QUEUE_CSV)
    run = simulate(3)
    (folder / "queue.qmon").write_bytes(write([record for _, _, record in run.events]))


def _polls(folder: Path) -> None:
    times = [START_NS + 10**9 * n for n in (1, 2, 3)]
    polls = [
        {"ts_ns": time, "ts_end_ns": time + 5, "qdiscs": [CODEL | {"packets": 6 * n}]}
        for n, time in enumerate(times, 1)
    ]
    (folder / "qdisc_stats.jsonl").write_text("".join(json.dumps(p, separators=(",", ":")) + "\n" for p in polls))
    line = "ESTAB 0      0      10.0.1.2:40001 192.0.2.9:443"
    details = "\t cubic wscale:7,7 rto:304 rtt:{rtt}/2 mss:1448 cwnd:5 bytes_sent:{sent} bytes_received:7 minrtt:50"
    texts = [f"{line}\n{details.format(rtt=rtt, sent=sent)}\n" for rtt, sent in ((60, 100), (80, 200), (70, 20))]
    (folder / "ss.txt").write_text("".join(f"{1_700_000_000 + n}.5\n{text}" for n, text in enumerate(texts)))
    raw = [
        {"ts_ns": START_NS + n * 10**9, "ts_end_ns": START_NS + n * 10**9 + 5, "raw": t} for n, t in enumerate(texts)
    ]
    (folder / "ss_raw.jsonl").write_text("".join(json.dumps(poll, separators=(",", ":")) + "\n" for poll in raw))


# ---------------------------------------------------------------- connections


def ndt7_result(client: str = "192.0.2.1") -> bytes:
    """Return a result of NDT7 with two polls."""
    polls = [{"TCPInfo": {"RTT": 20_000, "MinRTT": 9_000, "BytesSent": 5}}, {"TCPInfo": {"RTT": 30_000}, "BBRInfo": {}}]
    measured = {"StartTime": "2020-01-01T00:00:00Z", "EndTime": "2020-01-01T00:00:02Z", "ServerMeasurements": polls}
    content = {"GitShortCommit": "x", "ClientIP": client, "Download": measured}
    return json.dumps(content, separators=(",", ":")).encode()


def ndt5_result() -> bytes:
    """Return a result of NDT5 whose summary has the RTTs of its polls."""
    measured = {
        "StartTime": "2020-01-01T00:00:00Z", "MinRTT": 10_000_000, "MaxRTT": 50_000_000, "SumRTT": 60_000_000,
        "CountRTT": 2,
    }  # fmt: skip
    content = {"GitShortCommit": "x", "ClientIP": "192.0.2.5", "Control": {"a": 1}, "C2S": {}, "S2C": measured}
    return json.dumps(content, separators=(",", ":")).encode()


def web100_lines() -> bytes:
    """Return a SideStream table whose rows have RTTs, none, too few fields, and no address."""
    names = "cid RemAddress StartTimeSec StartTimeUsec Duration MinRTT MaxRTT SumRTT CountRTT ThruBytesAcked"
    return (
        f"K: {names} ThruBytesReceived PktsRetrans\n"
        f"C: 1 192.0.2.1 1500000000 5 2000 {2**32 - 1} 0 0 0 1 2 3\n"
        "C: 2 192.0.2.2 1500000000 6 2000 4 9 18 2 1 2 3\n"
        "C: 3 192.0.2.3 1500000000 7 2000 4 9\n"
        "C: 4 nowhere 1500000000 7 2000 4 9 18 2 1 2 3\n"
    ).encode()


def flent_file() -> bytes:
    """Return a flent data file with two flows and the counters of a queue discipline."""
    polls = [{"t": 1_600_000_000.5, "tcp_rtt": 20.0}, {"t": 1_600_000_001.0, "tcp_rtt": 30.0}]
    counters = [
        {"t": 1_600_000_000.5 + n, "dropped": n, "sent_bytes": 1000.0 * n, "backlog_bytes": 7} for n in range(3)
    ]
    content = {
        "metadata": {"DATA_FILENAME": "x", "IP_VERSION": 4},
        "raw_values": {"TCP 1": polls, "TCP 2": polls, "qdisc_stats_router": counters},
        "results": {"TCP 1::tcp_rtt": [], "TCP 2::tcp_rtt": []},
        "version": 4,
    }
    return json.dumps(content).encode()


def tcp_info_lines() -> bytes:
    """Return the polls of one connection as M-Lab's tcp-info recorder writes them."""
    first = {"UUID": "made-up-1", "Sequence": 0, "StartTime": "2020-01-01T00:00:00Z"}
    lines: list[dict[str, Any]] = [{"Timestamp": "0001-01-01T00:00:00Z", "Metadata": first}]
    server, client = bytes((192, 0, 2, 1)) + bytes(12), bytes((192, 0, 2, 7)) + bytes(12)
    ports = struct.pack("<BBBBHH", 2, 1, 0, 0, 0xBB01, 4711)
    message = ports + server + client + struct.pack("<IQ", 0, 1) + bytes(20)
    for poll in range(1, 6):
        info = bytearray(232)
        struct.pack_into("<I", info, 68, 20_000 + 1000 * poll)
        struct.pack_into("<I", info, 148, 19_000)
        struct.pack_into("<Q", info, 120, 30_653 * poll)
        struct.pack_into("<Q", info, 200, 64_049 * poll)
        parts = [None, bytes(16), bytes(info), None, b"cubic\0", b"\0", b"\0", bytes(42), b"\0"]
        attributes = [None if part is None else base64.b64encode(part).decode() for part in parts]
        raw = base64.b64encode(message).decode()
        lines.append({"Timestamp": f"2020-01-01T00:00:0{poll}Z", "RawIDM": raw, "Attributes": attributes})
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _connections(folder: Path) -> None:
    (folder / "ndt7.json").write_bytes(ndt7_result())
    (folder / "ndt5.json").write_bytes(ndt5_result())
    (folder / "x.web100").write_bytes(web100_lines())
    (folder / "x.flent").write_bytes(flent_file())
    (folder / "x.jsonl").write_bytes(tcp_info_lines())
    write_tables(folder / "tables", 300)
    # Parquet says which release of its writer wrote it, so its bytes are not the same each time.
    (folder / "tables" / "t.parquet").unlink()
    write_world(ConnectionWorld(500, 1), 1, folder / "synthetic", 1, lambda _: None)


def _archive(folder: Path) -> None:
    members = [
        ndt7_result(), gzip.compress(ndt7_result("8.8.8.8"), mtime=0), ndt5_result(), web100_lines(), flent_file(),
        tcp_info_lines(), tcp_info_lines(), b"", b"neither this nor that", ndt7_result()[:-9],
    ]  # fmt: skip
    with tarfile.open(folder / "several.tar", "w") as archive:
        for number, content in enumerate(members):
            entry = tarfile.TarInfo(str(number))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


# ---------------------------------------------------------------- results of measurement tools


def _results(folder: Path) -> None:
    for name, content in FORMS.values():
        (folder / name).write_text(content())
    (folder / "rates.flent").write_text(json.dumps(flent_document(), sort_keys=True))
    for name, text in QLOG_FORMS.items():
        (folder / f"{name}.qlog").write_text(text())
    for name, text in PPING_FORMS.items():
        (folder / f"pping-{name}.txt").write_text(text())
    for name, document in SPEED_TESTS.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / "streaming.jsonl").write_text(streamed())
    for version in (0, 2):
        (folder / f"version-{version}.crr").write_bytes(crusader(version))


# ---------------------------------------------------------------- studies

STUDY = """sojourn_study: 1
study_id: own
title: t
description: d
licence: CC0-1.0
demand:
  - {role: app, application: "*"}
programmes:
  - name: steps
    steps:
      - {at_s: 0, bandwidth_bps: 1000000}
      - {at_s: 30, bandwidth_bps: 500000}
tables:
  - name: scores
    header: [call, score]
    outputs:
      - table: qoe_score
        fields:
          run_id: { from: call }
          metric: { constant: brisque }
          score: { from: score }
"""


def _study(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY)
    chance = random.Random(1)
    rows = [f"call {n},{chance.random() * 100:.3f}" for n in range(50)]
    (folder / "scores.csv").write_text("\n".join(["call,score", *rows, "bad,much", ""]))


# ---------------------------------------------------------------- quality


def _quality(folder: Path) -> None:
    for name, text in {
        "ssim.log": SSIM + "n:3 Y:0.9 All:1.5\n",
        "psnr.log": PSNR,
        "vmaf.xml": XML,
        "vmaf.csv": CSV + "2,0.9\n",
        "vmaf.json": JSON,
        "page_loads.har": HAR,
        "page_loads.jsonl": PAGE_LOADS,
        "page_loads.txt": "1.25\n-0.5\n0.8125\nnone\n",
        "page_loads.log": WGET_LOG,
        "lighthouse.json": LIGHTHOUSE,
        "percentiles.json": json.dumps(NETWORK_PERCENTILES),
    }.items():
        (folder / name).write_text(text)


NETWORK_PERCENTILES = {
    "sample_counts": {"downloads": 482, "uploads": 359},
    "metrics": {
        "download_throughput_mbps": {"p50": 4.7, "p95": 77.9},
        "upload_throughput_mbps": {"p50": 2.2, "p95": 32.6},
        "latency_ms": {"p50": 48.9, "p95": 20.3},
        "packet_loss": {"p50": 0.011, "p95": 0},
    },
}


# ---------------------------------------------------------------- calls


def _calls(folder: Path) -> None:
    for name, content in CALLS.items():
        (folder / name).write_text(content())
