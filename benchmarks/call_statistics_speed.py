"""Dumps of rtcstats: CPU time and memory of an ingest by size, over a generated call, labelled synthetic.

A line has what browsers send at a poll: the counters of each stream that have changed, and reports that are not of
streams. Peer connections follow one another, as in a long conference in which people come and go, so that a file of any
size has streams that begin and end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from raw_results import Results

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
START_MS = 1_700_000_000_000
STREAMS = 12
POLLS_OF_A_CONNECTION = 1_800


def poll(random_: random.Random, number: int) -> dict[str, Any]:
    """Return what a poll reports: counters that grow, of streams and of transport and candidates."""
    reports: dict[str, Any] = {}
    for stream in range(STREAMS):
        frames = 25 * number
        report: dict[str, Any] = {
            "packetsReceived": 60 * number + random_.randrange(10),
            "bytesReceived": 60_000 * number + random_.randrange(1_000),
            "headerBytesReceived": 1_800 * number,
            "lastPacketReceivedTimestamp": 12_345_678.9 + 1_000 * number,
            "jitter": round(random_.random() / 50, 3),
            "framesDecoded": frames,
            "framesReceived": frames + 1,
            "totalDecodeTime": round(0.08 * number + random_.random() / 100, 3),
            "totalInterFrameDelay": round(number + random_.random() / 100, 3),
            "totalSquaredInterFrameDelay": round(0.05 * number, 6),
            "jitterBufferDelay": round(1.5 * number, 3),
            "jitterBufferEmittedCount": frames,
            "qpSum": 700 * number,
            "timestamp": 0,
        }
        if number == 1:
            report |= {"type": "inbound-rtp", "kind": "video", "mediaType": "video", "ssrc": 1_000 + stream}
        reports[f"RTCInboundRTPVideoStream_{1_000 + stream}"] = report
    reports["RTCTransport_0_1"] = {"bytesSent": 9_000 * number, "bytesReceived": 700_000 * number, "timestamp": 0}
    reports["RTCIceCandidatePair_a_b"] = {"totalRoundTripTime": 0.05 * number, "responsesReceived": number}
    reports["timestamp"] = START_MS + 1_000 * number
    return reports


def write(path: Path, size_bytes: int) -> int:
    """Write a dump of a size, and return its polls."""
    random_ = random.Random(1)
    written, polls = 0, 0
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(["connectionInfo", None, {"statsFormat": "chrome_standard"}, START_MS]) + "\n")
        while written < size_bytes:
            connection, number = divmod(polls, POLLS_OF_A_CONNECTION)
            row = ["getstats", f"PC_{connection}", poll(random_, number + 1), START_MS + 1_000 * polls]
            written += file.write(json.dumps(row, separators=(",", ":")) + "\n")
            polls += 1
    return polls


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder for generated files; emptied first")
    parser.add_argument("--megabytes", type=int, default=1_000, help="size of the largest dump")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    results = Results("call-statistics")
    table = results.table(
        f"Dumps of rtcstats, {STREAMS} streams per poll, polled every second",
        {"MB": ",.0f", "polls": ",d", "rows": ",d", "CPU s": ".1f", "MB per CPU s": ".1f", "peak MiB": ",.0f"},
    )
    for megabytes in sorted({max(1, arguments.megabytes // 5), arguments.megabytes}):
        dump, var = folder / "rtcstats.jsonl", folder / "var"
        polls = write(dump, megabytes * 1_000_000)
        size = dump.stat().st_size
        process = subprocess.Popen(
            [SOJOURN, "ingest", str(dump), "--var", str(var)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"sojourn ingest ended with {process.returncode}")
        cpu_s = used.ru_utime + used.ru_stime
        table.row(size / 1e6, polls, polls * STREAMS, cpu_s, size / 1e6 / cpu_s, used.ru_maxrss / 1024)
        shutil.rmtree(var)
        dump.unlink()
    results.note(f"Load of {os.cpu_count()} cores at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
