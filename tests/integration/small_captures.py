"""Captures of two flows, made by hand: a question and its answer over UDP, and a connection of TCP that is opened."""

from __future__ import annotations

import socket
import struct


def capture_of(client: str, server: str, time_s: int) -> bytes:
    """Return a capture, by its bytes, between two IPv4 addresses."""
    ends = socket.inet_aton(client), socket.inet_aton(server)

    def ip(protocol: int, forward: bool, payload: bytes) -> bytes:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0)
        return bytes(12) + b"\x08\x00" + header + b"".join(ends if forward else ends[::-1]) + payload

    def udp(forward: bool, payload: bytes) -> bytes:
        ports = (5000, 53) if forward else (53, 5000)
        return ip(17, forward, struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload)

    def tcp(forward: bool, sequence: int, acknowledged: int, flags: int, payload: bytes = b"") -> bytes:
        ports = (5001, 443) if forward else (443, 5001)
        header = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, 65535, 0, 0)
        return ip(6, forward, header + payload)

    frames = [
        udp(True, b"ask?"),
        udp(False, b"told"),
        tcp(True, 1, 0, 0x02),
        tcp(False, 8, 2, 0x12),
        tcp(True, 2, 9, 0x10),
        tcp(True, 2, 9, 0x18, b"x" * 100),
        tcp(False, 9, 102, 0x18, b"y" * 500),
        tcp(True, 102, 509, 0x10),
    ]
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for place, frame in enumerate(frames):
        content += struct.pack("<IIII", time_s, place * 10_000, len(frame), len(frame)) + frame
    return content
