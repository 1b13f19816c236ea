"""Runs with the axes of three studies, small and synthetic, or measured under an invented description.

None of them says anything about a study: they hold that a figure draws what its rows are, whatever they are.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from .competition_runs import describe, describe_anew, write_run

BUFFERS = "synthetic-buffers"
COMPETITION = "synthetic-competition"
STEPS = "synthetic-steps"

MEASURED = {
    8: (
        "base taildrop-2bdp_bbr_none_solo", "gcc taildrop-2bdp_cubic_webrtc-gcc_tcpfirst",
        "cbr codel-2bdp_cubic_rtp-cbr_appfirst", "cbr codel-2bdp_bbr_rtp-cbr_appfirst",
    ),
    64: (
        "base taildrop-2bdp_cubic_none_solo", "cbr taildrop-2bdp_bbr_rtp-cbr_appfirst",
        "cbr taildrop-10bdp_bbr_rtp-cbr_appfirst", "cbr taildrop-2bdp_cubic_rtp-cbr_appfirst",
    ),
    256: (
        "base taildrop-2bdp_none_webrtc-gcc_solo", "cbr taildrop-2bdp_cubic_rtp-cbr_tcpfirst",
        "cbr taildrop-10bdp_cubic_rtp-cbr_appfirst", "cbr taildrop-10bdp_cubic_rtp-cbr_tcpfirst",
    ),
}  # fmt: skip
"""Measured runs at 1 Mbit/s by the buffer, in packets, that their new description says, in the order of LINES."""
LINES = (
    ("downlink", "noBG", "none"),
    ("uplink", "noBG", "none"),
    ("downlink", "long-many", "both"),
    ("uplink", "long-many", "both"),
)
"""Direction, workload and congested direction of each line of the heat maps."""

RATE_STEPS = {
    "name": "rate-and-rtt-steps",
    "steps": [
        {"at_s": 0, "bandwidth_bps": 1_000_000, "rtt_ms": 50},
        {"at_s": 20, "bandwidth_bps": 500_000, "rtt_ms": 50},
        {"at_s": 40, "bandwidth_bps": 1_000_000, "rtt_ms": 50},
        {"at_s": 60, "bandwidth_bps": 1_000_000, "rtt_ms": 150},
    ],
}
DISRUPTION = {
    "name": "disruption",
    "steps": [
        {"at_s": 0, "bandwidth_bps": 2_000_000},
        {"at_s": 60, "bandwidth_bps": 500_000},
        {"at_s": 90, "bandwidth_bps": 2_000_000},
    ],
}


def write_studies(runs: Path, testbed: Path) -> None:
    """Write runs of all three below ``runs``; ``testbed`` has the measured ones."""
    _buffers(runs / "buffers", testbed)
    _competition(runs / "competition")
    _steps(runs / "steps")


def _buffers(runs: Path, testbed: Path) -> None:
    describe(runs, BUFFERS)
    for packets, names in MEASURED.items():
        for name, line in zip(names, LINES, strict=True):
            head, tail = name.split()
            change = partial(_as_background, packets, *line)
            describe_anew(testbed / f"{head}_dn_bw1000_rtt50_{tail}_rep1", runs, change)


def _as_background(packets: int, direction: str, workload: str, congested: str, manifest: dict[str, Any]) -> None:
    """Say of a measured run that it is of a buffer, a direction and a workload of IMC'14's access testbed."""
    manifest |= {"study": BUFFERS, "direction": direction, "workload": workload, "testbed": "access"}
    manifest |= {"congested_direction": congested, "cc": None, "app": "bulk", "order": "solo"}
    manifest["queue"] = {"discipline": "pfifo", "size_packets": packets}
    # One role: the background is what the figure is of.
    manifest["flows"] = [flow for flow in manifest["flows"] if flow["role"] in ("app", "tcp")][:1]
    manifest["flows"][0]["role"] = "app"


def _competition(runs: Path) -> None:
    describe(runs, COMPETITION)
    alone, together, after = [50] * 30, 120, [50] * 60
    for rate_bps, packets in ((500_000, 50), (1_000_000, 100), (2_000_000, 200)):
        for incumbent, rival, share in (("zoom", "meet", 0.75), ("meet", "zoom", 0.3), ("meet", "meet", 0.5)):
            mine = round(packets * share)
            write_run(
                runs,
                {
                    "app": alone + [mine] * together + after,
                    "rival": [0] * 30 + [packets - mine] * together + [0] * 60,
                },
                study=COMPETITION, run_id=f"{incumbent}-{rival}-{rate_bps}", app=incumbent, rival=rival,
                order="app_first", bandwidth_bps=rate_bps,
            )  # fmt: skip


def _steps(runs: Path) -> None:
    describe(runs, STEPS, programmes=[RATE_STEPS, DISRUPTION])
    stepped = [100] * 22 + [50] * 18 + [90] * 5 + [100] * 17 + [60] * 4 + [110] * 14
    disrupted = [200] * 60 + [40] * 30 + [80] * 12 + [200] * 78
    for name, programme, seconds in (("stepped", RATE_STEPS, stepped), ("disrupted", DISRUPTION, disrupted)):
        for repetition in (1, 2):
            write_run(
                runs, {"app": [count + repetition for count in seconds]}, study=STEPS, run_id=f"{name}-{repetition}",
                app="zoom", order="solo", bandwidth_programme=programme["name"], bandwidth_bps=None,
                repetition=repetition, before=True,
            )  # fmt: skip
