"""Units and fields of speed tests, held to what the tools' own documents and outputs state of them.

Each entry names its source, which was written without this project:

- Ookla's client: its manual, speedtest(5) of version 1.2.0: formats for machines are in bytes. An output that somebody
  published has one test for people (28.68 Mbps, 252.11 ms, jitter 68.47 ms) and the next for machines (``bandwidth``
  3518010, which is 28.1 Mbit/s if it is in byte/s; ``iqm`` 251.554, ``jitter`` 69.573). Loss is printed in percent.
- networkQuality: networkQuality(8) of macOS, outputs of macOS 12, 14 and 27 that programmes which read them test with
  (dl_throughput in bit/s, times in ms, responsiveness in round trips per minute).
- Cloudflare's engine: the README of @cloudflare/speedtest 1.5 (bit/s, ms, loss as a ratio between 0 and 1).
- cloudflare-speed-cli: the fields of ``RunResult`` in its ``src/model.rs`` (mbps, ms, loss as a ratio).
- speedtest-cli: its README and ``SpeedtestResults`` (bit/s, ms). LibreSpeed's client: ``helper.go`` (Mbit/s, ms).

The documents here are our own; names of fields and units are theirs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results import Tables, read

from sojourn_ingest.formats.interface import InputError

#: Bits, bit/s or ms in one of the unit.
UNITS = {"bit/s": 1, "byte/s": 8, "Mbit/s": 10**6, "ms": 1, "byte": 1, "%": 1, "ratio": 1, "1/min": 1}

OOKLA: dict[str, Any] = {
    "type": "result", "timestamp": "2026-01-02T03:04:05Z",
    "ping": {"jitter": 0.25, "latency": 15.5, "low": 15.1, "high": 16},
    "download": {"bandwidth": 6_250_000, "bytes": 50_000_000, "elapsed": 8000,
                 "latency": {"iqm": 41.5, "low": 16.5, "high": 240.5, "jitter": 3.5}},
    "upload": {"bandwidth": 1_250_000, "bytes": 5_000_000, "elapsed": 4000,
               "latency": {"iqm": 210.5, "low": 17.5, "high": 390.5, "jitter": 60.5}},
    "packetLoss": 1.5,
}  # fmt: skip
NETWORK_QUALITY: dict[str, Any] = {
    "base_rtt": 17.5, "dl_bytes_transferred": 900_000_000, "dl_flows": 10, "dl_throughput": 360_000_000,
    "draft_version": 8, "error_code": 0, "il_h2_req_resp": [12.5, 14.5], "il_tcp_handshake_443": [13, 12],
    "il_tls_handshake": [19, 23], "interface_name": "en0", "lud_foreign_h2_req_resp": [40, 62],
    "lud_foreign_tcp_handshake_443": [14, 42], "lud_foreign_tls_handshake": [35, 26],
    "lud_self_h2_req_resp": [29, 66, 21], "os_version": "Version 27.2", "responsiveness": 215.5,
    "ul_bytes_transferred": 800_000_000, "ul_flows": 14, "ul_throughput": 320_000_000,
}  # fmt: skip
#: With -s: the names of what is stated of each way.
SEQUENTIAL: dict[str, Any] = {
    "base_rtt": 17.5, "dl_throughput": 360_000_000, "ul_throughput": 320_000_000, "dl_responsiveness": 300.5,
    "ul_responsiveness": 150.5, "lud_foreign_dl_h2_req_resp": [40], "lud_foreign_dl_tcp_handshake_443": [41],
    "lud_foreign_dl_tls_handshake": [42], "lud_self_dl_h2_req_resp": [43], "lud_foreign_ul_h2_req_resp": [50],
    "lud_foreign_ul_tcp_handshake_443": [51], "lud_foreign_ul_tls_handshake": [52], "lud_self_ul_h2_req_resp": [53],
}  # fmt: skip
#: Of macOS 12.
FIRST: dict[str, Any] = {
    "dl_flows": 20, "dl_throughput": 5_800_000, "lud_foreign_h2_req_resp": [665],
    "lud_foreign_tcp_handshake_443": [868], "lud_self_dl_h2": [726.5], "lud_self_ul_h2": [1538.5],
    "responsiveness": 30, "ul_flows": 20, "ul_throughput": 700_000,
}  # fmt: skip
CLOUDFLARE = {
    "download": 94_500_000, "upload": 22_300_000, "latency": 12, "jitter": 1, "downLoadedLatency": 18,
    "downLoadedJitter": 3, "upLoadedLatency": 24, "upLoadedJitter": 5, "packetLoss": 0.25,
}  # fmt: skip
SPEEDTEST_CLI = {
    "download": 93_000_000.5, "upload": 21_000_000.5, "ping": 20.5, "server": {}, "timestamp": "2026-01-02T03:04:05.0Z",
    "bytes_sent": 26_000_000, "bytes_received": 117_000_000, "client": {},
}  # fmt: skip
LIBRESPEED = [
    {"timestamp": "2026-01-02T03:04:05Z", "server": {}, "client": {}, "bytes_sent": 100, "bytes_received": 200,
     "ping": 45.5, "jitter": 3.5, "upload": 34.5, "download": 95.5, "share": ""},
]  # fmt: skip

CLOUDFLARE_CLIENT: dict[str, Any] = {
    "version": "0.6.1", "timestamp_utc": "2026-01-02T03:04:05Z", "base_url": "https://a.example.org", "meas_id": "1",
    **{
        name: {"sent": 20, "received": 19, "loss": 0.05, "min_ms": ms, "mean_ms": ms + 1.5, "median_ms": ms + 1,
               "p25_ms": ms + 0.5, "p75_ms": ms + 2, "max_ms": ms + 9, "jitter_ms": 0.5}
        for name, ms in (("idle_latency", 10.0), ("loaded_latency_download", 40.0), ("loaded_latency_upload", 60.0))
    },
    "download": {"bytes": 125_000_000, "duration_ms": 10_000, "mbps": 100.5, "median_mbps": 99.0},
    "upload": {"bytes": 12_500_000, "duration_ms": 10_000, "mbps": 10.25, "median_mbps": 9.0},
    "ip": "8.8.8.8", "asn": "AS64500",
}  # fmt: skip
#: Document; of each field that states a measurement: its unit as the source has it, and the metric that it is.
STATED: dict[str, tuple[Any, dict[str, tuple[str, str]]]] = {
    "Ookla": (
        OOKLA,
        {
            "download.bandwidth": ("byte/s", "rate_bps"), "upload.bandwidth": ("byte/s", "rate_bps"),
            "download.bytes": ("byte", "sent_bytes"), "upload.bytes": ("byte", "sent_bytes"),
            **{f"ping.{name}": ("ms", "rtt_ms") for name in ("latency", "low", "high")},
            **{
                f"{way}.latency.{name}": ("ms", "rtt_ms")
                for way in ("download", "upload") for name in ("iqm", "low", "high")
            },
            **{f"{place}.jitter": ("ms", "jitter_ms") for place in ("ping", "download.latency", "upload.latency")},
            "packetLoss": ("%", "other"),
        },
    ),
    "networkQuality": (
        NETWORK_QUALITY,
        {
            "dl_throughput": ("bit/s", "rate_bps"), "ul_throughput": ("bit/s", "rate_bps"),
            "base_rtt": ("ms", "rtt_ms"),
            "dl_bytes_transferred": ("byte", "sent_bytes"), "ul_bytes_transferred": ("byte", "sent_bytes"),
            "responsiveness": ("1/min", "other"),
            **{name: ("ms", "http_latency_ms") for name in NETWORK_QUALITY if name.startswith(("il_", "lud_"))},
        },
    ),
    "networkQuality -s": (
        SEQUENTIAL,
        {
            "dl_throughput": ("bit/s", "rate_bps"), "ul_throughput": ("bit/s", "rate_bps"),
            "base_rtt": ("ms", "rtt_ms"),
            "dl_responsiveness": ("1/min", "other"), "ul_responsiveness": ("1/min", "other"),
            **{name: ("ms", "http_latency_ms") for name in SEQUENTIAL if name.startswith("lud_")},
        },
    ),
    "networkQuality of macOS 12": (
        FIRST,
        {
            "dl_throughput": ("bit/s", "rate_bps"), "ul_throughput": ("bit/s", "rate_bps"),
            "responsiveness": ("1/min", "other"),
            **{name: ("ms", "http_latency_ms") for name in FIRST if name.startswith("lud_")},
        },
    ),
    "Cloudflare": (
        CLOUDFLARE,
        {
            "download": ("bit/s", "rate_bps"), "upload": ("bit/s", "rate_bps"),
            **dict.fromkeys(("latency", "downLoadedLatency", "upLoadedLatency"), ("ms", "rtt_ms")),
            **dict.fromkeys(("jitter", "downLoadedJitter", "upLoadedJitter"), ("ms", "jitter_ms")),
            "packetLoss": ("ratio", "other"),
        },
    ),
    "Cloudflare's client": (
        CLOUDFLARE_CLIENT,
        {
            "download.mbps": ("Mbit/s", "rate_bps"), "upload.mbps": ("Mbit/s", "rate_bps"),
            "download.bytes": ("byte", "sent_bytes"), "upload.bytes": ("byte", "sent_bytes"),
            **{
                f"{state}.{name}": (unit, metric)
                for state in ("idle_latency", "loaded_latency_download", "loaded_latency_upload")
                for name, unit, metric in (
                    ("min_ms", "ms", "http_latency_ms"), ("mean_ms", "ms", "http_latency_ms"),
                    ("median_ms", "ms", "http_latency_ms"), ("max_ms", "ms", "http_latency_ms"),
                    ("jitter_ms", "ms", "jitter_ms"), ("loss", "ratio", "other"),
                )
            },
        },
    ),
    "speedtest-cli": (
        SPEEDTEST_CLI,
        {
            "download": ("bit/s", "rate_bps"), "upload": ("bit/s", "rate_bps"), "ping": ("ms", "rtt_ms"),
            "bytes_received": ("byte", "sent_bytes"), "bytes_sent": ("byte", "sent_bytes"),
        },
    ),
    "LibreSpeed": (
        LIBRESPEED,
        {
            "download": ("Mbit/s", "rate_bps"), "upload": ("Mbit/s", "rate_bps"), "ping": ("ms", "rtt_ms"),
            "jitter": ("ms", "jitter_ms"),
            "bytes_received": ("byte", "sent_bytes"), "bytes_sent": ("byte", "sent_bytes"),
        },
    ),
}  # fmt: skip


def facts(folder: Path, document: Any) -> Tables:
    path = folder / "result.json"
    path.write_text(json.dumps(document))
    _, tables, reading = read(path)
    assert reading.refused == {}
    return tables


@pytest.mark.parametrize("tool", STATED)
def test_every_field_that_a_tool_states_is_read_in_the_unit_that_it_says(tmp_path: Path, tool: str) -> None:
    document, fields = STATED[tool]
    expected = {}
    for field, (unit, metric) in fields.items():
        value = document[0] if isinstance(document, list) else document
        for key in field.split("."):
            value = value[key]
        stated = value if isinstance(value, list) else [value]
        kind = None if metric != "other" else unit
        expected[field.replace(".", " ")] = (metric, kind, [one * UNITS[unit] for one in stated])
    series_by_name: dict[str, tuple[str, str | None, list[float]]] = {}
    for row in facts(tmp_path, document)["series"]:
        kind = row["unit"] if row["metric"] == "other" else None
        series_by_name.setdefault(row["series_name"], (row["metric"], kind, []))[2].append(row["value"])
    assert series_by_name == expected


def test_the_rate_of_ookla_is_that_of_its_own_bytes_and_time(tmp_path: Path) -> None:
    """A check within one result: bytes over the elapsed ms, which needs no statement about units of ``bandwidth``."""
    rates = {row["direction"]: row["value"] for row in facts(tmp_path, OOKLA)["series"] if row["metric"] == "rate_bps"}
    for way, direction in (("download", "downlink"), ("upload", "uplink")):
        of_bytes = OOKLA[way]["bytes"] * 8 / (OOKLA[way]["elapsed"] / 1000)
        assert rates[direction] == pytest.approx(of_bytes, rel=0.25)


def test_a_test_that_failed_states_no_rate_of_zero(tmp_path: Path) -> None:
    failed = {"error_code": -1009, "error_domain": "NSURLErrorDomain", "dl_throughput": 0, "base_rtt": 0}
    with pytest.raises(InputError, match="the test failed with an error_code") as caught:
        facts(tmp_path, failed)
    assert caught.value.reason == "no_measurement"
