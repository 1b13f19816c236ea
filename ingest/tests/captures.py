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
