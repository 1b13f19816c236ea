"""Captures as others have them: damaged archives, nothing that can be decoded, copies by a mirror, absurd fields."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from captures import udp_frame
from typer.testing import CliRunner

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.session import IngestSession

START_S = 1_700_000_000
HEADER_BYTES = 24
USER0 = 147


def zstd(plain: bytes) -> bytes:
    return bytes(pa.compress(plain, codec="zstd", asbytes=True))


def record(frame: bytes, time_us: int = 0, wire_bytes: int | None = None, fraction_us: int | None = None) -> bytes:
    fraction = time_us % 10**6 if fraction_us is None else fraction_us
    length = len(frame) if wire_bytes is None else wire_bytes
    return struct.pack("<IIII", START_S + time_us // 10**6, fraction, len(frame), length) + frame


def pcap(records: list[bytes], link_type: int = 1) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type) + b"".join(records)


def pcapng(records: list[bytes], link_type: int) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    content = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    content += block(1, struct.pack("<HHI", link_type, 0, 0))
    for frame in records:
        content += block(6, struct.pack("<IIIII", 0, 0, 1, len(frame), len(frame)) + frame)
    return content


def tcp_frame(sequence: int, identification: int, vlan: int | None = None) -> bytes:
    tcp = struct.pack("!HHIIBBHHH", 40001, 5201, sequence, 1, 0x50, 0x10, 500, 0xABCD, 0) + bytes(100)
    header = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(tcp), identification, 0, 64, 6, 0, 10, 0, 1, 2, 10, 0, 2, 2)
    tag = b"" if vlan is None else b"\x81\x00" + struct.pack("!H", vlan)
    return bytes(12) + tag + b"\x08\x00" + header + tcp


def decode(path: Path) -> tuple[list[dict[str, Any]], _native.Summary]:
    decoder = _native.CaptureDecoder(str(path))
    flows = [row for table, batch in decoder if table == "flow" for row in batch.to_pylist()]
    return flows, decoder.summary()


def ingest(folder: Path, path: Path) -> Commit:
    lake = Lake(folder / "lake")
    with lake.writing():
        (attempt,) = IngestSession(lake, Pseudonymiser(b"key")).run([path], lambda _: None)
    return attempt.commit


# A block of Zstandard, up to 128 KiB, is whole or it is nothing, and its raw blocks hide damage until the checksum.
@pytest.mark.parametrize(
    ("compress", "packets", "damage"),
    [
        (gzip.compress, 300, "cut"),
        (gzip.compress, 300, "overwritten"),
        (gzip.compress, 6000, "cut"),
        (gzip.compress, 6000, "overwritten"),
        (lzma.compress, 300, "cut"),
        (lzma.compress, 300, "overwritten"),
        (lzma.compress, 6000, "cut"),
        (lzma.compress, 6000, "overwritten"),
        (zstd, 6000, "cut"),
    ],
)
def test_packets_before_damage_of_a_compressed_capture_are_kept(
    tmp_path: Path, compress: Callable[[bytes], bytes], packets: int, damage: str
) -> None:
    noise = random.Random(1)
    # Half noise, half zeros, so that the compressed position tells the plain one.
    plain = pcap([record(udp_frame(noise.randbytes(100) + bytes(100)), n) for n in range(packets)])
    stored = compress(plain)
    place = len(stored) * 9 // 10
    path = tmp_path / "capture"
    path.write_bytes(stored[:place] if damage == "cut" else stored[:place] + b"\xff" * (len(stored) - place))
    _, summary = decode(path)
    held_back = 131_072 / 242 if compress is zstd else packets * 0.02 + 2
    assert 0.9 * packets - held_back < summary.records_read + sum(summary.refused.values()) < packets
    assert isinstance(summary.fault, _native.DecodeError)
    if isinstance(summary.fault, _native.CompressionError):
        message, offset = summary.fault.args
        assert f"after {offset} bytes of plain content" in message
        assert offset == _native.fingerprint(str(path)).plain_bytes
        assert offset // len(record(udp_frame(bytes(200)))) == summary.records_read


def byte_by_byte(decompressor: Any, stored: bytes) -> bytes:
    """Return what the standard library makes of bytes that come one by one, up to the damage."""
    plain = b""
    try:
        for byte in stored:
            made = decompressor.decompress(bytes([byte]), 1)
            plain += made
            while made:
                made = decompressor.decompress(getattr(decompressor, "unconsumed_tail", b""), 1)
                plain += made
            if decompressor.eof:
                break
    except (zlib.error, lzma.LZMAError, EOFError):
        pass
    return plain


def damaged_in_every_way(stored: bytes) -> Iterator[bytes]:
    """Yield a compressed file cut at many lengths, and with a bit of many bytes turned over."""
    places = range(12, len(stored), 7)
    yield from (stored[:length] for length in places)
    for place in places:
        turned = bytearray(stored)
        turned[place] ^= 1 << place % 8
        yield bytes(turned)


@pytest.mark.parametrize(
    ("compress", "decompressor"),
    [(gzip.compress, lambda: zlib.decompressobj(31)), (lzma.compress, lzma.LZMADecompressor)],
)
def test_damage_anywhere_leaves_every_byte_before_it(
    tmp_path: Path, compress: Callable[[bytes], bytes], decompressor: Callable[[], Any]
) -> None:
    noise = random.Random(1)
    plain = pcap([record(udp_frame(noise.randbytes(40) + bytes(40)), n) for n in range(30)])
    path = tmp_path / "capture"
    record_bytes = len(record(udp_frame(bytes(80))))
    faults = set()
    for stored in damaged_in_every_way(compress(plain)):
        path.write_bytes(stored)
        expected = byte_by_byte(decompressor(), stored)
        fingerprint = _native.fingerprint(str(path))
        # The standard library drops the byte that it made in the call that meets the damage.
        assert fingerprint.head.startswith(expected)
        assert fingerprint.plain_bytes - len(expected) in (0, 1)
        assert fingerprint.fault is not None
        faults.add(type(fingerprint.fault))
        if type(fingerprint.fault) is _native.CompressionError:
            assert fingerprint.fault.args[1] == fingerprint.plain_bytes
        if plain.startswith(fingerprint.head) and fingerprint.plain_bytes >= HEADER_BYTES:
            _, summary = decode(path)
            assert summary.records_read == (fingerprint.plain_bytes - HEADER_BYTES) // record_bytes
    assert faults == {_native.CompressionError, _native.ChecksumError}


def test_a_checksum_that_does_not_match_is_a_doubt_about_the_whole_file(tmp_path: Path) -> None:
    stored = bytearray(gzip.compress(pcap([record(udp_frame(b"x" * 20), n) for n in range(5)]), mtime=0))
    stored[-8] ^= 1
    path = tmp_path / "capture.pcap.gz"
    path.write_bytes(stored)
    commit = ingest(tmp_path, path)
    assert (commit.status, commit.reason, commit.records_read) == ("partial", "checksum", 5)
    assert "any byte before may be wrong" in (commit.message or "")


@pytest.mark.parametrize("container", [pcap, pcapng])
def test_a_link_type_without_decoder_is_named_in_either_format(tmp_path: Path, container: Callable[..., bytes]) -> None:
    path = tmp_path / "capture"
    frames = [bytes(60)] * 3
    path.write_bytes(container(frames if container is pcapng else [record(frame) for frame in frames], 147))
    commit = ingest(tmp_path, path)
    assert (commit.status, commit.reason) == ("rejected", "unsupported_link_type")
    assert "147, user0" in (commit.message or "")


def test_a_capture_of_which_every_record_was_refused_says_so(tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path = tmp_path / "arp.pcap"
    path.write_bytes(pcap([record(arp)] * 4 + [record(bytes(12) + b"\x88\xcc" + bytes(20))]))
    commit = ingest(tmp_path, path)
    assert (commit.status, commit.reason, commit.holds_facts) == ("rejected", "nothing_usable", False)
    assert "none of its 5 records" in (commit.message or "")
    assert "4 arp, 1 ethertype_0x88cc" in (commit.message or "")


def test_the_printed_summary_counts_the_records_of_a_rejected_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "arp.pcap"
    path.write_bytes(pcap([record(bytes(12) + b"\x08\x06" + bytes(28))] * 1234))
    printed = CliRunner().invoke(application(), ["ingest", "--var", str(tmp_path / "var"), str(path)])
    assert "1,234" in printed.output
    assert "none of its 1234 records" in printed.output


def test_a_packet_that_is_held_once_for_each_vlan_is_a_copy(tmp_path: Path) -> None:
    records = []
    for n in range(10):
        for place, vlan in enumerate((10, 20)):
            records.append(record(tcp_frame(1 + 100 * n, 500 + n, vlan), 1000 * n + 40 * place))
    records.append(record(tcp_frame(1, 700), 300_000))
    path = tmp_path / "mirror.pcap"
    path.write_bytes(pcap(records))
    ((flow,), summary) = decode(path)
    assert summary.records_read == flow["fwd_packets"] == 21
    assert (flow["fwd_duplicate_packets"], flow["fwd_retransmitted_packets"]) == (10, 1)
    assert (flow["fwd_unique_payload_bytes"], flow["fwd_payload_bytes"]) == (1000, 2100)
    assert flow["rev_duplicate_packets"] == 0


def test_records_that_cannot_be_are_refused(tmp_path: Path) -> None:
    frame = udp_frame(b"x" * 6)
    path = tmp_path / "absurd.pcap"
    largest = 1 << 20
    path.write_bytes(
        pcap(
            [
                record(frame, wire_bytes=0xFFFFFFFF),
                record(frame, wire_bytes=largest + 1),
                record(frame, fraction_us=1_000_000),
                record(frame, wire_bytes=largest),
                record(frame, fraction_us=999_999),
            ]
        )
    )
    ((flow,), summary) = decode(path)
    assert summary.refused == {"length_implausible": 2, "time_implausible": 1}
    assert (flow["fwd_packets"], flow["fwd_bytes"]) == (2, largest + len(frame))
    alone = tmp_path / "alone.pcap"
    alone.write_bytes(pcap([record(frame, wire_bytes=0xFFFFFFFF)]))
    assert ingest(tmp_path, alone).status == "rejected"


def test_the_length_of_a_packet_is_never_the_largest_number_there_is(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap([record(udp_frame(b"x"), wire_bytes=length) for length in (1 << 20, 0x80000000)]))
    decoder = _native.CaptureDecoder(str(path), packets=True)
    lengths = [row["packet_bytes"] for table, batch in decoder if table == "packet" for row in batch.to_pylist()]
    assert lengths == [1 << 20]


def test_cisco_hdlc_under_the_number_of_ppp_is_read(tmp_path: Path) -> None:
    ip = udp_frame(b"x")[14:]
    path = tmp_path / "serial.pcap"
    path.write_bytes(pcap([record(b"\x0f\x00\x08\x00" + ip), record(b"\xff\x03\x00\x21" + ip)], link_type=9))
    ((flow,), summary) = decode(path)
    assert (flow["fwd_packets"], summary.refused) == (2, {})
