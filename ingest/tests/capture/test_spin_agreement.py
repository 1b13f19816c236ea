"""RTT of QUIC's spin bit and of TCP in public captures against what another observer, spindump, printed of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

TRACES = "EricssonResearch__spindump/test"
#: A whole RTT in each of the tool's formats: text, JSON and qlog. Its right and left RTTs are also of other packets.
WHOLE_RTT = re.compile(r'(?:full \((?:initiator|responder)\) |"[Ff]ull_rtt_(?:initiator|responder)": )(\d+)')
FLIP = re.compile(r"at (\d+) spinflip ")
#: Captures of which the tool printed whole RTTs, and how many there are in all.
WITH_RTT, RTTS = 12, 44


def of_the_other(text: str) -> tuple[Counter[int], set[int]]:
    """Return whole RTTs in microseconds, and the times of flips."""
    return Counter(int(rtt) for rtt in WHOLE_RTT.findall(text)), {int(rtt) for rtt in FLIP.findall(text)}


def ours(path: Path) -> tuple[Counter[int], set[int]]:
    """Return the same by the decoder, whole microseconds."""
    edges = [
        row
        for name, batch in _native.CaptureDecoder(str(path))
        if name == "flow_spin_edge"
        for row in batch.to_pylist()
    ]
    since = (edge["since_edge_ns"] for edge in edges)
    return Counter(ns // 1000 for ns in since if ns is not None), {edge["edge_ns"] // 1000 for edge in edges}


def test_every_rtt_and_flip_that_the_other_tool_saw_is_found_and_no_other_rtt(shared: Path) -> None:
    folder = shared / "data" / "public" / TRACES
    rtt_count = 0
    with_rtt = 0
    for capture in sorted(folder.glob("trace_quic*.pcap")):
        rtts, flips = of_the_other(capture.with_suffix(".expected").read_text())
        our_rtts, our_flips = ours(capture)
        assert our_rtts == rtts, capture.name
        assert flips <= our_flips, capture.name
        rtt_count += rtts.total()
        with_rtt += bool(rtts)
    assert (with_rtt, rtt_count) == (WITH_RTT, RTTS)


#: A sample of TCP to the responder ("right") or to the initiator ("left"), in text, JSON and qlog.
TCP_SAMPLE = re.compile(r'(?:^TCP .* (right|left) (\d+) packets |"([Rr]ight|[Ll]eft)_rtt": (\d+))', re.MULTILINE)
#: Captures of TCP, and whether segments were repeated, of which spindump takes samples too and the decoder none.
TCP_CAPTURES = {"trace_tcp_short_json": False, "trace_tcp_short_qlog": False, "trace_tcp_short_sack": True}


def tcp_samples(text: str) -> dict[str, list[int]]:
    """Return the samples of each leg in microseconds, in their order."""
    samples: dict[str, list[int]] = {"fwd": [], "rev": []}
    for match in TCP_SAMPLE.finditer(text):
        leg = (match[1] or match[3]).lower()
        samples["fwd" if leg == "right" else "rev"].append(int(match[2] or match[4]))
    return samples


@pytest.mark.parametrize("name", sorted(TCP_CAPTURES))
def test_samples_and_handshakes_of_tcp_are_those_of_the_other_tool(shared: Path, name: str) -> None:
    capture = shared / "data" / "public" / TRACES / f"{name}.pcap"
    samples = tcp_samples(capture.with_suffix(".expected").read_text())
    decoder = _native.CaptureDecoder(str(capture))
    flows = [row for table, batch in decoder if table == "flow" for row in batch.to_pylist()]
    for way in ("fwd", "rev"):
        assert {flow[f"{way}_rtt_{bound}_us"] for flow in flows for bound in ("min", "max")} <= set(samples[way])
        if not TCP_CAPTURES[name]:
            assert sum(flow[f"{way}_rtt_samples"] for flow in flows) == len(samples[way])
            total = sum(flow[f"{way}_rtt_samples"] * flow[f"{way}_rtt_avg_us"] for flow in flows)
            assert total == pytest.approx(sum(samples[way]))
    # SYN to SYN-ACK passes on one leg and SYN-ACK to its acknowledgement on the other: the first sample of each.
    first = flows[0]["handshake_rtt_us"]
    assert first == samples["fwd"][0] + samples["rev"][0]
