"""Applications of a run: their processes in the namespaces, and their flows as the manifest names them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sojourn_testbed.calls import Call
from sojourn_testbed.pages import Streaming, Web
from sojourn_testbed.places import (
    CLIENT,
    CLIP_FILE,
    GUEST,
    RTP_PORT,
    SENDER,
    TCP_FROM,
    TCP_PORT,
    TCP_SOURCE_PORT,
    TCP_TO,
    Place,
    process,
    within,
)


class Application(Protocol):
    """What a role of a run does, and how it is known in the captures."""

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return the processes of both ends."""

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the flows as the manifest declares them, from what the processes left in ``raw``."""


@dataclass(frozen=True)
class Stream:
    """A constant-rate RTP stream."""

    payload_type: int
    clock_hz: int
    frame_ms: float
    media_bps: int
    max_payload_bytes: int
    pace: float
    marks_frames: bool

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return sender and receiver; the place's seed gives SSRC, first sequence number, timestamp and payload."""
        start_ms, end_ms, role = place.start_ms, place.end_ms, place.role
        send = [
            "rtp-send", f"-from={place.near}:{RTP_PORT}", f"-to={place.far}:{RTP_PORT}",
            f"-media-bps={self.media_bps}", f"-frame-ms={self.frame_ms:.6f}", f"-clock-hz={self.clock_hz}",
            f"-payload-type={self.payload_type}", f"-max-payload={self.max_payload_bytes}", f"-pace={self.pace:g}",
            f"-ssrc={place.seed}", f"-seed={place.seed}", f"-start-ns={{ns:{start_ms}}}",
            f"-duration-s={(end_ms - start_ms) / 1000:g}",
        ]  # fmt: skip
        if self.marks_frames:
            send.append("-video")
        receive = ["rtp-receive", f"-at={place.far}:{RTP_PORT}", f"-end-ns={{ns:{end_ms + 1000}}}"]
        receiver = process(
            f"{role}_receiver", within(CLIENT, GUEST, *receive), min(0, start_ms) - 1000, f"{role}_receiver.json"
        )
        # Both are there before the first packet is due: a process takes tens of milliseconds to start.
        return [
            receiver,
            process(f"{role}_sender", within(SENDER, GUEST, *send), start_ms - 700, f"{role}_sender.json"),
        ]

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the flow, of which all is set before it starts."""
        return [
            place.flow(name, "udp", SENDER, RTP_PORT, RTP_PORT)
            | {"rtp": True, "rtp_payload_type": self.payload_type, "ssrc": place.seed}
        ]


@dataclass(frozen=True)
class Clip:
    """A clip as MPEG-2 transport stream over RTP (RFC 2250), sent once and in its own time."""

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return sender and receiver."""
        role, end_ms = place.role, place.end_ms
        send = [
            "clip-send", f"-from={place.near}:{RTP_PORT}", f"-to={place.far}:{RTP_PORT}", f"-clip={CLIP_FILE}",
            f"-ssrc={place.seed}", f"-start-ns={{ns:{place.start_ms}}}", f"-end-ns={{ns:{end_ms}}}",
        ]  # fmt: skip
        receive = ["rtp-receive", f"-at={place.far}:{RTP_PORT}", f"-end-ns={{ns:{end_ms + 1000}}}"]
        launch_ms = min(0, place.start_ms) - 1000
        return [
            process(f"{role}_receiver", within(CLIENT, GUEST, *receive), launch_ms, f"{role}_receiver.json"),
            process(f"{role}_sender", within(SENDER, GUEST, *send), place.start_ms - 700, f"{role}_sender.json"),
        ]

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the flow, of which all is set before it starts."""
        return [
            place.flow(name, "udp", SENDER, RTP_PORT, RTP_PORT)
            | {"rtp": True, "rtp_payload_type": 33, "ssrc": place.seed}
        ]


def application(name: str, rate_bps: int, video_share: float) -> Application:
    """Return an application on a link of a rate, bit/s.

    voice is G.711 in packets of 20 ms (RFC 3551, payload type 0); video is 30 frames a second at ``video_share`` of the
    link's rate, packets of at most 1200 bytes of UDP payload, paced at 2.5 times the media rate; web and web-parallel
    load the page of IMC'14, section 9; streaming is a player of segments; webrtc is a call with Google congestion
    control; clip is the plan's transport stream.
    """
    applications: dict[str, Application] = {
        "voice": Stream(0, 8000, 20.0, 64_000, 160, 0.0, marks_frames=False),
        "video": Stream(96, 90_000, 1000 / 30, round(rate_bps * video_share), 1188, 2.5, marks_frames=True),
        "web": Web(connections=1),
        "web-parallel": Web(connections=6),
        "streaming": Streaming(),
        "webrtc": Call(),
        "clip": Clip(),
    }
    return applications[name]


def tcp_processes(congestion_control: str, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
    """Return a bulk TCP flow by iperf3, and its server."""
    seconds = f"{(end_ms - start_ms) / 1000:.3f}"
    client = ["iperf3", "-c", TCP_TO, "-B", TCP_FROM, "--cport", str(TCP_SOURCE_PORT), "-p", str(TCP_PORT)]
    client += ["-C", congestion_control, "-t", seconds, "-l", "16K", "-i", "1", "-J"]
    return [
        process("tcp_server", within(CLIENT, "iperf3", "-s", "-1", "-p", str(TCP_PORT)), -900, "iperf3_server.txt"),
        process("tcp_client", within(SENDER, *client), start_ms, "iperf3.json"),
    ]


def tcp_flow(congestion_control: str, start_ms: int) -> dict[str, Any]:
    """Return the bulk flow as the manifest declares it."""
    return {
        "role": "tcp", "proto": "tcp", "src": TCP_FROM, "sport": TCP_SOURCE_PORT, "dst": TCP_TO, "dport": TCP_PORT,
        "cc": congestion_control, "planned_start_s": start_ms / 1000,
    }  # fmt: skip


def socket_polls(start_ms: int, end_ms: int, poll_ms: int) -> dict[str, Any]:
    """Return polls of the TCP sockets on the side from which the bottleneck's packets come."""
    poll = [GUEST, "poll", str(poll_ms), f"{{ns:{end_ms}}}", "ss_raw.jsonl", "raw"]
    return process("tcp_polls", within(SENDER, *poll, "ss", "-H", "-O", "-tino", "dst", TCP_TO), start_ms, "polls.txt")
