"""What a task reports is what the driver makes of it, also where nothing is to be committed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below
from sojourn_transforms.spark.ingest_runner import committed
from sojourn_transforms.spark.ingest_tasks import ReportingLake, try_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ingest" / "tests"))
from captures import udp_frame, write_pcap

KEY = Pseudonymiser(b"key")
START_NS = 1_700_000_000 * 10**9


def test_a_file_of_a_recording_of_which_another_is_gone_is_unchanged(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for number, name in enumerate(("t.pcap", "t.pcap1")):
        frames = [udp_frame(f"{number} {n}".encode()) for n in range(10)]
        write_pcap(inputs / name, frames, START_NS + number * 10**9, 10**8)
    lake = Lake(tmp_path / "lake")
    with lake.writing():
        IngestSession(lake, KEY).run(files_below([inputs]), lambda _: None)
    state = lake.fingerprint()
    (inputs / "t.pcap1").unlink()
    left = (inputs / "t.pcap").resolve()

    # No Spark: the task's part and the driver's part, with the report as text between them.
    driver = IngestSession(lake, KEY)
    driver.prepare([left])
    task_lake = ReportingLake(lake.storage.uri, [replace(commit, files=()) for commit in lake.live()])
    task = IngestSession(task_lake, KEY)
    task.prepare([left])
    report = json.loads(json.dumps(try_file(task, task_lake, left)))
    attempt = committed(driver, report)

    (expected,) = IngestSession(lake, KEY).run([left], lambda _: None)
    assert (attempt.path, attempt.disposition, attempt.refused) == (left, "unchanged", 0)
    assert attempt == expected
    assert attempt.commit.records_read == 10
    assert lake.fingerprint() == state
