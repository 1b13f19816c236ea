"""WebRTC calls: one video stream with Google congestion control."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_testbed.places import CLIENT, GUEST, RTP_PORT, SENDER, Place, process, within

#: ICE and DTLS take some round trips; media begin at their time.
CONNECT_MS = 3000


@dataclass(frozen=True)
class Call:
    """Both ends of a call: ICE, DTLS, SRTP, transport-wide feedback and NACK on one pair of ports."""

    initial_bps: int = 300_000
    minimum_bps: int = 50_000
    maximum_bps: int = 2_500_000

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return sender and receiver; they find each other by files of the run's folder."""
        role = place.role
        common = [f"-signal={role}_signal"]
        send = [
            "webrtc-send", f"-at={place.near}:{RTP_PORT}", *common, f"-end-ns={{ns:{place.end_ms}}}",
            f"-start-ns={{ns:{place.start_ms}}}", f"-seed={place.seed}", f"-initial-bps={self.initial_bps}",
            f"-minimum-bps={self.minimum_bps}", f"-maximum-bps={self.maximum_bps}", f"-log={role}_targets.txt",
        ]  # fmt: skip
        # Statistics of a rival would be read as those of another run's call, which nothing joins.
        log = "get_stats.jsonl" if role == "app" else "rival_get_stats.txt"
        receive = [
            "webrtc-receive", f"-at={place.far}:{RTP_PORT}", *common, f"-end-ns={{ns:{place.end_ms + 1000}}}",
            f"-log={log}",
        ]  # fmt: skip
        launch_ms = place.start_ms - CONNECT_MS
        return [
            process(f"{role}_receiver", within(CLIENT, GUEST, *receive), launch_ms, f"{role}_receiver.json"),
            process(f"{role}_sender", within(SENDER, GUEST, *send), launch_ms, f"{role}_sender.json"),
        ]

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the call's flow, with the SSRC that the sender drew."""
        sent = json.loads((raw / f"{place.role}_sender.json").read_text(encoding="utf-8"))
        return [
            place.flow(name, "udp", SENDER, RTP_PORT, RTP_PORT)
            | {"rtp": True, "rtp_payload_type": sent["payload_type"], "ssrc": sent["ssrc"]}
        ]
