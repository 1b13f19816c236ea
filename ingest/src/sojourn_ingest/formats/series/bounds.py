"""What a value can be: bounds of each metric, beyond which a file is wrong and not the network.

The bounds are wide: a value is refused if no network, host or person could have caused it, never because it is unusual.
"""

from __future__ import annotations

from collections.abc import Mapping

#: In ms. RFC 9293 (section 3.4.2) takes a segment to live for two minutes, and an IP packet lives for at most
#: 255 s (RFC 791, section 3.2), so that nothing waits for an hour.
LONGEST_DELAY_MS = 3_600_000.0
LONGEST_DELAY_US = round(LONGEST_DELAY_MS * 1e3)
LONGEST_DELAY_NS = round(LONGEST_DELAY_MS * 1e6)
#: Of two clocks of which one may stand at the epoch: seconds of 2**33, in ms.
_LARGEST_OFFSET_MS = 2.0**33 * 1e3
#: 10 Tbit/s: more than a dozen of the fastest ports of a host together (800GBASE-R, IEEE 802.3df).
_FASTEST_BPS = 1e13
#: Beyond it sums in the marts, which are exact to a millionth, would not be.
LARGEST = 2.0**53
#: The kernel counts packets of a window and the backlog of a queue in 32 bits.
_LARGEST_COUNT = 2.0**32
#: A thousand times the largest window of TCP (RFC 7323, section 2.3).
_LARGEST_WINDOW_BYTES = 2.0**40
#: Processors of the largest systems, each of which may be fully loaded.
_MOST_LOAD = 4096.0

#: Of a clock that shows no date: the values are kept without one.
CLOCK_NOT_SET = "clock_not_set"
#: 1990 and 2100. A clock that was never set counts from the start of the machine or from 1970.
EARLIEST_NS = 631_152_000 * 10**9
LATEST_NS = 4_102_444_800 * 10**9

_DELAY = (0.0, LONGEST_DELAY_MS)
_COUNT = (0.0, LARGEST)

#: Smallest and largest value of each metric, in its unit.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "rtt_ms": _DELAY,
    "srtt_ms": _DELAY,
    "rttvar_ms": _DELAY,
    "http_latency_ms": _DELAY,
    "codel_delay_ms": _DELAY,
    "jitter_ms": _DELAY,
    # Above a minimum that an estimate may have undercut.
    "delay_variation_ms": (-LONGEST_DELAY_MS, LONGEST_DELAY_MS),
    "one_way_delay_ms": (-_LARGEST_OFFSET_MS, _LARGEST_OFFSET_MS),
    "rate_bps": (0.0, _FASTEST_BPS),
    "cwnd_packets": (0.0, _LARGEST_COUNT),
    "cwnd_bytes": (0.0, _LARGEST_WINDOW_BYTES),
    "in_flight_bytes": (0.0, _LARGEST_WINDOW_BYTES),
    "retransmitted_packets": _COUNT,
    "lost_packets": _COUNT,
    "sent_packets": _COUNT,
    "sent_bytes": _COUNT,
    "dropped_packets": _COUNT,
    "ecn_marked_packets": _COUNT,
    "backlog_packets": (0.0, _LARGEST_COUNT),
    "backlog_bytes": (0.0, _LARGEST_COUNT),
    "cpu_load_ratio": (0.0, _MOST_LOAD),
    "media_rate_bps": (0.0, _FASTEST_BPS),
    # A film that is held whole, and a player that nobody closes for a month.
    "media_buffer_ms": (0.0, 86_400_000.0),
    "startup_ms": (0.0, 2_678_400_000.0),
    "stalled_ms": (0.0, 2_678_400_000.0),
    "stalls": _COUNT,
    # From 1 (bad) to 5 (excellent), ITU-T P.800; tools write 0 for none.
    "mos": (0.0, 5.0),
    "other": (-LARGEST, LARGEST),
}


#: Why a number of lost packets is refused that is larger than the number of all packets.
MORE_LOST = "lost_packets: above the number of packets"


def is_more_than_sent(lost: float | None, packets: float | None) -> bool:
    """Return whether more packets were lost than there were, as counters that are not reset make it seem."""
    return lost is not None and packets is not None and lost > packets


def refusal_of(metric: str, value: float) -> str | None:
    """Return why a value of a metric is refused, such as ``rtt_ms: below 0``; None for one that can be."""
    smallest, largest = BOUNDS[metric]
    if metric == "srtt_ms" and value == 0:
        # Kernels and QUIC's stacks begin with it (tcp(7), TCP_INFO); a single probe may round to it.
        return "srtt_ms: 0, no round trip was measured"
    if smallest <= value <= largest:
        return None
    return f"{metric}: below {smallest:.15g}" if value < smallest else f"{metric}: above {largest:.15g}"


def date_of(time_ns: int | None) -> int | None:
    """Return a time of the UTC epoch in ns; None for one that no set clock shows, which is no date."""
    return time_ns if time_ns is not None and EARLIEST_NS <= time_ns < LATEST_NS else None
