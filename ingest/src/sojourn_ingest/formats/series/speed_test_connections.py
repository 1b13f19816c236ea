"""The RTT that a speed test states, as connections: idle and loaded apart, with the client looked up.

Ookla's client states the smallest and largest round trip while idle, under the download and under the upload.
speedtest-cli and LibreSpeed state one mean while idle. networkQuality and Cloudflare's engine state no time in UTC, so
their results are series alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sojourn_ingest.formats.connection.connection_format import Basis, RawRows
from sojourn_ingest.formats.series.bounds import LONGEST_DELAY_MS
from sojourn_ingest.formats.series.series_rows import number


@dataclass(frozen=True)
class StatedRtt:
    """One state of the line: its data set, and where the document has the values (ms); None where it has none."""

    dataset: str
    low: tuple[str, ...] | None = None
    mean: tuple[str, ...] | None = None
    high: tuple[str, ...] | None = None


#: Ookla's `latency` and `iqm` are no means, and are kept as series alone.
STATED: dict[str, tuple[StatedRtt, ...]] = {
    "speedtest": (
        StatedRtt("ookla-idle", ("ping", "low"), None, ("ping", "high")),
        StatedRtt("ookla-download", ("download", "latency", "low"), None, ("download", "latency", "high")),
        StatedRtt("ookla-upload", ("upload", "latency", "low"), None, ("upload", "latency", "high")),
    ),
    "speedtest-cli": (StatedRtt("speedtest-cli-idle", mean=("ping",)),),
    "librespeed-cli": (StatedRtt("librespeed-idle", mean=("ping",)),),
}
CLIENTS: dict[str, tuple[str, ...]] = {
    "speedtest": ("interface", "externalIp"),
    "speedtest-cli": ("client", "ip"),
    "librespeed-cli": ("client", "ip"),
}


def connections_of(tool: str, document: dict[str, Any], start_ns: int | None, first: int) -> list[RawRows]:
    """Return the connections of one result, numbered from ``first``; none where it states no RTT or no time."""
    rows: list[RawRows] = []
    if start_ns is None:
        return rows
    client = _value(document, CLIENTS.get(tool))
    for stated in STATED.get(tool, ()):
        low, mean, high = (_us(_value(document, path)) for path in (stated.low, stated.mean, stated.high))
        if low is None and mean is None and high is None:
            continue
        row: dict[str, object] = {
            "connection_number": first + len(rows),
            "start_ns": start_ns,
            "client_address": client if isinstance(client, str) and client else None,
            "rtt_min_us": None if low is None else round(low),
            "rtt_avg_us": mean,
            "rtt_max_us": None if high is None else round(high),
        }
        # How many probes there were is not stated.
        rows.append(RawRows(Basis(stated.dataset, "raw", "unknown"), [row]))
    return rows


def _value(document: Any, path: tuple[str, ...] | None) -> Any:
    for key in path or ():
        document = document.get(key) if isinstance(document, dict) else None
    return document if path else None


def _us(value: Any) -> float | None:
    milliseconds = number(value)
    return milliseconds * 1000 if milliseconds is not None and 0 < milliseconds <= LONGEST_DELAY_MS else None
