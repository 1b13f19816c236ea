"""Agreement with Zeek's logs of connections: ends, packets and payload of every TCP and UDP flow of its test traces.

Zeek's log of a trace may have an outer tunnel as a connection too, which is not compared. What differs stands in
golden/disagreements.yaml with its cause.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parents[1] / "golden" / "disagreements.yaml"
NEVER_IDLE_MS = 10**12
NEEDED = {"id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "orig_pkts", "resp_pkts"}


@dataclass(frozen=True, order=True)
class Side:
    """What one end of a flow sent; Zeek may give no payload for it."""

    address: str
    port: int
    packets: int
    payload_bytes: int | None


@dataclass(frozen=True)
class TwoSides:
    protocol: str
    lower: Side
    upper: Side

    @classmethod
    def of(cls, protocol: str, one: Side, other: Side) -> TwoSides:
        lower, upper = sorted((one, other), key=lambda side: (side.address, side.port))
        return cls(protocol, lower, upper)

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.protocol, self.lower.address, self.lower.port, self.upper.address, self.upper.port

    def fits(self, decoded: TwoSides) -> bool:
        """Return whether a flow that was found has all that is said here."""
        return self.ends == decoded.ends and all(
            said.packets == seen.packets and said.payload_bytes in (None, seen.payload_bytes)
            for said, seen in ((self.lower, decoded.lower), (self.upper, decoded.upper))
        )


def zeek_flows(log: Path) -> list[TwoSides]:
    """Return the TCP and UDP connections of a log; none if its columns were cut down to others."""
    names: list[str] = []
    flows = []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("#fields"):
            names = line.split("\t")[1:]
        elif line and not line.startswith("#") and set(names) >= NEEDED:
            row = dict(zip(names, line.split("\t"), strict=True))
            if row["proto"] in ("tcp", "udp"):
                payload = [row.get(f"{who}_bytes", "-") for who in ("orig", "resp")]
                sides = [
                    Side(row[f"id.{who}_h"], int(row[f"id.{who}_p"]), int(row[f"{who}_pkts"]),
                         None if size == "-" else int(size))
                    for who, size in zip(("orig", "resp"), payload, strict=True)
                ]  # fmt: skip
                flows.append(TwoSides.of(row["proto"], *sides))
    return flows


def own_flows(path: Path) -> list[TwoSides]:
    flows = []
    for name, batch in _native.CaptureDecoder(str(path), idle_ms=NEVER_IDLE_MS):
        for row in batch.to_pylist() if name == "flow" else ():
            if row["protocol"] in ("tcp", "udp"):
                # Zeek counts the bytes of TCP by sequence numbers.
                counted = "unique_payload_bytes" if row["protocol"] == "tcp" else "payload_bytes"
                sides = [
                    Side(row[f"{who}_address"], row[f"{who}_port"], row[f"{way}_packets"], row[f"{way}_{counted}"])
                    for who, way in (("initiator", "fwd"), ("responder", "rev"))
                ]
                flows.append(TwoSides.of(row["protocol"], *sides))
    return flows


def test_flows_have_the_packets_and_payload_that_zeek_logs(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "data" / "public" / "zeek__zeek"
    with (folder / "TRACE_TO_CONNLOG.tsv").open() as handle:
        pairs = sorted({(row["trace"], row["conn_log"]) for row in csv.DictReader(handle, delimiter="\t")})
    compared = 0
    differing = {}
    traces = set()
    for trace, log in pairs:
        said = zeek_flows(folder / log)
        seen = own_flows(folder / trace) if said else []
        ends = {flow.ends for flow in seen}
        said = [flow for flow in said if flow.ends in ends]
        if not said:
            # A log of another trace of the same test, or columns that tell nothing of flows.
            continue
        traces.add(trace)
        compared += len(said)
        missing = []
        for flow in said:
            fitting = next((own for own in seen if flow.fits(own)), None)
            if fitting is None:
                missing.append(flow)
            else:
                seen.remove(fitting)
        if missing or seen:
            name = f"{Path(trace).name} {Path(log).parent.name}"
            differing[name] = f"Zeek alone {missing[:2]}, decoder alone {seen[:2]}"
    listed = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["zeek_flows"]
    with capsys.disabled():
        print(f"\n  zeek_flows: {compared} flows of {len(traces)} traces, {len(differing)} logs differ", end="")
    assert compared > 300
    assert len(traces) >= 20
    assert differing.keys() == listed.keys(), differing
