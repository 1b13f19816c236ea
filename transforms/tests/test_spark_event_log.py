"""What Spark's event log says is added up by stage, and a log that is not one is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from infra.spark import event_log

STAGE = {"Stage ID": 3, "Stage Name": "parquet at x:0"}


def task(run_ms: int, read: int, ended: str = "Success", speculative: bool = False) -> dict[str, Any]:
    metrics = {
        "Executor Run Time": run_ms,
        "Executor CPU Time": run_ms * 500_000,
        "JVM GC Time": 10,
        "Peak Execution Memory": read,
        "Memory Bytes Spilled": 0,
        "Disk Bytes Spilled": 7,
        "Input Metrics": {"Bytes Read": read},
        "Shuffle Read Metrics": {"Remote Bytes Read": 1, "Local Bytes Read": 2},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 5},
    }
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 3,
        "Task End Reason": {"Reason": ended},
        "Task Info": {"Speculative": speculative},
        "Task Metrics": metrics if ended == "Success" else None,
    }


def text() -> str:
    submitted = {
        "Event": "SparkListenerStageSubmitted",
        "Stage Info": STAGE,
        "Properties": {"spark.job.description": "bins"},
    }
    events = [{"Event": "SparkListenerLogStart"}, submitted, task(1000, 10), task(3000, 20, speculative=True)]
    return "\n".join(json.dumps(event) for event in [*events, task(0, 0, ended="FetchFailed"), task(1000, 30)])


@pytest.mark.parametrize("form", ["file", "parts", "compressed"])
def test_tasks_are_added_up_by_stage(tmp_path: Path, form: str) -> None:
    log = tmp_path / ("log.zstd" if form == "compressed" else "log")
    if form == "compressed":
        with pa.output_stream(str(log), compression="zstd") as stream:
            stream.write(text().encode())
    elif form == "parts":
        log.mkdir()
        lines = text().split("\n")
        (log / "events_2_app").write_text("\n".join(lines[3:]))
        (log / "events_1_app").write_text("\n".join(lines[:3]))
        (log / "appstatus_app").write_text("")
    else:
        # The application still runs: its last line is not whole.
        log.write_text(text() + '\n{"Event": "SparkListenerTa')
    ((number, stage),) = event_log.stages(log).items()
    assert (number, stage.name, stage.description) == (3, "parquet at x:0", "bins")
    assert stage.run_s == [1.0, 3.0, 1.0]
    assert stage.cpu_s == 2.5
    assert stage.skew == 3.0
    assert (stage.read_bytes, stage.shuffled_in_bytes, stage.shuffled_out_bytes) == (60, [3, 3, 3], 15)
    assert (stage.spilled_disk_bytes, stage.peak_execution_bytes) == (21, 30)
    assert stage.ended == {"Success": 3, "FetchFailed": 1}
    assert stage.speculative == 1


def test_a_file_that_is_no_event_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("not an event\n{}\n")
    with pytest.raises(ValueError, match="line 1: not an event of Spark"):
        list(event_log.events(path))
