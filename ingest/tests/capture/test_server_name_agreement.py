"""Agreement of server names with nDPI's labels and with tshark, on the public captures that hold a handshake.

Names are compared whole. Each test prints how many flows agree of how many; what differs stands in
golden/disagreements.yaml with its cause, by capture.
"""

from __future__ import annotations

import ipaddress
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parents[1] / "golden" / "disagreements.yaml"
NEVER_IDLE_MS = 10**12
#: Names that are seen but not kept, which the reference tools show.
UNKEPT = ("address", "local_name", "invalid_name")
#: Nearly all of them are Google's QUIC from before the standard, which is not read.
MOST_DISAGREEING_RATIO = 0.05

#: Protocol, both ends in order, and the name.
Named = tuple[str, tuple[str, int], tuple[str, int], str]

NDPI_FLOW = re.compile(
    r"^\t\d+\t(TCP|UDP) (\S+) (?:<->|->) (\S+) (?:\[VLAN: \d+\])?\[proto: (?:[\w-]+:)?[\d.]+/([^\]]+)\](.*)$"
)
NDPI_NAME = re.compile(r"\[Hostname/SNI: ([^\]]*)\]")
#: Protocols whose label is the name in a ClientHello; that of others is a name of DNS, HTTP and so on.
NDPI_HANDSHAKES = {"TLS", "QUIC", "SMTPS", "IMAPS", "POPS", "DoH_DoT"}


def end_of(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    address = address.strip("[]")
    # nDPI writes :: for a single group of zeros too, and even twice.
    return str(ipaddress.ip_address(address)) if address.count("::") < 2 else address, int(port)


def named(protocol: str, one: tuple[str, int], other: tuple[str, int], name: str) -> Named:
    first, second = sorted((one, other))
    return protocol, first, second, name.lower().removesuffix(".")


def flows_of(path: Path) -> list[dict[str, Any]]:
    try:
        decoder = _native.CaptureDecoder(str(path), idle_ms=NEVER_IDLE_MS, server_names="full")
    except _native.DecodeError:
        return []
    return [flow for table, batch in decoder if table == "flow" for flow in batch.to_pylist()]


def own_names(flows: list[dict[str, Any]]) -> Counter[Named]:
    """Count the names of ClientHellos; one that is not kept has its outcome in the place of the name."""
    names: Counter[Named] = Counter()
    for flow in flows:
        name = flow["server_name"] if flow["server_name_source"] in ("tls", "quic") else None
        if flow["client_hello_outcome"] in UNKEPT:
            name = flow["client_hello_outcome"]
        if name is not None:
            ends = [(flow[f"{who}_address"], flow[f"{who}_port"]) for who in ("initiator", "responder")]
            names[named(flow["protocol"], ends[0], ends[1], name)] += 1
    return names


def ndpi_names(result: Path) -> Counter[Named]:
    names: Counter[Named] = Counter()
    for line in result.read_text(errors="replace").splitlines():
        match = NDPI_FLOW.match(line)
        label = NDPI_NAME.search(line)
        if match and label and match[4].split(".")[0] in NDPI_HANDSHAKES:
            names[named(match[1].lower(), end_of(match[2]), end_of(match[3]), label[1])] += 1
    return names


def results_of_ndpi(shared: Path) -> Iterator[tuple[Path, Path]]:
    """Yield nDPI's results with their captures."""
    folder = shared / "data" / "public" / "ntop__nDPI"
    for result in sorted((folder / "result").glob("*.out")):
        capture = folder / "pcap" / result.name.removesuffix(".out")
        if capture.exists():
            yield result, capture


def differences(wanted: Counter[Named], decoded: Counter[Named]) -> tuple[list[Named], list[Named]]:
    """Return what is missing and what is too much; a name that is not kept stands for any other of its flow."""
    missing, extra = list((wanted - decoded).elements()), list((decoded - wanted).elements())
    for unkept in [name for name in extra if name[3] in UNKEPT]:
        for other in missing:
            if other[:3] == unkept[:3]:
                missing.remove(other)
                extra.remove(unkept)
                break
    return missing, extra


def judge(kind: str, compared: int, differing: dict[str, tuple[int, str]], report: Callable[[str], None]) -> None:
    """Hold the differences found, with the number of their flows, to the listed ones."""
    listed = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))[kind]
    flows = sum(count for count, _ in differing.values())
    report(f"{kind}: {compared - flows} of {compared} agree")
    new = {name: what for name, (_, what) in differing.items() if name not in listed}
    gone = sorted(set(listed) - set(differing))
    assert not new, f"new disagreements: {new}"
    assert not gone, f"listed disagreements that are gone: {gone}"
    assert flows <= MOST_DISAGREEING_RATIO * compared


def test_server_names_are_those_of_ndpi(shared: Path, report: Callable[[str], None]) -> None:
    compared = 0
    differing: dict[str, tuple[int, str]] = {}
    for result, capture in results_of_ndpi(shared):
        wanted, decoded = ndpi_names(result), own_names(flows_of(capture))
        compared += (wanted | decoded).total()
        missing, extra = differences(wanted, decoded)
        if missing or extra:
            # A wrong name is missing and too much at once.
            differing[capture.name] = (max(len(missing), len(extra)), f"missing {missing[:3]}, too much {extra[:3]}")
    assert compared > 400
    judge("ndpi_server_names", compared, differing, report)


FIELDS = (
    "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport",
    "tls.handshake.extensions_server_name",
)  # fmt: skip


def tshark_names(capture: Path) -> set[Named]:
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    fields = [argument for field in FIELDS for argument in ("-e", field)]
    done = subprocess.run(
        [tool, "-n", "-r", str(capture), "-Y", "tls.handshake.type == 1 && tls.handshake.extensions_server_name",
         "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;", *fields],
        capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    names = set()
    for line in done.stdout.splitlines():
        row = dict(zip(FIELDS, (cell.split(";") for cell in line.split("\t")), strict=True))
        protocol = "tcp" if row["tcp.srcport"][0] else "udp"
        # Of a tunnel, the innermost header is the last; IPv6 in IPv4 is more frequent than the reverse.
        source, destination = (row[f"ipv6.{which}"][-1] or row[f"ip.{which}"][-1] for which in ("src", "dst"))
        ports = [int(row[f"{protocol}.{which}"][-1]) for which in ("srcport", "dstport")]
        name = row["tls.handshake.extensions_server_name"][0]
        names.add(named(protocol, (source, ports[0]), (destination, ports[1]), name))
    return names


def test_server_names_are_those_of_tshark(shared: Path, report: Callable[[str], None]) -> None:
    compared = 0
    differing: dict[str, tuple[int, str]] = {}
    for result, capture in results_of_ndpi(shared):
        flows = flows_of(capture)
        if not ndpi_names(result) and all(flow["client_hello_outcome"] is None for flow in flows):
            continue
        # tshark tells names by packet, so that flows of the same ends are one here.
        wanted, counts = Counter(tshark_names(capture)), Counter(set(own_names(flows)))
        compared += (wanted | counts).total()
        missing, extra = differences(wanted, counts)
        if missing or extra:
            differing[capture.name] = (max(len(missing), len(extra)), f"missing {missing[:3]}, too much {extra[:3]}")
    assert compared > 400
    judge("tshark_server_names", compared, differing, report)
