"""Applications over HTTP: a page that is loaded again and again, and a player of segments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_testbed.places import GUEST, WEB_PORT, Place, process, within

#: The page of IMC'14, section 9: the document, its style sheet and two pictures, bytes.
PAGE_BYTES = (15_000, 5_800, 30_000, 30_000)
#: Above two seconds, so that loads can be told apart in a capture too.
PAUSE_S = 2.5
#: Rates of the media, bit/s; a segment is two seconds, and the player holds six.
LADDER_BPS = (150_000, 300_000, 500_000, 800_000, 1_200_000, 2_000_000, 3_000_000, 4_500_000)
SEGMENT_S, BUFFER_S = 2.0, 12.0


def _processes(place: Place, *command: str) -> list[dict[str, Any]]:
    """Return the server, and the client with its command."""
    role, (namespace, address) = place.role, place.server
    serve = within(namespace, GUEST, "web-serve", f"-at={address}:{WEB_PORT}")
    client = within(place.home[0], GUEST, *command)
    return [
        process(f"{role}_server", serve, min(0, place.start_ms) - 1000, f"{role}_server.txt", "terminate"),
        process(f"{role}_client", client, place.start_ms - 700, f"{role}_client.json"),
    ]


def _flows(name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
    summary = json.loads((raw / f"{place.role}_client.json").read_text(encoding="utf-8"))
    namespace, _ = place.server
    return [place.flow(name, "tcp", namespace, WEB_PORT, port) for port in summary["local_ports"]]


@dataclass(frozen=True)
class Web:
    """Loads of a page, one after the other, with a pause between; those that begin in the window are measured."""

    connections: int

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return the server and the browser."""
        # The lines of a rival's loads would be read as another run's quality, which nothing joins.
        log = "page_loads.jsonl" if place.role == "app" else "rival_page_loads.txt"
        return _processes(
            place,
            "web-load", f"-from={place.home[1]}", f"-server={place.server[1]}:{WEB_PORT}",
            f"-page-bytes={','.join(map(str, PAGE_BYTES))}", f"-parallel={self.connections}", f"-pause-s={PAUSE_S:g}",
            f"-start-ns={{ns:{place.start_ms}}}", f"-measure-from-ns={{ns:{place.window_start_ms}}}",
            f"-measure-until-ns={{ns:{place.window_end_ms}}}", f"-end-ns={{ns:{place.end_ms}}}", f"-log={log}",
        )  # fmt: skip

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the connections that the browser opened; their data come from the server."""
        return _flows(name, place, raw)


@dataclass(frozen=True)
class Streaming:
    """HTTP adaptive streaming: a player that chooses the rate of each segment, with a buffer that may run empty."""

    def processes(self, place: Place) -> list[dict[str, Any]]:
        """Return the server and the player."""
        # As with page loads: nothing joins what a rival saw.
        log = "streaming.jsonl" if place.role == "app" else "rival_streaming.txt"
        return _processes(
            place,
            "streaming-play", f"-from={place.home[1]}", f"-server={place.server[1]}:{WEB_PORT}",
            f"-ladder-bps={','.join(map(str, LADDER_BPS))}", f"-segment-s={SEGMENT_S:g}", f"-buffer-s={BUFFER_S:g}",
            f"-start-ns={{ns:{place.start_ms}}}", f"-end-ns={{ns:{place.end_ms}}}",
            f"-log={log}",
        )  # fmt: skip

    def flows(self, name: str, place: Place, raw: Path) -> list[dict[str, Any]]:
        """Return the player's connections; their data come from the server."""
        return _flows(name, place, raw)
