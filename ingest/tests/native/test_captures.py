"""Captures, byte by byte."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import struct
from pathlib import Path

import pytest
from native_inputs import (
    COMPRESSORS,
    START_S,
    arp_frame,
    decode,
    ipv4_tcp_frame,
    pcap,
)

from sojourn_ingest import _native


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("compression", COMPRESSORS)
def test_every_form_of_pcap_gives_the_same_facts(
    capture_path: Path, order: str, nanoseconds: bool, compression: str
) -> None:
    content = pcap([ipv4_tcp_frame(1, 100), arp_frame(), ipv4_tcp_frame(101, 1000)], order, nanoseconds, snaplen=96)
    capture_path.write_bytes(COMPRESSORS[compression](content))
    decoder = _native.CaptureDecoder(str(capture_path), interval_ms=10)
    tables = decode(decoder)
    (flow,) = tables["flow"]
    assert (flow["initiator_address"], flow["initiator_port"]) == ("10.0.1.2", 40001)
    assert (flow["responder_address"], flow["responder_port"]) == ("10.0.2.2", 5201)
    assert (flow["fwd_packets"], flow["fwd_bytes"], flow["fwd_payload_bytes"]) == (2, 1208, 1100)
    assert flow["last_packet_ns"] - flow["first_packet_ns"] == (2 if nanoseconds else 2000)
    (interval,) = tables["flow_interval"]
    assert (interval["interval_start_ns"], interval["interval_ms"]) == (START_S * 10**9, 10)
    assert (interval["packets"], interval["bytes"], interval["direction"]) == (2, 1208, "fwd")
    summary = decoder.summary()
    assert (summary.records_read, summary.refused, summary.fault) == (2, {"arp": 1}, None)


def interfaces(link_types: list[int], packets: list[tuple[int, bytes]]) -> bytes:
    """Return a pcapng with an interface of each link type, and packets of these interfaces."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    section += b"".join(block(1, struct.pack("<HHI", number, 0, 0)) for number in link_types)
    for interface, frame in packets:
        section += block(6, struct.pack("<IIIII", interface, 0, 1, len(frame), len(frame)) + frame)
    return section


def test_records_are_counted_by_link_type_with_its_number_and_name(capture_path: Path) -> None:
    ethernet, raw = ipv4_tcp_frame(1, 100), ipv4_tcp_frame(101, 100)[14:]
    capture_path.write_bytes(pcap([ethernet, arp_frame()]))
    assert decode(_native.CaptureDecoder(str(capture_path)))["capture_link"] == [
        {"link_type": 1, "link_type_name": "ethernet", "records": 2}
    ]
    # A number is kept as the file has it: 101 and 228 are one link layer. An interface without packets is none of it.
    first = interfaces([1, 228, 113], [(1, raw), (0, ethernet), (1, raw)])
    second = interfaces([101, 400], [(0, raw), (1, raw), (1, raw)])
    capture_path.write_bytes(first + second)
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder)["capture_link"] == [
        {"link_type": 1, "link_type_name": "ethernet", "records": 1},
        {"link_type": 101, "link_type_name": "raw", "records": 1},
        {"link_type": 228, "link_type_name": "ipv4", "records": 2},
        {"link_type": 400, "link_type_name": None, "records": 2},
    ]
    assert decoder.summary().refused == {"link_type_400": 2}
    continued = capture_path.with_name("continued.pcap")
    continued.write_bytes(pcap([raw], link_type=101))
    both = _native.CaptureDecoder(str(capture_path), continued=[str(continued)])
    assert decode(both)["capture_link"][1] == {"link_type": 101, "link_type_name": "raw", "records": 2}


def test_a_cut_capture_keeps_the_packets_before_the_cut(capture_path: Path) -> None:
    content = pcap([ipv4_tcp_frame(1, 100), ipv4_tcp_frame(101, 100)])
    capture_path.write_bytes(content[:-10])
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    fault = decoder.summary().fault
    assert flow["fwd_packets"] == 1
    assert isinstance(fault, _native.TruncatedError)
    message, offset = fault.args
    assert offset == 24 + 16 + 154
    assert message == (
        f"record data: needed 154 bytes, found 144 in the record at offset {offset}; the packets before it were kept"
    )


def test_a_cut_gzip_stream_keeps_the_packets_before_the_cut(capture_path: Path) -> None:
    frames = [hashlib.sha512(bytes([n])).digest() for n in range(200)]
    content = gzip.compress(pcap([ipv4_tcp_frame(1, 0) + noise for noise in frames]))
    capture_path.write_bytes(content[: len(content) // 2])
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    assert isinstance(decoder.summary().fault, _native.CompressionError)
    assert 0 < flow["fwd_packets"] == decoder.summary().records_read < 200


def test_an_absurd_length_is_corrupt_and_says_where(capture_path: Path) -> None:
    content = bytearray(pcap([ipv4_tcp_frame(1, 100), ipv4_tcp_frame(101, 100)]))
    second = 24 + 16 + 154
    content[second + 8 : second + 12] = struct.pack("<I", 0x7FFFFFFF)
    capture_path.write_bytes(content)
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder)["flow"][0]["fwd_packets"] == 1
    fault = decoder.summary().fault
    assert isinstance(fault, _native.CorruptRecordError)
    assert fault.args[1] == second


@pytest.mark.parametrize(
    ("content", "error", "part"),
    [
        (b"", _native.TruncatedError, "found 0"),
        (pcap([])[:20], _native.TruncatedError, "needed 24 bytes, found 20"),
        (b"This is a text, and not a short one.\n", _native.UnrecognisedFormatError, "magic number"),
        (b"\x0a\x0d\x0d\x0a" + bytes(60), _native.CorruptRecordError, "no byte-order magic at offset 8"),
        (b"\x28\xb5\x2f\xfd" + bytes(60), _native.CompressionError, "zstd: the compressed stream ends early"),
        (lzma.compress(pcap([]))[:40], _native.CompressionError, "xz: the compressed stream ends early"),
        (gzip.compress(pcap([]))[:15], _native.CompressionError, "ends early"),
    ],
    ids=["empty", "cut header", "text", "pcapng", "zstd", "xz", "cut gzip"],
)
def test_what_cannot_be_decoded_is_refused_at_once(
    capture_path: Path, content: bytes, error: type[Exception], part: str
) -> None:
    capture_path.write_bytes(content)
    with pytest.raises(error) as caught:
        _native.CaptureDecoder(str(capture_path))
    message, offset = caught.value.args
    assert part in message
    assert "\n" not in message
    assert offset is not None


def test_a_link_type_without_a_decoder_is_a_fault_and_its_packets_are_counted(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([arp_frame()] * 3, link_type=147))
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder) == {}
    summary = decoder.summary()
    assert (summary.records_read, summary.refused) == (0, {"link_type_147": 3})
    assert isinstance(summary.fault, _native.UnsupportedLinkTypeError)
    assert summary.fault.args[1] == 20


def test_files_of_one_recording_are_one_set_of_flows(tmp_path: Path) -> None:
    parts = []
    for number in range(3):
        parts.append(str(tmp_path / f"run.pcap{number}"))
        content = pcap([ipv4_tcp_frame(1 + 100 * (2 * number + n), 100) for n in range(2)])
        Path(parts[-1]).write_bytes(content[:-3] if number == 1 else content)
    decoder = _native.CaptureDecoder(parts[0], continued=parts[1:])
    (flow,) = decode(decoder)["flow"]
    assert flow["fwd_packets"] == 5
    summary = decoder.summary()
    assert summary.records_read == 5
    assert isinstance(summary.fault, _native.TruncatedError)


def test_packets_are_a_table_when_asked_for(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([ipv4_tcp_frame(7, 100), arp_frame(), ipv4_tcp_frame(107, 1000)], snaplen=96))
    tables = decode(_native.CaptureDecoder(str(capture_path), packets=True))
    packets = [
        (row["packet_index"], row["flow_id"], row["direction"], row["packet_bytes"], row["tcp_sequence"])
        for row in tables["packet"]
    ]
    assert packets == [(0, 0, "fwd", 154, 7), (2, 0, "fwd", 1054, 107)]
    assert "packet" not in decode(_native.CaptureDecoder(str(capture_path)))


def fragment(identification: int, offset_words: int, more: bool, payload: bytes) -> bytes:
    flags = offset_words | (0x2000 if more else 0)
    header = struct.pack(
        "!BBHHHBBH4B4B", 0x45, 0, 20 + len(payload), identification, flags, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2
    )
    return bytes(12) + b"\x08\x00" + header + payload


def test_later_fragments_join_the_flow_of_the_first(capture_path: Path) -> None:
    first = fragment(5, 0, True, struct.pack("!HHHH", 1000, 53, 40, 0) + bytes(16))
    capture_path.write_bytes(pcap([first, fragment(5, 3, False, bytes(16)), fragment(6, 3, False, bytes(16))]))
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    assert (flow["initiator_port"], flow["fwd_packets"], flow["fwd_payload_bytes"]) == (1000, 2, 32)
    assert decoder.summary().refused == {"ip_fragment": 1}


@pytest.mark.parametrize(
    ("protocol", "header", "tunnel"),
    [
        (4, b"", "ip-in-ip"),
        (47, bytes.fromhex("00000800"), "gre"),
        (47, bytes.fromhex("3001880b00000000000000000021"), "gre"),
        (
            17,
            struct.pack("!HHHH", 4000, 4789, 0, 0) + bytes.fromhex("0800000000000100") + bytes(12) + b"\x08\x00",
            "vxlan",
        ),
        (17, struct.pack("!HHHH", 2152, 2152, 0, 0) + bytes.fromhex("30ff000000000001"), "gtp-u"),
    ],
    ids=["ip-in-ip", "gre", "pptp", "vxlan", "gtp-u"],
)
def test_one_encapsulation_is_undone(capture_path: Path, protocol: int, header: bytes, tunnel: str) -> None:
    inside = ipv4_tcp_frame(1, 100)[14:]
    for carried, expected in ((inside, ("tcp", tunnel, 100)), (b"\x45\x00", None)):
        payload = header + carried
        outer = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, 9, 9, 9, 1, 9, 9, 9, 2)
        capture_path.write_bytes(pcap([bytes(12) + b"\x08\x00" + outer + payload]))
        (flow,) = decode(_native.CaptureDecoder(str(capture_path)))["flow"]
        if expected is None:
            # What is inside cannot be decoded, so the packet counts for the tunnel's own flow.
            assert (flow["tunnel"], flow["initiator_address"]) == (None, "9.9.9.1")
        else:
            assert (flow["protocol"], flow["tunnel"], flow["fwd_payload_bytes"]) == expected
            assert flow["initiator_address"] == "10.0.1.2"


@pytest.mark.parametrize("options", [{"interval_ms": 0}, {"batch_rows": 0}, {"idle_ms": 0}, {"open_flows": 0}])
def test_options_that_make_no_sense_are_refused(capture_path: Path, options: dict[str, int]) -> None:
    capture_path.write_bytes(pcap([]))
    with pytest.raises(ValueError, match="at least 1"):
        _native.CaptureDecoder(str(capture_path), **options)


def test_an_empty_capture_is_whole(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([]))
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder) == {}
    assert (decoder.summary().records_read, decoder.summary().fault) == (0, None)
