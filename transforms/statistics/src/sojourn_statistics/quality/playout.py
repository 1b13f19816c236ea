"""What a receiver plays of a stream of packets: losses, discards by its jitter buffer, and how they cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Playout:
    """What was played of a stream's packets.

    Attributes
    ----------
    packets
        Packets sent, lost ones included.
    lost_packets
        Packets that did not arrive.
    discarded_packets
        Packets that arrived too late for the buffer.
    loss_runs
        Runs of packets in the order of sending that were not played.
    delay_ms
        Mean delay of what was played; None where nothing was.
    """

    packets: int
    lost_packets: int
    discarded_packets: int
    loss_runs: int
    delay_ms: float | None

    @property
    def unplayed_ratio(self) -> float:
        """Share of packets lost or discarded; not a number without packets."""
        return (self.lost_packets + self.discarded_packets) / self.packets if self.packets else float("nan")

    @property
    def burst_ratio(self) -> float:
        """BurstR; see `burst_ratio`."""
        return burst_ratio(self.packets, self.lost_packets + self.discarded_packets, self.loss_runs)


def burst_ratio(packets: int, unplayed_packets: int, loss_runs: int) -> float:
    """Mean length of runs of losses over the mean length that random loss of the same share has (BurstR).

    Parameters
    ----------
    packets
        Packets sent.
    unplayed_packets
        Those that were not played.
    loss_runs
        Runs that these form in the order of sending.

    Returns
    -------
    float
        (unplayed / runs) (1 - unplayed / packets), at least 1; 1 where nothing or everything is missing, since
        runs then say nothing of how losses cluster.

    Notes
    -----
    ITU-T G.107 §7.5. Runs of random loss with probability p are 1 / (1 - p) long on average.
    """
    if loss_runs == 0 or unplayed_packets == packets:
        return 1.0
    return max(1.0, unplayed_packets / loss_runs * (1 - unplayed_packets / packets))


def playout(delay_ms: NDArray[np.float64], span: NDArray[np.int64], *, buffer_ms: float = 60.0) -> Playout:
    """Play a stream out as a receiver with a jitter buffer does.

    Parameters
    ----------
    delay_ms
        One-way delay of each packet in the order of sending, shape (n,), in ms; not a number where it was lost.
    span
        Number of the span of time (one second) that each packet was sent in, shape (n,). The buffer sits on the least
        delay of each span: it follows the path's delay that often.
    buffer_ms
        A packet that comes later than the span's least delay by more than this is discarded. 60 ms by default: ours.

    Returns
    -------
    Playout
        Counts over all packets.

    Raises
    ------
    ValueError
        The arrays differ in length.
    """
    if delay_ms.shape != span.shape:
        raise ValueError(f"{delay_ms.size} delays and {span.size} spans; expected one span for each packet")
    lost = np.isnan(delay_ms)
    late = np.zeros(delay_ms.shape, dtype=bool)
    for number in np.unique(span):
        arrived = (span == number) & ~lost
        if arrived.any():
            late |= arrived & (delay_ms > delay_ms[arrived].min() + buffer_ms)
    unplayed = lost | late
    starts = unplayed & ~np.concatenate(([False], unplayed[:-1]))
    played = delay_ms[~unplayed]
    return Playout(
        packets=int(delay_ms.size),
        lost_packets=int(lost.sum()),
        discarded_packets=int(late.sum()),
        loss_runs=int(starts.sum()),
        delay_ms=float(played.mean()) if played.size else None,
    )
