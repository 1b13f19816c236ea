"""ECN of public captures against tshark's fields: codepoints, negotiation, and the ACE field's increments."""

from __future__ import annotations

import csv
import gzip
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

L4S_TESTS = "heistp__l4s-tests/results"
#: Captures by their place under L4S_TESTS, and the CE packets that the receiver of their large flow echoed.
CAPTURES = {
    "wifi/prague_dualpi2_wifi.pcap.gz": 5327,
    "wifi/cubic_fq_codel_wifi.pcap.gz": 97,
    "skype/bfid/skype_bi_fq_codel.pcap.gz": None,
}
#: Payload of a full segment in these captures.
SEGMENT_BYTES = 1432
CODEPOINTS = {0: "not_ect", 1: "ect1", 2: "ect0", 3: "ce"}
FIELDS = (
    *("ip.src", "tcp.srcport", "udp.srcport", "ip.dst", "tcp.dstport", "udp.dstport", "ip.dsfield.ecn", "frame.len"),
    *("tcp.flags.syn", "tcp.flags.ack", "tcp.flags", "tcp.seq_raw", "tcp.ack_raw"),
    *("tcp.len", "tcp.flags.reset"),
)
Key = tuple[str, str]


def tshark(path: Path) -> list[dict[str, str]]:
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    words = [word for field in FIELDS for word in ("-e", field)]
    options = ["-o", "tcp.desegment_tcp_streams:false", "-T", "fields", "-E", "occurrence=f", *words]
    done = subprocess.run([tool, "-r", str(path), *options], capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def ends(row: dict[str, str]) -> tuple[Key, Key]:
    source, destination = ((row[f"ip.{end}"], row[f"tcp.{end}port"] or row[f"udp.{end}port"]) for end in ("src", "dst"))
    return source, destination


def decode(path: Path) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, batch in _native.CaptureDecoder(str(path), idle_ms=2**40):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


def directions(tables: dict[str, list[dict[str, Any]]]) -> dict[tuple[Key, Key], dict[str, Any]]:
    """Return flow_ecn by sender and receiver."""
    flows = {row["flow_id"]: row for row in tables["flow"]}
    row_of_direction = {}
    for row in tables.get("flow_ecn", ()):
        flow = flows[row["flow_id"]]
        initiator, responder = (
            (flow[f"{end}_address"], str(flow[f"{end}_port"] or "")) for end in ("initiator", "responder")
        )
        row_of_direction[(initiator, responder) if row["direction"] == "fwd" else (responder, initiator)] = row
    return row_of_direction


def increments_of_ace(rows: list[dict[str, str]], sender: Key, receiver: Key) -> int:
    """Return what the ACE field of a receiver grew by, from 5 on, segments older than one seen left out."""
    last, newest, total = 5, (None, None), 0
    for row in rows:
        if ends(row) != (receiver, sender) or row["tcp.flags.syn"] != "0" or row["tcp.flags.reset"] != "0":
            continue
        now = int(row["tcp.ack_raw"]), int(row["tcp.seq_raw"])
        ahead = None if newest[0] is None else (now[0] - newest[0] + 2**31) % 2**32 - 2**31
        if ahead is not None and (ahead < 0 or (ahead == 0 and (now[1] - newest[1] + 2**31) % 2**32 < 2**31)):
            continue
        is_first = newest[0] is None
        newest = now
        # The first pure acknowledgement of the client tells how the SYN-ACK came.
        if is_first and row["tcp.len"] == "0" and receiver_is_client(rows, receiver):
            continue
        # AE, CWR and ECE (tshark 4.0 names the first field but leaves it empty).
        ace = int(row["tcp.flags"], 16) >> 6 & 7
        total += (ace - last) % 8
        last = ace
    return total


def receiver_is_client(rows: list[dict[str, str]], receiver: Key) -> bool:
    return any(row["tcp.flags.syn"] == "1" and row["tcp.flags.ack"] == "0" and ends(row)[0] == receiver for row in rows)


@pytest.mark.parametrize("name", CAPTURES)
def test_codepoints_of_every_flow_are_those_of_tshark(shared: Path, name: str) -> None:
    path = shared / "data" / "public" / L4S_TESTS / name
    tables = decode(path)
    row_of_direction = directions(tables)
    expected: Counter[tuple[Key, Key, str, str]] = Counter()
    for row in tshark(path):
        if row["ip.dsfield.ecn"]:
            codepoint = CODEPOINTS[int(row["ip.dsfield.ecn"], 0)]
            expected[(*ends(row), codepoint, "packets")] += 1
            expected[(*ends(row), codepoint, "bytes")] += int(row["frame.len"])
    with_ecn = {frozenset(key[:2]) for key in expected if key[2] != "not_ect"}
    assert bool(with_ecn) == (CAPTURES[name] is not None)
    seen: Counter[tuple[Key, Key, str, str]] = Counter()
    for (sender, receiver), row in row_of_direction.items():
        for codepoint in CODEPOINTS.values():
            for unit in ("packets", "bytes"):
                seen[(sender, receiver, codepoint, unit)] += row[f"{codepoint}_{unit}"]
    shown = {frozenset(pair) for pair in row_of_direction}
    assert with_ecn <= shown
    assert +seen == Counter({key: count for key, count in expected.items() if frozenset(key[:2]) in shown})
    intervals = Counter[str]()
    for row in tables.get("flow_ecn_interval", ()):
        intervals.update({codepoint: row[f"{codepoint}_packets"] for codepoint in ("ect0", "ect1", "ce")})
    totals = Counter[str]()
    for row in tables.get("flow_ecn", ()):
        totals.update({codepoint: row[f"{codepoint}_packets"] for codepoint in ("ect0", "ect1", "ce")})
    assert +intervals == +totals


@pytest.mark.parametrize("name", [name for name, marks in CAPTURES.items() if marks])
def test_accurate_ecn_counts_increments_and_not_flags(shared: Path, name: str) -> None:
    path = shared / "data" / "public" / L4S_TESTS / name
    rows = tshark(path)
    tables = decode(path)
    assert {row["ecn_mode"] for row in tables["flow_ecn"]} == {"accurate"}
    assert {row["negotiation"] for row in tables["flow_ecn"]} == {"accurate_not_ect"}
    for (sender, receiver), row in directions(tables).items():
        if row["ace_reports"]:
            # An option shows turns of the counter that the field alone does not.
            turns, rest = divmod(row["echoed_ce_packets_min"] - increments_of_ace(rows, sender, receiver), 8)
            assert (rest, turns >= 0) == (0, True)
            assert row["echoed_ce_packets_min"] <= row["echoed_ce_packets_max"]
    large = max(tables["flow_ecn"], key=lambda row: row["data_packets"])
    assert (large["echoed_ce_packets_min"], large["echoed_ce_packets_max"]) == (CAPTURES[name], CAPTURES[name])
    assert large["echoed_ce_bytes"] == CAPTURES[name] * SEGMENT_BYTES
    assert large["option_disagreements"] == 0
    for flow in tables["flow"]:
        assert flow["fwd_ecn_ece_packets"] is None
        assert flow["rev_ecn_cwr_packets"] is None


def test_captures_without_rows_of_ecn_have_none_in_tshark(shared: Path) -> None:
    public = shared / "data" / "public"
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    with (public / "PCAP_SUMMARY.tsv").open() as handle:
        names = [row["file"] for row in csv.DictReader(handle, delimiter="\t") if 0 < int(row["tcp_packets"]) < 2000]
    shown = "ip.dsfield.ecn > 0 || ipv6.tclass.ecn > 0 || tcp.flags & 0x1c0"
    checked = 0
    for name in names[::20]:
        tables = decode(public / name)
        if "flow_ecn" in tables or any(flow["tunnel"] for flow in tables.get("flow", ())):
            continue
        done = subprocess.run(
            [tool, "-r", str(public / name), "-Y", f"({shown}) && !icmp"], capture_output=True, text=True
        )
        assert done.stdout == "", name
        checked += 1
    assert checked > 5


def test_damaged_segments_of_accurate_ecn_are_counted_once_each(shared: Path, tmp_path: Path) -> None:
    whole = gzip.decompress((shared / "data" / "public" / L4S_TESTS / "wifi/prague_dualpi2_wifi.pcap.gz").read_bytes())
    head = whole[:30_000]
    random = Random(1)
    path = tmp_path / "damaged.pcap"
    shown = 0
    for trial in range(150):
        content = bytearray(head[: random.randrange(200, len(head))])
        for _ in range(random.randrange(20) * (trial % 3)):
            content[random.randrange(24, len(content))] = random.randrange(256)
        path.write_bytes(content)
        tables = decode(path)
        flows = {flow["flow_id"]: flow for flow in tables.get("flow", ())}
        for row in tables.get("flow_ecn", ()):
            shown += 1
            packets = sum(row[f"{codepoint}_packets"] for codepoint in CODEPOINTS.values())
            assert packets == flows[row["flow_id"]][f"{row['direction']}_packets"]
            assert (row["echoed_ce_packets_min"] or 0) <= (row["echoed_ce_packets_max"] or 0)
    assert shown > 150
