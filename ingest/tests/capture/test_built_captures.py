"""Captures that tests build, against capinfos, tshark and tcptrace rather than against what was built."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from built_captures import captures, connections
from decoded_inputs import _captures, _recording

from sojourn_ingest import _native

pytestmark = [pytest.mark.integration, pytest.mark.long]

# Reference tools do not end flows for silence.
NEVER_IDLE_MS = 10**12
COLUMNS = (
    "frame.protocols", "frame.len", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport",
    "udp.srcport", "udp.dstport", "ip.id", "ip.frag_offset", "ipv6.fraghdr.ident", "ipv6.fraghdr.offset",
)  # fmt: skip
IP = {"ip": ("ip.src", "ip.dst", "ip.id", "ip.frag_offset"),
      "ipv6": ("ipv6.src", "ipv6.dst", "ipv6.fraghdr.ident", "ipv6.fraghdr.offset")}  # fmt: skip
#: Whatever an error message quotes is no packet of a flow.
QUOTING = ("icmp", "icmpv6")
Flow = tuple[str, frozenset[tuple[str, str | None]]]
Flows = tuple[Counter[Flow], Counter[Flow]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every capture, those of other tests among them."""
    path = tmp_path_factory.mktemp("captures")
    for name, content in captures().items():
        (path / name).write_bytes(content)
    _captures(path)
    _recording(path)
    return path


def tool(name: str) -> str:
    path = shutil.which(name)
    assert path, f"{name} is missing; make setup-tests installs it"
    return path


def decode(path: Path) -> tuple[list[dict[str, Any]], _native.Summary | None]:
    try:
        decoder = _native.CaptureDecoder(str(path), idle_ms=NEVER_IDLE_MS)
    except _native.DecodeError:
        return [], None
    flows = [row for name, batch in decoder if name == "flow" for row in batch.to_pylist()]
    return flows, decoder.summary()


def flows_of(path: Path) -> Flows:
    packets: Counter[Flow] = Counter()
    size: Counter[Flow] = Counter()
    for row in decode(path)[0]:
        protocol = row["protocol"] if row["protocol"] in ("tcp", "udp") else "other"
        ends = [
            (row[f"{who}_address"], str(row[f"{who}_port"]) if protocol != "other" else None)
            for who in ("initiator", "responder")
        ]
        packets[protocol, frozenset(ends)] += row["fwd_packets"] + row["rev_packets"]
        size[protocol, frozenset(ends)] += row["fwd_bytes"] + row["rev_bytes"]
    return packets, size


def tshark_flows(path: Path) -> tuple[Flows, int]:
    """Return packets and bytes of each flow by its innermost addresses, and how many packets are of no flow.

    Later fragments belong to the flow of the first one.
    """
    fields = [argument for column in COLUMNS for argument in ("-e", column)]
    options = ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", "-E", "occurrence=a", "-E", "aggregator=;"]
    command = [tool("tshark"), "-n", "-r", str(path), *options, "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    seen = [_innermost(dict(zip(COLUMNS, line.split("\t"), strict=False))) for line in done.stdout.splitlines()]
    first = {packet["id"]: packet["flow"] for packet in seen if packet and packet["is_first"]}
    packets: Counter[Flow] = Counter()
    size: Counter[Flow] = Counter()
    for packet in seen:
        if packet is not None:
            flow = packet["flow"] if packet["is_first"] else first[packet["id"]]
            packets[flow] += 1
            size[flow] += packet["bytes"]
    return (packets, size), seen.count(None)


def _innermost(row: dict[str, str]) -> dict[str, Any] | None:
    layers = row["frame.protocols"].split(":")
    quoting = next((place for place, layer in enumerate(layers) if layer in QUOTING), len(layers))
    inner = max((place for place, layer in enumerate(layers[:quoting]) if layer in IP), default=None)
    if inner is None:
        return None
    family = layers[inner]
    source, destination, number, offset = (row.get(name, "").split(";") for name in IP[family])
    place = layers[:inner].count(family)
    if not source[place]:
        # Its header is cut.
        return None
    transport = next((layer for layer in layers[inner + 1 : quoting] if layer in ("tcp", "udp")), None)
    ports: tuple[str | None, str | None] = (None, None)
    if transport is not None:
        among = layers[:inner].count(transport)
        ports = (row[f"{transport}.srcport"].split(";")[among], row[f"{transport}.dstport"].split(";")[among])
    ends = ((source[place], ports[0]), (destination[place], ports[1]))
    return {
        "flow": (transport or "other", frozenset(ends)),
        "bytes": int(row["frame.len"]),
        "id": (source[place], destination[place], number[-1]),
        "is_first": not (offset[-1] and int(offset[-1])),
    }


def differences(paths: Iterable[Path], differs: Callable[[Path], str | None]) -> dict[str, str]:
    return {path.name: what for path in paths if (what := differs(path)) is not None}


def test_records_are_as_many_as_capinfos_counts(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    command = [tool("capinfos"), "-c", "-M", "-T", "-r", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    counts = {
        Path(name).name: int(count) for name, _, count in (line.partition("\t") for line in done.stdout.splitlines())
    }

    def differs(path: Path) -> str | None:
        _, summary = decode(path)
        seen = 0 if summary is None else summary.records_read + sum(summary.refused.values())
        return None if seen == counts.get(path.name, 0) else f"capinfos {counts.get(path.name)}, decoder {seen}"

    assert differences(paths, differs) == {}
    assert len(counts) >= 90


def test_flows_have_the_packets_and_bytes_that_tshark_gives(folder: Path) -> None:
    paths = sorted(folder.iterdir())

    def differs(path: Path) -> str | None:
        wanted, others = tshark_flows(path)
        _, summary = decode(path)
        refused = 0 if summary is None else sum(summary.refused.values())
        if flows_of(path) == wanted and refused == others:
            return None
        return f"tshark {wanted} and {others} others, decoder {flows_of(path)} and {refused} refused"

    assert differences(paths, differs) == {}
    assert len(paths) >= 90


TCPTRACE = {
    "unique_payload_bytes": "unique bytes sent", "payload_bytes": "actual data bytes", "rtt_samples": "RTT samples",
    "rtt_min_us": "RTT min", "rtt_max_us": "RTT max", "retransmitted_packets": "rexmt data pkts",
}  # fmt: skip
#: tcptrace counts a keep-alive of one byte as data sent again; RFC 9293, 3.8.4, has it for no data.
KEEP_ALIVES = {"keep-alives": ("rev_retransmitted_packets", 3)}


@pytest.mark.parametrize("name", connections())
def test_rtt_samples_and_retransmissions_are_those_of_tcptrace(folder: Path, name: str) -> None:
    done = subprocess.run([tool("tcptrace"), "-lrn", str(folder / name)], capture_output=True, text=True)
    (flow,) = decode(folder / name)[0]
    wanted: dict[str, float] = {}
    for column, label in TCPTRACE.items():
        stated = re.search(rf"{label}:\s+([\d.]+|NA)\D*?{label}:\s+([\d.]+|NA)", done.stdout)
        assert stated, (label, done.stdout)
        factor = 1000 if column.endswith("_us") else 1
        for way, value in zip(("fwd", "rev"), stated.groups(), strict=True):
            wanted[f"{way}_{column}"] = factor * float(value)
    if name in KEEP_ALIVES:
        column, count = KEEP_ALIVES[name]
        assert wanted.pop(column) == count
        assert flow[column] == 0
    assert {column: flow[column] or 0 for column in wanted} == pytest.approx(wanted)
