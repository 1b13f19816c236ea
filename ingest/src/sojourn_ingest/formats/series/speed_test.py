"""Results of speed tests as JSON: of networkQuality, speedtest-cli, fast-cli, and clients of Ookla and others.

Each states a handful of values of a whole test, which become series of the basis ``total``; networkQuality also lists
single requests. RTTs that are stated with a time become connections too. Addresses of clients become pseudonyms there;
providers and servers are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn_ingest.formats.connection.connection_format import TABLE, ConnectionFormat, ConnectionRows
from sojourn_ingest.formats.content.json_document import parse_object, parse_value, up_to_largest
from sojourn_ingest.formats.content.plain_text import TEXT_AFTER, open_json_lines
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
    """A tool: the keys by which its result is known, as patterns, and what it states; some write a list of results."""

    name: str
    keys: tuple[str, ...]
    values: tuple[Stated, ...]
    is_list: bool = False
    measurement: str = "speed_test"
    #: From this RTT (ms) on it is what the tool writes for requests that failed.
    failure_ms: float | None = None
    #: Where a rate of 0 with no bytes is written for a test that was not made: rate and bytes.
    untested: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()


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

#: With --no-download and --no-upload.
UNTESTED = ((("download",), ("bytes_received",)), (("upload",), ("bytes_sent",)))
#: Largest value of a unit that says so itself.
LARGEST_OF_UNIT = {"%": 100.0, "ratio": 1.0}

#: A result has some hundred kB, with the progress of the test before it.
LARGEST_BYTES = 16 * 2**20

TOOLS = (
    Tool(
        "networkQuality",
        (
            r"(?:dl|ul)_throughput|lud_(?:foreign|self)_\w{1,40}",
            r"base_rtt|(?:dl_|ul_)?responsiveness|os_version|lud_(?:foreign|self)_\w{1,40}",
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
        ("type", "download|upload", "ping"),
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
        untested=tuple(((way, "bandwidth"), (way, "bytes")) for way in ("download", "upload")),
    ),
    Tool(
        # Rates in Mbit/s; a list with one result for each server, and earlier one result alone.
        "librespeed-cli",
        ("bytes_received", "ping", "jitter"),
        (
            _rate(("download",), "downlink", 1e6),
            _rate(("upload",), "uplink", 1e6),
            _rtt("ping"),
            _jitter("jitter"),
            Stated(("bytes_received",), "sent_bytes", "tcp", "downlink"),
            Stated(("bytes_sent",), "sent_bytes", "tcp", "uplink"),
        ),
        is_list=True,
        untested=UNTESTED,
    ),
    Tool(
        "speedtest-cli",
        ("bytes_received", "ping", "server"),
        (
            _rate(("download",), "downlink"),
            _rate(("upload",), "uplink"),
            _rtt("ping"),
            Stated(("bytes_received",), "sent_bytes", "tcp", "downlink"),
            Stated(("bytes_sent",), "sent_bytes", "tcp", "uplink"),
        ),
        # Each of three requests that fails counts as 3600 s, and their sum is divided by six.
        failure_ms=600_000.0,
        untested=UNTESTED,
    ),
    Tool(
        # Rates in Mbit/s, amounts in MB. A round trip is a whole request.
        "fast-cli",
        ("downloadSpeed", "userIp|bufferBloat|serverLocations|latency"),
        (
            _rate(("downloadSpeed",), "downlink", 1e6),
            _rate(("uploadSpeed",), "uplink", 1e6),
            Stated(("latency",), "http_latency_ms", "probe"),
            Stated(("bufferBloat",), "http_latency_ms", "probe"),
            Stated(("downloaded",), "sent_bytes", "tcp", "downlink", 1e6),
            Stated(("uploaded",), "sent_bytes", "tcp", "uplink", 1e6),
        ),
    ),
    Tool(
        # Rates in Mbit/s; the RTT is the smallest that the kernel measured.
        "ndt7-client",
        ("ServerFQDN", "Download|Upload"),
        (
            _rate(("Download", "Throughput", "Value"), "downlink", 1e6),
            _rate(("Upload", "Throughput", "Value"), "uplink", 1e6),
            _rtt("Download", "Latency", "Value"),
            _rtt("Upload", "Latency", "Value"),
            # Of earlier releases.
            _rate(("Download", "Value"), "downlink", 1e6),
            _rate(("Upload", "Value"), "uplink", 1e6),
            _rtt("MinRTT", "Value"),
        ),
    ),
    Tool(
        # Rates in Mbit/s, loss as a ratio. A round trip is a whole request, with the time that the server takes.
        "cloudflare-speed-cli",
        ("idle_latency", "download|upload", "meas_id|loaded_latency_download"),
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
        ("(?:down|up)Loaded(?:Latency|Jitter)", "latency", "download|upload"),
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
#: Types of the lines of --format=jsonl before the result, which may stand behind the head of the file.
OOKLA_PROGRESS = ("testStart", "ping", "download", "upload", "log")


class SpeedTest(ConnectionFormat):
    """One result of a speed test."""

    name = "speed_test"
    without_facts = "result of a speed test without a value; the test failed or was aborted; run it again"
    version = "speed-test-9"

    def recognises(self, source: Source) -> bool:
        """Return whether the content has the keys of one of the tools."""
        return tool_of(source) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and what the tool states of it; a value that is not a number is refused and counted.

        Raises
        ------
        InputError
            ``no_measurement`` where the test failed, ``corrupt_record`` for a damaged document.
        """
        tool = tool_of(source)
        if tool is None:
            raise InputError("unrecognised_format", "not a result of a known speed test")
        what = f"result of {tool.name}"
        with open_json_lines(source, reading) as handle:
            text = up_to_largest(handle, what, LARGEST_BYTES)
        is_list = source.json is not None and isinstance(source.json.value, list)
        documents = _list(text, what, reading) if is_list else [_object(text, tool, what, reading)]
        rows, connections, connection_count = SeriesRows(reading), ConnectionRows(context, reading), 0
        for place, document in enumerate(documents):
            if document.get("error_code"):
                # networkQuality then states a rate of 0, which nothing measured.
                raise InputError("no_measurement", f"{what}: the test failed with an error_code; run it again")
            reading.records_read += 1
            _drop_what_failed(tool, document, reading)
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
        yield from rows.finish()
        for document in documents:
            for one in connections_of(tool.name, document, _start_ns(document), connection_count):
                yield TABLE, connections.complete(one)
                connection_count += 1
        start_ns = _start_ns(documents[0])
        setting = setting_of("", source.plain_name)
        yield from run_rows(ToolRun(tool.measurement, tool.name, setting, start_ns=start_ns), source, context)


def _start_ns(document: dict[str, Any]) -> int | None:
    stamp = document.get("timestamp", document.get("timestamp_utc"))
    return rfc3339_ns_of(stamp) if isinstance(stamp, str) else None


def tool_of(source: Source) -> Tool | None:
    """Return the tool whose result the content is; None if it is of none."""
    content = source.json.value if source.json is not None else None
    is_list = isinstance(content, list)
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return None
    if not is_list and _is_of_ookla(first) and first["type"] in OOKLA_PROGRESS:
        return OOKLA
    tools = (
        tool
        for tool in TOOLS
        if (tool.is_list or not is_list)
        and all(any(re.fullmatch(key, name) for name in first) for key in tool.keys)
        and (tool is not OOKLA or first["type"] == "result")
    )
    return next(tools, None)


def _is_of_ookla(line: Any) -> bool:
    return isinstance(line, dict) and isinstance(line.get("type"), str) and isinstance(line.get("timestamp"), str)


def _object(text: bytes, tool: Tool, what: str, reading: Reading) -> dict[str, Any]:
    """Return the one result of a text: a document, or the last of Ookla's lines, which tell of its progress before."""
    lines = [line for line in text.splitlines() if line.strip()]
    if tool is not OOKLA or len(lines) < 2:
        return parse_object(text, what, reading)
    parsed = [parse_object(line, what) for line in lines if line.lstrip().startswith(b"{")]
    reading.refuse(TEXT_AFTER, len(lines) - len(parsed))
    results = [line for line in parsed if _is_of_ookla(line) and line["type"] == "result"]
    if not results:
        raise InputError("no_measurement", f"{what}: no line is a result; the test failed or was aborted; run it again")
    if len(results) > 1:
        message = f"{what}: {len(results)} results in one file; put each into a separate file"
        raise InputError("several_results", message)
    return results[0]


def _list(text: bytes, what: str, reading: Reading) -> list[dict[str, Any]]:
    content = parse_value(text, what, reading)
    if not isinstance(content, list) or not content or not all(isinstance(one, dict) for one in content):
        raise InputError("corrupt_record", f"{what}: not a list of JSON objects")
    return content


def _drop_what_failed(tool: Tool, document: dict[str, Any], reading: Reading) -> None:
    """Remove from a result what stands for no value, so that no table has it, and count it."""
    for stated in tool.values:
        holder, key = _holder(document, stated.path)
        value = number(holder.get(key))
        if stated.metric not in ("rtt_ms", "http_latency_ms") or value is None:
            continue
        if value == 0 or (tool.failure_ms is not None and value >= tool.failure_ms):
            # No request takes no time.
            reading.refuse(f"{'.'.join(stated.path)}: what the tool writes for a failure")
            del holder[key]
    for rate, transferred in tool.untested:
        holder, key = _holder(document, rate)
        other, counted = _holder(document, transferred)
        if number(holder.get(key)) == 0 and not number(other.get(counted)):
            reading.refuse(f"{'.'.join(rate)}: not tested")
            del holder[key]
            other.pop(counted, None)


def _holder(document: dict[str, Any], path: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """Return the object that has the last key of a path, empty where there is none, and that key."""
    holder: Any = document
    for parent in path[:-1]:
        holder = holder.get(parent) if isinstance(holder, dict) else None
    return holder if isinstance(holder, dict) else {}, path[-1]


def _samples(document: dict[str, Any], stated: Stated, reading: Reading) -> Iterator[Sample]:
    value: Any = document
    for key in stated.path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return
    listed = value if stated.basis == "samples" and isinstance(value, list) else [value]
    for one in listed:
        scaled = number(one)
        scaled = None if scaled is None else number(scaled * stated.factor)
        largest = LARGEST_OF_UNIT.get(stated.unit or "")
        if scaled is None:
            reading.refuse(f"{'.'.join(stated.path)}: not a number")
        elif largest is not None and not 0 <= scaled <= largest:
            reading.refuse(f"{'.'.join(stated.path)}: not a share")
        elif stated.basis == "samples" and scaled == 0:
            reading.refuse(f"{'.'.join(stated.path)}: what the tool writes for a failure")
        else:
            yield Sample(scaled)
