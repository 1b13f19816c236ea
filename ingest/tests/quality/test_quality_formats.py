"""Files of quality tools become scores of frames and page loads; what is damaged or off its scale is counted."""

from __future__ import annotations

import gzip
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ingested_files import ingested_as, rows_of
from quality_files import CSV, HAR, JSON, LIGHTHOUSE, PAGE_LOADS, PSNR, SSIM, XML

from sojourn_ingest.formats.quality.wget_log import wall_clock_ms
from sojourn_ingest.lake import Lake

RECORDED = Path(__file__).parent.parent / "golden/page_loads"


ingested = partial(ingested_as, "tool_score")


def values(scores: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["metric"], row["item"], row["frame_number"], row["score"]) for row in scores]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_stats_files_of_ffmpeg(tmp_path: Path, compress: Any) -> None:
    scores, outcome = ingested(tmp_path, compress(SSIM.encode()))
    assert values(scores) == [("ssim", "clip/0", 1, 0.9783), ("ssim", "clip/0", 2, 1.0)]
    assert (outcome["status"], outcome["format"], outcome["records_read"]) == ("ok", "ffmpeg_frame_log", 2)


def test_an_infinite_psnr_is_that_of_libvmaf(tmp_path: Path) -> None:
    scores, _ = ingested(tmp_path, PSNR.encode())
    assert values(scores) == [("psnr_db", "clip/0", 1, 38.17), ("psnr_db", "clip/0", 2, 60.0)]
    assert [row["score_number"] for row in scores] == [0, 1]


def test_a_psnr_that_no_two_frames_have_is_refused(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, PSNR.replace("psnr_avg:38.17", "psnr_avg:1e15").encode())
    assert values(scores) == [("psnr_db", "clip/0", 2, 60.0)]
    assert json.loads(outcome["refused_by_reason"]) == {"frame: psnr_db lies outside its scale": 1}


@pytest.mark.parametrize(("text", "has_ssim"), [(XML, True), (CSV, False), (JSON, False)])
def test_libvmaf_gives_the_same_in_each_form(tmp_path: Path, text: str, has_ssim: bool) -> None:
    scores, outcome = ingested(tmp_path, text.encode())
    score_rows = values(scores)
    assert [row for row in score_rows if row[0] == "vmaf"] == [
        ("vmaf", "clip/0", 0, 83.856286),
        ("vmaf", "clip/0", 1, 74.2),
    ]
    assert [row[3] for row in score_rows if row[0] == "psnr_db"] == [34.76, 31.88]
    assert [row[3] for row in score_rows if row[0] == "ssim"] == ([0.951, 0.934] if has_ssim else [])
    assert outcome["records_read"] == 2


def test_public_result_of_ffmpeg_quality_metrics(tmp_path: Path, shared: Path) -> None:
    path = shared / "data/public/slhck__ffmpeg-quality-metrics/tests/example.json"
    content = path.read_bytes()
    scores, outcome = ingested(tmp_path, content)
    stated = json.loads(content)
    assert [row["score"] for row in scores if row["metric"] == "vmaf"] == [frame["vmaf"] for frame in stated["vmaf"]]
    mean = sum(row["score"] for row in scores if row["metric"] == "vmaf") / len(stated["vmaf"])
    assert round(mean, 3) == stated["global"]["vmaf"]["vmaf"]["average"]
    assert outcome["status"] == "ok"
    assert "dist-854x480" not in json.dumps(scores)


def test_har_gives_loads_without_names_of_pages(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, HAR.encode())
    assert values(scores) == [("page_load_time_ms", "load/0", None, 1300.5)]
    assert json.loads(outcome["refused_by_reason"]) == {
        "page: the page did not load (its time is not positive)": 1,
        "page: no load time": 1,
    }
    assert "someone.example" not in json.dumps(scores)


def test_curl_and_navigation_timing_by_line(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, PAGE_LOADS.encode())
    assert values(scores) == [
        ("page_load_time_ms", "load/0", None, 1250.0), ("page_load_time_ms", "load/3", None, 812.5)
    ]  # fmt: skip
    assert outcome["records_read"] == 2


def test_navigation_entries_as_pages_print_them(tmp_path: Path) -> None:
    """An array with the one entry, the older object that counts from 1970, and numbers that are no load times."""
    lines = [
        '[{"name":"https://someone.example/","entryType":"navigation","startTime":0,"loadEventEnd":812.5}]',
        '{"navigationStart":1700000000000,"loadEventStart":1700000000790,"loadEventEnd":1700000000800}',
        '{"connectStart":1700000000000,"loadEventEnd":1700000000800}',
        '{"startTime":0,"loadEventEnd":"soon"}',
        '[{"loadEventEnd":1},{"loadEventEnd":2}]',
    ]
    scores, outcome = ingested(tmp_path, "\n".join(lines).encode())
    assert values(scores) == [
        ("page_load_time_ms", "load/0", None, 812.5), ("page_load_time_ms", "load/1", None, 800.0)
    ]  # fmt: skip
    assert json.loads(outcome["refused_by_reason"]) == {
        "load: longer than a day: not a load time": 1,
        "load: no load time": 1,
        "load: the line is not one object": 1,
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("codel.har", HAR),
        ("codel.json", LIGHTHOUSE),
        ("page_loads.txt", "0.8\n1.5\n"),
        ("codel.log", (RECORDED / "wget.log").read_text()),
    ],
)
def test_page_loads_alone_are_a_run_of_their_folder_and_beside_a_manifest_they_are_its(
    tmp_path: Path, name: str, content: str
) -> None:
    scores, _ = ingested(tmp_path, content.encode(), name)
    lake = Lake(tmp_path / "lake")
    (run,) = rows_of(lake, "run")
    assert (run["study_id"], run["workload"], run["application"], run["start_order"]) == (
        "in", "page_load", "web", "solo",
    )  # fmt: skip
    assert run["aqm"] == ("codel" if name.startswith("codel") else "unknown")
    (bound,) = rows_of(lake, "run_source")
    assert (bound["run_id"], bound["measurement"]) == (run["run_id"], "page_loads")
    assert {row["source_hash"] for row in scores} == {bound["measurement_hash"]}
    other = tmp_path / "other"
    (other / "in").mkdir(parents=True)
    (other / "in" / "manifest.json").write_text("{}")
    assert ingested(other, content.encode(), name)[0]
    assert not list(Lake(other / "lake").files("run"))


def test_page_loads_of_which_none_came_to_an_end_are_no_run(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, b"-1\n0\n", "page_loads.txt")
    assert (scores, outcome["records_refused"]) == ([], 2)
    assert not list(Lake(tmp_path / "lake").files("run"))


def test_lighthouse_gives_the_observed_load_without_names_of_pages(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, LIGHTHOUSE.encode())
    assert values(scores) == [("page_load_time_ms", "load/0", None, 1158.0)]
    assert (outcome["status"], outcome["format"]) == ("ok", "lighthouse")
    assert "someone.example" not in json.dumps(scores, default=str)


def test_steps_of_a_flow_of_lighthouse_that_are_no_loads_are_refused(tmp_path: Path) -> None:
    def result(**values: Any) -> dict[str, Any]:
        return {"lhr": {"lighthouseVersion": "12.2.1", "gatherMode": "navigation", **values}}

    def observed(time: Any) -> dict[str, Any]:
        return {"metrics": {"details": {"items": [{"observedLoad": time}]}}}

    steps = [
        result(audits=observed(812.5)),
        result(audits=observed(0)),
        result(audits=observed(900), runtimeError={"code": "NO_FCP"}),
        result(audits=observed(900), gatherMode="timespan"),
        result(audits={"metrics": {"details": {"items": []}}}),
        "a step",
        result(audits=observed(1000), runtimeError={"code": "NO_ERROR"}),
    ]
    scores, outcome = ingested(tmp_path, json.dumps({"steps": steps, "name": "someone's flow"}).encode())
    assert values(scores) == [
        ("page_load_time_ms", "load/0", None, 812.5), ("page_load_time_ms", "load/6", None, 1000.0)
    ]  # fmt: skip
    assert json.loads(outcome["refused_by_reason"]) == {
        "load: the page did not load (its time is not positive)": 1,
        "load: the page did not load (Lighthouse's error)": 1,
        "load: the step is not a page load": 1,
        "load: no load time": 1,
        "load: the step has no result": 1,
    }


def test_numbers_of_curl_by_line(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, b"1.250000\n-0.5\n0,812500\n0.000000\nnone\n2.", "page_loads.txt")
    assert values(scores) == [
        ("page_load_time_ms", "load/0", None, 1250.0), ("page_load_time_ms", "load/2", None, 812.5)
    ]  # fmt: skip
    assert json.loads(outcome["refused_by_reason"]) == {
        "load: the page did not load (its time is not positive)": 2,
        "load: the line is not a whole number of seconds with its fraction": 2,
    }


def test_numbers_under_another_name_are_not_taken_for_page_loads(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, b"1.25\n", "numbers.txt")
    assert (scores, outcome["reason"]) == ([], "unrecognised_format")


def test_log_of_wget_as_it_wrote_it(tmp_path: Path) -> None:
    content = (RECORDED / "wget.log").read_bytes()
    scores, outcome = ingested(tmp_path, content, "page_loads.log")
    stated = [float(time) * 1000 for time in re.findall(rb"Total wall clock time: ([0-9.]+)s", content)]
    loads = [load for load in json.loads((RECORDED / "loads.json").read_text()) if load["tool"] == "wget"]
    missing = [number for number, load in enumerate(loads) if "not there" in load["what"]]
    numbers = [number for number in range(len(loads)) if number not in missing]
    assert values(scores) == [
        ("page_load_time_ms", f"load/{number}", None, pytest.approx(time))
        for number, time in zip(numbers, stated, strict=True)
    ]
    assert json.loads(outcome["refused_by_reason"]) == {"load: the page did not load (wget's error)": len(missing)}
    assert (outcome["format"], outcome["status"]) == ("wget_log", "ok")
    assert "127.0.0.1" not in json.dumps(scores)
    # The tool writes one digit below a second; its process began a little before and ended a little later.
    for number, row in zip(numbers, scores, strict=True):
        assert row["score"] == pytest.approx(loads[number]["process_ms"], abs=100)


@pytest.mark.parametrize(
    ("written", "time_ms"),
    [(b"0.02s", 20), (b"12s", 12_000), (b"1m 5s", 65_000), (b"2h 3m", 7_380_000), (b"1d 2h 0m", 93_600_000)],
)
def test_times_as_wget_writes_them(written: bytes, time_ms: float) -> None:
    assert wall_clock_ms(written) == pytest.approx(time_ms)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("loads.jsonl", '{{"time_total": 1.5}}\n{{"time_total": {}}}\n'),
        ("loads.jsonl", '{{"time_total": 1.5, "loadEventEnd": 1}}\n{{"loadEventEnd": {}, "startTime": 0}}\n'),
        ("frames.csv", "Frame,vmaf,\n{},95.1,\n"),
    ],
    ids=["curl", "browser", "frame"],
)
def test_a_number_that_no_type_holds_is_refused_and_counted(tmp_path: Path, name: str, line: str, digits: int) -> None:
    _, outcome = ingested(tmp_path, line.format("9" * digits).encode(), name)
    assert outcome["reason"] in (None, "no_measurement")
    (reason,) = json.loads(outcome["refused_by_reason"])
    words = ("load: no load time", "load: the line is not JSON", "frame: the line has another form than the header")
    assert reason in words


@pytest.mark.parametrize("written", [b"0s", b"", b"-1s", b"soon"])
def test_a_time_of_wget_that_is_none_is_refused(written: bytes) -> None:
    with pytest.raises(ValueError, match="wall clock"):
        wall_clock_ms(written)


REQUEST = "--2026-11-22 22:00:52--  http://a.example/\n"
NOT_FOUND = "HTTP request sent, awaiting response... 404 Not Found\n2026-11-22 22:00:52 ERROR 404: Not Found.\n\n"
LOADED = (
    "Saving to: 'x'\nFINISHED --2026-11-22 22:00:53--\nTotal wall clock time: 1.5s\nDownloaded: 1 files, 1K in 0s\n"
)


@pytest.mark.parametrize(
    ("log", "loads", "refused"),
    [
        (REQUEST + NOT_FOUND + REQUEST + LOADED, [("load/1", 1500.0)], 1),
        (REQUEST + LOADED + REQUEST + NOT_FOUND, [("load/0", 1500.0)], 1),
        (REQUEST + LOADED + REQUEST + "Saving to: 'x'\n", [("load/0", 1500.0)], 1),
        # The second address of a host answers, and the page moves: both are of one load.
        (
            REQUEST + "Connecting to a|::1|:80... failed: Connection refused.\nConnecting to a:80... connected.\n"
            "HTTP request sent, awaiting response... 302 Found\n" + REQUEST + LOADED,
            [("load/0", 1500.0)],
            0,
        ),
        # The second attempt of one request.
        (
            REQUEST + "Read error at byte 0/15000. Retrying.\n\n"
            "--2026-11-22 22:00:53--  (try: 2)  http://a.example/\n" + LOADED,
            [("load/0", 1500.0)],
            0,
        ),
        (REQUEST + LOADED.replace("1 files", "0 files") + REQUEST + LOADED, [("load/1", 1500.0)], 1),
        # More digits than Python converts, and than a double has.
        (REQUEST + LOADED.replace("1 files", f"{'9' * 5000} files"), [("load/0", 1500.0)], 0),
        (REQUEST + LOADED.replace("1.5s", f"{'9' * 5000}s") + REQUEST + LOADED, [("load/1", 1500.0)], 1),
        (REQUEST + LOADED.replace("1.5s", "2d 1h 0m") + REQUEST + LOADED, [("load/1", 1500.0)], 1),
    ],
)
def test_loads_of_wget_that_failed_are_told_apart(
    tmp_path: Path, log: str, loads: list[tuple[str, float]], refused: int
) -> None:
    scores, outcome = ingested(tmp_path, log.encode(), "page_loads.log")
    assert [(row["item"], row["score"]) for row in scores] == loads
    assert outcome["records_refused"] == refused


def test_log_of_wget_without_a_total_is_rejected(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, (REQUEST + "Saving to: 'x'\n").encode(), "page_loads.log")
    assert (scores, outcome["status"], outcome["reason"]) == ([], "rejected", "no_measurement")
    assert "wget -p" in outcome["message"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (HAR[: len(HAR) // 2], "corrupt_record"),
        ('{"log": {"version": "1.2", "pages": []}}', "no_measurement"),
        (LIGHTHOUSE[: len(LIGHTHOUSE) // 2], "corrupt_record"),
        (JSON[: len(JSON) // 2], "corrupt_record"),
        ("n:1 Y:2 All:2.5 (x)\n", "no_measurement"),
    ],
)
def test_what_holds_no_score_is_rejected_with_a_reason(tmp_path: Path, content: str, reason: str) -> None:
    scores, outcome = ingested(tmp_path, content.encode())
    assert scores == []
    assert (outcome["status"], outcome["reason"]) == ("rejected", reason)


def test_a_cut_line_and_a_score_off_its_scale_are_refused_and_counted(tmp_path: Path) -> None:
    scores, outcome = ingested(tmp_path, (SSIM + "n:3 Y:0.9 U:0.9 V:0.9 All:1.5 (x)\nn:4 Y:0.9 All:0.9").encode())
    assert len(scores) == 2
    assert "outside its scale" in str(outcome["refused_by_reason"])
    assert "not a whole frame" in str(outcome["refused_by_reason"])


def test_damage_to_the_compressed_stream_keeps_what_came_before(tmp_path: Path) -> None:
    content = gzip.compress("".join(f"n:{n} Y:0.9 All:0.9{n % 10} (x)\n" for n in range(1, 40_000)).encode())
    scores, outcome = ingested(tmp_path, content[: len(content) // 2])
    assert outcome["status"] == "partial"
    assert 0 < len(scores) < 40_000
