"""Roles by rule: which rule of a run's manifest takes which flow of its captures, through an ingest."""

from __future__ import annotations

import json
import re
import socket
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from captures import client_hello, ip, sized, tcp, udp, write_raw_pcap
from pydantic import ValidationError

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.run.manifest import Manifest
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import Attempt, IngestSession, files_below

CLIENT, RESOLVER = "10.0.0.1", "10.0.0.53"
NETFLIX, ZOOM, HARPOON, CDN = "45.57.9.1", "170.114.3.2", "10.9.0.7", "23.246.2.3"
SYN = 2


def dns_answer(name: bytes, address: str) -> bytes:
    question = b"".join(sized(1, label) for label in name.split(b".")) + b"\0" + struct.pack("!HH", 1, 1)
    answer = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
    return struct.pack("!HHHHHH", 7, 0x8180, 1, 1, 0, 0) + question + answer


def transfer(
    client_port: int, server: str, port: int, payload_bytes: int, hello: bytes = b"", first: int = 9
) -> list[bytes]:
    """Return a TCP flow: the client's SYN and what it says, and the server's data in segments of 1,000 bytes."""
    packets = [ip(CLIENT, server, 6, tcp((client_port, port), first, SYN))]
    if hello:
        packets.append(ip(CLIENT, server, 6, tcp((client_port, port), first + 1, 16, hello)))
    for sequence in range(0, payload_bytes, 1000):
        size = min(1000, payload_bytes - sequence)
        packets.append(ip(server, CLIENT, 6, tcp((port, client_port), 1 + sequence, 16, bytes(size))))
    return packets


#: Flows by the order of their first packets.
FLOWS = {
    0: transfer(1000, NETFLIX, 443, 5000, client_hello(b"ipv4-c001.1.oca.nflxvideo.net")),
    1: [ip(CLIENT, ZOOM, 17, udp((1001, 8801), bytes(900)))] * 3,
    2: [ip(RESOLVER, CLIENT, 17, udp((53, 1002), dns_answer(b"api.netflix.com", CDN)))],
    3: transfer(1003, CDN, 80, 200),
    4: transfer(1004, HARPOON, 10_000, 3000),
    5: transfer(1005, HARPOON, 10_001, 9000),
    6: transfer(1006, HARPOON, 10_002, 9000),
    7: [ip(CLIENT, ZOOM, 17, udp((1007, 443), bytes(90)))],
}
PACKETS = [packet for number in FLOWS for packet in FLOWS[number]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    write_raw_pcap(folder / "after.pcap", PACKETS)
    return folder


def described(*flows: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "testbed-manifest/1", "run_id": "r", "study": "s", "bandwidth_bps": 1_000_000, "rtt_ms": 10,
        "queue": {"discipline": "bfifo"}, "order": "app_first", "app": "netflix", "flows": flows,
    }  # fmt: skip


def describe(folder: Path, *flows: dict[str, Any]) -> None:
    content = described(*flows)
    (folder / "manifest.json").write_text(json.dumps(content))


def ingest(var: Path, folder: Path) -> dict[str, Attempt]:
    lake = Lake(var / "lake")
    with lake.writing():
        session = IngestSession(lake, Pseudonymiser(b"key"))
        return {attempt.path.name: attempt for attempt in session.run(files_below([folder]), lambda _: None)}


def rows(var: Path, name: str) -> list[dict[str, Any]]:
    return [row for path in Lake(var / "lake").files(name) for row in pq.read_table(path).to_pylist()]


def taken(var: Path) -> dict[int, tuple[int, str, int]]:
    """Return rule, role and number of fitting rules by flow."""
    roles = rows(var, "flow_role")
    assert {(row["study_id"], row["run_id"]) for row in roles} <= {("s", "r")}
    assert len({row["flow_id"] for row in roles}) == len(roles)
    return {row["flow_id"]: (row["flow_number"], row["role"], row["fitting_rules"]) for row in roles}


NETFLIX_RULE = {"role": "app", "server_name": ["nflxvideo.net", "*.netflix.com"]}
ZOOM_RULE = {"role": "rival", "proto": "udp", "host": "170.114.0.0/16", "ports": "8801-8810"}
LARGE = {"role": "tcp", "proto": "tcp", "more_than_bytes": 4000, "first": True}
REST = {"role": "background", "rest": True}


def test_each_flow_has_the_role_of_the_first_rule_that_it_fits(tmp_path: Path, run: Path) -> None:
    # The first large flow is Netflix's, which another rule has taken.
    describe(run, NETFLIX_RULE, LARGE, ZOOM_RULE | {"role": "tcp_control"}, REST)
    ingest(tmp_path, run)
    assert taken(tmp_path) == {
        0: (0, "app", 1),
        1: (2, "tcp_control", 1),
        2: (3, "background", 1),
        3: (0, "app", 1),
        4: (3, "background", 1),
        5: (1, "tcp", 1),
        6: (3, "background", 1),
        7: (3, "background", 1),
    }
    ruled = {row["flow_number"]: row for row in rows(tmp_path, "run_flow")}
    assert ruled[0]["rule_server_names"] == "nflxvideo.net netflix.com"
    assert (ruled[2]["rule_first_port"], ruled[2]["rule_last_port"], ruled[2]["rule_host_bits"]) == (8801, 8810, 16)
    assert ruled[2]["rule_host_key"].startswith("hk-")
    assert (ruled[1]["rule_more_than_bytes"], ruled[1]["rule_is_first"]) == (4000, True)
    assert {row["source_host_key"] for row in ruled.values()} == {None}
    assert all(attempt.disposition == "unchanged" for attempt in ingest(tmp_path, run).values())


def test_two_rules_that_fit_one_flow_are_counted_and_a_5_tuple_is_one_of_them(tmp_path: Path, run: Path) -> None:
    zoom = {"proto": "udp", "src": ZOOM, "sport": 8801, "dst": CLIENT, "dport": 1001}
    ports = {"role": "tcp_control", "ports": "8800-9000"}
    describe(run, ports, {"role": "app"} | zoom, {"role": "app", "host": ZOOM}, REST)
    ingest(tmp_path, run)
    roles = taken(tmp_path)
    assert (roles[1], roles[7], roles[4]) == ((0, "tcp_control", 3), (2, "app", 1), (3, "background", 1))
    describe(run, {"role": "app"} | zoom, ports, {"role": "app", "host": ZOOM})
    ingest(tmp_path, run)
    assert taken(tmp_path) == {1: (0, "app", 3), 7: (2, "app", 1)}


def test_what_one_rule_leaves_goes_on_to_the_next(tmp_path: Path, run: Path) -> None:
    # Flows come to the rules as they end; those that began first are taken, whatever ends first.
    describe(run, LARGE, LARGE | {"role": "app"}, LARGE | {"role": "tcp_control"}, {"role": "app", "ports": 10_002})
    ingest(tmp_path, run)
    assert taken(tmp_path) == {0: (0, "tcp", 1), 5: (1, "app", 1), 6: (2, "tcp_control", 2)}


def test_the_flow_that_began_first_is_taken_also_where_it_ends_last(tmp_path: Path, run: Path) -> None:
    # The ports of the short one are used again, so that its record ends before that of the long one.
    long_one, short_one = FLOWS[5], FLOWS[6]
    again = transfer(1006, HARPOON, 10_002, 9000, first=5_000_000)
    ends = [ip(CLIENT, HARPOON, 6, tcp((1006, 10_002), 10, 4)), ip(HARPOON, CLIENT, 6, tcp((10_002, 1006), 9001, 4))]
    write_raw_pcap(run / "after.pcap", [*long_one[:2], *short_one, *ends, *again, *long_one[2:]])
    describe(run, LARGE, REST)
    ingest(tmp_path, run)
    assert [row["end_reason"] for row in rows(tmp_path, "flow")] == ["ports_reused", "capture_end", "capture_end"]
    assert [row["initiator_port"] for row in rows(tmp_path, "flow")] == [1006, 1005, 1006]
    assert taken(tmp_path) == {0: (0, "tcp", 1), 1: (1, "background", 1), 2: (1, "background", 1)}


def test_changed_rules_have_the_captures_read_again_and_5_tuples_alone_need_none(tmp_path: Path, run: Path) -> None:
    describe(run, NETFLIX_RULE)
    ingest(tmp_path, run)
    assert set(taken(tmp_path)) == {0, 3}
    describe(run, NETFLIX_RULE | {"server_name": "nflxvideo.net"})
    assert ingest(tmp_path, run)["after.pcap"].disposition == "new"
    assert set(taken(tmp_path)) == {0}
    describe(run, {"role": "app", "proto": "udp", "src": ZOOM, "sport": 8801, "dst": CLIENT, "dport": 1001})
    ingest(tmp_path, run)
    assert taken(tmp_path) == {}
    assert len(rows(tmp_path, "run_flow")) == 1


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ([{"role": "app"}], "no condition says which flows it applies to"),
        ([{"role": "app", "src": "10.0.0.1", "sport": 1}], "proto, dst, dport of the 5-tuple is missing"),
        ([NETFLIX_RULE] * 201, "flows: rules and 5-tuples beside them, with names of servers, are at most 200"),
        (
            [NETFLIX_RULE | {"server_name": ["example.org"] * 200}],
            "flows: rules and 5-tuples beside them, with names of servers, are at most 200",
        ),
        ([REST, NETFLIX_RULE], "rule 0 matches all remaining flows"),
        ([REST | {"proto": "tcp"}], "rest takes every flow"),
        ([{"role": "app", "ports": "9-8"}], "is neither a port nor a range of ports; write it as 443 or 8801-8810"),
        ([{"role": "app", "ports": 70_000}], "70000 is neither a port nor a range of ports"),
        ([{"role": "app", "host": "10.0.0.0/33"}], "write an address, or a prefix as 192.0.2.0/24"),
        ([{"role": "app", "host": "10.0.0.1/8"}], "has host bits set; write an address"),
        ([{"role": "app", "server_name": "nflxvideo"}], "is not the name of a server"),
        ([{"role": "app", "server_name": []}], "server_name"),
        ([{"role": "app", "server_name": ["9-9-9-9.example.net"]}], "a name of server_name has an address in it"),
        ([{"role": "app", "proto": "udp", "port": 5}], "port: not a condition of a rule, which are proto, host, ports"),
        ([{"role": "app", "ports": 5, "ssrc": 1}], "describe one flow; give its 5-tuple"),
        ([REST | {"first": True}], "rest takes every flow"),
        (
            [{"role": "app", "proto": "udp", "src": "x", "sport": 1, "dst": "10.0.0.1", "dport": 2}, REST],
            "write an address",
        ),
    ],
)
def test_a_rule_that_says_nothing_or_too_much_is_refused(flows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        Manifest.model_validate(described(*flows))
