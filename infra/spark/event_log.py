"""Where a Spark application spent its time, from its event log: tasks, processor time, bytes read, shuffled, spilled.

    SOJOURN_SPARK_CONF="spark.eventLog.enabled=true spark.eventLog.dir=file:/tmp/events" sojourn build --engine spark
    python infra/spark/event_log.py /tmp/events/*

prints one line for each stage that took longest. A log may be one file or a folder of parts, compressed with zstd or
not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIB = 2**20


@dataclass
class Stage:
    """The tasks of one stage; those of attempts that failed too."""

    name: str = ""
    description: str = ""
    run_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    collection_s: float = 0.0
    read_bytes: int = 0
    shuffled_in_bytes: list[int] = field(default_factory=list)
    shuffled_out_bytes: int = 0
    spilled_memory_bytes: int = 0
    spilled_disk_bytes: int = 0
    peak_execution_bytes: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    speculative: int = 0

    @property
    def skew(self) -> float:
        """The longest task's time over the median's."""
        median = statistics.median(self.run_s) if self.run_s else 0.0
        return max(self.run_s) / median if median else 1.0


def events(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a log: one file, or a folder with parts.

    Raises
    ------
    ValueError
        If a line is not an event, but for a last one that is still being written.
    """
    # A part's name ends in its number; the folder also has a file that tells the state.
    parts = sorted(log.glob("events_*"), key=lambda part: int(part.name.split("_")[1])) if log.is_dir() else [log]
    for part in parts:
        lines = _text(part).split("\n")
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                if number == len(lines):
                    return
                raise ValueError(f"{part}, line {number}: not an event of Spark") from error


def _text(part: Path) -> str:
    if part.suffix not in (".zstd", ".zst"):
        return part.read_text(encoding="utf-8")
    import pyarrow as pa

    with pa.input_stream(str(part), compression="zstd") as stream:
        return bytes(stream.read()).decode()


def stages(log: Path) -> dict[int, Stage]:
    """Return what the tasks of each stage did, by the stage's number."""
    by_number: dict[int, Stage] = defaultdict(Stage)
    for event in events(log):
        if event["Event"] == "SparkListenerStageSubmitted":
            stage = by_number[event["Stage Info"]["Stage ID"]]
            stage.name = event["Stage Info"]["Stage Name"]
            stage.description = event.get("Properties", {}).get("spark.job.description", "")
        elif event["Event"] == "SparkListenerTaskEnd":
            _add(by_number[event["Stage ID"]], event)
    return dict(by_number)


def _add(stage: Stage, event: dict[str, Any]) -> None:
    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
    reason = event["Task End Reason"]["Reason"]
    stage.ended[reason] += 1
    stage.speculative += bool(info["Speculative"]) and reason == "Success"
    if not metrics:
        return
    read, written = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    stage.run_s.append(metrics["Executor Run Time"] / 1000)
    stage.cpu_s += metrics["Executor CPU Time"] / 1e9
    stage.collection_s += metrics["JVM GC Time"] / 1000
    stage.read_bytes += metrics["Input Metrics"]["Bytes Read"]
    stage.shuffled_in_bytes.append(read["Remote Bytes Read"] + read["Local Bytes Read"])
    stage.shuffled_out_bytes += written["Shuffle Bytes Written"]
    stage.spilled_memory_bytes += metrics["Memory Bytes Spilled"]
    stage.spilled_disk_bytes += metrics["Disk Bytes Spilled"]
    stage.peak_execution_bytes = max(stage.peak_execution_bytes, metrics["Peak Execution Memory"])


def main() -> None:
    """Print the stages that took longest."""
    parser = argparse.ArgumentParser(description="Where a Spark application spent its time, from its event log.")
    parser.add_argument("log", type=Path, nargs="+", help="event log: a file, or a folder of parts")
    parser.add_argument("--stages", type=int, default=20, help="stages to print, those with the most CPU time")
    options = parser.parse_args()
    for log in options.log:
        try:
            by_number = stages(log)
        except (OSError, ValueError) as error:
            sys.exit(f"{log}: {error}")
        total = sum(stage.cpu_s for stage in by_number.values())
        print(f"{log}: {len(by_number)} stages, {total:.1f} CPU s in tasks")
        columns = ("stage", "tasks", "run s", "CPU s", "GC s", "longest/median", "read", "in", "out", "spilled", "peak")
        print("\t".join(columns) + " (MiB)\tended")
        by_time = sorted(by_number.items(), key=lambda item: -item[1].cpu_s)[: options.stages]
        for number, stage in by_time:
            sizes = (
                stage.read_bytes, sum(stage.shuffled_in_bytes), stage.shuffled_out_bytes, stage.spilled_disk_bytes,
                stage.peak_execution_bytes,
            )  # fmt: skip
            ended = " ".join(f"{reason}:{count}" for reason, count in stage.ended.items())
            print(
                f"{number}\t{len(stage.run_s)}\t{sum(stage.run_s):.1f}\t{stage.cpu_s:.1f}\t{stage.collection_s:.1f}"
                f"\t{stage.skew:.1f}\t" + "\t".join(f"{size / MIB:.1f}" for size in sizes) + f"\t{ended}"
            )


if __name__ == "__main__":
    main()
