"""Names of servers through an ingest: the three choices, their versions, and what never is written."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import client_hello, ip, sized, tcp, udp, write_raw_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.capture.flow_hints import NO_HINTS
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

CLIENT, SERVER, RESOLVER = "10.0.0.1", "10.0.0.2", "10.0.0.53"


def dns_answer(name: bytes, address: str) -> bytes:
    """Return a response that tells one IPv4 address for a name."""
    question = b"".join(sized(1, label) for label in name.split(b".")) + b"\0" + struct.pack("!HH", 1, 1)
    answer = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
    return struct.pack("!HHHHHH", 7, 0x8180, 1, 1, 0, 0) + question + answer


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "captures" / "one.pcap"
    hello = client_hello(b"www.example.com")
    device = client_hello(b"johns-laptop.local")
    packets = [
        ip(CLIENT, SERVER, 6, tcp((1000, 443), 9, 2)),
        ip(CLIENT, SERVER, 6, tcp((1000, 443), 40, 16, hello[30:])),
        ip(CLIENT, SERVER, 6, tcp((1000, 443), 10, 16, hello[:30])),
        ip(CLIENT, SERVER, 6, tcp((1001, 443), 9, 16, device)),
        ip(RESOLVER, CLIENT, 17, udp((53, 1002), dns_answer(b"api.example.net", SERVER))),
        ip(CLIENT, SERVER, 6, tcp((1003, 80), 9, 2)),
        ip(RESOLVER, CLIENT, 17, udp((53, 1004), dns_answer(b"johns-laptop.lan", "10.0.0.9"))),
        ip(CLIENT, "10.0.0.9", 6, tcp((1005, 80), 9, 2)),
    ]
    write_raw_pcap(path, packets)
    return path


def ingest(lake: Lake, folder: Path, server_names: ServerNames, packets: bool = False) -> list[Any]:
    with lake.writing():
        session = IngestSession(lake, Pseudonymiser(b"key"), server_names=server_names, packets=packets)
        return session.run(files_below([folder]), lambda _: None)


def flows(lake: Lake) -> list[dict[str, Any]]:
    (commit,) = [commit for commit in lake.live() if commit.holds_facts]
    tables = [pq.read_table(lake.storage.local(lake.place_of(file))) for file in commit.files if file.table == "flow"]
    return sorted(pa.concat_tables(tables).to_pylist(), key=lambda flow: flow["flow_id"])


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("registrable", ["example.com", None, None, "example.net", None, None]),
        ("full", ["www.example.com", None, None, "api.example.net", None, None]),
        ("none", [None] * 6),
    ],
)
def test_names_are_kept_as_asked_for(
    tmp_path: Path, capture: Path, choice: ServerNames, names: list[str | None]
) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, capture.parent, choice)
    flow_rows = flows(lake)
    assert [flow["server_name"] for flow in flow_rows] == names
    sources = [flow["server_name_source"] for flow in flow_rows]
    assert sources == ([None] * 6 if choice == "none" else ["tls", None, None, "dns", None, None])
    outcomes = [flow["client_hello_outcome"] for flow in flow_rows]
    assert outcomes == ["named", "local_name", None, None, None, None]


def test_another_choice_reads_the_capture_again_and_replaces_what_is_there(tmp_path: Path, capture: Path) -> None:
    lake = Lake(tmp_path / "lake")
    choices: list[tuple[ServerNames, str | None]] = [
        ("full", "www.example.com"),
        ("registrable", "example.com"),
        ("none", None),
    ]
    for names, first_name in choices:
        (attempt,) = ingest(lake, capture.parent, names)
        assert (attempt.disposition, attempt.commit.status) == ("new", "ok")
        assert flows(lake)[0]["server_name"] == first_name
        (again,) = ingest(lake, capture.parent, names)
        assert again.disposition == "unchanged"
    written = b"".join(path.read_bytes() for path in (tmp_path / "lake").rglob("*") if path.is_file())
    assert b"johns-laptop" not in written


def test_the_choice_is_part_of_the_version() -> None:
    readers = [Capture(server_names=names) for names in ("registrable", "full", "none")]
    assert len({reader.version for reader in readers}) == 3
    for reader in readers:
        for other in readers:
            assert reader.is_served_by(other.version) == (reader is other)
            assert (other.version in reader.compatible_versions()) == (reader is other)
        with_packets = Capture(server_names=reader.server_names, packets=True)
        assert reader.is_served_by(with_packets.version)
        assert not with_packets.is_served_by(reader.version)
        assert reader.with_hints(NO_HINTS).version == reader.version
