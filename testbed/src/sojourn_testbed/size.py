"""What a run is expected to carry and leave, for the estimate of a plan and for how many runs one boot takes."""

from __future__ import annotations

from sojourn_testbed.cells import Cell, Run
from sojourn_testbed.pages import LADDER_BPS, PAGE_BYTES, PAUSE_S
from sojourn_testbed.places import Direction
from sojourn_testbed.plan import Plan

#: Bytes of a packet on average: full segments one way, and their acknowledgements the other.
MEAN_PACKET_BYTES = 900
#: Frames of 96 bytes with 16 of header, twice.
CAPTURED_BYTES_PER_PACKET = 224
#: One line of 120 bytes, or one record of up to 181, for each of two events.
LOGGED_BYTES_PER_PACKET = {"text": 240, "binary": 362, "both": 602}
#: Bytes of a frame that these count; a longer snap length keeps more.
SNAPPED_BYTES = 96
#: What gzip leaves of it, about.
COMPRESSED_SHARE = 0.25


def expected_bps(plan: Plan, cell: Cell) -> float:
    """Return what a cell carries in both directions together, bit/s: what is offered, and at most the links' rates."""
    link_bps = cell.rate_mbps * 1e6
    offered = {"bottleneck": 0.0, "opposite": 0.0}
    if cell.congestion_control is not None and cell.workload is None:
        offered["bottleneck"] = link_bps
    if cell.has_background and cell.workload is not None:
        sessions = plan.sessions(cell.workload)
        filled: tuple[Direction, ...] = ("downlink", "uplink")
        for direction in filled:
            if cell.congested not in ("both", "downstream" if direction == "downlink" else "upstream"):
                continue
            side = "bottleneck" if direction == cell.direction else "opposite"
            short_bps = sessions.of(direction) * sessions.mean_bytes * 8 / sessions.interarrival_mean_s
            offered[side] += 1e12 if sessions.flow_length == "long" else short_bps
    for application in (cell.application, cell.rival):
        if application is not None:
            offered["bottleneck"] += _application_bps(plan, application, link_bps)
    opposite_bps = 0.0 if cell.opposite_mbps is None else cell.opposite_mbps * 1e6
    return min(offered["bottleneck"], link_bps) + min(offered["opposite"], opposite_bps)


def _application_bps(plan: Plan, application: str, link_bps: float) -> float:
    return {
        # 214 bytes of frame each 20 ms.
        "voice": 214 * 8 * 50,
        "video": 1.06 * plan.video_share * link_bps,
        "web": sum(PAGE_BYTES) * 8 / PAUSE_S,
        "web-parallel": sum(PAGE_BYTES) * 8 / PAUSE_S,
        "streaming": LADDER_BPS[-1],
        "webrtc": 2.6e6,
        "clip": 0 if plan.clip is None else plan.clip.stat().st_size * 8 / plan.timing.end_s,
    }[application]


def expected_packets(plan: Plan, run: Run) -> float:
    """Return how many packets a run is expected to have."""
    seconds = plan.timing.end_s + plan.timing.drain_s
    voice = 50 * seconds * ((run.cell.application == "voice") + (run.cell.rival == "voice"))
    return expected_bps(plan, run.cell) / 8 / MEAN_PACKET_BYTES * seconds + voice


def expected_raw_bytes(plan: Plan, run: Run) -> float:
    """Return the bytes that captures and queue log of a run are expected to have before compression."""
    longer = min(plan.snap_length_bytes, MEAN_PACKET_BYTES) - min(plan.snap_length_bytes, SNAPPED_BYTES)
    per_packet = CAPTURED_BYTES_PER_PACKET + LOGGED_BYTES_PER_PACKET[plan.queue_log]
    return expected_packets(plan, run) * (per_packet + 2 * longer)
