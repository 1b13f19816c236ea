"""Captures of known packets in every form, link type and tunnel that the decoder undoes, built byte by byte.

The packets are those of one TCP connection: its handshake, a request, four segments of which the third is sent twice,
and its end. Each IPv4 packet has an identification of its own, as one of a host has.
"""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Callable, Iterable, Sequence

START_S = 1_700_000_000
GAP_US = 10_000
CLIENT, SERVER = (40_000, 443), (443, 40_000)
SYN, SYN_ACK, ACK, PUSH, FIN = 0x02, 0x12, 0x10, 0x18, 0x11
MACS = b"\x02\0\0\0\0\1\x02\0\0\0\0\2"
SNAP = b"\xaa\xaa\x03\0\0\0\x08\0"

_numbers = itertools.count(1)


def ethernet(kind: int, packet: bytes) -> bytes:
    return MACS + struct.pack("!H", kind) + packet


def ipv4(
    protocol: int, payload: bytes, ends: Sequence[str] = ("10.1.0.1", "10.1.0.2"), *, options: bytes = b"",
    identification: int | None = None, fragment: int = 0,
) -> bytes:  # fmt: skip
    words = 5 + len(options) // 4
    number = next(_numbers) % 60_000 + 1 if identification is None else identification
    addresses = b"".join(map(socket.inet_aton, ends))
    length = 4 * words + len(payload)
    header = struct.pack("!BBHHHBBH", 0x40 | words, 0, length, number, fragment, 64, protocol, 0)
    return header + addresses + options + payload


def ipv6(protocol: int, payload: bytes, ends: Sequence[str] = ("2001:db8::1", "2001:db8::2")) -> bytes:
    addresses = b"".join(socket.inet_pton(socket.AF_INET6, end) for end in ends)
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + addresses + payload


def udp(payload: bytes, source: int = 5000, destination: int = 6000) -> bytes:
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def tcp(
    ports: tuple[int, int], sequence: int, acknowledged: int, flags: int, payload: bytes = b"", window: int = 500
) -> bytes:
    sequence &= 0xFFFFFFFF
    return struct.pack("!HHIIBBHHH", *ports, sequence, acknowledged & 0xFFFFFFFF, 0x50, flags, window, 0, 0) + payload


def of_client(segment: bytes, version: int = 4) -> bytes:
    return ipv4(6, segment) if version == 4 else ipv6(6, segment)


def of_server(segment: bytes, version: int = 4) -> bytes:
    if version == 4:
        return ipv4(6, segment, ("10.1.0.2", "10.1.0.1"))
    return ipv6(6, segment, ("2001:db8::2", "2001:db8::1"))


def exchange(version: int = 4) -> list[bytes]:
    """Return the packets of the connection."""

    def up(segment: bytes) -> bytes:
        return of_client(segment, version)

    def down(segment: bytes) -> bytes:
        return of_server(segment, version)

    packets = [up(tcp(CLIENT, 100, 0, SYN)), down(tcp(SERVER, 900, 101, SYN_ACK)), up(tcp(CLIENT, 101, 901, ACK))]
    packets.append(up(tcp(CLIENT, 101, 901, PUSH, bytes(50))))
    for segment in (0, 1, 2, 2, 3):
        packets.append(down(tcp(SERVER, 901 + 500 * segment, 151, PUSH, bytes(500))))
        packets.append(up(tcp(CLIENT, 151, 901 + 500 * (segment + 1), ACK)))
    packets += [up(tcp(CLIENT, 151, 2901, FIN)), down(tcp(SERVER, 2901, 152, FIN)), up(tcp(CLIENT, 152, 2902, ACK))]
    return packets


# ---------------------------------------------------------------- files


def pcap(
    link: int, packets: Iterable[bytes], *, order: str = "<", nanoseconds: bool = False, snaplen: int = 262_144,
    gap_us: int = GAP_US,
) -> bytes:  # fmt: skip
    content = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    for number, packet in enumerate(packets):
        seconds, rest_us = divmod(number * gap_us, 10**6)
        kept = packet[:snaplen]
        fraction = rest_us * (1000 if nanoseconds else 1)
        content += struct.pack(f"{order}IIII", START_S + seconds, fraction, len(kept), len(packet)) + kept
    return content


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def section(order: str = "<", minor: int = 0) -> bytes:
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, minor, -1), order)


def interface(link: int = 1, order: str = "<", option: tuple[int, bytes] | None = None) -> bytes:
    code, value = option or (0, b"")
    stated = struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4) if option else b""
    return block(1, struct.pack(f"{order}HHI", link, 0, 0) + stated + (bytes(4) if option else b""), order)


def packet_block(packet: bytes, time: int, number: int = 0, order: str = "<") -> bytes:
    head = struct.pack(f"{order}IIIII", number, time >> 32, time & 0xFFFFFFFF, len(packet), len(packet))
    return block(6, head + packet, order)


def _time_us(number: int) -> int:
    return START_S * 10**6 + GAP_US * number


def _blocks(packets: Sequence[bytes], *, order: str = "<", first: int = 0, scale: Callable[[int], int] = int) -> bytes:
    return b"".join(packet_block(each, scale(_time_us(first + n)), order=order) for n, each in enumerate(packets))


# ---------------------------------------------------------------- the captures


def _fragments(version: int, identification: int = 9, source: int = 5000) -> list[bytes]:
    whole = udp(bytes(3000), source)
    parts = [(0, 1, whole[:1480]), (185, 1, whole[1480:2960]), (370, 0, whole[2960:])]
    if version == 4:
        return [ipv4(17, part, identification=identification, fragment=more << 13 | at) for at, more, part in parts]
    return [
        ipv6(44, struct.pack("!BBHI", 17, 0, at << 3 | more, identification) + part) for at, more, part in parts
    ]  # fmt: skip


def _tunnels(four: list[bytes], six: list[bytes]) -> dict[str, list[bytes]]:
    ends, ends6 = ("172.16.0.1", "172.16.0.2"), ("fd00::1", "fd00::2")
    frames = [ethernet(0x0800, packet) for packet in four]

    def over(protocol: int, head: bytes, inside: list[bytes]) -> list[bytes]:
        return [ethernet(0x0800, ipv4(protocol, head + each, ends)) for each in inside]

    def over_udp(port: int, head: bytes, inside: list[bytes]) -> list[bytes]:
        return [ethernet(0x0800, ipv4(17, udp(head + each, 50_000, port), ends)) for each in inside]

    def gtp_u(flags: int, more: bytes, inside: list[bytes]) -> list[bytes]:
        heads = [struct.pack("!BBHI", flags, 255, len(more) + len(each), 9) + more for each in inside]
        return [frame for head, each in zip(heads, inside, strict=True) for frame in over_udp(2152, head, [each])]

    third = struct.pack("!III", 2 << 28 | 5 << 16 | 1, 1, 0)
    vxlan = struct.pack("!II", 8 << 24, 7 << 8)
    pptp = [b"\x30\x81\x88\x0b" + struct.pack("!HHII", len(p) + 4, 5, n, 0) for n, p in enumerate(four)]
    return {
        "gre": over(47, b"\0\0\x08\0", four),
        "gre-key-sequence": over(47, b"\x30\0\x08\0" + bytes(8), four),
        "gre-checksum-ipv6": over(47, b"\x80\0\x86\xdd" + bytes(4), six),
        "gre-ethernet": over(47, b"\x20\0\x65\x58" + bytes(4), frames),
        "gre-over-ipv6": [ethernet(0x86DD, ipv6(47, b"\0\0\x08\0" + each, ends6)) for each in four],
        "gre-pptp": [f for h, p in zip(pptp, four, strict=True) for f in over(47, h + b"\xff\x03\0\x21", [p])],
        "erspan-1": over(47, b"\0\0\x88\xbe", frames),
        "erspan-2": over(47, b"\x10\0\x88\xbe" + bytes(4) + struct.pack("!II", 1 << 28 | 5 << 16 | 1, 1), frames),
        "erspan-3": over(47, b"\x10\0\x22\xeb" + bytes(4) + third, frames),
        "erspan-3-platform": over(47, b"\x10\0\x22\xeb" + bytes(4) + third[:-1] + b"\1" + bytes(8), frames),
        "ip-in-ip": over(4, b"", four),
        "6in4": over(41, b"", six),
        "4in6": [ethernet(0x86DD, ipv6(4, each, ends6)) for each in four],
        "6in6": [ethernet(0x86DD, ipv6(41, each, ends6)) for each in six],
        "vxlan": over_udp(4789, vxlan, frames),
        "vxlan-vlan": over_udp(4789, vxlan, [ethernet(0x8100, struct.pack("!HH", 5, 0x0800) + p) for p in four]),
        "vxlan-over-ipv6": [ethernet(0x86DD, ipv6(17, udp(vxlan + f, 50_000, 4789), ends6)) for f in frames],
        "geneve": over_udp(6081, struct.pack("!BBHI", 0, 0, 0x6558, 7 << 8), frames),
        "geneve-option": over_udp(6081, struct.pack("!BBHIII", 2, 0, 0x6558, 7 << 8, 0x01020101, 5), frames),
        "geneve-ip": over_udp(6081, struct.pack("!BBHI", 0, 0, 0x0800, 7 << 8), four),
        "gtp-u": gtp_u(0x30, b"", four),
        "gtp-u-ipv6": gtp_u(0x30, b"", six),
        "gtp-u-sequence": gtp_u(0x32, bytes(4), four),
        "gtp-u-extension": gtp_u(0x34, bytes(3) + b"\x85\1\0\5\0", four),
        "teredo": over_udp(3544, b"", six),
        "tunnel-of-fragments": over(47, b"\0\0\x08\0", _fragments(4)),
        "vxlan-of-fragments-6": over_udp(4789, vxlan, [ethernet(0x86DD, each) for each in _fragments(6)]),
    }


def _links(four: list[bytes], six: list[bytes]) -> dict[str, tuple[int, list[bytes]]]:
    qos = b"\x88\x02\0\0\x02\0\0\0\0\1" + b"\x02\0\0\0\0\2" * 2 + b"\x10\0\0\0" + SNAP
    plain = b"\x08\x02\0\0\x02\0\0\0\0\1" + b"\x02\0\0\0\0\2" * 2 + b"\x10\0" + SNAP
    between = b"\x88\x03\0\0" + b"\x02\0\0\0\0\1" * 3 + b"\x10\0\x02\0\0\0\0\2\0\0" + SNAP
    radiotap = struct.pack("<BBHI", 0, 0, 8, 0)
    checked = struct.pack("<BBHIQB", 0, 0, 17, 3, 5, 0x10)
    cooked = struct.pack("!HHH8sH", 0, 1, 6, bytes(8), 0x0800)
    cooked_vlan = struct.pack("!HHH8sHHH", 0, 1, 6, bytes(8), 0x8100, 5, 0x0800)

    def behind(head: bytes, packets: list[bytes], tail: bytes = b"") -> list[bytes]:
        return [head + packet + tail for packet in packets]

    return {
        "raw": (101, four + six),
        "ipv4": (228, four),
        "ipv6": (229, six),
        "null": (0, behind(struct.pack("<I", 2), four)),
        "null-big-endian": (0, behind(struct.pack(">I", 2), four)),
        "null-ipv6": (0, behind(struct.pack("<I", 30), six)),
        "loop": (108, behind(struct.pack(">I", 24), six)),
        "cooked": (113, behind(cooked, four)),
        "cooked-vlan": (113, behind(cooked_vlan, four)),
        "cooked-2": (276, behind(struct.pack("!HHIHBB8s", 0x86DD, 0, 2, 1, 0, 6, bytes(8)), six)),
        "ppp": (9, behind(b"\xff\x03\0\x21", four)),
        "ppp-hdlc": (50, behind(b"\xff\x03\0\x57", six)),
        "pppoe": (51, [b"\x11\0" + struct.pack("!HH", 1, len(p) + 2) + b"\0\x21" + p for p in four]),
        "hdlc": (104, behind(b"\x0f\0\x08\0", four)),
        "wireless": (105, behind(qos, four)),
        "radiotap": (127, behind(radiotap + plain, four)),
        "radiotap-quality": (127, behind(radiotap + qos, four)),
        "radiotap-checksum": (127, behind(checked + qos, four, b"\1\2\3\4")),
        "radiotap-four-addresses": (127, behind(radiotap + between, four)),
        "netfilter": (239, [b"\2\0\0\0" + struct.pack("<HH", 4 + len(p), 9) + p + bytes(-len(p) % 4) for p in four]),
    }  # fmt: skip


def _ethernet(four: list[bytes], six: list[bytes]) -> dict[str, list[bytes]]:
    label = struct.pack("!I", 100 << 12 | 64)
    last = struct.pack("!I", 200 << 12 | 1 << 8 | 64)
    frames = [ethernet(0x0800, packet) for packet in four]
    sessions = [b"\x11\0" + struct.pack("!HH", 1, len(each) + 2) + b"\0\x21" + each for each in four]
    tags = struct.pack("!HHHH", 5, 0x8100, 6, 0x0800)
    two = zip(_fragments(6), _fragments(6, 8, 7000), strict=True)
    return {
        "ethernet": frames,
        "ethernet-6": [ethernet(0x86DD, packet) for packet in six],
        "padded": [frame.ljust(60, b"\0") for frame in frames],
        "checksum": [frame + b"\1\2\3\4" for frame in frames],
        "without-length": [frame[:16] + b"\0\0" + frame[18:] for frame in frames],
        "snap": [MACS + struct.pack("!H", 8 + len(packet)) + SNAP + packet for packet in four],
        "vlan": [ethernet(0x8100, struct.pack("!HH", 5, 0x0800) + packet) for packet in four],
        "qinq": [ethernet(0x88A8, tags + packet) for packet in four],
        "qinq-9100": [ethernet(0x9100, tags + packet) for packet in four],
        "mpls": [ethernet(0x8847, label + last + packet) for packet in four],
        "mpls-6": [ethernet(0x8847, last + packet) for packet in six],
        "mpls-ethernet": [ethernet(0x8847, last + bytes(4) + frame) for frame in frames],
        "pppoe-session": [ethernet(0x8864, session) for session in sessions],
        "options": [ethernet(0x0800, ipv4(6, p[20:], (socket.inet_ntoa(p[12:16]), socket.inet_ntoa(p[16:20])),
                                          options=b"\x94\4\0\0")) for p in four],
        "hop-by-hop": [ethernet(0x86DD, ipv6(0, b"\6\0\1\4\0\0\0\0" + tcp(CLIENT, 100, 0, SYN)))],
        "authentication": [ethernet(0x0800, ipv4(51, struct.pack("!BBHII", 6, 4, 0, 1, 1) + bytes(12) + four[0][20:]))],
        "fragments": [ethernet(0x0800, each) for each in _fragments(4)],
        "fragments-reversed": [ethernet(0x0800, each) for each in _fragments(4)[::-1]],
        "fragments-6": [ethernet(0x86DD, each) for each in _fragments(6)],
        "fragments-6-reversed": [ethernet(0x86DD, each) for each in _fragments(6)[::-1]],
        "fragments-6-of-two": [ethernet(0x86DD, each) for both in two for each in both],
        "fragment-6-alone": [ethernet(0x86DD, ipv6(44, struct.pack("!BBHI", 17, 0, 0, 7) + udp(b"a")))],
    }  # fmt: skip


def _pcapng(frames: list[bytes], six: list[bytes]) -> dict[str, bytes]:
    return {
        "pcapng": section() + interface() + _blocks(frames),
        "pcapng-1.2": section(minor=2) + interface() + _blocks(frames),
        "pcapng-big-endian": section(">") + interface(order=">") + _blocks(frames, order=">"),
        "pcapng-nanoseconds": section() + interface(option=(9, b"\x09")) + _blocks(frames, scale=lambda us: 1000 * us),
        "pcapng-power-of-two": section() + interface(option=(9, b"\x94"))
        + _blocks(frames, scale=lambda us: (us << 20) // 10**6),
        "pcapng-interfaces": section() + interface() + interface(101) + b"".join(
            packet_block(one, _time_us(2 * n)) + packet_block(other, _time_us(2 * n + 1), 1)
            for n, (one, other) in enumerate(zip(frames, six, strict=True))
        ),
        "pcapng-sections": section() + interface() + _blocks(frames)
        + section(">") + interface(101, ">") + _blocks(six, order=">", first=100),
    }  # fmt: skip


def connections() -> dict[str, bytes]:
    """Return captures of single connections that go on in their own way, which tcptrace reads."""

    def segments(*each: tuple[bool, bytes]) -> list[bytes]:
        return [ethernet(0x0800, of_client(one) if is_up else of_server(one)) for is_up, one in each]

    opened = [
        (True, tcp(CLIENT, 100, 0, SYN)),
        (False, tcp(SERVER, 900, 101, SYN_ACK)),
        (True, tcp(CLIENT, 101, 901, ACK)),
    ]
    data = (False, tcp(SERVER, 901, 101, PUSH, bytes(500)))
    closed = (True, tcp(CLIENT, 101, 1401, ACK, window=0))
    probes = [each for _ in range(4) for each in ((False, tcp(SERVER, 1401, 101, ACK, b"p")), closed)]
    alive = [(False, tcp(SERVER, 1400, 101, ACK, b"\0")), (True, tcp(CLIENT, 101, 1401, ACK))]
    end = 0xFFFFFF01
    wrapping = (
        (True, tcp(CLIENT, 100, 0, SYN)),
        (False, tcp(SERVER, end - 1, 101, SYN_ACK)),
        (True, tcp(CLIENT, 101, end, ACK)),
    )
    across = [each for n in range(6) for each in ((False, tcp(SERVER, end + 100 * n, 101, PUSH, bytes(100))),
                                                  (True, tcp(CLIENT, 101, end + 100 * (n + 1), ACK)))]  # fmt: skip
    # Segmentation offload: of one record of 3,000 bytes half is acknowledged, and the rest is sent again with more.
    in_part = (
        (False, tcp(SERVER, 901, 101, PUSH, bytes(3000))), (True, tcp(CLIENT, 101, 2401, ACK)),
        (False, tcp(SERVER, 2401, 101, PUSH, bytes(3000))), (True, tcp(CLIENT, 101, 3901, ACK)),
        (True, tcp(CLIENT, 101, 5401, ACK)), (False, tcp(SERVER, 5401, 101, PUSH, bytes(90))),
        (True, tcp(CLIENT, 101, 5491, ACK)),
    )  # fmt: skip
    ends = ("10.1.0.1", "10.1.0.2")
    # macOS: without identification, and the card computes the checksum, so that the FIN differs by its flag alone.
    unnumbered = [
        ethernet(0x0800, ipv4(6, segment, ends if is_up else ends[::-1], identification=0))
        for is_up, segment in (
            *opened, data, (True, tcp(CLIENT, 101, 1401, ACK)), (True, tcp(CLIENT, 101, 1401, FIN)),
            (False, tcp(SERVER, 1401, 102, FIN)), (True, tcp(CLIENT, 102, 1402, ACK)),
        )
    ]  # fmt: skip
    return {
        "acknowledged-in-part": pcap(1, segments(*opened, *in_part)),
        "fin-behind-acknowledgement": pcap(1, unnumbered, gap_us=200),
        "exchange": pcap(1, [ethernet(0x0800, packet) for packet in exchange()]),
        "exchange-6": pcap(1, [ethernet(0x86DD, packet) for packet in exchange(6)]),
        "zero-window-probes": pcap(1, segments(*opened, data, closed, *probes, (True, tcp(CLIENT, 101, 1401, ACK)),
            (False, tcp(SERVER, 1401, 101, PUSH, bytes(500))), (True, tcp(CLIENT, 101, 1901, ACK))), gap_us=200_000),
        "keep-alives": pcap(1, segments(*opened, data, *alive[1:], *alive * 3), gap_us=200_000),
        "sequence-wraps": pcap(1, segments(*wrapping, *across)),
        "sent-again-with-more": pcap(1, segments(*opened, *((False, tcp(SERVER, 901 + 500 * n, 101, PUSH, bytes(500)))
            for n in range(3)), (True, tcp(CLIENT, 101, 1901, ACK)), (False, tcp(SERVER, 1901, 101, PUSH, bytes(800))),
            (True, tcp(CLIENT, 101, 2701, ACK)))),
    }  # fmt: skip


def captures() -> dict[str, bytes]:
    """Return every capture by its name."""
    four, six = exchange(), exchange(6)
    frames = [ethernet(0x0800, packet) for packet in four]
    named = {name: pcap(link, packets) for name, (link, packets) in _links(four, six).items()}
    named |= {name: pcap(1, packets) for name, packets in (_ethernet(four, six) | _tunnels(four, six)).items()}
    named |= {
        "big-endian": pcap(1, frames, order=">"),
        "nanoseconds": pcap(1, frames, nanoseconds=True),
        "big-endian-nanoseconds": pcap(1, frames, order=">", nanoseconds=True),
        "snaplen": pcap(1, frames, snaplen=60),
        "cut": pcap(1, frames)[:-10],
    }
    return named | _pcapng(frames, six) | connections()
