"""Kinds of captures that once gave wrong figures.

Right values are those of tcptrace 6.6 and tshark 4.0, or counted by hand.
"""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from captures import client_hello, sized, udp_frame, write_pcap

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, Reading, Source
from sojourn_ingest.formats.registry import Registry

Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "data" / "cases"


def decode(path: Path) -> tuple[Tables, _native.Summary]:
    decoder = _native.CaptureDecoder(str(path))
    tables: Tables = {}
    for name, batch in decoder:
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables, decoder.summary()


def only_flow(path: Path) -> dict[str, Any]:
    (flow,) = decode(path)[0]["flow"]
    return flow


def test_probes_of_a_window_of_zero_give_no_rtt_sample(cases: Path) -> None:
    tables, _ = decode(cases / "pcap" / "blitz_tcptrace__zwnd.dmp.gz")
    (flow,) = (row for row in tables["flow"] if row["protocol"] == "tcp")
    # tcptrace -lr: 8,679 samples up to 80 ms, 24,554,344 unique bytes, nothing retransmitted, six probes of one byte.
    # It takes a sample of the byte's seventh passing, which Karn's rule does not.
    assert (flow["fwd_rtt_samples"], flow["fwd_rtt_max_us"]) == (8_678, 80_000)
    assert (flow["fwd_unique_payload_bytes"], flow["fwd_retransmitted_packets"]) == (24_554_344, 0)
    assert (flow["rev_zero_windows"], flow["rev_rtt_samples"]) == (7, 2)


def test_encrypted_rtcp_that_is_cut_gives_no_report(cases: Path) -> None:
    tables, summary = decode(cases / "bugs" / "srtcp_cut_one_packet.pcap")
    assert "rtcp_report" not in tables
    (call,) = tables["call_flow"]
    assert (call["rtcp_cut_packets"], call["rtcp_packets"], call["rtcp_refused_reports"]) == (1, 0, 0)
    assert (summary.records_read, summary.fault) == (1, None)


@pytest.mark.parametrize(("name", "handshake_us", "packets"), [("before_syn", 94, 27), ("first_syn_missed", None, 26)])
def test_who_sends_the_syn_ack_is_the_responder(cases: Path, name: str, handshake_us: int | None, packets: int) -> None:
    flow = only_flow(cases / "bugs" / f"synack_{name}.pcap")
    assert (flow["initiator_address"], flow["responder_address"]) == ("192.0.2.10", "198.51.100.20")
    assert (flow["initiator_port"], flow["responder_port"]) == (51_000, 443)
    # tshark's tcp.analysis.initial_rtt is 94 us with the SYN, and missing without it.
    assert flow["handshake_rtt_us"] == handshake_us
    assert flow["fwd_packets"] + flow["rev_packets"] == packets
    assert (flow["fwd_rtt_min_us"], flow["fwd_rtt_max_us"]) == (5_000, 5_000)
    assert flow["starts_in_mid_flow"] is False


def test_vxlan_with_reserved_bits_is_unwrapped(cases: Path) -> None:
    tables, summary = decode(cases / "pcap" / "suricata_vxlan_reserved.pcap")
    (flow,) = tables["flow"]
    # As tshark has it.
    assert (flow["initiator_address"], flow["initiator_port"]) == ("218.94.93.34", 51_252)
    assert (flow["responder_address"], flow["responder_port"]) == ("192.168.1.134", 80)
    assert (flow["tunnel"], flow["fwd_packets"], flow["rev_packets"]) == ("vxlan", 5, 5)
    assert (flow["fwd_payload_bytes"], flow["rev_payload_bytes"]) == (587, 17 + 149)
    assert summary.records_read == 10


def test_a_payload_is_not_longer_than_its_packet(cases: Path) -> None:
    flow = only_flow(cases / "pcap" / "suricata_ipv4_longer_than_frame.pcap")
    # 1530 bytes on the wire, of which 14 are Ethernet's, 20 of IPv4 and 8 of UDP; its header declares 65,028.
    assert (flow["fwd_bytes"], flow["fwd_payload_bytes"]) == (1530, 1530 - 14 - 20 - 8)


def test_a_version_of_pcapng_that_is_not_known_is_named(tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    path = tmp_path / "new.pcapng"
    path.write_bytes(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 2, 0, -1)))
    with pytest.raises(_native.DecodeError, match=r"pcapng version 2\.0 at offset 12"):
        _native.CaptureDecoder(str(path))


def hello_with_damage(name: bytes) -> bytes:
    """Return a ClientHello for a name, with an extension behind it whose length leads beyond the end."""
    whole = client_hello(name)
    damaged = struct.pack("!HH", 43, 500) + b"\2\3\4"
    extensions_at = 5 + 4 + 2 + 32 + 1 + 4 + 2
    extensions = whole[extensions_at + 2 :] + damaged
    body = whole[9:extensions_at] + sized(2, extensions)
    return b"\x16\3\1" + sized(2, b"\1" + sized(3, body))


def test_a_name_with_damage_behind_it_is_kept(tmp_path: Path) -> None:
    def segment(payload: bytes) -> bytes:
        tcp = struct.pack("!HHIIBBHHH", 50_000, 443, 1, 1, 0x50, 0x18, 500, 0, 0) + payload
        frame = udp_frame(tcp, ("10.0.0.1", 0), ("10.0.0.2", 0))
        # The same packet with TCP in the place of UDP.
        header = bytearray(frame[14:34])
        header[2:4] = (20 + len(tcp)).to_bytes(2, "big")
        header[9] = 6
        return frame[:14] + bytes(header) + tcp

    sound, damaged = (
        only_flow(write_pcap(tmp_path / f"{number}.pcap", [segment(hello)]))
        for number, hello in enumerate((client_hello(b"www.example.com"), hello_with_damage(b"www.example.com")))
    )
    assert (sound["server_name"], sound["client_hello_outcome"]) == ("example.com", "named")
    assert (damaged["server_name"], damaged["client_hello_outcome"]) == ("example.com", "damaged_after_name")
    assert (damaged["tls_version_offered"], damaged["is_client_hello_encrypted"]) == (None, None)


def archive(members: dict[str, bytes], form: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=form) as opened:
        for name, member in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(member)
            opened.addfile(entry, io.BytesIO(member))
    return content.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def facts(path: Path, head: bytes, compression: str) -> tuple[Tables, Reading]:
    source = Source(path, compression, head[:65_536], len(head))
    chosen = Registry().recognise(source)
    assert chosen.name == "capture"
    reading = Reading()
    tables: Tables = {}
    for name, batch in chosen.read(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables, reading


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize(
    ("compression", "compress"),
    [("none", bytes), ("gzip", gzip.compress), ("xz", lzma.compress), ("zstd", zstd)],
)
def test_a_capture_in_an_archive_gives_the_facts_of_the_capture(
    form: int, compression: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    plain = write_pcap(tmp_path / "one.pcap", [udp_frame(bytes([number])) for number in range(50)])
    content = plain.read_bytes()
    expected, _ = facts(plain, content, "none")
    long_name = "recordings/" + "a" * 120 + "/one.pcap" if form != tarfile.USTAR_FORMAT else "recordings/one.pcap"
    for member in (content, gzip.compress(content)):
        tar = archive({long_name: member}, form)
        path = tmp_path / "captures.tar"
        path.write_bytes(compress(tar))
        decoded, reading = facts(path, tar, compression)
        assert decoded == expected
        assert (reading.records_read, reading.refused, reading.fault) == (50, {}, None)


def test_all_captures_of_an_archive_are_read_and_what_is_none_is_counted(tmp_path: Path) -> None:
    captures = [
        write_pcap(tmp_path / f"{port}.pcap", [udp_frame(b"x", ("10.0.0.1", port))] * 3, first_ns=port * 10**15)
        for port in (1, 2)
    ]
    members = {"README": b"two captures", **{path.name: path.read_bytes() for path in captures}}
    tar = archive(members, tarfile.PAX_FORMAT)
    path = tmp_path / "captures.tar"
    path.write_bytes(tar)
    tables, reading = facts(path, tar, "none")
    assert [(flow["flow_id"], flow["initiator_port"], flow["fwd_packets"]) for flow in tables["flow"]] == [
        (0, 1, 3),
        (1, 2, 3),
    ]
    assert (reading.records_read, reading.refused, reading.fault) == (6, {"member_without_capture": 1}, None)
    path.write_bytes(tar[: len(tar) // 4])
    _, reading = facts(path, tar, "none")
    assert reading.fault is not None
