"""RTT of QUIC's spin bit at both ends of one connection, against what the ends themselves logged of their RTT.

The qlog has the packets and the spin bit of both ends, so that a capture at each end can be written from it: packets
with the times of the log and the bit that they carried. Their content is not in a qlog and is left empty.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from captures import ETHERNET, udp_frame

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

QLOG = "data/public/quiclog__qvis/visualizations/public/standalone_data/draft-01/doublevantage_100ms.qlog"
CLIENT, SERVER = ("10.0.0.1", 50_000), ("10.0.0.2", 4433)
#: Long header of draft 22, which pcap2qlog names beside this log; its content cannot be decrypted and need not be.
INITIAL = bytes([0xC0, 0xFF, 0, 0, 0x16, 8]) + bytes(8) + bytes([0]) + bytes(1180)
SPIN = "spin_bit_update"
START_NS = 1_700_000_000 * 10**9


def capture_of(trace: dict[str, Any], path: Path) -> Path:
    """Write what an observer beside this end saw."""
    at_client = trace["vantage_point"]["type"] == "client"
    own, other = (CLIENT, SERVER) if at_client else (SERVER, CLIENT)
    events = trace["events"]
    records: list[tuple[int, bytes]] = []
    state = False
    for number, (time_ms, _, kind, data) in enumerate(events):
        if kind == SPIN:
            state = data["state"]
        if kind not in ("packet_sent", "packet_received"):
            continue
        sent = kind == "packet_sent"
        payload = INITIAL
        if data["packet_type"] == "1RTT":
            bit = state
            if not sent:
                # The client inverts the bit that it receives, and the server returns it (RFC 9000, 17.4).
                before, after = events[number - 1], events[number + 1]
                heard = next(event for event in (before, after) if event[2] == SPIN)[3]["state"]
                bit = heard != at_client
            payload = bytes([0x40 | (0x20 if bit else 0)]) + bytes(30)
        frame = udp_frame(payload, *((own, other) if sent else (other, own)))
        records.append((START_NS + int(time_ms) * 10**6, frame))
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, ETHERNET)
    for time_ns, frame in records:
        content += struct.pack("<IIII", *divmod(time_ns, 10**9), len(frame), len(frame)) + frame
    path.write_bytes(content)
    return path


def test_the_spin_bit_gives_the_rtt_that_both_ends_measured(shared: Path, tmp_path: Path) -> None:
    traces = json.loads((shared / QLOG).read_text())["traces"]
    # Of acknowledgements, with the log's resolution of 1 ms.
    measured = [int(data["latest_rtt"]) for trace in traces for *_, data in trace["events"] if "latest_rtt" in data]
    rtts_ms: list[int] = []
    for trace in traces:
        path = capture_of(trace, tmp_path / f"{trace['vantage_point']['type']}.pcap")
        for name, batch in _native.CaptureDecoder(str(path)):
            if name == "flow_spin_edge":
                rows = batch.to_pylist()
                rtts_ms += [row["since_edge_ns"] // 10**6 for row in rows if row["since_edge_ns"] is not None]
                assert {row["direction"] for row in rows} == {"fwd", "rev"}
    assert len(rtts_ms) == 25
    *spun, last = sorted(rtts_ms)
    assert all(min(measured) <= rtt_ms <= min(measured) + 2 for rtt_ms in spun), (rtts_ms, min(measured))
    # The server had sent all and answered the last change 72 ms late, with its next packet: a pause that is shorter
    # than an RTT, which docs/ecn.md says cannot be recognised.
    assert last == 273
