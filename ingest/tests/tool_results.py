"""One small result of each measurement tool, with hosts that no fact may name."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import msgpack
import pyarrow as pa

START_S = 1_700_000_000


def iperf3(**more: Any) -> dict[str, Any]:
    """Return a TCP result of two intervals, as a client writes it."""
    stream = {
        "socket": 5, "start": 0, "end": 1.0, "seconds": 1.0, "bytes": 1_250_000, "bits_per_second": 10_000_000.0,
        "retransmits": 3, "snd_cwnd": 14_480, "rtt": 20_500, "rttvar": 400, "omitted": False, "sender": True,
    }  # fmt: skip
    total = stream | {"end": 2.0, "seconds": 2.0, "bits_per_second": 9e6, "min_rtt": 20_000, "mean_rtt": 20_250}
    return {
        "start": {
            "connected": [{"socket": 5, "local_host": "8.8.8.8", "local_port": 1, "remote_host": "9.9.9.9"}],
            "version": "iperf 3.12", "system_info": "Linux annas-laptop", "connecting_to": {"host": "a.example.org"},
            "timestamp": {"timesecs": START_S}, "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0},
        },
        "intervals": [
            {"streams": [stream], "sum": stream},
            {"streams": [stream | {"start": 1.0, "end": 2.0, "bits_per_second": 8_000_000.0}], "sum": {}},
        ],
        "end": {
            "streams": [{"sender": total, "receiver": total}], "sum_sent": total, "sum_received": total,
            "sender_tcp_congestion": "cubic",
        },
    } | more  # fmt: skip


def irtt() -> dict[str, Any]:
    """Return a result of three round trips, the second lost on its way up."""
    trips = [
        {
            "seqno": n, "lost": "false", "delay": {"rtt": 2_000_000 + n, "send": -4_000_000 + n, "receive": 6_000_000},
            "timestamps": {"client": {"send": {"wall": START_S * 10**9 + n * 10**7}}},
        }
        for n in range(3)
    ]  # fmt: skip
    trips[1] |= {"lost": "true_up", "delay": {}}
    return {
        "version": {"irtt": "0.9.0", "protocol": 1, "json_format": 1}, "system_info": {"hostname": "annas-laptop"},
        "config": {"local_address": "8.8.8.8:50421"}, "stats": {"rtt": {"min": 2_000_000, "max": 2_000_002}},
        "round_trips": trips,
    }  # fmt: skip


IPUTILS = """PING a.example.org (8.8.8.8) 56(84) bytes of data.
[1700000000.500000] 64 bytes from a.example.org (8.8.8.8): icmp_seq=1 ttl=57 time=10.5 ms
[1700000001.500000] 64 bytes from a.example.org (8.8.8.8): icmp_seq=2 ttl=57 time=11 ms
[1700000001.600000] 64 bytes from a.example.org (8.8.8.8): icmp_seq=2 ttl=57 time=11 ms (DUP!)
[1700000004.500000] 64 bytes from a.example.org (8.8.8.8): icmp_seq=5 ttl=57 time=12.0 ms
[1700000004.600000] 64 bytes from a.example.org (8.8.8.8): icmp_seq=3 ttl=57 time=2000 ms
From 192.168.1.1 icmp_seq=6 Destination Host Unreachable

--- a.example.org ping statistics ---
6 packets transmitted, 4 received, +1 duplicates, 33% packet loss, time 5006ms
rtt min/avg/max/mdev = 10.500/508.375/2000.000/0.626 ms
"""
BSD = """PING 8.8.8.8 (8.8.8.8): 56 data bytes
64 bytes from 8.8.8.8: icmp_seq=0 ttl=117 time=12.345 ms
Request timeout for icmp_seq 1
64 bytes from 8.8.8.8: icmp_seq=2 ttl=117 time=13.000 ms

--- 8.8.8.8 ping statistics ---
3 packets transmitted, 2 packets received, 33.3% packet loss
round-trip min/avg/max/stddev = 12.345/12.672/13.000/0.328 ms
"""
FPING = """[1700000000.50000] 8.8.8.8 : [0], 64 bytes, 0.059 ms (0.059 avg, 0% loss)
[1700000000.60000] a.example.org : [0], 64 bytes, 5.1 ms (5.1 avg, 0% loss)
[1700000001.50000] 8.8.8.8 : [1], timed out (0.059 avg, 50% loss)

8.8.8.8 : xmt/rcv/%loss = 2/1/50%, min/avg/max = 0.059/0.059/0.059
"""
IPERF2 = """20231114221320,8.8.8.8,40000,9.9.9.9,5001,3,0.0-1.0,1250000,10000000
20231114221321,8.8.8.8,40000,9.9.9.9,5001,3,1.0-2.0,1000000,8000000
20231114221321,8.8.8.8,40000,9.9.9.9,5001,3,0.0-2.0,2250000,9000000
"""
IPERF2_UDP = "20231114221320,8.8.8.8,40000,9.9.9.9,5001,3,0.0-1.0,125000,1000000,0.25,2,90,2.222,0\n"

#: One of each form, with its format.
FORMS: dict[str, tuple[str, Callable[[], str]]] = {
    "iperf3": ("iperf3.json", lambda: json.dumps(iperf3())),
    "irtt": ("irtt.json", lambda: json.dumps(irtt())),
    "ping": ("ping.txt", lambda: IPUTILS),
    "fping": ("fping.txt", lambda: FPING),
    "iperf2": ("iperf2.csv", lambda: IPERF2),
}


def flent_document(**more: Any) -> dict[str, Any]:
    """Return a small data file: a ping from the start on, an upload from 5 s on."""
    pings = [{"seq": n, "t": START_S + n, "val": 20.0 + n} for n in range(10)]
    rates = [{"dur": 1.0, "t": START_S + 5 + n, "val": 2.07} for n in range(3)]
    polls = [{"t": START_S + 5.5, "tcp_rtt": 25.5, "tcp_cwnd": 10}]
    return {
        "metadata": {
            "DATA_FILENAME": "tcp_upload-2023-11-14T221320.000000.a.flent.gz", "NAME": "tcp_upload", "IP_VERSION": 4,
            "HOST": "server.example.org", "LOCAL_HOST": "annas-laptop", "T0": "2023-11-14T22:13:20.000000Z",
            "TITLE": "qdisc:fq_codel rtt:20ms rate:10Mbit/2Mbit rep:3 ecn:on",
            "SYSCTLS": {"net.ipv4.tcp_congestion_control": "cubic"},
            "SERIES_META": {
                "Ping (ms) ICMP": {"UNITS": "ms", "MEAN_VALUE": 24.5}, "TCP upload": {"UNITS": "Mbits/s"},
                "TCP upload avg": {"UNITS": "Mbits/s", "COMPUTED_LATE": False},
            },
        },
        "raw_values": {"Ping (ms) ICMP": pings, "TCP upload": rates + polls, "TCP upload avg": []},
        "results": {
            "Ping (ms) ICMP": [20.0, 24.0], "TCP upload": [None, 2.07], "TCP upload avg": [None, 2.07],
            "TCP upload::tcp_rtt": [None, 25.5],
        },
        "version": 4,
        "x_values": [0.0, 4.0],
    } | more  # fmt: skip


#: One connection as (ms, category, event, data), in the names of the newest draft.
QLOG_EVENTS: list[tuple[float, str, str, dict[str, Any]]] = [
    (0.0, "connectivity", "connection_started", {"local": {"ip_v4": "8.8.8.8"}, "remote": {"ip_v4": "9.9.9.9"}}),
    (10.0, "recovery", "metrics_updated",
     {"latest_rtt": 20.0, "smoothed_rtt": 20.0, "min_rtt": 20.0, "congestion_window": 12_000}),
    (10.0, "connectivity", "spin_bit_updated", {"state": False}),
    (15.0, "connectivity", "spin_bit_updated", {"state": True}),
    (20.0, "transport", "packet_sent", {"header": {"packet_number": 1}}),
    (35.0, "recovery", "packet_lost", {"header": {"packet_number": 1}}),
    (40.0, "connectivity", "spin_bit_updated", {"state": False}),
    (40.0, "recovery", "metrics_updated",
     {"latest_rtt": 30.0, "smoothed_rtt": 21.25, "congestion_window": 13_200, "bytes_in_flight": 1200}),
]  # fmt: skip
QLOG_OLD = {"congestion_window": "cwnd", "metrics_updated": "metric_update", "spin_bit_updated": "spin_bit_update",
            "connection_started": "connection_new"}  # fmt: skip


def qlog_document(draft: str) -> dict[str, Any]:
    """Return one connection as a document of a draft: 00 (us, capitals), 01 (columns of text), 02 (objects)."""
    vantage = {"type": "client", "name": "made up"}
    if draft == "02":
        events: list[Any] = [
            {"time": time, "name": f"{category}:{event}", "data": dict(data)}
            for time, category, event, data in QLOG_EVENTS
        ]
        common: dict[str, Any] = {"time_format": "relative", "reference_time": START_S * 1000.0}
        trace = {"events": events, "vantage_point": vantage, "common_fields": common}
        return {"qlog_version": "draft-02", "qlog_format": "JSON", "traces": [trace]}
    factor, capitals = (1000, str.upper) if draft == "00" else (1, str.lower)
    events = []
    for time, category, event, data in QLOG_EVENTS:
        old = {
            QLOG_OLD.get(name, name): value * factor if name.endswith("_rtt") else value for name, value in data.items()
        }
        if event == "connection_started":
            old = {"src_ip": "8.8.8.8", "dst_ip": "9.9.9.9"}
        events.append([str(int(time * factor)), capitals(category), capitals(QLOG_OLD.get(event, event)), old])
    trace = {
        "common_fields": {"reference_time": str(START_S * 1000 * factor), "group_id": "ab"},
        "event_fields": ["relative_time", capitals("category"), capitals("event_type"), capitals("data")],
        "configuration": {"time_units": "us" if draft == "00" else "ms"},
        "events": events,
        "vantage_point": vantage,
    }
    return {"qlog_version": f"draft-{draft}", "title": "made up", "traces": [trace]}


def qlog_sequence(*, lines: bool = False) -> str:
    """Return the same as a sequence of JSON texts of the newest draft, or as lines of draft 02."""
    common: dict[str, Any] = {"reference_time": {"clock_type": "monotonic", "epoch": "unknown",
                                                 "wall_clock_time": "2023-11-14T22:13:20Z"}}  # fmt: skip
    head: dict[str, Any] = {
        "file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq",
        "trace": {"vantage_point": {"type": "client"}, "common_fields": common},
    }  # fmt: skip
    if lines:
        head = {"qlog_version": "draft-02", "qlog_format": "NDJSON", "trace": head["trace"]}
        common |= {"time_format": "delta", "reference_time": START_S * 1000}
    texts, last = [json.dumps(head)], 0.0
    for time, _, event, data in QLOG_EVENTS:
        renamed = f"recovery_{event}" if event == "metrics_updated" else event
        stated = time - last if lines else time + 5000.0
        texts.append(json.dumps({"time": stated, "name": f"quic:{renamed}", "data": data}))
        last = time
    return "".join(f"{'' if lines else chr(0x1E)}{text}\n" for text in texts)


#: The same connection in every draft and form.
QLOG_FORMS: dict[str, Callable[[], str]] = {
    "draft-00": lambda: json.dumps(qlog_document("00")),
    "draft-01": lambda: json.dumps(qlog_document("01"), indent=1),
    "draft-02": lambda: json.dumps(qlog_document("02")),
    "lines": lambda: qlog_sequence(lines=True),
    "sequence": lambda: qlog_sequence(),
}


def pping_samples() -> list[dict[str, Any]]:
    """Return what ePPing writes of one flow in both parts of its path, until it closes, and of another."""
    flow = {"src_ip": "8.8.8.8", "src_port": 443, "dest_ip": "192.168.1.2", "dest_port": 50_000, "protocol": "TCP"}
    back = {"src_ip": "192.168.1.2", "src_port": 50_000, "dest_ip": "8.8.8.8", "dest_port": 443, "protocol": "TCP"}
    start_ns = START_S * 10**9
    opened = {"timestamp": start_ns, **flow, "flow_event": "opening", "reason": "SYN", "triggered_by": "dest"}
    counts = {"sent_packets": 9, "sent_bytes": 900, "rec_packets": 8, "rec_bytes": 800}
    samples = [
        {
            "timestamp": start_ns + n * 10**8,
            **end,
            "rtt": rtt_us * 1000,
            "min_rtt": 1000,
            **counts,
            "match_on_egress": side,
        }
        for n in range(12)
        for end, rtt_us, side in ((flow, 20_000 + 1000 * n, False), (back, 2000 + 10 * n, True))
    ]
    closed = {
        "timestamp": start_ns + 2 * 10**9,
        **flow,
        "flow_event": "closing",
        "reason": "FIN",
        "triggered_by": "src",
    }
    late = samples[0] | {"timestamp": start_ns + 3 * 10**9}
    return [opened, *samples, closed, late]


def pping_sums() -> list[dict[str, Any]]:
    """Return what ePPing writes when it sums up by prefix: its settings, two prefixes, and its counters."""
    start_ns = START_S * 10**9
    traffic = {"rx_stats": {"TCP_TS": {"packets": 5, "bytes": 500}}, "tx_stats": {}}
    rtts = {"count_rtt": 30, "min_rtt": 2_000_000, "mean_rtt": 6e6, "median_rtt": 6e6, "p95_rtt": 9e6,
            "max_rtt": 10_000_000, "histogram": [0, 10, 20]}  # fmt: skip
    return [
        {"timestamp": start_ns, "bins": 250, "bin_width_ns": 4_000_000, "aggregation_interval_ns": 10**9,
         "timeout_interval_ns": 0, "ipv4_prefix_len": 24, "ipv6_prefix_len": 48},
        {"timestamp": start_ns + 10**9, "ip_prefix": "8.8.8.0/24", **traffic, **rtts},
        {"timestamp": start_ns + 10**9, "ip_prefix": "9.9.9.0/24", **traffic},
        {"timestamp": start_ns + 10**9, "ip_prefix": "0.0.0.0/0", **traffic, **rtts},
        {"timestamp": start_ns + 10**9, "protocol_counters": {}, "ecn_counters": {}, "errors": {}},
    ]  # fmt: skip


PPING_MACHINE = (
    "1700000000.123456 0.020000 0.020000 1000 0 500 8.8.8.8:443+192.168.1.2:50000\n"
    "1700000001.123456 0.050000 0.020000 1000 0 500 8.8.8.8:443+192.168.1.2:50000\n"
    "1700000001.500000 0.001500 0.001500 1000 0 500 2001:db8::1:443+fe80::2:50000\n"
)
#: Each form of passive RTT.
PPING_FORMS: dict[str, Callable[[], str]] = {
    "array": lambda: json.dumps(pping_samples(), separators=(",", ":")),
    "lines": lambda: "".join(json.dumps(one) + "\n" for one in pping_samples()),
    "prefixes": lambda: json.dumps(pping_sums()),
    "machine": lambda: PPING_MACHINE,
}


SPEED_TESTS: dict[str, Any] = {
    "networkQuality": {
        "base_rtt": 12.5, "dl_throughput": 100_000_000, "ul_throughput": 20_000_000, "dl_responsiveness": 360.0,
        "ul_responsiveness": 340.5, "responsiveness": 350, "il_h2_req_resp": [13.0, 14.0], "lud_self_h2": [80.0, 95.0],
        "interface_name": "en0", "test_endpoint": "a.example.org", "start_date": "2023-11-14 22:13:20.000",
    },
    "speedtest": {
        "type": "result", "timestamp": "2023-11-14T22:13:20Z", "isp": "Example", "packetLoss": 0.5,
        "ping": {"jitter": 0.5, "latency": 10.0, "low": 9.0, "high": 12.0},
        "download": {"bandwidth": 12_500_000, "bytes": 125_000_000, "elapsed": 10_000,
                     "latency": {"iqm": 40.0, "low": 9.5, "high": 90.0, "jitter": 5.0}},
        "upload": {"bandwidth": 1_250_000, "bytes": 12_500_000, "elapsed": 10_000, "latency": {"iqm": 60.0}},
        "interface": {"externalIp": "8.8.8.8"}, "server": {"host": "a.example.org"},
    },
    "speedtest-cli": {
        "download": 1e8, "upload": 1e7, "ping": 10.0, "server": {"host": "a.example.org"}, "bytes_sent": 100,
        "bytes_received": 1000, "timestamp": "2023-11-14T22:13:20.000000Z", "client": {"ip": "8.8.8.8"},
    },
    "librespeed-cli": [
        {"timestamp": "2023-11-14T22:13:20Z", "server": {"name": "Example", "url": "http://a.example.org"},
         "client": {"ip": "8.8.8.8"}, "bytes_sent": 100, "bytes_received": 1000, "ping": 10, "jitter": 0.5,
         "upload": 10.0, "download": 100.0, "share": ""},
    ],
    "cloudflare": {
        "download": 1e8, "upload": 1e7, "latency": 10.0, "jitter": 0.5, "downLoadedLatency": 40.0,
        "downLoadedJitter": 5.0, "upLoadedLatency": 60.0, "upLoadedJitter": 6.0, "packetLoss": 0.005,
    },
    "fast-cli": {
        "downloadSpeed": 100, "uploadSpeed": 10, "downloaded": 125, "uploaded": 12, "latency": 10.0, "bufferBloat": 40,
        "userLocation": "Example, XX", "serverLocations": ["Example, XX"], "userIp": "8.8.8.8",
    },
    "ndt7-client": {
        "ServerFQDN": "a.example.org", "ServerIP": "9.9.9.9", "ClientIP": "8.8.8.8",
        "Download": {"UUID": "x", "Throughput": {"Value": 100.0, "Unit": "Mbit/s"},
                     "Latency": {"Value": 10.0, "Unit": "ms"}, "Retransmission": {"Value": 0.5, "Unit": "%"}},
        "Upload": {"UUID": "y", "Throughput": {"Value": 10.0, "Unit": "Mbit/s"},
                   "Latency": {"Value": 11.0, "Unit": "ms"}},
    },
    "cloudflare-speed-cli": {
        "timestamp_utc": "2023-11-14T22:13:20Z", "meas_id": "1", "ip": "8.8.8.8", "colo": "XXX",
        "idle_latency": {"sent": 20, "received": 20, "loss": 0.0, "mean_ms": 10.0, "jitter_ms": 0.5},
        "loaded_latency_download": {"sent": 20, "received": 19, "loss": 0.05, "mean_ms": 40.0, "jitter_ms": 5.0},
        "download": {"bytes": 125_000_000, "duration_ms": 10_000, "mbps": 100.0},
        "upload": {"bytes": 12_500_000, "duration_ms": 10_000, "mbps": 10.0},
    },
}  # fmt: skip

CRUSADER_MAGIC = 0x5372AB82AE7C59CB


def crusader(version: int) -> bytes:
    """Return a result of crusader: a download of two streams over 2 s, three probes, the second lost."""
    header = struct.pack("<QQ", CRUSADER_MAGIC, version)
    points = [[(1, 0), (2, 1_250_000), (3, 3_750_000)], [(1, 0), (3, 2_500_000)]]
    pings = [(1, 10), (2, None), (3, 50)]
    if version == 0:
        content = (
            struct.pack("<QQQQ", 5, 1, 5, 20) + struct.pack("<QIQI", 1, 0, 4, 0) + struct.pack("<QBBQ", 1, 1, 0, 2)
        )
        for stream in points:
            content += struct.pack("<Q", len(stream))
            content += b"".join(struct.pack("<QIQ", time, 0, sent) for time, sent in stream)
        content += struct.pack("<Q", len(pings))
        for place, (sent, took) in enumerate(pings):
            content += struct.pack("<QQI", place, sent, 0)
            content += b"\0" if took is None else struct.pack("<BQI", 1, 0, took * 10**6)
        return header + content
    document = {
        "version": version, "generated_by": "made up", "config": {}, "ipv6": False, "server_latency": [0, 0],
        "start": [1, 0], "duration": [4, 0],
        "stream_groups": [
            {"download": True, "both": False, "streams": [
                {"data": [{"time": [time, 0], "bytes": sent} for time, sent in stream]} for stream in points
            ]},
        ],
        "pings": [
            {"index": place, "sent": [sent, 0],
             "latency": {"total": None if took is None else [0, took * 10**6], "up": [0, 10**6]}}
            for place, (sent, took) in enumerate(pings)
        ],
    }  # fmt: skip
    packed = msgpack.packb(document)
    block = bytes(4) + pa.Codec("snappy").compress(packed[:100], asbytes=True)
    rest = bytes(4) + packed[100:]
    return b"".join((
        header, b"\xff\x06\0\0sNaPpY", b"\0", len(block).to_bytes(3, "little"), block,
        b"\1", len(rest).to_bytes(3, "little"), rest,
    ))  # fmt: skip


def streamed() -> str:
    """Return the log of a player: segments of 2 s arrive after 1, 2 and 6 s, and nothing until 10 s.

    The buffer has 3 s after the second, so that it is empty at 5 s; after the third, playback goes on for 2 s.
    """
    first_ns = START_S * 10**9
    lines = [
        {
            "segment": 0,
            "start_ns": 0.0,
            "end_ns": 1.0,
            "rate_bps": 150_000,
            "buffered_s": 2,
            "stalls": 0,
            "stalled_s": 0,
        },
        {
            "segment": 1,
            "start_ns": 1.0,
            "end_ns": 2.0,
            "rate_bps": 300_000,
            "buffered_s": 3,
            "stalls": 0,
            "stalled_s": 0,
        },
        {
            "segment": 2,
            "start_ns": 2.0,
            "end_ns": 6.0,
            "rate_bps": 500_000,
            "buffered_s": 2,
            "stalls": 1,
            "stalled_s": 1,
        },
        {"end_ns": 10.0, "buffered_s": 0, "stalls": 2, "stalled_s": 3},
    ]
    for line in lines:
        line |= {name: first_ns + round(line[name] * 1e9) for name in ("start_ns", "end_ns") if name in line}
        line |= {"bytes": line["rate_bps"] // 4} if "rate_bps" in line else {}
        line["playing"] = "segment" in line
    return "".join(json.dumps(line) + "\n" for line in lines)
