"""Results of speed tests as JSON: networkQuality, Ookla's, LibreSpeed's and Cloudflare's clients, speedtest-cli.

Each states a handful of values of a whole test, which become series of the basis ``total``; networkQuality also lists
single requests. RTTs that are stated with a time become connections too. Addresses of clients become pseudonyms there;
providers and servers are not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn_ingest.formats.connection.connection_format import TABLE, ConnectionFormat, ConnectionRows
from sojourn_ingest.formats.content.json_document import parse_object, read_text
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of
from sojourn_ingest.formats.series.speed_test_connections import connections_of
from sojourn_ingest.text_columns import rfc3339_ns_of


@dataclass(frozen=True)
class Stated:
    """Where a document states a value, and what it is; ``factor`` makes it the metric's unit."""

    path: tuple[str, ...]
    metric: str
    role: str | None = None
    direction: str | None = None
    factor: float = 1.0
    unit: str | None = None
    basis: str = "total"


def _rate(path: tuple[str, ...], direction: str, factor: float = 1.0) -> Stated:
    return Stated(path, "rate_bps", "tcp", direction, factor)


def _rtt(*path: str) -> Stated:
    return Stated(path, "rtt_ms", "probe")


def _jitter(*path: str) -> Stated:
    return Stated(path, "jitter_ms", "probe")


def _requests(*path: str) -> Stated:
    return Stated(path, "http_latency_ms", "probe", basis="samples")


@dataclass(frozen=True)
class Tool:
    """A tool: the keys by which its result is known, and what it states."""

    name: str
    keys: tuple[bytes, ...]
    values: tuple[Stated, ...]
    start: bytes = b"{"
    measurement: str = "speed_test"


#: What networkQuality lists: idle latency (il), latency under load (lud) on the loaded connection (self) and on others;
#: with -s under the download and the upload apart (dl, ul). Releases differ in the ends of the names.
REQUESTS = (
    "il_tcp_handshake_443", "il_tls_handshake", "il_h2_req_resp",
    *(
        f"lud_foreign_{way}{request}"
        for way in ("", "dl_", "ul_") for request in ("tcp_handshake_443", "tls_handshake", "h2_req_resp")
    ),
    *(f"lud_self_{way}h2_req_resp" for way in ("", "dl_", "ul_")),
    *(f"lud_{who}_h2" for who in ("foreign_dl", "foreign_ul", "self", "self_dl", "self_ul")),
)  # fmt: skip

CLOUDFLARE_STATES = ("idle_latency", "loaded_latency_download", "loaded_latency_upload")

TOOLS = (
    Tool(
        "networkQuality",
        # Keys stand in the order of the alphabet: the lists of requests (lud_…) may push those behind out of the head.
        (
            rb'"(?:(?:dl|ul)_throughput|lud_(?:foreign|self)_\w{1,40})"\s*:',
            rb'"(?:base_rtt|(?:dl_|ul_)?responsiveness|os_version|lud_(?:foreign|self)_\w{1,40})"\s*:',
        ),
        (
            _rate(("dl_throughput",), "downlink"),
            _rate(("ul_throughput",), "uplink"),
            _rtt("base_rtt"),
            Stated(("responsiveness",), "other", unit="1/min"),
            Stated(("dl_responsiveness",), "other", None, "downlink", unit="1/min"),
            Stated(("ul_responsiveness",), "other", None, "uplink", unit="1/min"),
            Stated(("dl_bytes_transferred",), "sent_bytes", "tcp", "downlink"),
            Stated(("ul_bytes_transferred",), "sent_bytes", "tcp", "uplink"),
            *(_requests(name) for name in REQUESTS),
        ),
        measurement="network_quality",
    ),
    Tool(
        # Rates in byte/s, loss in percent.
        "speedtest",
        (rb'"type"\s*:\s*"result"', rb'"bandwidth"\s*:', rb'"ping"\s*:'),
        (
            _rate(("download", "bandwidth"), "downlink", 8),
            _rate(("upload", "bandwidth"), "uplink", 8),
            Stated(("download", "bytes"), "sent_bytes", "tcp", "downlink"),
            Stated(("upload", "bytes"), "sent_bytes", "tcp", "uplink"),
            *(_rtt("ping", name) for name in ("latency", "low", "high")),
            *(_rtt(way, "latency", name) for way in ("download", "upload") for name in ("iqm", "low", "high")),
            _jitter("ping", "jitter"),
            _jitter("download", "latency", "jitter"),
            _jitter("upload", "latency", "jitter"),
            Stated(("packetLoss",), "other", unit="%"),
        ),
    ),
    Tool(
        "speedtest-cli",
        (rb'"bytes_received"\s*:', rb'"ping"\s*:', rb'"server"\s*:'),
        (
            _rate(("download",), "downlink"),
            _rate(("upload",), "uplink"),
            _rtt("ping"),
            Stated(("bytes_received",), "sent_bytes", "tcp", "downlink"),
            Stated(("bytes_sent",), "sent_bytes", "tcp", "uplink"),
        ),
    ),
    Tool(
        # Rates in Mbit/s; a list with one result for each server.
        "librespeed-cli",
        (rb'"bytes_received"\s*:', rb'"ping"\s*:', rb'"jitter"\s*:'),
        (
            _rate(("download",), "downlink", 1e6),
            _rate(("upload",), "uplink", 1e6),
            _rtt("ping"),
            _jitter("jitter"),
            Stated(("bytes_received",), "sent_bytes", "tcp", "downlink"),
            Stated(("bytes_sent",), "sent_bytes", "tcp", "uplink"),
        ),
        start=b"[",
    ),
    Tool(
        # Rates in Mbit/s, loss as a ratio. A round trip is a whole request, with the time that the server takes.
        "cloudflare-speed-cli",
        (rb'"idle_latency"\s*:', rb'"mbps"\s*:', rb'"(?:meas_id|loaded_latency_download)"\s*:'),
        (
            _rate(("download", "mbps"), "downlink", 1e6),
            _rate(("upload", "mbps"), "uplink", 1e6),
            Stated(("download", "bytes"), "sent_bytes", "tcp", "downlink"),
            Stated(("upload", "bytes"), "sent_bytes", "tcp", "uplink"),
            *(
                Stated((state, name), "http_latency_ms", "probe")
                for state in CLOUDFLARE_STATES
                for name in ("min_ms", "mean_ms", "median_ms", "max_ms")
            ),
            *(_jitter(state, "jitter_ms") for state in CLOUDFLARE_STATES),
            *(Stated((state, "loss"), "other", unit="ratio") for state in CLOUDFLARE_STATES),
        ),
    ),
    Tool(
        "cloudflare",
        (rb'"(?:down|up)Loaded(?:Latency|Jitter)"\s*:', rb'"latency"\s*:', rb'"(?:download|upload)"\s*:'),
        (
            _rate(("download",), "downlink"),
            _rate(("upload",), "uplink"),
            *(_rtt(name) for name in ("latency", "downLoadedLatency", "upLoadedLatency")),
            *(_jitter(name) for name in ("jitter", "downLoadedJitter", "upLoadedJitter")),
            Stated(("packetLoss",), "other", unit="ratio"),
        ),
    ),
)


OOKLA = next(tool for tool in TOOLS if tool.name == "speedtest")
#: The first line of --format=jsonl, whose result may stand behind the head of the file.
OOKLA_PROGRESS = re.compile(rb'^\s*\{"type":\s*"(?:testStart|ping|download|upload|log)",\s*"timestamp":\s*"\d{4}-')
#: A line of --format=jsonl, or of a result that is one line.
OOKLA_LINE = re.compile(rb'^\s*\{"type":\s*"(?:testStart|ping|download|upload|log|result)"')
OOKLA_RESULT = re.compile(rb'^\s*\{"type":\s*"result"')


class SpeedTest(ConnectionFormat):
    """One result of a speed test."""

    name = "speed_test"
    version = "speed-test-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the content has the keys of one of the tools."""
        return _tool_of(source.head) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and what the tool states of it; a value that is not a number is refused and counted.

        Raises
        ------
        InputError
            ``no_series`` where no value is stated, ``corrupt_record`` for a damaged document.
        """
        tool = _tool_of(source.head)
        if tool is None:
            raise InputError("unrecognised_format", "not a result of a known speed test")
        what = f"result of {tool.name}"
        text = read_text(source, what)
        documents = _list(text, what) if tool.start == b"[" else [_object(text, tool, what)]
        rows, connections, found = SeriesRows(reading), ConnectionRows(context, reading), 0
        for place, document in enumerate(documents):
            if document.get("error_code"):
                # networkQuality then states a rate of 0, which nothing measured.
                raise InputError("no_series", f"{what}: the test failed with an error_code; run it again")
            reading.records_read += 1
            # LibreSpeed's results of several servers are flows of one run.
            flow = tool.name if len(documents) == 1 else f"{tool.name} {place + 1}"
            for stated in tool.values:
                samples = list(_samples(document, stated, reading))
                if samples:
                    name = " ".join((*([] if len(documents) == 1 else [str(place + 1)]), *stated.path))
                    kind = SeriesKind(
                        name, stated.metric, stated.basis, flow, stated.role, stated.direction, stated.unit
                    )
                    yield from rows.add(rows.begin(kind), samples)
        if not rows.samples:
            raise InputError("no_series", f"{what} without a value; the test failed or was broken off")
        yield from rows.finish()
        for document in documents:
            for one in connections_of(tool.name, document, _start_ns(document), found):
                yield TABLE, connections.complete(one)
                found += 1
        start_ns = _start_ns(documents[0])
        setting = setting_of("", source.plain_name)
        yield from run_rows(ToolRun(tool.measurement, tool.name, setting, start_ns=start_ns), source, context)


def _start_ns(document: dict[str, Any]) -> int | None:
    stamp = document.get("timestamp", document.get("timestamp_utc"))
    return rfc3339_ns_of(stamp) if isinstance(stamp, str) else None


def _tool_of(head: bytes) -> Tool | None:
    start = head.lstrip()[:1]
    found = (tool for tool in TOOLS if start == tool.start and all(re.search(key, head) for key in tool.keys))
    return next(found, OOKLA if OOKLA_PROGRESS.match(head) else None)


def _object(text: bytes, tool: Tool, what: str) -> dict[str, Any]:
    """Return the one result of a text: a document, or the last of Ookla's lines, which tell of its progress before."""
    lines = [line for line in text.splitlines() if line.strip()]
    if tool is not OOKLA or len(lines) < 2 or not OOKLA_LINE.match(lines[0]):
        return parse_object(text, what)
    results = [line for line in lines if OOKLA_RESULT.search(line)]
    if not results:
        raise InputError("no_series", f"{what}: no line is a result; the test failed or was broken off")
    if len(results) > 1:
        message = f"{what}: {len(results)} results in one file; give each a file of its own"
        raise InputError("several_results", message)
    return parse_object(results[0], what)


def _list(text: bytes, what: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{what}: JSON is damaged ({type(error).__name__}); copy the file again"
        raise InputError("corrupt_record", message) from error
    if not isinstance(content, list) or not content or not all(isinstance(one, dict) for one in content):
        raise InputError("corrupt_record", f"{what}: not a list of JSON objects")
    return content


def _samples(document: dict[str, Any], stated: Stated, reading: Reading) -> Iterator[Sample]:
    value: Any = document
    for key in stated.path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return
    listed = value if stated.basis == "samples" and isinstance(value, list) else [value]
    for one in listed:
        found = number(one)
        found = None if found is None else number(found * stated.factor)
        if found is None:
            reading.refuse(f"{'.'.join(stated.path)}: not a number")
        else:
            yield Sample(found)
