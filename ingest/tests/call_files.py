"""Statistics of a short call in the three forms in which WebRTC's are kept: made up, of one video stream received."""

from __future__ import annotations

import json
from typing import Any

START_MS = 1_700_000_000_000
_VALUES = [(10, 0), (30, 1), (30, 1), (60, 2)]


def _report(packets: int, lost: int) -> dict[str, Any]:
    return {"type": "inbound-rtp", "kind": "video", "ssrc": 7, "packetsReceived": packets, "packetsLost": lost}


def rtcstats() -> str:
    """Return a dump of rtcstats, a line a poll; values that did not change are left out."""
    rows: list[list[Any]] = [["connectionInfo", None, {"path": "/room"}, START_MS]]
    for second, (packets, lost) in enumerate(_VALUES):
        rows.append(["getstats", "PC_0", {"a": _report(packets, lost)}, START_MS + 1000 * second])
    return "".join(json.dumps(row) + "\n" for row in rows)


def get_stats() -> str:
    """Return reports of getStats, a line a poll."""
    return "".join(
        json.dumps({"a": {**_report(packets, lost), "id": "a", "timestamp": START_MS + 1000 * second}}) + "\n"
        for second, (packets, lost) in enumerate(_VALUES)
    )


def webrtc_internals() -> str:
    """Return what Chrome's page chrome://webrtc-internals saves: a series for each value."""
    span = {"statsType": "inbound-rtp", "startTime": "2023-11-14T22:13:20Z", "endTime": "2023-11-14T22:13:23Z"}
    series = {
        "a-ssrc": [7] * len(_VALUES),
        "a-kind": ["video"] * len(_VALUES),
        "a-packetsReceived": [packets for packets, _ in _VALUES],
        "a-packetsLost": [lost for _, lost in _VALUES],
    }
    stats = {name: {**span, "values": json.dumps(values)} for name, values in series.items()}
    return json.dumps({"getUserMedia": [], "PeerConnections": {"7-1": {"stats": stats}}})


CALLS = {
    "rtcstats.jsonl": rtcstats,
    "get_stats.jsonl": get_stats,
    "webrtc_internals.json": webrtc_internals,
}
"""A function that returns the content, by the name of the file."""
