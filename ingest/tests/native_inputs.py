"""Small captures and queue logs, byte by byte, and what the decoder extension makes of a file."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.schema import TABLES

Rows = list[dict[str, Any]]
Decoder = _native.CaptureDecoder | _native.QueueLogDecoder

START_S = 1_700_000_000
EVENT = (
    "{kind} {time} {skb} 1514 1 1514 40 3 6 10.0.1.2 16796 10.0.2.2 20756 3 67305985 {sojourn} {reason} {location} 8\n"
)


def ipv4_tcp_frame(sequence: int, payload_bytes: int) -> bytes:
    tcp = struct.pack("!HHIIBBHHH", 40001, 5201, sequence, 1, 0x50, 0x10, 500, 0, 0) + bytes(payload_bytes)
    header = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, 10, 0, 1, 2, 10, 0, 2, 2)
    return bytes(12) + b"\x08\x00" + header + tcp


def zstd(plain: bytes) -> bytes:
    # A skippable frame before, as pzstd writes.
    return bytes.fromhex("502a4d1803000000616263") + pa.compress(plain, codec="zstd", asbytes=True)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "zstd": zstd,
    "xz": lzma.compress,
}


def arp_frame() -> bytes:
    return bytes(12) + b"\x08\x06" + bytes(28)


def pcap(
    frames: list[bytes], order: str = "<", nanoseconds: bool = False, link_type: int = 1, snaplen: int = 65535
) -> bytes:
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link_type)
    for number, frame in enumerate(frames):
        kept = frame[:snaplen]
        content += struct.pack(order + "IIII", START_S, number, len(kept), len(frame)) + kept
    return content


def event(kind: str, time: int, skb: int, sojourn: int = 0, reason: int = 0, location: str = "-") -> str:
    return EVENT.format(kind=kind, time=time, skb=f"{skb:x}", sojourn=sojourn, reason=reason, location=location)


def decode(decoder: Decoder) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for name, batch in decoder:
        batch.validate(full=True)
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


def declared_fields(name: str) -> list[tuple[str, pa.DataType, bool]]:
    fields = []
    for column in TABLES[name].columns:
        if column.name in {"source_hash", "decoder_version"} or column.name.endswith("_prefix_key"):
            continue
        fields.append((column.name.replace("_host_key", "_address"), column.type, column.nullable))
    return fields
