"""Made-up inputs for every reader of connections, in the forms and sizes of real ones, for measuring speed and memory.

Nothing in them was measured: addresses, times and RTTs are random, from a fixed seed. An NDT7 result has as many polls
and fields as M-Lab's (31 kB), a tcp-info member as many polls, a SideStream line as many variables, a flent file as
many series of RTT and of other measurements as one of the rrul test.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import struct
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sojourn_ingest.formats.connection.web100 import USED

SEED = 7
POLLS_OF_NDT7 = 33
POLLS_OF_TCP_INFO = 26
SOCKETS_OF_A_POLL = 20
POLLS_OF_A_SOCKET = 200
ROWS_OF_SIDESTREAM = 600
POLLS_OF_FLENT = 350
START_S = 1_584_490_017

# The fields of Linux's TCP_INFO as NDT writes them, with a usual value each.
TCP_INFO: dict[str, int] = {
    "State": 1, "CAState": 0, "Retransmits": 0, "Probes": 0, "Backoff": 0, "Options": 6, "WScale": 120, "AppLimited": 0,
    "RTO": 734_000, "ATO": 40_000, "SndMSS": 1452, "RcvMSS": 536, "Unacked": 23, "Sacked": 0, "Lost": 0, "Retrans": 0,
    "Fackets": 0, "LastDataSent": 1, "LastAckSent": 0, "LastDataRecv": 640, "LastAckRecv": 1, "PMTU": 1500,
    "RcvSsThresh": 64_076, "RTT": 0, "RTTVar": 22_283, "SndSsThresh": 2_147_483_647, "SndCwnd": 28, "AdvMSS": 1460,
    "Reordering": 3, "RcvRTT": 0, "RcvSpace": 14_600, "TotalRetrans": 0, "PacingRate": 147_868, "MaxPacingRate": -1,
    "BytesAcked": 0, "BytesReceived": 836, "SegsOut": 48, "SegsIn": 16, "NotsentBytes": 91_476, "MinRTT": 0,
    "DataSegsIn": 3, "DataSegsOut": 46, "DeliveryRate": 45_773, "BusyTime": 952_000, "RWndLimited": 0,
    "SndBufLimited": 0, "Delivered": 24, "DeliveredCE": 0, "BytesSent": 0, "BytesRetrans": 0, "DSackDups": 0,
    "ReordSeen": 0,
}  # fmt: skip

TABLE_DESCRIPTION = """sojourn_connections: 1
dataset: made-up
title: Made-up connections
licence: CC0-1.0
synthetic: true
tables:
  - name: connections
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: start, unit: s }
      client_address: { from: address }
      client_name: { from: name }
      rtt_min_us: { from: least, unit: ms }
      rtt_avg_us: { from: mean, unit: ms }
      rtt_max_us: { from: most, unit: ms }
      rtt_samples: { from: samples }
      sent_bytes: { from: bytes, unit: bytes }
"""

TABLE_ROWS = """
    select 1321009871 + range % 86400 || '.' || lpad((range % 1000)::varchar, 3, '0') as start,
        (1 + hash(range) % 223) || '.' || (hash(range + 1) % 256) || '.' || (hash(range + 2) % 256) || '.'
            || (hash(range + 3) % 256) as address,
        case when range % 4 = 0 then 'host-' || range % 100000 || '.adsl.example.net' else '' end as name,
        20 + range % 50 as least, 45.5 + range % 50 as mean, 90 + range % 400 as most,
        10 + range % 90 as samples, 5000 + hash(range) % 100000 as bytes
    from range({rows})
"""


#: What makes one member of an archive, from random numbers and its place.
Member = Callable[[random.Random, int], bytes]


def _address(numbers: random.Random) -> str:
    return f"{numbers.randrange(1, 224)}.{numbers.randrange(256)}.{numbers.randrange(256)}.{numbers.randrange(256)}"


def _time(numbers: random.Random, seconds: int) -> str:
    minutes, second = divmod(seconds % 3600, 60)
    return f"2020-03-18T{seconds // 3600 % 24:02}:{minutes:02}:{second:02}.{numbers.randrange(10**9):09}Z"


def _tcp_info(numbers: random.Random, least_us: int, poll: int) -> dict[str, int]:
    return TCP_INFO | {
        "RTT": least_us + numbers.randrange(200_000),
        "MinRTT": least_us,
        "BytesSent": 64_049 * poll,
        "BytesAcked": 30_653 * poll,
        "TotalRetrans": poll // 9,
        "ElapsedTime": 300_000 * poll,
    }


def _test(numbers: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a result of NDT says of the test, and what it says of a direction."""
    second, client = numbers.randrange(86_000), _address(numbers)
    times = {"StartTime": _time(numbers, second), "EndTime": _time(numbers, second + 10)}
    ends = {"ServerIP": "192.0.2.1", "ServerPort": 443, "ClientIP": client, "ClientPort": 32_805}
    return {"GitShortCommit": "made-up", "Version": "v0.0.0", **ends, **times}, {"UUID": f"made-up-{second}", **times}


def ndt7_result(numbers: random.Random) -> bytes:
    """Return one result of NDT7 with one direction, every poll with all fields."""
    test, measured = _test(numbers)
    least_us = numbers.randrange(5_000, 300_000)
    polls = [
        {
            "BBRInfo": {"ElapsedTime": 300_000 * poll, "MaxBandwidth": 48_898, "MinRTT": least_us},
            "TCPInfo": _tcp_info(numbers, least_us, poll),
        }
        for poll in range(1, POLLS_OF_NDT7 + 1)
    ]
    direction = measured | {"ServerMeasurements": polls, "ClientMeasurements": None, "ClientMetadata": []}
    return json.dumps(test | {"Download": direction}, separators=(",", ":")).encode()


def ndt5_result(numbers: random.Random) -> bytes:
    """Return one result of NDT5 with both directions, of which the one from the server has a summary of its RTT."""
    test, measured = _test(numbers)
    least_ms = numbers.randrange(5, 300)
    rtt = {"MinRTT": least_ms, "MaxRTT": 2 * least_ms + 30, "SumRTT": 102 * (least_ms + 25)}
    from_server = measured | {name: value * 1_000_000 for name, value in rtt.items()} | {"CountRTT": 102}
    from_server |= {"MeanThroughputMbps": 0.42, "TCPInfo": _tcp_info(numbers, least_ms * 1000, 30)}
    control = {"UUID": "made-up", "Protocol": "WSS", "MessageProtocol": "JSON", "ServerMetadata": []}
    content = test | {"Control": control, "C2S": measured | {"MeanThroughputMbps": 0.19}, "S2C": from_server}
    return json.dumps(content, separators=(",", ":")).encode()


def _base64(content: bytes | bytearray) -> str:
    return base64.b64encode(content).decode()


def tcp_info_file(numbers: random.Random, cookie: int) -> bytes:
    """Return one tcp-info file (zstd): the metadata and the polls of one connection."""
    second, least_us = numbers.randrange(80_000), numbers.randrange(5_000, 300_000)
    first = {"UUID": f"made-up-{cookie}", "Sequence": 0, "StartTime": _time(numbers, second)}
    lines: list[dict[str, Any]] = [{"Timestamp": "0001-01-01T00:00:00Z", "Metadata": first}]
    ports = struct.pack("<BBBBHH", 2, 1, 0, 0, 0xBB01, numbers.getrandbits(16) | 1)
    server, client = bytes((192, 0, 2, 1)) + bytes(12), numbers.randbytes(4) + bytes(12)
    message = ports + server + client + struct.pack("<IQ", 0, cookie) + bytes(20)
    for poll in range(1, POLLS_OF_TCP_INFO + 1):
        info = bytearray(232)
        struct.pack_into("<I", info, 68, least_us + numbers.randrange(200_000))
        struct.pack_into("<I", info, 148, least_us)
        struct.pack_into("<Q", info, 120, 30_653 * poll)
        struct.pack_into("<Q", info, 200, 64_049 * poll)
        texts = [None, "AAAAAAAAAAAAEAAAAAAAAA==", info, None, b"cubic\0", b"\0", b"\0", bytes(42), b"\0"]
        attributes = [
            base64.b64encode(part).decode() if isinstance(part, bytes | bytearray) else part for part in texts
        ]
        lines.append({"Timestamp": _time(numbers, second + poll), "RawIDM": _base64(message), "Attributes": attributes})
    text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    return bytes(pa.Codec("zstd").compress(text, asbytes=True))


def sidestream_lines(numbers: random.Random, rows: int) -> Iterator[bytes]:
    """Yield the lines of one SideStream table of 121 variables a line."""
    names = ["cid", *USED, *(f"Other{number}" for number in range(109))]
    yield f"K: {' '.join(names)}\n".encode()
    others = " ".join(str(number * 37) for number in range(109))
    for cid in range(rows):
        least, count = numbers.randrange(5, 300), numbers.randrange(1, 5000)
        start = f"{START_S + numbers.randrange(86_400)} {numbers.randrange(10**6)}"
        rtt = f"{least} {least * 3} {least * 2 * count} {count}"
        moved = f"{numbers.randrange(10**7)} {numbers.randrange(10**6)} {numbers.randrange(50)}"
        line = f"C: {cid} {_address(numbers)} {start} {numbers.randrange(10**7)} {rtt} {moved} {others}\n"
        yield line.encode()


def _socket(numbers: random.Random, client: str, sent_bytes: int) -> str:
    rtt = f"rtt:{50 + numbers.randrange(90_000) / 1000:.3f}/{numbers.randrange(30_000) / 1000:.3f}"
    moved = f"bytes_sent:{sent_bytes} bytes_acked:{sent_bytes} bytes_received:2"
    return (
        f"ESTAB 0      {sent_bytes % 90_000}     192.0.2.1:443 {client} timer:(on,248ms,0) ts sack cubic wscale:7,7 "
        f"rto:252 {rtt} ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:10 {moved} segs_out:6 segs_in:5 "
        "data_segs_out:3 data_segs_in:2 send 2312499bps lastsnd:56 lastrcv:4 lastack:4 pacing_rate 4624928bps "
        "delivery_rate 460504bps delivered:4 app_limited busy:100ms rcv_space:14480 rcv_ssthresh:64088 "
        "minrtt:50.055 snd_wnd:65024"
    )


def ss_polls(numbers: random.Random, polls: int) -> Iterator[bytes]:
    """Yield lines of polls, 0.1 s apart; a socket is there for 200 polls, and then another takes its place."""
    clients: list[str] = []
    for poll in range(polls):
        if poll % POLLS_OF_A_SOCKET == 0:
            clients = [f"{_address(numbers)}:{numbers.randrange(1024, 65_536)}" for _ in range(SOCKETS_OF_A_POLL)]
        sent = poll % POLLS_OF_A_SOCKET * 1448
        sockets = "\n".join(_socket(numbers, client, sent) for client in clients)
        start_ns = START_S * 10**9 + poll * 10**8
        content = {"ts_ns": start_ns, "ts_end_ns": start_ns + 4_000_000, "raw": sockets}
        yield json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _flent_poll(numbers: random.Random, time_s: float) -> dict[str, float]:
    return {"t": time_s + numbers.random() / 100, "tcp_rtt": 50 + numbers.random() * 90, "tcp_cwnd": 10.0}


def flent_file(numbers: random.Random) -> bytes:
    """Return one flent data file: eight flows with polls of tcp_rtt, four series of pings, and all interpolated."""
    flows = [f"TCP {way} {number}" for way in ("upload", "download") for number in range(4)]
    pings = [f"Ping {number}" for number in range(4)]
    raw: dict[str, Any] = {}
    for flow in flows:
        raw[flow] = [_flent_poll(numbers, START_S + poll * 0.2) for poll in range(POLLS_OF_FLENT)]
    for ping in pings:
        raw[ping] = [{"seq": n, "t": START_S + n * 0.2, "val": 20 + numbers.random()} for n in range(POLLS_OF_FLENT)]
    series = [*pings, *flows, *(f"{flow}::tcp_rtt" for flow in flows), *(f"{flow}::tcp_cwnd" for flow in flows)]
    content = {
        "metadata": {"DATA_FILENAME": "made-up.flent.gz", "IP_VERSION": 4, "NAME": "rrul"},
        "raw_values": raw,
        "results": {name: [20 + numbers.random() for _ in range(POLLS_OF_FLENT)] for name in series},
        "version": 4,
        "x_values": [poll * 0.2 for poll in range(POLLS_OF_FLENT)],
    }
    return json.dumps(content, sort_keys=True).encode()


def write_archive(
    path: Path, members: int, member: Callable[[random.Random, int], bytes], suffix: str = "json"
) -> None:
    """Write a tar archive of so many members."""
    numbers = random.Random(SEED)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for place in range(members):
            content = member(numbers, place)
            entry = tarfile.TarInfo(f"{place:07}.{suffix}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def write_ndt7(folder: Path, count: int) -> None:
    """Write an archive of NDT7 results."""
    write_archive(folder / "ndt7.tar", count, lambda numbers, _: ndt7_result(numbers))


def write_ndt7_gzip(folder: Path, count: int) -> None:
    """Write an archive of NDT7 results, each compressed, as M-Lab's newer ones are."""
    write_archive(folder / "ndt7.tar", count, lambda numbers, _: gzip.compress(ndt7_result(numbers)), "json.gz")


def write_ndt5(folder: Path, count: int) -> None:
    """Write an archive of NDT5 results."""
    write_archive(folder / "ndt5.tar", count, lambda numbers, _: ndt5_result(numbers))


def write_tcp_info(folder: Path, count: int) -> None:
    """Write an archive of tcp-info files, one connection each."""
    write_archive(folder / "tcp-info.tar", count, tcp_info_file, "jsonl.zst")


def write_flent(folder: Path, count: int) -> None:
    """Write an archive of flent data files."""
    write_archive(folder / "flent.tar", count, lambda numbers, _: gzip.compress(flent_file(numbers), 6), "flent.gz")


def write_sidestream(folder: Path, count: int) -> None:
    """Write one SideStream table."""
    with (folder / "sidestream.web100").open("wb") as file:
        file.writelines(sidestream_lines(random.Random(SEED), count))


def write_sidestream_archive(folder: Path, count: int) -> None:
    """Write an archive of SideStream tables of 600 lines."""

    def member(numbers: random.Random, _: int) -> bytes:
        return b"".join(sidestream_lines(numbers, ROWS_OF_SIDESTREAM))

    write_archive(folder / "sidestream.tar", count, member, "web100")


def write_ss_polls(folder: Path, count: int) -> None:
    """Write polls of ss as JSON Lines."""
    with (folder / "ss_raw.jsonl").open("wb") as file:
        file.writelines(ss_polls(random.Random(SEED), count))


def write_table(folder: Path, rows: int, form: str) -> None:
    """Write a described table of connections as ``csv``, ``parquet`` or ``jsonl``, and its description."""
    options = {"csv": "format csv, header", "parquet": "format parquet, compression zstd", "jsonl": "format json"}[form]
    duckdb.sql(f"copy ({TABLE_ROWS.format(rows=rows)}) to '{folder / f'connections.{form}'}' ({options})")
    (folder / "made-up.yaml").write_text(TABLE_DESCRIPTION)
