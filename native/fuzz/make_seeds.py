"""Write the seeds of the fuzz targets, from packets made here; run with the project's Python (``.venv/bin/python``)."""

import base64
import gzip
import io
import json
import lzma
import socket
import struct
import tarfile
from pathlib import Path

from sojourn_ingest import _native

ADDRESSES = ("10.0.0.1", "10.0.0.2")
SEEDS = Path(__file__).parent / "seeds"
OTHER_LINK_TYPE = 147  # has no decoder; the last in the order of fuzz_targets/layers.rs


def _ipv4(protocol: int, payload: bytes, identification: int = 1, fragment: int = 0) -> bytes:
    ends = [socket.inet_aton(address) for address in ADDRESSES]
    total = 20 + len(payload)
    return struct.pack("!BBHHHBBH4s4s", 0x45, 1, total, identification, fragment, 64, protocol, 0, *ends) + payload


def _ipv6(protocol: int, payload: bytes) -> bytes:
    return (
        struct.pack("!IHBB", 0x60000000, len(payload), protocol, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + payload
    )


def _tcp(sequence: int, acknowledgement: int, flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
    offset = (20 + len(options)) // 4 << 12
    fields = (4000, 80, sequence, acknowledgement, offset | flags, 500, 0, 0)
    return struct.pack("!HHIIHHHH", *fields) + options + payload


def _udp(port: int, payload: bytes) -> bytes:
    return struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload


def _rtp(number: int) -> bytes:
    return struct.pack("!BBHII", 0x80, 96, number, number * 3000, 7) + bytes(20)


def _packets() -> list[bytes]:
    stamp = bytes.fromhex("0101080a0000000700000009")
    sack = bytes.fromhex("0101050a0000006400000096")
    inner = _ipv4(6, _tcp(1, 0, 2))
    return [
        _ipv4(6, _tcp(99, 0, 2, options=stamp)),
        _ipv4(6, _tcp(100, 1, 0x18, b"x" * 50, stamp)),
        _ipv4(6, _tcp(150, 1, 0xD8, b"x" * 50)),
        _ipv4(6, _tcp(100, 1, 0x10, b"x" * 50, sack)),
        _ipv4(6, _tcp(200, 1, 0x11)),
        *(_ipv4(17, _udp(5004, _rtp(number))) for number in range(7)),
        _ipv4(17, _udp(9, b"first"), 5, 0x2000),
        _ipv4(17, b"second", 5, 2),
        _ipv6(17, _udp(53, b"name")),
        _ipv6(44, struct.pack("!BBHI", 17, 0, 1, 9) + _udp(53, b"name")),
        _ipv6(0, bytes.fromhex("1100010400000000") + _udp(53, b"name")),
        _ipv4(4, inner),
        _ipv4(41, _ipv6(17, _udp(53, b"name"))),
        _ipv4(47, bytes.fromhex("00000800") + inner),
        _ipv4(47, bytes.fromhex("3081880b00000000000000000000000000210000") + inner),
        _ipv4(17, _udp(4789, bytes.fromhex("0800000000000100") + bytes(12) + b"\x08\x00" + inner)),
        _ipv4(17, _udp(2152, bytes.fromhex("34ff001400000001000000850110090000")[:16] + inner)),
        _ipv4(1, b"\x08\x00" + bytes(6)),
    ]


def _tcp_info_line(cookie: int, rtt_us: int, length: int) -> bytes:
    message = struct.pack("<BBBB", 2, 1, 0, 0) + struct.pack("!HH", 443, 4000 + cookie)
    message += socket.inet_aton(ADDRESSES[0]) + bytes(12) + socket.inet_aton(ADDRESSES[1]) + bytes(12)
    message += struct.pack("<IQ", 0, cookie) + bytes(20)
    info = bytearray(232)
    struct.pack_into("<I", info, 68, rtt_us)
    struct.pack_into("<I", info, 148, 0xFFFFFFFF if cookie else rtt_us)
    parts = [None, None, info[:length], None, b"cubic\0"]
    encoded = [None if part is None else base64.b64encode(part).decode() for part in parts]
    record = {
        "Timestamp": "2020-01-01T00:00:01.5Z",
        "RawIDM": base64.b64encode(message).decode(),
        "Attributes": encoded,
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _tcp_info() -> bytes:
    metadata = {"Timestamp": "0001-01-01T00:00:00Z", "Metadata": {"StartTime": "2020-01-01T00:00:00Z"}}
    polls = [_tcp_info_line(n % 3, 1000 * n, 104 + 32 * (n % 5)) for n in range(5)]
    return json.dumps(metadata, separators=(",", ":")).encode() + b"\n" + b"".join(polls)


def _ndt_seeds() -> None:
    times = {"StartTime": "2020-01-01T00:00:00.25Z", "EndTime": "2020-01-01T02:00:10.5+02:00"}
    infos = [
        {"RTT": rtt_us, "MinRTT": least_us, "BytesSent": 1500 * n, "BytesAcked": 1400 * n, "TotalRetrans": n}
        for n, (rtt_us, least_us) in enumerate(((0, 0xFFFFFFFF), (30_000, 20_000), (25_000, 0), (1.5, -1)))
    ]
    polls = [{"TCPInfo": info, "BBRInfo": {"BW": 7}} for info in infos] + [{"TCPInfo": None}, 5, [{}]]
    direction = {"ClientIP": "192.0.2.7", **times, "ServerMeasurements": polls, "ClientMeasurements": [{"RTT": [1]}]}
    seven = {"Version": "v1", "ServerIP": "203.0.113.9", "ClientIP": "127.0.0.1", "Download": direction}
    _write("ndt", "seven", _json(seven | {"Upload": {"ServerMeasurements": None, **times}}))
    broken_off = {"UUID": "a", "ServerMeasurements": [{"TCPInfo": infos[1]}]}
    _write("ndt", "seven_without_client", _json({"GitShortCommit": "0", "ClientIP": 0, "Upload": broken_off}))
    ends = {"ServerIP": "2001:db8::9", "ClientIP": "2001:db8::7", **times}
    polled = {"MinRTT": 40_000_999, "MaxRTT": 75_000_000, "SumRTT": 6_964_000_000, "CountRTT": 102, "TCPInfo": infos[1]}
    of_both = {"C2S": {**ends, "MinRTT": 0}, "S2C": {**ends, **polled}}
    _write("ndt", "five", _json({"GitShortCommit": "0", "Control": {"UUID": "a"}, **of_both}))
    _write("ndt", "five_not_polled", _json({"ClientIP": "192.0.2.7", "Control": {}, "S2C": {"MinRTT": 40_000_000}}))
    # Keys with escapes, repeated keys, and what no double holds where nothing is looked at.
    odd = r'{"Downlo\u0061d":5,"Download":{"ServerMeasurements":[{"TCPInfo":{"RTT":1,"RTT":2}}],"X":[1e999,"\ud800"]}}'
    _write("ndt", "odd", odd.encode())


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _ss_seeds() -> None:
    ends = "192.0.2.1:443 198.51.100.7:50001"
    info = (
        "wscale:7,7 rto:304 rtt:100.118/22.589 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:5 ssthresh:2 "
        "bytes_sent:1016533 bytes_retrans:91224 bytes_acked:918070 bytes_received:77 segs_out:705 send 578517bps "
        "lastsnd:12 pacing_rate 694216bps delivery_rate 389800bps delivered:636 app_limited busy:14776ms unacked:5 "
        "retrans:1/63 lost:2 rcv_space:14480 minrtt:50.0545 snd_wnd:82304"
    )
    bbr = "bbr wscale:7,7 rto:204 rtt:3.5/1.75 bbr:(bw:9123456bps,mrtt:1.25,pacing_gain:2.88,cwnd_gain:2.88) cwnd:10"
    lines = (
        f"ESTAB 0 27512 {ends} timer:(on,44ms,0) ts sack ecn cubic {info}",
        f"CLOSE-WAIT 1 0 [2001:db8::1]:443 [2001:db8::7]:50001 {bbr} minrtt:1.25",
        "ESTAB 0 0 [fe80::1%eth0]:22 fe80::2%eth0:50000 ts sack reno rtt:1e+03/ retrans:0/1",
        "LISTEN 0 128 *:80 *:* cubic cwnd:10",
        f"TIME-WAIT 0 0 {ends} timer:(timewait,59sec,0)",
        f"SYN-SENT 0 1 {ends} timer:(on,1sec,0) rto:1000 mss:524 cwnd:10 unacked:1",
    )
    _write("ss", "poll", "\n".join(lines).encode() + b"\n")
    for name, line in zip(("cubic", "bbr", "scope", "listen", "timewait", "syn_sent"), lines, strict=True):
        _write("ss", name, line.encode())
    _write("ss", "damaged", f"State Recv-Q Send-Q\nESTAB 0 0 {ends} cubic rtt:nan/inf cwnd:2147483648\n".encode())


_IEEE_802_11 = b"\x88\x01" + bytes(24)  # a data frame with quality of service


def link_header(link_type: int, ip: bytes) -> bytes:
    """Return a header of each link type that has a decoder for an IP packet; KeyError for one that is missing here."""
    version = b"\x08\x00" if ip[0] >> 4 == 4 else b"\x86\xdd"
    ppp = b"\x00\x21" if ip[0] >> 4 == 4 else b"\x00\x57"
    return {
        1: bytes(12) + b"\x81\x00\x00\x07" + version,
        113: bytes(14) + version,
        276: version + bytes(18),
        **dict.fromkeys((101, 12, 14, 228, 229), b""),
        0: b"\x02\0\0\0",
        108: b"\0\0\0\x02",
        9: b"\xff\x03" + ppp,
        50: b"\xff\x03" + ppp,
        104: b"\x0f\x00" + version,
        51: b"\x11\0\0\x01\0\x20" + ppp,
        105: _IEEE_802_11 + b"\xaa\xaa\x03\0\0\0" + version,
        127: b"\0\0\x0a\0\x02\0\0\0\x20\0" + _IEEE_802_11 + bytes(2) + b"\xaa\xaa\x03\0\0\0" + version,
        239: b"\x02\0\0\x01\x06\0\x05\0\0\x01\0\0" + struct.pack("<HH", 4 + len(ip), 9),
        258: struct.pack("<III", 12, 1, 1) + bytes(12) + version,
        149: struct.pack("<III", 12, 1, 1) + bytes(12) + version,
        OTHER_LINK_TYPE: b"",
    }[link_type]


def _pcap(order: str, link_type: int) -> bytes:
    content = struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)
    for number, ip in enumerate(_packets()):
        frame = link_header(link_type, ip) + ip
        content += struct.pack(order + "IIII", 1000 + number, number, len(frame), len(frame) + 10) + frame
    return content


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def _archive() -> bytes:
    """Return an archive with two captures, one of them compressed, behind a text."""
    content = io.BytesIO()
    members = {"README": b"text", "a.pcap": _pcap("<", 101), "b.pcap.gz": gzip.compress(_pcap(">", 1), mtime=0)}
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, member in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(member)
            archive.addfile(entry, io.BytesIO(member))
    return content.getvalue()


def _pcapng_blocks(order: str) -> bytes:
    resolution = struct.pack(order + "HHB3x", 9, 1, 0x94) + struct.pack(order + "HHq", 14, 8, 1000) + bytes(4)
    content = _block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + resolution)
    content += _block(order, 1, struct.pack(order + "HHI", 101, 0, 96))
    for number, ip in enumerate(_packets()):
        frame = link_header(1, ip) + ip
        sizes = (len(frame), len(frame))
        content += _block(order, 6, struct.pack(order + "IIIII", 0, 1, number, *sizes) + frame)
        content += _block(order, 2, struct.pack(order + "HHIIII", 1, 0, 0, number, len(ip), len(ip)) + ip)
        content += _block(order, 3, struct.pack(order + "I", len(frame)) + frame)
    return content + _block(order, 5, bytes(12)) + _block(order, 0x0BAD, b"custom")


def _section(order: str) -> bytes:
    return _block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def _write(target: str, name: str, content: bytes) -> None:
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def _qmon_record(kind: int, body: bytes) -> bytes:
    return struct.pack("<HB", 3 + len(body), kind) + body


def _qmon_event(number: int, ip: bytes) -> bytes:
    enqueue = number % 3 != 2
    fields = (0x10000, 10, number % 3, 0, 100, 0, 0, 0, enqueue, 0, number // 3 * 8)
    frame = (link_header(1, ip) + ip)[:100]
    body = struct.pack("<Q8IBQQ", 1000 + number, *fields) + struct.pack("<HBH", 1000, 16, len(frame))
    return _qmon_record(0, body + b"eth0".ljust(16, b"\0") + frame)


def _queue_seeds() -> None:
    events = b"".join(_qmon_event(number, ip) for number, ip in enumerate(_packets()))
    ends = _qmon_record(1, b"\xff") + _qmon_record(4, b"lengths 0:9") + _qmon_record(3, b"")
    start = _qmon_record(2, b"1700000000000000000")
    _write("qmon", "raw", b"\0" + start + events + ends)
    steps = b"".join(
        bytes([number % 9, 0x40 | (number * 5 % 64), 48]) + (link_header(1, ip) + ip)[:48]
        for number, ip in enumerate(_packets())
    )
    _write("qmon", "steps", b"\1" + steps + b"\5\0\xc0")
    tail = "40 3 6 10.0.1.2 1 10.0.2.2 2 3 4"
    lines = (
        "# queue.bt start 1", "# clock 100 1700000000.5", f"E 100 ff01 1514 1 1514 {tail} 0 0 - 8",
        f"D 300 ff01 1514 0 0 {tail} 201 0 - 8 3", f"X 400 ff02 1514 5 7570 {tail} 46 45 codel_dequeue 8",
        "Lost 7 events",
    )  # fmt: skip
    rows = (("1.5", "in", 7, 1.0, 1), ("2", "out", 7, 1.0, 0), ("3", "drop", 8, 1.5, 2), ("4", "lost", 0, 0, 0))
    objects = [
        f'{{"t": {t}, "e": "{e}", "p": {p}, "b": {b}, "q": {q}, "s": "10.0.0.1", "d": "::1", "n": "udp"}}'
        for t, e, p, b, q in rows
    ]
    records = [f'{t},{e},"{p}",{b},{q},10.0.0.1,10.0.0.2,17' for t, e, p, b, q in rows]
    contents = {
        "bpftrace": "\n".join(lines).encode() + b"\n",
        "qmon": start + events + ends,
        "perf": (Path(__file__).parents[2] / "ingest" / "tests" / "golden" / "queue_perf.txt").read_bytes(),
        "json_lines": "\n".join(objects).encode() + b"\n",
        "csv": "\n".join(["t,e,p,b,q,s,d,n", *records]).encode() + b"\n",
    }
    # The order in fuzz_targets/queue_log.rs.
    names = [*(form.name for form in _native.queue_log_forms() if not form.declared), "json_lines", "csv"]
    for place, name in enumerate(names):
        _write("queue_log", name, bytes([place]) + contents[name])


def _stun(kind: int, attributes: bytes = b"", cookie: int = 0x2112A442) -> bytes:
    return struct.pack("!HHI12s", kind, len(attributes), cookie, b"transaction ") + attributes


def _call_seeds() -> None:
    """Write payloads of calls, each with its length and how it is sent (see fuzz_targets/call.rs)."""
    report = struct.pack("!BBHIIIIIII", 0x81, 201, 7, 8, 7, 3 << 24 | 5, 90, 160, 0x567890AB, 6553)
    sender = struct.pack("!BBHIIIIII", 0x80, 200, 6, 7, 0x12345678, 0x90ABCDEF, 9, 9, 9)
    hello = struct.pack("!BHHHIH", 22, 0xFEFD, 0, 0, 1, 4) + b"\x01\0\0\0"
    encrypted = struct.pack("!BHHHIH", 22, 0xFEFD, 1, 0, 1, 4) + b"\x09\x09\x09\x09"
    alert = struct.pack("!BHHHIH", 21, 0xFEFD, 0, 0, 2, 2) + b"\x02\x28"
    rtp = [_rtp(number) for number in range(8)]
    audio = b"\x0f" + bytes(18)
    video = b"\x10" + bytes(19) + b"\x02" + bytes(3)
    channel = [struct.pack("!HH", 0x4001, len(packet)) + packet for packet in rtp]
    seeds = {
        "stun": [(0, _stun(1)), (1, _stun(0x0101)), (0, _stun(1, cookie=5)), (1, _stun(2, cookie=5))],
        "turn": [(0, _stun(3)), (1, _stun(0x0113)), (1, _stun(0x0103)), *((4, packet) for packet in channel)],
        "turn_over_tcp": [(2, _stun(3)), (3, _stun(0x0103)), (2, b"".join(channel[:4])), (2, b"".join(channel[4:]))],
        "indications": [(5, _stun(0x17, struct.pack("!HH", 0x13, len(packet)) + packet)) for packet in rtp],
        "zoom_server": [(4, b"\x05\0\x01\0\0\0\0\x04" + video + packet) for packet in rtp],
        "zoom_peer": [(4, audio + packet) for packet in rtp] + [(4, b"\x21" + bytes(15) + sender)],
        "dtls": [(0, hello), (1, alert), (0, encrypted), (1, encrypted)],
        "rtcp": [(0, sender), (5, report), (4, sender + report), (1, report + bytes(14)), (1, report + bytes(14))],
    }
    for name, payloads in seeds.items():
        _write("call", name, b"".join(bytes([len(payload), how]) + payload for how, payload in payloads))


def _sized(size: int, content: bytes) -> bytes:
    return len(content).to_bytes(size, "big") + content


def _client_hello() -> bytes:
    name = struct.pack("!H", 0) + _sized(2, _sized(2, b"\0" + _sized(2, b"www.example.com")))
    protocols = struct.pack("!H", 16) + _sized(2, _sized(2, _sized(1, b"h2") + _sized(1, b"http/1.1")))
    versions = struct.pack("!H", 43) + _sized(2, _sized(1, bytes.fromhex("03040303")))
    encrypted = struct.pack("!H", 0xFE0D) + _sized(2, bytes(20))
    extensions = _sized(2, name + protocols + versions + encrypted)
    body = b"\3\3" + bytes(32) + b"\0" + _sized(2, b"\x13\1") + _sized(1, b"\0") + extensions
    return b"\1" + _sized(3, body)


def _dns_answer() -> bytes:
    question = b"\3www\7example\3com\0" + struct.pack("!HH", 1, 1)
    alias = struct.pack("!HHHIH", 0xC00C, 5, 1, 60, 2) + b"\xc0\x0c"
    address = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + bytes([192, 0, 2, 1])
    return struct.pack("!HHHHHH", 7, 0x8180, 1, 2, 0, 0) + question + alias + address


def _server_name_seeds() -> None:
    def step(kind: int, place: int, payload: bytes) -> bytes:
        return bytes([kind, place]) + _sized(2, payload)

    hello = _client_hello()
    record = b"\x16\3\1" + _sized(2, hello)
    records = b"".join(b"\x16\3\1" + _sized(2, hello[start : start + 20]) for start in range(0, len(hello), 20))
    answer = _dns_answer()
    # The client's packet of RFC 9001 is not at hand here: the header of an Initial, and bytes that do not decrypt.
    initials = b"".join(
        struct.pack("!BI", 0xC0 | bits, version) + _sized(1, bytes(8)) + b"\0\0" + b"\x40\x40" + bytes(64)
        for bits, version in ((0, 1), (0x10, 0x6B3343CF), (0, 0xFF00001D), (0x20, 1))
    )
    seeds = {
        "tls": step(4, 0, b"") + step(0, 0, record),
        "tls_reordered": b"".join(
            (step(4, 0, b""), step(0, 2, record[32:]), step(0, 0, record[:16]), step(0, 1, record[16:32]))
        ),
        "tls_records": step(0, 0, records),
        "tls_after_plain": step(0, 0, b"EHLO") + step(0, 9, record),
        "quic": step(1, 0, initials),
        "dns": step(2, 0, answer) + step(4, 0, b""),
        "dns_over_tcp": step(3, 0, _sized(2, answer)) + step(12, 0, b""),
    }
    for name, content in seeds.items():
        _write("server_name", name, content)


def _ecn_seeds() -> None:
    """Write connections of each kind of ECN, as steps of fuzz_targets/ecn.rs."""

    def step(direction: int, codepoint: int, flags: int, places: tuple[int, int], options: bytes = b"") -> bytes:
        # The accurate counter's third bit is beside the flags.
        kind = direction | codepoint << 1 | (flags >> 8) << 3
        words = len(options) // 4
        return bytes([kind, flags & 0xFF, *places, 9, words | (1 << 4 if flags & 8 else 0)]) + options

    order = {172: (1, 2, 3), 174: (3, 2, 1)}

    def counters(kind: int, experiment: bytes = b"") -> bytes:
        value = experiment + b"".join(number.to_bytes(3, "big") for number in order[172 if experiment else kind])
        option = bytes([kind, 2 + len(value)]) + value
        return option + b"\1" * (-len(option) % 4)

    accurate = step(0, 0, 0x1C2, (0, 0)) + step(1, 1, 0x152, (0, 1)) + step(0, 2, 0x018, (1, 1))
    acknowledged = step(1, 0, 0x150, (1, 3)) + step(1, 0, 0x190, (1, 4))
    classic = step(0, 0, 0x0C2, (0, 0)) + step(1, 0, 0x052, (0, 1)) + step(0, 3, 0x018, (1, 1))
    seeds = {
        "accurate": accurate + acknowledged,
        "accurate_options": accurate
        + step(1, 0, 0x190, (1, 3), counters(172))
        + step(1, 0, 0x010, (1, 4), counters(174)),
        "accurate_experiment": accurate + step(1, 0, 0x190, (1, 3), counters(254, b"\xac\xc0")),
        "classic": classic + step(1, 0, 0x050, (1, 3)) + step(0, 2, 0x098, (3, 1)) + step(1, 0, 0x010, (1, 6)),
        "none": step(0, 0, 2, (0, 0)) + step(1, 0, 0x12, (0, 1)) + step(0, 1, 0x18, (1, 1)),
        "broken": step(0, 0, 0x1C2, (0, 0)) + step(1, 0, 0x1D2, (0, 1)) + step(0, 3, 0x018, (1, 1)),
    }
    for name, content in seeds.items():
        _write("ecn", name, content)


def _main() -> None:
    _server_name_seeds()
    _ecn_seeds()
    _queue_seeds()
    _call_seeds()
    _ndt_seeds()
    _ss_seeds()
    for name, order in (("big", ">"), ("little", "<")):
        _write("pcap", f"{name}.pcap", _pcap(order, 1))
        _write("pcap", f"{name}.pcapng", _section(order) + _pcapng_blocks(order) + _section(">") + _pcapng_blocks(">"))
        _write("pcapng", name, bytes([name == "big"]) + _pcapng_blocks(order))
    _write("tcp_info", "polls.jsonl", _tcp_info())
    _write("tcp_info", "polls.jsonl.gz", gzip.compress(_tcp_info(), mtime=0))
    _write("pcap", "pcap.gz", gzip.compress(_pcap("<", 101), mtime=0))
    _write("pcap", "pcap.xz", lzma.compress(_pcap("<", 101)))
    _write("pcap", "archive.tar", _archive())
    link_types = [*(declared.number for declared in _native.link_types()), OTHER_LINK_TYPE]
    for place, link_type in enumerate(link_types):
        records = b""
        for ip in _packets():
            frame = link_header(link_type, ip) + ip
            records += bytes([len(frame), 5, 0]) + frame
        _write("layers", f"link_{link_type}", bytes([place]) + records)
    for name, kinds in (("delivered", (3,)), ("lost_and_unseen", (3, 3, 1, 3, 2)), ("two_files", (3, 3, 7, 3))):
        records = b""
        for number, ip in enumerate(_packets()):
            frame = link_header(1, ip) + ip
            records += bytes([kinds[number % len(kinds)] | (number % 32) << 3, len(frame), 5, number % 3]) + frame
        _write("pair", name, bytes([0, 0xFF]) + records)


if __name__ == "__main__":
    _main()
