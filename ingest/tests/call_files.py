"""Statistics of a short call in the forms in which WebRTC's are kept: made up, of one video stream received."""

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


def numbered_rtcstats() -> str:
    """Return a dump with file format 3: what did not change is left out, and times are differences."""
    lines = ["RTCStatsDump", json.dumps({"fileFormat": 3}), json.dumps(["create", "PC_0", {}, START_MS])]
    before: dict[str, Any] = {}
    for second, (packets, lost) in enumerate(_VALUES):
        values = {"type": 1, "11": "video", "10": 7, "14": packets, "15": lost}
        changed = {name: value for name, value in values.items() if before.get(name) != value}
        reports = {"0": changed, "t": START_MS + 1000 * second} if changed else {"t": START_MS + 1000 * second}
        lines.append(json.dumps(["g", "PC_0", reports, 1000 if second else 0]))
        before = values
    return "\n".join(lines) + "\n"


def about_webrtc() -> str:
    """Return what Firefox's page about:webrtc copies as the history of reports."""
    reports = [
        {
            "bandwidthEstimations": [],
            "inboundRtpStreamStats": [{**_report(packets, lost), "id": "a", "timestamp": START_MS + 1000 * second}],
            "browserId": 1,
            "closed": False,
            "pcid": "1700000000000000 (id=93 url=https://room.example/)",
            "timestamp": START_MS + 1000 * second,
        }
        for second, (packets, lost) in enumerate(_VALUES)
    ]
    return json.dumps({"reports": reports, "sdpHistories": []}, indent=2)


CALLS = {
    "rtcstats.jsonl": rtcstats,
    "rtcstats_dump.txt": numbered_rtcstats,
    "about_webrtc.json": about_webrtc,
    "get_stats.jsonl": get_stats,
    "webrtc_internals.json": webrtc_internals,
}
"""A function that returns the content, by the name of the file."""
