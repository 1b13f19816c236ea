"""Files that quality tools wrote beside a run's manifest: from the file to the MOS of the run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sojourn_statistics.quality.video import mos_of_psnr, mos_of_ssim
from sojourn_statistics.quality.web import ACCESS_LEAST_MS, mos_of_page_load_time
from sojourn_transforms.validation_report import Snapshot

from .test_queue_marts import built

pytestmark = pytest.mark.integration

RUN = "1000k_rtt50_fq_codel_cubic_video_appfirst_rep1"
SSIM = (0.99, 0.93, 0.96, 0.88)
PSNR_DB = (38.5, 30.0, 41.25)
LOADS_MS = (1300.5, 3800.0)


def write_scores(folder: Path) -> None:
    """Write what ffmpeg, libvmaf and a browser write."""
    lines = [f"n:{n} Y:{ssim} U:1 V:1 All:{ssim:.6f} (10.0)\n" for n, ssim in enumerate(SSIM, 1)]
    (folder / "ssim.log").write_text("".join(lines))
    lines = [f"n:{n} mse_avg:1.0 psnr_avg:{psnr} psnr_y:1.0 \n" for n, psnr in enumerate(PSNR_DB, 1)]
    (folder / "psnr.log").write_text("".join(lines))
    frames = [{"frameNum": n, "metrics": {"vmaf": vmaf}} for n, vmaf in enumerate((80.0, 90.0))]
    (folder / "vmaf.json").write_text(json.dumps({"version": "3.0.0", "frames": frames}))
    pages = [{"id": str(n), "pageTimings": {"onLoad": time}} for n, time in enumerate((*LOADS_MS, -1))]
    (folder / "page_loads.har").write_text(json.dumps({"log": {"version": "1.2", "pages": pages}}))


@pytest.fixture(scope="module")
def snapshot(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("scored")
    shutil.copytree(sample / RUN, folder / "runs" / RUN)
    write_scores(folder / "runs" / RUN)
    return Snapshot(built(folder / "var", folder / "runs"))


def test_frames_become_the_mos_of_their_clip(snapshot: Snapshot) -> None:
    rows = {
        row["qoe_model_id"]: row
        for row in snapshot.rows("select * from run_quality where qoe_model_id in ('ssim-to-mos', 'psnr-to-mos')")
    }
    for model, values, mapping in (("ssim-to-mos", SSIM, mos_of_ssim), ("psnr-to-mos", PSNR_DB, mos_of_psnr)):
        mean = sum(values) / len(values)
        assert rows[model]["score"] == pytest.approx(mean)
        assert rows[model]["mos"] == int(mapping(mean))
        assert (rows[model]["score_basis"], rows[model]["score_null_reason"]) == ("scores", None)


def test_each_page_load_has_its_mos_and_one_without_solo_loads_says_so(snapshot: Snapshot) -> None:
    rows = snapshot.rows("select * from run_quality where qoe_model_id like 'g1030%' order by qoe_model_id, score")
    scores = [row["mos"] for row in rows if row["qoe_model_id"] == "g1030-one-page-access"]
    assert scores == pytest.approx(mos_of_page_load_time(LOADS_MS, ACCESS_LEAST_MS).tolist())
    classes = [row["quality_class"] for row in rows if row["qoe_model_id"] == "g1030-one-page-access"]
    assert classes == ["fair", "bad"]
    own = [row for row in rows if row["qoe_model_id"] == "g1030-one-page-own"]
    assert {(row["mos"], row["score_null_reason"]) for row in own} == {
        (None, "no load of the page without competing traffic")
    }


def test_measured_scores_are_joined_and_counted(snapshot: Snapshot) -> None:
    rows = {row["qoe_metric"]: row for row in snapshot.rows("select * from qoe_join")}
    counts = {name: (row["scores"], row["joined_by_file_scores"]) for name, row in rows.items()}
    assert counts == {"ssim": (4, 4), "psnr_db": (3, 3), "vmaf": (2, 2), "page_load_time_ms": (2, 2)}
    (vmaf,) = snapshot.rows("select * from harm_qoe where qoe_metric = 'vmaf'")
    assert (vmaf["qoe_score"], vmaf["scores"], vmaf["join_basis"]) == (85, 1, "file_of_run")
