"""Results of M-Lab's speed tests NDT5 and NDT7: one JSON document a test, one row of srtt_connection a direction.

NDT7 keeps the TCP_INFO that the server polled during a direction. NDT5 keeps a summary: of newer servers, minimum,
maximum, sum and count of the smoothed RTT as polled; of older ones, the kernel's windowed minimum alone. The client is
the other end of the server's socket.
"""

from __future__ import annotations

import re
from typing import Any

from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.json_document import count, read_object, time_ns
from sojourn_ingest.formats.snapshot_connections import TABLE, Basis, ConnectionRows, SnapshotFormat

MIN_RTT_UNSET = 2**32 - 1
NS_PER_US = 1000

START = re.compile(rb'^\s*\{\s*"(GitShortCommit|Version|ServerIP)"')


def _kernel_minimum_us(value: Any) -> int | None:
    known = count(value)
    return None if known in (None, 0, MIN_RTT_UNSET) else known


def _counters(info: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that the last TCP_INFO of a connection decides on."""
    return {
        "sent_bytes": count(info.get("BytesSent")),
        "acked_bytes": count(info.get("BytesAcked")),
        "received_bytes": count(info.get("BytesReceived")),
        "retransmitted_packets": count(info.get("TotalRetrans")),
    }


def _ends(measured: dict[str, Any], test: dict[str, Any]) -> dict[str, Any]:
    start, end = time_ns(measured.get("StartTime")), time_ns(measured.get("EndTime"))
    return {
        "start_ns": start,
        "duration_ms": None if start is None or end is None or end < start else (end - start) / 1e6,
        # A test behind a proxy of its own names the client in the direction; the test itself may say 127.0.0.1.
        "client_address": measured.get("ClientIP") or test.get("ClientIP"),
    }


class Ndt7(SnapshotFormat):
    """One NDT7 test: a download, an upload, or both."""

    name = "ndt7"
    version = "ndt7-1"
    basis = Basis("m-lab-ndt7", rtt_basis="smoothed", sample_basis="polls")

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins like a result and has a direction of NDT7."""
        return START.match(source.head) is not None and re.search(rb'"(Download|Upload)":\{', source.head) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row for each direction; one without any measurement is refused."""
        test = read_object(source, "NDT7 result")
        rows: list[dict[str, object]] = []
        for direction in ("Download", "Upload"):
            measured = test.get(direction)
            if not isinstance(measured, dict):
                continue
            reading.records_read += 1
            listed = measured.get("ServerMeasurements")
            polls = [poll for poll in (listed if isinstance(listed, list) else []) if isinstance(poll, dict)]
            infos = [poll["TCPInfo"] for poll in polls if isinstance(poll.get("TCPInfo"), dict)]
            if not infos:
                reading.refuse("no_measurement")
                continue
            rtts = [rtt for rtt in (count(info.get("RTT")) for info in infos) if rtt]
            least = [rtt for rtt in (_kernel_minimum_us(info.get("MinRTT")) for info in infos) if rtt]
            rows.append(
                {
                    "connection_number": len(rows),
                    **_ends(measured, test),
                    "rtt_samples": len(rtts),
                    "rtt_min_us": min(rtts, default=None),
                    "rtt_avg_us": sum(rtts) / len(rtts) if rtts else None,
                    "rtt_max_us": max(rtts, default=None),
                    "kernel_min_rtt_us": min(least, default=None),
                    **_counters(infos[-1]),
                    "congestion_control": "bbr" if any("BBRInfo" in poll for poll in polls) else None,
                }
            )
        if not rows:
            raise InputError(
                "no_measurement", "NDT7 result without a measurement of the server: the test was broken off"
            )
        yield TABLE, ConnectionRows(self.basis, context, reading).from_rows(rows)


class Ndt5(SnapshotFormat):
    """One NDT5 test; only the direction from the server has an RTT."""

    name = "ndt5"
    version = "ndt5-1"
    dataset = "m-lab-ndt5"

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins like a result and has the control connection of NDT5."""
        return START.match(source.head) is not None and b'"Control":{' in source.head

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the row of the direction from the server; directions without an RTT are refused."""
        test = read_object(source, "NDT5 result")
        for direction in ("C2S", "S2C"):
            measured = test.get(direction)
            if not isinstance(measured, dict):
                continue
            reading.records_read += 1
            least, most, total, polls = (
                count(measured.get(name)) for name in ("MinRTT", "MaxRTT", "SumRTT", "CountRTT")
            )
            polled = bool(polls and most and total is not None)
            info = measured.get("TCPInfo")
            info = info if isinstance(info, dict) else {}
            if not least and not polled:
                reading.refuse(f"no_rtt_{direction.lower()}")
                continue
            row: dict[str, object] = {
                "connection_number": 0,
                **_ends(measured, test),
                "rtt_min_us": least // NS_PER_US if least else None,
                "rtt_samples": polls if polled else None,
                "rtt_avg_us": total / polls / NS_PER_US if polled and polls and total is not None else None,
                "rtt_max_us": most // NS_PER_US if polled and most else None,
                "kernel_min_rtt_us": _kernel_minimum_us(info.get("MinRTT")) if polled else least and least // NS_PER_US,
                **_counters(info),
            }
            basis = Basis(
                self.dataset,
                rtt_basis="smoothed" if polled else "kernel_minimum",
                sample_basis="polls" if polled else "unknown",
            )
            yield TABLE, ConnectionRows(basis, context, reading).from_rows([row])
            return
        raise InputError(
            "no_measurement", "NDT5 result without an RTT: the test from the server was not made or not finished"
        )
