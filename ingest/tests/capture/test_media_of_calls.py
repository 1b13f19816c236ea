"""Media of calls in captures of our own making: TURN over TCP in segments of any size, and streams that begin again."""

from __future__ import annotations

import itertools
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest import _native

CLIENT, SERVER = ("10.0.0.1", 50_000), ("10.0.0.2", 3478)
MAGIC_COOKIE = 0x2112A442
FRAME_NS = 20_000_000
PACKETS = 60


def rtp(number: int, timestamp: int | None = None) -> bytes:
    stamp = 160 * number if timestamp is None else timestamp
    return struct.pack("!BBHII", 0x80, 0, number & 0xFFFF, stamp & 0xFFFFFFFF, 7) + bytes(161)


def channel_data(payload: bytes) -> bytes:
    return struct.pack("!HH", 0x4001, len(payload)) + payload + bytes(-len(payload) % 4)


def tcp_frame(sequence: int, payload: bytes, flags: int = 0x18) -> bytes:
    tcp = struct.pack("!HHIIBBHHH", CLIENT[1], SERVER[1], sequence, 1, 0x50, flags, 500, 0, 0) + payload
    ends = socket.inet_aton(CLIENT[0]), socket.inet_aton(SERVER[0])
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), sequence & 0xFFFF, 0, 64, 6, 0, *ends)
    return bytes(12) + b"\x08\x00" + header + tcp


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, batch in _native.CaptureDecoder(str(path)):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


@pytest.mark.parametrize("sizes", [(177,), (1448,), (700, 333), (3, 90), (4000,)], ids=str)
@pytest.mark.parametrize("swapped", [False, True])
def test_no_media_in_turn_over_tcp_are_lost_between_segments(
    tmp_path: Path, sizes: tuple[int, ...], swapped: bool
) -> None:
    allocate = struct.pack("!HHI12s", 3, 0, MAGIC_COOKIE, b"transaction1")
    stream = b"".join(channel_data(rtp(number)) for number in range(PACKETS))
    frames, place = [], 0
    for size in itertools.cycle(sizes):
        if place >= len(stream):
            break
        frames.append(tcp_frame(21 + place, stream[place : place + size]))
        place += size
    if swapped:
        for first in range(0, len(frames) - 1, 2):
            frames[first : first + 2] = reversed(frames[first : first + 2])
    tables = tables_of(write_pcap(tmp_path / "turn.pcap", [tcp_frame(1, allocate), *frames]))
    (media,), (call,) = tables["rtp_stream"], tables["call_flow"]
    assert (media["packets"], media["lost_packets"], media["encapsulation"]) == (PACKETS, 0, "turn-channel")
    assert call["turn_channel_packets"] == PACKETS


def test_a_lost_segment_of_turn_over_tcp_costs_the_media_in_it_and_no_other(tmp_path: Path) -> None:
    allocate = struct.pack("!HHI12s", 3, 0, MAGIC_COOKIE, b"transaction1")
    frames, place = [tcp_frame(1, allocate)], 21
    for number in range(200):
        message = channel_data(rtp(number))
        if number != 50:
            frames.append(tcp_frame(place, message))
        place += len(message)
    (stream,) = tables_of(write_pcap(tmp_path / "turn.pcap", frames))["rtp_stream"]
    assert (stream["packets"], stream["lost_packets"]) == (199, 1)


@pytest.mark.parametrize("first_timestamp", [0, 4_000, 2_000_000_000])
def test_a_sender_that_begins_again_adds_no_jitter(tmp_path: Path, first_timestamp: int) -> None:
    numbers = [*range(100), *range(40_000, 40_100)]
    stamps = [160 * number for number in range(100)] + [first_timestamp + 160 * number for number in range(100)]
    frames = [udp_frame(rtp(number, stamp)) for number, stamp in zip(numbers, stamps, strict=True)]
    (stream,) = tables_of(write_pcap(tmp_path / "rtp.pcap", frames, gap_ns=FRAME_NS))["rtp_stream"]
    assert (stream["packets"], stream["lost_packets"]) == (200, 0)
    assert stream["jitter_max_ms"] < 1e-6
