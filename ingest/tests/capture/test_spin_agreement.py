"""RTT of QUIC's spin bit in public captures against what another observer, spindump, printed of them."""

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
    return Counter(int(found) for found in WHOLE_RTT.findall(text)), {int(found) for found in FLIP.findall(text)}


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
    found = 0
    with_rtt = 0
    for capture in sorted(folder.glob("trace_quic*.pcap")):
        rtts, flips = of_the_other(capture.with_suffix(".expected").read_text())
        our_rtts, our_flips = ours(capture)
        assert our_rtts == rtts, capture.name
        assert flips <= our_flips, capture.name
        found += rtts.total()
        with_rtt += bool(rtts)
    assert (with_rtt, found) == (WITH_RTT, RTTS)
