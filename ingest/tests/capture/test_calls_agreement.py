"""Calls, tunnels and links against tshark: messages of STUN, DTLS and RTCP, and the innermost 5-tuples of packets."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from captures import udp_frame

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

Rows = list[dict[str, Any]]

#: Captures with calls, and what of them tshark counts otherwise, with its cause.
CALLS = {
    # tshark does not look into the data of TURN's indications.
    "ntop__nDPI/pcap/stun_dtls_rtp_unidir.pcapng": {"dtls": 13},
    "ntop__nDPI/pcap/stun_dtls_unidirectional_client.pcap": {},
    "ntop__nDPI/pcap/stun_dtls_unidirectional_server.pcap": {},
    "ntop__nDPI/pcap/stun_tcp_multiple_msgs_same_pkt.pcap": {},
    "ntop__nDPI/pcap/stun_zoom.pcapng": {},
    # tshark 4.0 does not know the short header of DTLS 1.3.
    "ntop__nDPI/pcap/dtls.pcap": {"dtls": 24},
    "ntop__nDPI/pcap/dtls2.pcap": {},
    "ntop__nDPI/pcap/dtls_session_id_and_coockie_both.pcap": {},
    "ntop__nDPI/pcap/rtcp_multiple_pkts_in_the_same_datagram.pcap": {},
    # Data indications of Microsoft's older TURN (type 0x0115, no cookie) are not read.
    "ntop__nDPI/pcap/teams.pcap": {"stun": 55},
    "ntop__nDPI/pcap/whatsapp_login_call.pcap": {},
    "ntop__nDPI/pcap/zoom.pcap": {},
    "zeek__zeek/Traces/tls/webrtc-stun.pcap": {},
    "zeek__zeek/Traces/tls/dtls-sequence-number-jumps.pcap": {},
    "zeek__zeek/Traces/tls/dtls1_0.pcap": {},
    "zeek__zeek/Traces/tls/dtls13-cid.pcap": {"dtls": 43},
    "zeek__zeek/Traces/tls/dtls13-wolfssl.pcap": {"dtls": 15},
}

#: Captures with packets in tunnels.
TUNNELS = (
    "ntop__nDPI/pcap/6in4tunnel.pcap",
    "ntop__nDPI/pcap/6in6tunnel.pcap",
    "ntop__nDPI/pcap/ipv6_in_gtp.pcap",
    "ntop__nDPI/pcap/vxlan.pcap",
    "the-tcpdump-group__tcpdump/tests/gso-ipv6-geneve-ipv4.pcap",
    "the-tcpdump-group__tcpdump/tests/gso-ipv4-geneve-ipv4.pcap",
    "the-tcpdump-group__tcpdump/tests/vxlan.pcap",
    "zeek__zeek/Traces/erspan.pcap",
    "zeek__zeek/Traces/tunnels/geneve-tagged-udp-packet.pcap",
    "zeek__zeek/Traces/tunnels/Teredo.pcap",
    "zeek__zeek/Traces/tunnels/4in4.pcap",
    "zeek__zeek/Traces/tunnels/4in6.pcap",
    "zeek__zeek/Traces/tunnels/6in6.pcap",
    "zeek__zeek/Traces/tunnels/6in6in6.pcap",
    "zeek__zeek/Traces/tunnels/geneve-47101.pcap",
    "zeek__zeek/Traces/tunnels/gre-pptp.pcap",
    "zeek__zeek/Traces/tunnels/gre-sample.pcap",
    "zeek__zeek/Traces/tunnels/gtp/gtp6_gtp_0x32.pcap",
    "zeek__zeek/Traces/tunnels/gtp/gtp7_ipv6.pcap",
    "zeek__zeek/Traces/tunnels/vxlan.pcap",
)

#: Captures whose frames begin with another header than Ethernet's.
LINKS = (
    "ntop__nDPI/pcap/BGP_redist.pcap",
    "the-tcpdump-group__tcpdump/tests/LINKTYPE_IPV4.pcap",
    "the-tcpdump-group__tcpdump/tests/LINKTYPE_IPV6.pcap",
    "the-tcpdump-group__tcpdump/tests/LINKTYPE_USER2_PKTAP.pcap",
    "the-tcpdump-group__tcpdump/tests/bgp_vpn_attrset.pcap",
    "the-tcpdump-group__tcpdump/tests/ieee802.11_htc.pcap",
    "EricssonResearch__spindump/test/trace_quic_v22_picoquic_h3.pcap",
)

#: tshark takes packets for Teredo by the port of servers alone; a public capture has clients that talk to each other.
TEREDO = ("-d", "udp.port==3797,teredo")


def tshark(path: Path, *arguments: str) -> list[list[str]]:
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    fields = [argument for field in arguments for argument in ("-e", field)]
    command = [
        tool,
        "-r",
        str(path),
        "--enable-heuristic",
        "rtcp_udp",
        *TEREDO,
        "-T",
        "fields",
        "-E",
        "occurrence=a",
        *fields,
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return [line.split("\t") for line in done.stdout.splitlines()]


def decode(path: Path) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for name, batch in _native.CaptureDecoder(str(path), idle_ms=10**12):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


def calls_of_tshark(path: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for protocols, stun, classic in tshark(path, "frame.protocols", "stun.type", "classicstun.type"):
        counts["stun"] += len([kind for kind in (stun + "," + classic).split(",") if kind])
        counts["dtls"] += "dtls" in protocols.split(":")
        counts["rtcp"] += "rtcp" in protocols.split(":")
    return {name: count for name, count in counts.items() if count}


def calls_of_decoder(path: Path) -> dict[str, int]:
    rows = decode(path).get("call_flow", [])
    counts = {
        "stun": sum(row[f"stun_{kind}"] for row in rows for kind in ("requests", "successes", "errors", "indications")),
        "dtls": sum(row["dtls_packets"] for row in rows),
        "rtcp": sum(row["rtcp_packets"] for row in rows),
    }
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_messages_are_those_that_tshark_counts(shared: Path, name: str) -> None:
    path = shared / "data" / "public" / name
    assert calls_of_decoder(path) == calls_of_tshark(path) | CALLS[name]


#: Of the captures above, those with an answer to a request of STUN (in zoom.pcap, answers have a type of no standard).
STUN_ANSWERED = (
    "ntop__nDPI/pcap/stun_zoom.pcapng",
    "ntop__nDPI/pcap/teams.pcap",
    "ntop__nDPI/pcap/whatsapp_login_call.pcap",
    "zeek__zeek/Traces/tls/webrtc-stun.pcap",
)
SUCCESSES = {0x0101, 0x0103}
CLASS_BITS = 0x0110


@pytest.mark.parametrize("name", STUN_ANSWERED)
def test_set_up_takes_from_the_first_request_to_the_first_success_that_tshark_sees(shared: Path, name: str) -> None:
    path = shared / "data" / "public" / name
    first_s: dict[frozenset[tuple[str, ...]], float] = {}
    wanted_us: dict[frozenset[tuple[str, ...]], float] = {}
    fields = ("stun.type", "classicstun.type", "ip.src", "ip.dst")
    ports = ("udp.srcport", "udp.dstport", "tcp.srcport", "tcp.dstport")
    for time, new, classic, source, destination, *of_ports in tshark(path, "frame.time_epoch", *fields, *ports):
        sent, received = of_ports[:2] if of_ports[0] else of_ports[2:]
        ends = frozenset([(source, sent), (destination, received)])
        for kind in (int(text, 16) for text in f"{new},{classic}".split(",") if text):
            if not kind & CLASS_BITS:
                first_s.setdefault(ends, float(time))
            elif kind in SUCCESSES and ends in first_s:
                wanted_us.setdefault(ends, 1e6 * (float(time) - first_s[ends]))
    tables = decode(path)
    flows = {flow["flow_id"]: flow for flow in tables["flow"]}
    found_us = {}
    for row in tables["call_flow"]:
        if row["stun_setup_us"] is not None:
            flow = flows[row["flow_id"]]
            ends = frozenset((flow[f"{who}_address"], str(flow[f"{who}_port"])) for who in ("initiator", "responder"))
            found_us[ends] = row["stun_setup_us"]
    assert found_us == pytest.approx(wanted_us, abs=2)
    assert found_us


def test_reports_of_rtcp_have_the_values_that_tshark_reads(shared: Path) -> None:
    """Loss, jitter and the round trip: from a sender report that passes to the report on it, less what it was held."""
    path = shared / "data" / "public" / "ntop__nDPI/pcap/rtcp_multiple_pkts_in_the_same_datagram.pcap"
    fields = ("senderssrc", "ssrc.identifier", "ssrc.fraction", "ssrc.cum_nr", "ssrc.jitter", "ssrc.lsr", "ssrc.dlsr")
    stamps = ("timestamp.ntp.msw", "timestamp.ntp.lsw")
    wanted: dict[tuple[int, int], list[tuple[float, int, int]]] = {}
    round_trips_us = []
    sent_s: dict[int, float] = {}
    for time, *cells in tshark(path, "frame.time_epoch", *(f"rtcp.{field}" for field in fields + stamps)):
        # The first of each is of the report block; the source description behind it has an identifier too.
        reporter, source, fraction, lost, jitter, last, delay, high, low = (cell.split(",")[0] for cell in cells)
        block = (int(fraction) / 256, int(lost), int(jitter))
        wanted.setdefault((int(reporter, 16), int(source, 16)), []).append(block)
        if int(last) in sent_s:
            round_trips_us.append(1e6 * (float(time) - sent_s[int(last)] - int(delay) / 65536))
        if high:
            sent_s[(int(high) & 0xFFFF) << 16 | int(low) >> 16] = float(time)
    reports = decode(path)["rtcp_report"]
    assert {(row["reporter_ssrc"], row["ssrc"]): row["reports"] for row in reports} == {
        ends: len(blocks) for ends, blocks in wanted.items()
    }
    for row in reports:
        loss, lost, jitter = zip(*wanted[row["reporter_ssrc"], row["ssrc"]], strict=True)
        decoded = row["loss_max_ratio"], row["lost_packets"], row["jitter_max_units"]
        assert decoded == (max(loss), lost[-1], max(jitter))
        assert row["jitter_mean_units"] == pytest.approx(sum(jitter) / len(jitter))
        assert row["loss_mean_ratio"] == pytest.approx(sum(loss) / len(loss))
    assert [row["rtt_avg_us"] for row in reports if row["rtt_samples"]] == pytest.approx(round_trips_us, abs=20)


def innermost(path: Path) -> Counter[tuple[Any, ...]]:
    """Count packets of TCP and UDP by the innermost ends that tshark finds."""
    counts: Counter[tuple[Any, ...]] = Counter()
    fields = ("frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.port", "udp.port")
    for protocols, *ends in tshark(path, *fields):
        # What ICMP quotes was not sent by whom it names.
        whole = protocols.replace("icmpv6", "icmp").split(":icmp")[0].split(":")
        if "icmp" in protocols:
            continue
        layers = [layer for layer in whole if layer in ("ip", "ipv6", "tcp", "udp")]
        if not layers or layers[-1] not in ("tcp", "udp"):
            continue
        network = [layer for layer in layers if layer in ("ip", "ipv6")][-1]
        place = 0 if network == "ip" else 2
        source, destination = (ends[place + n].split(",")[-1] for n in (0, 1))
        ports = ends[4 if layers[-1] == "tcp" else 5].split(",")[-2:]
        counts[layers[-1], frozenset([(source, int(ports[0])), (destination, int(ports[1]))])] += 1
    return counts


def of_decoder(path: Path) -> Counter[tuple[Any, ...]]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in decode(path)["flow"]:
        if row["protocol"] in ("tcp", "udp"):
            ends = frozenset((row[f"{who}_address"], row[f"{who}_port"]) for who in ("initiator", "responder"))
            counts[row["protocol"], ends] += row["fwd_packets"] + row["rev_packets"]
    return counts


@pytest.mark.parametrize("name", TUNNELS + LINKS)
def test_flows_in_tunnels_and_behind_links_are_those_of_tshark(shared: Path, name: str) -> None:
    path = shared / "data" / "public" / name
    flows = of_decoder(path)
    assert flows
    assert flows == innermost(path)


# --- captures of our own


def ip_of(payload: bytes, port: int = 5004) -> bytes:
    return udp_frame(payload, destination=("10.0.0.2", port))[14:]


def ethernet(payload: bytes, ethertype: int = 0x0800) -> bytes:
    return bytes([2] * 6 + [4] * 6) + struct.pack("!H", ethertype) + payload


WIRELESS = b"\x88\x01\0\0" + bytes([2] * 18) + bytes(4) + b"\xaa\xaa\x03\0\0\0\x08\0"


def links() -> Iterator[tuple[str, int, Callable[[bytes], bytes]]]:
    yield "ieee802_11", 105, lambda ip: WIRELESS + ip
    yield "radiotap", 127, lambda ip: b"\0\0\x08\0\0\0\0\0" + WIRELESS + ip
    yield "nflog", 239, lambda ip: b"\x02\0\0\x01" + struct.pack("<HH", 4 + len(ip), 9) + ip
    yield "pktap", 258, lambda ip: struct.pack("<III", 108, 1, 1) + bytes(96) + ethernet(ip)
    yield "pktap under user2", 149, lambda ip: struct.pack("<III", 108, 1, 1) + bytes(96) + ethernet(ip)
    yield "c_hdlc", 104, lambda ip: b"\x0f\0\x08\0" + ip
    yield "c_hdlc under ppp", 9, lambda ip: b"\x0f\0\x08\0" + ip
    yield "pbb", 1, lambda ip: ethernet(struct.pack("!I", 7) + ethernet(ip), 0x88E7)
    yield "fabricpath", 1, lambda ip: ethernet(b"\0\x20" + ethernet(ip), 0x8903)
    geneve = b"\x02\0\x65\x58\0\0\x07\0" + bytes.fromhex("0102000100000000")
    yield "geneve", 1, lambda ip: ethernet(ip_of(geneve + ethernet(ip), 6081))
    yield "gre in udp", 1, lambda ip: ethernet(ip_of(b"\0\0\x08\0" + ip, 4754))
    vxlan = b"\x08\0\0\0\0\0\x07\0"
    policy = b"\x88\0\0\x05\0\0\x07\0"
    yield "vxlan with policy", 1, lambda ip: ethernet(ip_of(policy + ethernet(ip), 4789))
    yield "geneve/vxlan", 1, lambda ip: ethernet(ip_of(geneve + ethernet(ip_of(vxlan + ethernet(ip), 4789)), 6081))


@pytest.mark.parametrize(("name", "link_type", "wrap"), list(links()), ids=[name for name, _, _ in links()])
def test_flows_behind_each_link_are_those_of_tshark(
    tmp_path: Path, name: str, link_type: int, wrap: Callable[[bytes], bytes]
) -> None:
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type)
    for number in range(3):
        frame = wrap(ip_of(b"payload", 5004 + number))
        content += struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame
    path = tmp_path / "capture.pcap"
    path.write_bytes(content)
    flows = of_decoder(path)
    assert sum(flows.values()) == 3
    assert {port for _, ends in flows for _, port in ends} >= {5004, 5005, 5006}
    # tshark has no dissector of PKTAP's frames on systems other than macOS, nor of Cisco HDLC under link type 9.
    if name not in ("c_hdlc under ppp",):
        assert flows == innermost(path)


@pytest.mark.parametrize(("link_type", "radiotap"), [(105, b""), (127, b"\0\0\x08\0\0\0\0\0")])
def test_an_aggregate_of_ieee_802_11_is_refused_by_its_name(tmp_path: Path, link_type: int, radiotap: bytes) -> None:
    """Several packets are in a record, each behind addresses and a length: no IP header is where one alone has it."""
    ip = ip_of(b"payload")
    subframe = bytes([2] * 12) + struct.pack("!H", 8 + len(ip)) + b"\xaa\xaa\x03\0\0\0\x08\0" + ip
    subframe += bytes(-len(subframe) % 4)
    header = bytearray(WIRELESS[:26])
    header[24] |= 0x80
    frames = [radiotap + bytes(header) + subframe * 2, radiotap + WIRELESS + ip]
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type)
    for number, frame in enumerate(frames):
        content += struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame
    path = tmp_path / "capture.pcap"
    path.write_bytes(content)
    decoder = _native.CaptureDecoder(str(path))
    flows = [row for name, batch in decoder if name == "flow" for row in batch.to_pylist()]
    assert [row["fwd_packets"] for row in flows] == [1]
    assert decoder.summary().refused == {"ieee_802_11_aggregate": 1}
