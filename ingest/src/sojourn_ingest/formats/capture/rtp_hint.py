"""What is declared of a UDP flow before its packets are seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class RtpHint:
    """What a run's manifest says of a UDP flow: whether it is RTP, and which stream, as far as it is known."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    is_rtp: bool
    ssrc: int | None = None
    payload_type: int | None = None
