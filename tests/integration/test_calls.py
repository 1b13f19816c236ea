"""WebRTC statistics beside a run's manifest, and public dumps without one: from the file to the marts."""

from __future__ import annotations

import json
import lzma
import shutil
import statistics
from pathlib import Path

import pytest

from sojourn_transforms.validation_report import Snapshot

from .test_queue_marts import built

pytestmark = pytest.mark.integration

RUN = "1000k_rtt50_codel_cubic_video_appfirst_rep1"
DUMPS = "data/public/jitsi__rtcstats-server/src/test/dumps"
RESULTS = "data/public/jitsi__rtcstats-server/src/test/results"
SECOND_NS = 1_000_000_000
#: Seconds of the window in whose poll a freeze of 200 ms is reported: planted, the sample has no browser.
FROZEN = (10, 11)
FROZEN_MS = 200
POLLS = 13


def write_statistics(folder: Path) -> int:
    """Write polls of each second, and return the time of the first in ns: the window's start."""
    manifest = json.loads((folder / "manifest.json").read_text())
    # Polls are in whole milliseconds; rounded up, so that the first is within the window.
    start = -(-round(manifest["window"]["start_epoch_s"] * 1e9) // 10**6) * 10**6
    rows = []
    frozen_s = 0.0
    for second in range(POLLS):
        frozen_s += FROZEN_MS / 1000 * (second in FROZEN)
        report = {
            "type": "inbound-rtp", "kind": "video", "ssrc": 99, "packetsReceived": 50 * second, "packetsLost": second,
            "bytesReceived": 50_000 * second, "framesDecoded": 25 * second, "frameHeight": 360, "frameWidth": 640,
            "freezeCount": sum(frozen <= second for frozen in FROZEN), "totalFreezesDuration": frozen_s,
        }  # fmt: skip
        rows.append(["getstats", "PC_0", {"I": report}, start // 10**6 + 1000 * second])
    (folder / "rtcstats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    del manifest["files"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return start


def departures(folder: Path, offset: int) -> list[tuple[int, int | None]]:
    """Time (UTC) and queuing delay, None for a drop, of each packet that left the queue."""
    packets = []
    for line in lzma.decompress((folder / "queue_bpftrace.txt.xz").read_bytes()).decode().splitlines():
        fields = line.split()
        if fields[0] in {"D", "X"}:
            packets.append((int(fields[1]) + offset, int(fields[15]) if fields[0] == "D" else None))
    return packets


@pytest.fixture(scope="module")
def calls(sample: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, Path, int]:
    folder = tmp_path_factory.mktemp("calls")
    run = folder / "runs" / RUN
    shutil.copytree(sample / RUN, run)
    start = write_statistics(run)
    return Snapshot(built(folder / "var", folder / "runs", shared / DUMPS)), run, start


def test_figures_by_second_and_stream_are_the_differences_of_the_counters(calls: tuple[Snapshot, Path, int]) -> None:
    snapshot, _, _ = calls
    seconds = snapshot.rows(f"select * from call_second where run_id = '{RUN}' order by second")
    assert [row["second"] for row in seconds] == list(range(1, POLLS))
    assert {(row["packets"], row["rate_bps"], row["frame_rate_hz"]) for row in seconds} == {(50, 400_000.0, 25.0)}
    assert {row["second"]: row["frozen_ms"] for row in seconds if row["freezes"]} == pytest.approx(
        dict.fromkeys(FROZEN, FROZEN_MS)
    )
    (stream,) = snapshot.rows(f"select * from call_stream where run_id = '{RUN}'")
    assert stream["freeze_ratio"] == pytest.approx(2 * FROZEN_MS / (1000 * (POLLS - 1)))
    assert stream["lost_ratio"] == pytest.approx(1 / 51)


def test_queue_before_freezes_and_calm_seconds_is_that_of_the_raw_events(calls: tuple[Snapshot, Path, int]) -> None:
    """Written out: freezes begin at the earliest 200 ms before the poll before; calm seconds keep 5 s away."""
    snapshot, run, start = calls
    offset = json.loads((run / "manifest.json").read_text())["clock"]["mono_to_realtime_offset_ns"]
    packets = departures(run, offset)

    def before(moment: int) -> tuple[float | None, float | None]:
        last = moment // 10**8
        in_span = [delay for time, delay in packets if last - 20 <= time // 10**8 < last]
        delays = [delay for delay in in_span if delay is not None]
        return (
            statistics.fmean(delays) / 1e6 if delays else None,
            in_span.count(None) / len(in_span) if in_span else None,
        )

    onsets = {second: start + (second - 1) * SECOND_NS - FROZEN_MS * 10**6 for second in FROZEN}
    freezes = snapshot.rows(f"select * from call_freeze where run_id = '{RUN}' order by seen_ns")
    assert [row["onset_ns"] for row in freezes] == list(onsets.values())
    for row in freezes:
        assert (row["queuing_delay_before_mean_ms"], row["dropped_before_ratio"]) == pytest.approx(
            before(row["onset_ns"])
        )
    window = json.loads((run / "manifest.json").read_text())["window"]
    calm = [
        moment
        for second in range(1, POLLS)
        if second not in FROZEN
        for moment in [start + (second - 1) * SECOND_NS]
        if moment - 2 * SECOND_NS >= round(window["start_epoch_s"] * 1e9)
        and all(
            moment >= start + frozen * SECOND_NS + 5 * SECOND_NS or moment + SECOND_NS <= onset - 5 * SECOND_NS
            for frozen, onset in onsets.items()
        )
        and before(moment)[0] is not None
    ]
    (row,) = snapshot.rows("select * from run_freeze")
    assert (row["freezes"], row["freezes_compared"], row["calm_seconds"]) == (2, 2, len(calm))
    assert len(calm) > 0
    expected = statistics.fmean(before(onset)[0] for onset in onsets.values())  # type: ignore[type-var]
    of_calm = statistics.fmean(before(moment)[0] for moment in calm)  # type: ignore[type-var]
    assert row["queuing_delay_difference_ms"] == pytest.approx(expected - of_calm)


def test_one_call_cannot_tell(calls: tuple[Snapshot, Path, int]) -> None:
    snapshot, _, _ = calls
    rows = snapshot.rows("select * from configuration_freeze")
    assert {(row["calls_compared"], row["freeze_verdict"], row["interval_null_reason"]) for row in rows} == {
        (1, "cannot tell", "one call")
    }
    assert all(row["difference_median"] is not None for row in rows)


def test_public_dumps_without_a_run_have_figures_and_the_published_freeze_ratio(
    calls: tuple[Snapshot, Path, int],
) -> None:
    snapshot, _, _ = calls
    frozen = {
        row["ssrc"]: round(row["freeze_ratio"], 4)
        for row in snapshot.rows("select ssrc, freeze_ratio from call_stream where freeze_ratio > 0.09")
    }
    assert frozen == {3475661459: 0.0986, 3859036835: 0.0952}
    reasons = {row["queue_null_reason"] for row in snapshot.rows("select * from call_freeze where run_id is null")}
    assert reasons == {"no manifest of a run is beside the statistics"}


def test_loss_of_a_public_stream_is_over_what_was_expected(calls: tuple[Snapshot, Path, int], shared: Path) -> None:
    """The server that collects the dump divides what was lost by what came; RFC 3550 by what was expected."""
    snapshot, _, _ = calls
    (part,) = [
        part
        for part in json.loads((shared / RESULTS / "google-standard-stats-p2p-result.json").read_text())
        if "features" in part
    ]
    tracks = part["features"]["aggregates"]["PC_1"]["tracks"]["receiverTracks"]
    (track,) = [track for track in tracks if track["packetsLost"] > 0]
    assert track["packetsLostPct"] == round(100 * track["packetsLost"] / track["packets"], 2)
    (row,) = snapshot.rows(f"select * from call_stream where direction = 'inbound' and ssrc = {track['ssrc']}")
    assert row["lost_packets"] == track["packetsLost"] == 36
    assert row["lost_ratio"] == pytest.approx(36 / (36 + track["packets"]))
