"""Tiny captures made by hand, so that a test knows every byte."""

from __future__ import annotations

import gzip
import socket
import struct
from pathlib import Path

ETHERNET = 1


def udp_frame(
    payload: bytes,
    source: tuple[str, int] = ("10.0.0.1", 1000),
    destination: tuple[str, int] = ("10.0.0.2", 2000),
) -> bytes:
    """Return an Ethernet frame with an IPv4 UDP packet."""
    udp = struct.pack("!HHHH", source[1], destination[1], 8 + len(payload), 0) + payload
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(udp),
        1,
        0,
        64,
        17,
        0,
        socket.inet_aton(source[0]),
        socket.inet_aton(destination[0]),
    )
    return bytes(12) + b"\x08\x00" + header + udp


def write_pcap(
    path: Path, frames: list[bytes], first_ns: int = 1_700_000_000_000_000_000, gap_ns: int = 1_000_000
) -> Path:
    """Write a nanosecond little-endian pcap; compressed when the name ends with .gz."""
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, ETHERNET)
    for number, frame in enumerate(frames):
        seconds, nanoseconds = divmod(first_ns + number * gap_ns, 10**9)
        content += struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def sized(size: int, content: bytes) -> bytes:
    return len(content).to_bytes(size, "big") + content


def client_hello(name: bytes) -> bytes:
    """Return a ClientHello for a name, in one TLS record."""
    extension = struct.pack("!H", 0) + sized(2, sized(2, b"\0" + sized(2, name)))
    body = b"\3\3" + bytes(32) + b"\0" + sized(2, b"\x13\1") + sized(1, b"\0") + sized(2, extension)
    return b"\x16\3\1" + sized(2, b"\1" + sized(3, body))


def ip(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0) + ends + payload


def tcp(ports: tuple[int, int], sequence: int, flags: int, payload: bytes = b"") -> bytes:
    return struct.pack("!HHIIHHHH", *ports, sequence, 0, 0x5000 | flags, 500, 0, 0) + payload


def udp(ports: tuple[int, int], payload: bytes) -> bytes:
    return struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload


def write_raw_pcap(path: Path, packets: list[bytes]) -> None:
    """Write a capture of raw IP packets, one per millisecond."""
    records = b"".join(
        struct.pack("<IIII", 1, 1000 * number, len(packet), len(packet)) + packet
        for number, packet in enumerate(packets)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101) + records)
