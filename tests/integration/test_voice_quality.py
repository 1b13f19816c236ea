"""Voice quality of the bundled sample: against plain code on the raw events of each run's queue log."""

from __future__ import annotations

import json
import lzma
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from .conftest import Service, log_to_utc_ns

pytestmark = pytest.mark.integration

MODEL = "g107-network"
SECOND_NS = 1_000_000_000
BUFFER_NS = 60_000_000


def swapped(number: str, size: int) -> int:
    """The probe prints bytes of the network as a number of the machine."""
    return int.from_bytes(int(number).to_bytes(size, "little"), "big")


def sent_packets(folder: Path) -> tuple[dict[str, Any], list[tuple[int, int | None]]]:
    """Time in the window and queuing delay (None: dropped) of the application's packets, in the order of sending."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (flow,) = [flow for flow in manifest["flows"] if flow["role"] == "app"]
    start = round(manifest["window"]["start_epoch_s"] * 1e9)
    end = round(manifest["window"]["end_epoch_s"] * 1e9)
    queued: dict[str, int] = {}
    packets: list[tuple[int, int | None]] = []
    lines = lzma.decompress((folder / "queue_bpftrace.txt.xz").read_bytes()).decode().splitlines()
    # Frames are sent on whole seconds, so that a microsecond decides what is in the window.
    offset = log_to_utc_ns(lines)
    for line in lines:
        fields = line.split()
        if fields[0] not in {"E", "D", "X"} or fields[8] != "17":
            continue
        kind, time, buffer = fields[0], int(fields[1]) + offset, fields[2]
        if (fields[9], swapped(fields[10], 2)) != (flow["src"], flow["sport"]):
            continue
        first, second = divmod(swapped(fields[14], 4) >> 16, 256)
        assert (first, second % 128) == (128, flow["rtp_payload_type"]), (
            "the sample's application sends nothing but RTP"
        )
        if kind == "E":
            queued[buffer] = time
        else:
            came = queued.pop(buffer, time if kind == "X" else None)
            assert came is not None, "the sample's logs see every enqueue"
            if start <= came < end:
                # The probe measures the time in the queue itself.
                packets.append((came - start, int(fields[15]) if kind == "D" else None))
    return manifest, sorted(packets)


def mos_of(packets: list[tuple[int, int | None]], base_ms: float) -> dict[str, float]:
    """The E-model, written out."""
    least: dict[int, int] = {}
    for came, delay in packets:
        if delay is not None:
            least[came // SECOND_NS] = min(delay, least.get(came // SECOND_NS, delay))
    played = [
        delay if delay is not None and delay <= least[came // SECOND_NS] + BUFFER_NS else None
        for came, delay in packets
    ]
    lost = sum(delay is None for _, delay in packets)
    unplayed = sum(delay is None for delay in played)
    runs = sum(delay is None and (at == 0 or played[at - 1] is not None) for at, delay in enumerate(played))
    ppl = 100 * unplayed / len(packets)
    burst = max(1.0, unplayed / runs * (1 - ppl / 100)) if runs else 1.0
    ta = base_ms + statistics.fmean(delay for delay in played if delay is not None) / 1e6
    idd = 0.0
    if ta > 100:
        x = math.log2(ta / 100)
        idd = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    r = 93.2 - idd - 95 * ppl / (ppl / burst + 25.1)
    mos = 1.0 if r <= 0 else max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
    return {
        "packets": len(packets), "lost_packets": lost, "discarded_packets": unplayed - lost, "loss_runs": runs,
        "burst_ratio": burst, "one_way_delay_ms": ta, "transmission_rating": r, "mos": mos,
    }  # fmt: skip


def runs_with_rtp(sample: Path) -> list[Path]:
    return [path for path in sorted(sample.iterdir()) if "_video_" in path.name]


def test_each_run_of_the_sample_has_the_mos_of_its_raw_events(service: Service, sample: Path) -> None:
    served = {str(row["run_id"]): row for row in service.rows("run_voice_quality", qoe_model_id=MODEL)}
    folders = runs_with_rtp(sample)
    assert len(folders) == 63
    assert set(served) == {folder.name for folder in folders}
    for folder in folders:
        manifest, packets = sent_packets(folder)
        expected = mos_of(packets, manifest["rtt_ms"] / 2)
        row = served[folder.name]
        assert row["score_null_reason"] is None
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, rel=1e-9), (folder.name, name)


def test_ten_seconds_have_theirs_and_the_worst_ones_show(service: Service, sample: Path) -> None:
    served = {
        (row["run_id"], row["interval_number"]): row
        for row in service.rows("run_voice_quality_interval", qoe_model_id=MODEL)
    }
    whole = {str(row["run_id"]): row for row in service.rows("run_voice_quality", qoe_model_id=MODEL)}
    # The sample's window is ten seconds, so a run has one interval.
    assert len(served) == 63
    for folder in runs_with_rtp(sample):
        manifest, packets = sent_packets(folder)
        row = served[folder.name, 0]
        for name, value in mos_of(packets, manifest["rtt_ms"] / 2).items():
            assert row[name] == pytest.approx(value, rel=1e-9), (folder.name, name)
        assert whole[folder.name]["worst_interval_mos"] == row["mos"]


def test_sample_answers_whether_anyone_notices_by_queue_discipline(service: Service) -> None:
    """FQ-CoDel keeps a call as it is alone, CoDel drops from it, and a long tail-drop queue delays it beyond use."""
    rows = {
        (row["queue_label"], row["congestion_control"]): row
        for row in service.rows("configuration_quality", qoe_model_id=MODEL, study_id="sojourn-sample")
    }
    for control in ("cubic", "bbr"):
        mos = {
            label: float(str(rows[label, control]["mos_median"]))
            for label in ("FQ-CoDel", "CoDel", "tail-drop 2 BDP", "tail-drop 10 BDP")
        }
        assert mos["FQ-CoDel"] > 4.4
        assert mos["tail-drop 10 BDP"] < 2.5 < min(mos["CoDel"], mos["tail-drop 2 BDP"])
        assert max(mos["CoDel"], mos["tail-drop 2 BDP"]) < mos["FQ-CoDel"]
    for row in rows.values():
        assert (row["runs"], row["interval_null_reason"]) == (7, None)
        assert float(str(row["run_mos_lower"])) <= float(str(row["mos_median"])) <= float(str(row["run_mos_upper"]))
        assert row["queuing_delay_median_ms"] is not None
    assert rows["tail-drop 10 BDP", "cubic"]["harm_median_ratio"] is not None


def test_share_of_classes_adds_up_and_names_colours(service: Service) -> None:
    rows = service.rows("configuration_quality_class", qoe_model_id=MODEL)
    for configuration in {row["configuration_id"] for row in rows}:
        of_one = [row for row in rows if row["configuration_id"] == configuration]
        assert sorted(int(str(row["class_number"])) for row in of_one) == [1, 2, 3, 4, 5, 6]
        assert sum(int(str(row["items_in_class"])) for row in of_one) == of_one[0]["items"]
