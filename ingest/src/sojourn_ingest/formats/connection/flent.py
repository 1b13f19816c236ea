"""Flent data files: smoothed RTT of TCP flows, counters of queue disciplines.

flent polls the RTT from ss (series ``…::tcp_rtt``), the counters from tc (series ``qdisc_stats_…``).

A data file names hosts, not the ends of its flows, so its connections have no client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sojourn_ingest.formats.connection.connection_format import Basis, Found, MemberFormat, RawRows
from sojourn_ingest.formats.content.json_document import count, parse_object, read_text
from sojourn_ingest.formats.interface import InputError, Reading, Source
from sojourn_ingest.formats.queue.flent_counters import counter_rows
from sojourn_ingest.formats.queue.tc_polls import queue_counter_batch

START = re.compile(rb'^\s*\{\s*"(metadata|raw_values|results|version|x_values)"\s*:')
SERIES = "::tcp_rtt"
FILE = "flent data file"


class Flent(MemberFormat):
    """One flent data file."""

    name = "flent"
    version = "flent-2"
    basis = Basis("flent", rtt_basis="smoothed", sample_basis="polls")

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins like a data file; its keys stand in the order of the alphabet."""
        return START.match(source.head) is not None and b'"DATA_FILENAME"' in source.head

    def found(self, source: Source, reading: Reading) -> Iterator[Found]:
        """Yield one row for each flow with polls of its smoothed RTT, and the polls of queue disciplines.

        A flow without any poll is refused.
        """
        content = parse_object(read_text(source, FILE), FILE)
        raw, results, metadata = (content.get(name) for name in ("raw_values", "results", "metadata"))
        raw, results = (value if isinstance(value, dict) else {} for value in (raw, results))
        ip_version = count(metadata.get("IP_VERSION")) if isinstance(metadata, dict) else None
        rows: list[dict[str, object]] = []
        flows = [name.removesuffix(SERIES) for name in results if name.endswith(SERIES)]
        for flow in flows:
            values = raw.get(flow)
            polls = [poll for poll in map(_poll, values if isinstance(values, list) else ()) if poll is not None]
            reading.records_read += 1
            if not polls:
                # A flow that ended before the first poll, or a file without raw values, whose results are interpolated.
                reading.refuse("no_raw_polls")
                continue
            times = [time for time, _ in polls]
            rtts = [rtt_us for _, rtt_us in polls if rtt_us > 0]
            rows.append(
                {
                    "connection_number": len(rows),
                    "start_ns": round(min(times) * 1e9),
                    "duration_ms": (max(times) - min(times)) * 1e3,
                    "ip_version": ip_version if ip_version in (4, 6) else None,
                    "rtt_samples": len(rtts),
                    "rtt_min_us": min(rtts, default=None),
                    "rtt_avg_us": sum(rtts) / len(rtts) if rtts else None,
                    "rtt_max_us": max(rtts, default=None),
                }
            )
        counters, refused = counter_rows(content)
        reading.records_read += len(counters)
        reading.refuse("malformed_queue_poll", refused)
        if not rows and not counters:
            raise InputError(
                "no_tcp_rtt",
                "flent data file without polls of tcp_rtt or of queue disciplines; flent records them when it runs "
                "with --socket-stats, or with the test parameter qdisc_stats_interfaces",
            )
        if counters:
            yield "queue_counter", queue_counter_batch(counters)
        if rows:
            yield RawRows(self.basis, rows)


def _poll(value: Any) -> tuple[float, int] | None:
    """Return time (s, UTC epoch) and smoothed RTT (us) of one raw value; None where it is of another series."""
    if not isinstance(value, dict):
        return None
    time, rtt_ms = value.get("t"), value.get("tcp_rtt")
    if not isinstance(time, (int, float)) or not isinstance(rtt_ms, (int, float)):
        return None
    # Comparisons first: a whole number may be larger than any double. NaN fails them.
    if not (0 <= time < 2**33 and 0 <= rtt_ms < 2**33):
        return None
    return float(time), round(rtt_ms * 1000)
