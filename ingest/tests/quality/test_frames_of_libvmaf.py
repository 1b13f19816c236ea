"""Frames of libvmaf and ffmpeg in layouts and with values that differ from those of the sample."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from results import read

XML = """<VMAF version="3.0.0">
  <frames>
    <frame frameNum="0" integer_adm2="0.98" psnr_y="40.1" vmaf="95.1" />
    <frame frameNum="1" integer_adm2="0.98" psnr_y="39.0" vmaf="94.2" />
  </frames>
  <pooled_metrics><metric name="vmaf" min="94.2" max="95.1" mean="94.65" /></pooled_metrics>
</VMAF>
"""
OF_XML = [(0, "vmaf", 95.1), (0, "psnr_db", 40.1), (1, "vmaf", 94.2), (1, "psnr_db", 39.0)]


def of_frames(rows: list[dict[str, Any]]) -> list[tuple[int, str, float]]:
    return [(row["frame_number"], row["metric"], row["score"]) for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        XML.replace("\n", ""),
        XML.replace('" ', '"\n       '),
        XML.replace('"', "'"),
        re.sub(r'(frameNum="\d")( .*?) />', r"\2 \1></frame>", XML),
        "\ufeff" + XML.replace("\n", "\r\n"),
        XML.replace("  </frames>", '    <!-- <frame frameNum="2" psnr_y="9" vmaf="9" /> -->\n  </frames>'),
        XML.replace(
            "  </frames>", '<!--\n<frame frameNum="2" vmaf="9" />\n<frame frameNum="3" vmaf="9" />\n--></frames>'
        ),
        XML.replace("  <frames>", "  <!-- a > b <frame - -- > -><frames --><frames>"),
        XML.replace("  <frames>", f"  <!--{'x' * 400_000}<frame frameNum='9' vmaf='9'/>--><frames>"),
        '<?xml version="1.0"?>\n<!-- of the evening -->\n<!-- 1 > 0 -->\n' + XML,
    ],
    ids=(
        "one line",
        "an attribute a line",
        "single quotes",
        "number last",
        "mark and CRLF",
        "a comment",
        "frames in a comment",
        "signs in a comment",
        "a long comment",
        "comments ahead",
    ),
)
def test_xml_of_libvmaf_gives_the_same_however_it_is_laid_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vmaf.xml"
    path.write_text(text)
    _, tables, reading = read(path)
    assert (of_frames(tables["tool_score"]), reading.refused) == (OF_XML, {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.xml", XML.replace('"95.1" />', '"nan" />')),
        ("a.csv", "Frame,psnr_y,vmaf,\n0,40.1,nan,\n1,39.0,94.2,\n"),
        ("a.json", json.dumps({"frames": [
            {"frameNum": 0, "metrics": {"vmaf": math.nan, "psnr_y": 40.1}},
            {"frameNum": 1, "metrics": {"vmaf": 94.2, "psnr_y": 39.0}},
        ]})),
    ],
)  # fmt: skip
def test_a_score_of_libvmaf_that_is_none_costs_itself_alone(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    _, tables, reading = read(path)
    assert (of_frames(tables["tool_score"]), reading.refused) == (
        OF_XML[1:],
        {"score: vmaf lies outside its scale": 1},
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ssim.log", "n:1 Y:0.9 All:0.91 (10.0)\nn:2 Y:0.9 All:0.92 (10.0)\n" * 2),
        ("vmaf.xml", XML + XML),
        (
            "vmaf.json",
            json.dumps({"frames": [{"frameNum": number, "metrics": {"vmaf": 9}} for number in (0, 5, 5, 0)]}),
        ),
    ],
)
def test_frames_of_another_clip_behind_the_first_are_refused_and_counted(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    _, tables, reading = read(path)
    numbers = [row["frame_number"] for row in tables["tool_score"]]
    assert sorted(set(numbers)) == list(dict.fromkeys(numbers))
    reason = "frame: its number does not follow the last one; put each clip into a separate file"
    assert (reading.records_read, reading.refused) == (2, {reason: 2})


def test_the_header_of_the_second_version_of_psnr_is_no_frame(tmp_path: Path) -> None:
    path = tmp_path / "psnr.log"
    path.write_text("psnr_log_version:2 fields:n,mse_avg,psnr_avg\nn:1 mse_avg:1.00 psnr_avg:48.13 \n")
    _, tables, reading = read(path)
    assert (of_frames(tables["tool_score"]), reading.refused) == ([(1, "psnr_db", 48.13)], {})
