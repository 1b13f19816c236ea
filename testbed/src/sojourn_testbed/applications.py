"""Applications of a run: their processes in the namespaces, and their flows as the manifest names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Namespaces of the dumbbell: sender, router, client. TCP and the application have an address each.
SENDER, ROUTER, CLIENT = "s", "r", "c"
TCP_FROM, TCP_TO = "10.0.1.2", "10.0.2.2"
APP_FROM, APP_TO = "10.0.1.3", "10.0.2.3"
TCP_SOURCE_PORT, TCP_PORT, RTP_PORT = 40001, 5201, 5004

#: The guest's own programme, by the name under which both backends have it on the path.
GUEST = "testbed-guest"


def within(namespace: str, *argv: str) -> list[str]:
    """Return a command that runs in a network namespace."""
    return ["ip", "netns", "exec", namespace, *argv]


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

    def processes(self, start_ms: int, end_ms: int, seed: int) -> list[dict[str, Any]]:
        """Return sender and receiver; ``seed`` gives SSRC, first sequence number, timestamp and payload."""
        send = [
            "rtp-send", f"-from={APP_FROM}:{RTP_PORT}", f"-to={APP_TO}:{RTP_PORT}", f"-media-bps={self.media_bps}",
            f"-frame-ms={self.frame_ms:.6f}", f"-clock-hz={self.clock_hz}", f"-payload-type={self.payload_type}",
            f"-max-payload={self.max_payload_bytes}", f"-pace={self.pace:g}", f"-ssrc={seed}", f"-seed={seed}",
            f"-start-ns={{ns:{start_ms}}}", f"-duration-s={(end_ms - start_ms) / 1000:g}",
        ]  # fmt: skip
        if self.marks_frames:
            send.append("-video")
        receive = ["rtp-receive", f"-at={APP_TO}:{RTP_PORT}", f"-end-ns={{ns:{end_ms + 1000}}}"]
        # Both are there before the first packet is due: a process takes tens of milliseconds to start.
        return [
            process("app_receiver", within(CLIENT, GUEST, *receive), min(0, start_ms) - 1000, "app_receiver.json"),
            process("app_sender", within(SENDER, GUEST, *send), start_ms - 700, "app_sender.json"),
        ]

    def flow(self, application: str, start_ms: int, seed: int) -> dict[str, Any]:
        """Return the flow as the manifest declares it."""
        return {
            "role": "app", "proto": "udp", "src": APP_FROM, "sport": RTP_PORT, "dst": APP_TO, "dport": RTP_PORT,
            "app": application, "rtp": True, "rtp_payload_type": self.payload_type, "ssrc": seed,
            "planned_start_s": start_ms / 1000,
        }  # fmt: skip


def stream(application: str, rate_bps: int, video_share: float) -> Stream:
    """Return the stream of an application on a link of a rate, bit/s.

    voice is G.711 in packets of 20 ms (RFC 3551, payload type 0); video is 30 frames a second at ``video_share`` of the
    link's rate, packets of at most 1200 bytes of UDP payload, paced at 2.5 times the media rate.
    """
    if application == "voice":
        return Stream(0, 8000, 20.0, 64_000, 160, 0.0, marks_frames=False)
    if application == "video":
        return Stream(96, 90_000, 1000 / 30, round(rate_bps * video_share), 1188, 2.5, marks_frames=True)
    raise ValueError(f"application {application!r}; expected voice or video")


def tcp_processes(congestion_control: str, start_ms: int, end_ms: int, poll_ms: int) -> list[dict[str, Any]]:
    """Return a bulk TCP flow by iperf3, its server, and polls of its socket."""
    seconds = f"{(end_ms - start_ms) / 1000:.3f}"
    client = ["iperf3", "-c", TCP_TO, "-B", TCP_FROM, "--cport", str(TCP_SOURCE_PORT), "-p", str(TCP_PORT)]
    client += ["-C", congestion_control, "-t", seconds, "-l", "16K", "-i", "1", "-J"]
    poll = [GUEST, "poll", str(poll_ms), f"{{ns:{end_ms}}}", "ss_raw.jsonl", "raw"]
    return [
        process("tcp_server", within(CLIENT, "iperf3", "-s", "-1", "-p", str(TCP_PORT)), -900, "iperf3_server.txt"),
        process("tcp_client", within(SENDER, *client), start_ms, "iperf3.json"),
        process("tcp_polls", within(SENDER, *poll, "ss", "-H", "-O", "-tino", "dst", TCP_TO), start_ms, "polls.txt"),
    ]


def tcp_flow(congestion_control: str, start_ms: int) -> dict[str, Any]:
    """Return the bulk flow as the manifest declares it."""
    return {
        "role": "tcp", "proto": "tcp", "src": TCP_FROM, "sport": TCP_SOURCE_PORT, "dst": TCP_TO, "dport": TCP_PORT,
        "cc": congestion_control, "planned_start_s": start_ms / 1000,
    }  # fmt: skip


def process(name: str, argv: list[str], launch_ms: int, output: str, stop: str = "wait") -> dict[str, Any]:
    """Return one process of a specification; without an output file, its output goes where its errors go."""
    return {"name": name, "argv": argv, "launch_ms": launch_ms, "output": output, "errors": f"{name}.err", "stop": stop}


def recorder(name: str, argv: list[str], ready: str) -> dict[str, Any]:
    """Return a process that records from before the start to the end: the start waits until it printed ``ready``."""
    return process(name, argv, 0, "", "interrupt") | {"ready": ready}
