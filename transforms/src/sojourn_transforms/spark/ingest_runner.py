"""A runner of ingests whose files are decoded by Spark's tasks; only this process makes facts visible.

A task does what one machine's thread does, with one difference: where that would commit, it reports. The reports are
committed here, one source at a time and in the order of the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn_ingest.formats.capture.rotation import Span, note_span
from sojourn_ingest.formats.interface import FilePart, Format, InputError, Reading, Source
from sojourn_ingest.lake import Commit, DataFile, Lake, Outcome
from sojourn_ingest.remote import RemotePath, as_path, is_remote
from sojourn_ingest.session import Attempt, IngestSession, RecordingAttempt, attempts_of
from sojourn_ingest.session.decoding import INTERNAL_ERROR, decode
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.plan import PlannedRecording
from sojourn_ingest.session.recorded_paths import path_text
from sojourn_ingest.session.runner import Ingest
from sojourn_ingest.session.sources import OpenedFile
from sojourn_ingest.session.state import Decode
from sojourn_transforms.spark.ingest_tasks import (
    LargeFile,
    Report,
    ReportingLake,
    TaskSettings,
    Work,
    count_rows,
    look_into,
    open_large,
    path_of_text,
    path_to_text,
    read_part,
    try_file,
    try_pair,
    try_recording,
)
from sojourn_transforms.spark.session import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Files of one job for each core: what a job has done is committed when its last file is done.
FILES_A_CORE = 16
#: Tasks of one job for each core; more than one, so that a slow file does not keep the others waiting.
TASKS_A_CORE = 4
#: A table of connections of at least two parts is shared by several tasks, each of which reads about so many bytes.
PART_BYTES = 256 * 2**20
#: Faults after which the facts of other parts are not of what was hashed, or not to be trusted.
NOTHING_IS_KEPT = (INTERNAL_ERROR, "changed_while_read")
#: Jobs under way at a time: while one waits for its slowest file, the next uses the cores.
JOBS_AT_A_TIME = 2

TASK_SCHEMA = "paths array<binary>"
REPORT_SCHEMA = "report string"


def _part_item(place: int) -> Path:
    return Path(f"part{place}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        # Its own attempt records why it cannot be read.
        return 0


class SparkRunner:
    """Runs attempts in Spark's tasks. Paths must mean the same on every worker."""

    def __init__(self, session: SparkSession) -> None:
        self._spark = session
        # Parts of large remote files, which a task found.
        self._parts: dict[Path, list[FilePart]] = {}

    def look_into(self, ingest: Ingest, captures: Sequence[Path]) -> None:
        """Find the times of remote captures in tasks."""

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> Report:
            return look_into(path)

        for report in self._run_tasks(ingest, list(captures), work):
            path = path_of_text(report["path"])
            if "span" in report and isinstance(path, RemotePath):
                note_span(path, Span(*report["span"]))

    def _open_large(self, ingest: Ingest, files: Sequence[Path]) -> dict[Path, OpenedFile | None]:
        """Return the large files that are read in parts; remote ones are hashed in tasks, where they are read too."""
        large = [path for path in files if _size(path) >= 2 * PART_BYTES]
        opened: dict[Path, OpenedFile | None] = {
            path: None for path in large if not is_remote(path) and ingest.is_splittable(path)
        }
        part_bytes = PART_BYTES

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> Report:
            return open_large(session, path, part_bytes)

        remote = [path for path in large if is_remote(path) and not ingest.files.is_unchanged(path)]
        for report in self._run_tasks(ingest, remote, work):
            if "opened" in report:
                path = path_of_text(report["path"])
                head, plain_bytes, content_hash = report["opened"]
                source = Source(path, "none", bytes.fromhex(head), plain_bytes)
                opened[path] = OpenedFile(source, content_hash, None)
                self._parts[path] = [FilePart(**part) for part in report["parts"]]
        return opened

    def attempt_files(self, ingest: Ingest, files: Sequence[Path]) -> Iterator[Attempt]:
        """Try files in waves, each of which is a job; a large file is tried here, and read by tasks."""
        large = self._open_large(ingest, files)
        whole = [path for path in files if path not in large]
        wave = FILES_A_CORE * self._spark.sparkContext.defaultParallelism
        waves = [whole[start : start + wave] for start in range(0, len(whole), wave)]
        with ThreadPoolExecutor(max_workers=JOBS_AT_A_TIME, thread_name_prefix="spark-job") as pool:
            # Submitted a few ahead only: what the driver knows is sent along with each job.
            running = [pool.submit(self._run_tasks, ingest, chosen, try_file) for chosen in waves[:JOBS_AT_A_TIME]]
            for place in range(len(waves)):
                reports = running[place].result()
                if len(running) < len(waves):
                    running.append(pool.submit(self._run_tasks, ingest, waves[len(running)], try_file))
                for report in reports:
                    yield committed(ingest, report)
        # See decoding.
        for path, opened in large.items():
            yield ingest.files.attempt(path, opened)

    def attempt_recordings(self, ingest: Ingest, planned: Sequence[PlannedRecording]) -> Iterator[RecordingAttempt]:
        """Try recordings; one of which another task has read a part meanwhile is tried again here."""
        by_item = {recording.parts[0]: recording for recording in planned}
        earlier = {commit.name for commit in ingest.lake.live()}

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> Report:
            return try_recording(session, lake, by_item[path])

        parts = {path: recording.parts for path, recording in by_item.items()}
        for report in self._run_tasks(ingest, list(by_item), work, parts):
            attempts = [
                attempt
                for report_of_one in report["whole"]
                for attempt in _committed_recording(ingest, report_of_one, earlier)
            ]
            if report["whole"] and not attempts:
                yield ingest.recordings.attempt(by_item[path_of_text(report["path"])])
            else:
                yield RecordingAttempt(attempts, tuple(path_of_text(path) for path in report["alone"]))

    def attempt_pairs(self, ingest: Ingest, declaring: Sequence[Attempt]) -> Iterator[Attempt]:
        """Try pairs, each in a task."""
        by_item = {attempt.path: attempt for attempt in declaring}

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> Report | None:
            return try_pair(session, lake, by_item[path])

        for report in self._run_tasks(ingest, list(by_item), work):
            yield committed(ingest, report)

    def decoding(self, ingest: Ingest) -> Decode:
        """Return what reads a large source in tasks, and any other here."""
        return partial(self._decode, ingest)

    def _decode(
        self, ingest: Ingest, draft: Draft, source: Source, chosen: Format, reading: Reading
    ) -> tuple[DataFile, ...]:
        splittable = chosen.splittable() if source.plain_bytes >= 2 * PART_BYTES else None
        parts = self._parts.pop(source.path, [])
        if not parts and splittable is not None:
            parts = splittable.parts(source, PART_BYTES)
        if len(parts) < 2:
            return decode(ingest.lake, ingest.context, draft, source, chosen, reading)
        state = (draft.size_bytes, draft.modified_ns) if is_remote(source.path) else None
        large = LargeFile(source, chosen.name, draft.content_hash, draft.version, state)
        files: list[DataFile] = []
        for part in self._read_parts(ingest, large, self._with_rows_before(ingest, large, parts)):
            data_files = [DataFile(**item) for item in part["files"]]
            if reading.fault is not None:
                # A single machine stops at damage: what follows is not read.
                _delete(ingest.lake, data_files)
                continue
            files += data_files
            reading.records_read += part["records_read"]
            for reason, count in part["refused"].items():
                reading.refuse(reason, count)
            if part["fault"] is not None:
                reading.fault = InputError(*part["fault"])
        fault = reading.fault
        if fault is not None and (fault.reason in NOTHING_IS_KEPT or reading.records_read == 0):
            _delete(ingest.lake, files)
            raise fault
        return tuple(files)

    def _with_rows_before(self, ingest: Ingest, large: LargeFile, parts: list[FilePart]) -> list[FilePart]:
        if all(part.first_row is not None for part in parts):
            return parts
        by_item = {_part_item(place): part for place, part in enumerate(parts)}

        def work(session: IngestSession, lake: ReportingLake, item: Path) -> Report:
            return count_rows(session, large, by_item[item], item)

        counted = self._run_tasks(ingest, list(by_item), work)
        before = accumulate((count["rows"] for count in counted), initial=0)
        return [replace(part, first_row=rows) for part, rows in zip(parts, before, strict=False)]

    def _read_parts(self, ingest: Ingest, large: LargeFile, parts: list[FilePart]) -> list[Report]:
        by_item = {_part_item(place): part for place, part in enumerate(parts)}

        def work(session: IngestSession, lake: ReportingLake, item: Path) -> Report:
            return read_part(session, lake, large, by_item[item], item)

        return self._run_tasks(ingest, list(by_item), work)

    def _run_tasks(
        self, ingest: Ingest, items: list[Path], work: Work, parts: Mapping[Path, tuple[Path, ...]] | None = None
    ) -> list[Report]:
        """Do ``work`` for each item in a task, and return the reports in their order; ``parts``: files of an item."""
        if not items:
            return []
        context = self._spark.sparkContext
        # Paths of files are most of a commit, and no task needs them.
        live = context.broadcast([replace(commit, files=()) for commit in ingest.lake.live()])
        settings = TaskSettings.of(ingest)

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            session, lake = settings.session(live.value)
            for batch in batches:
                for listed in batch.column("paths").to_pylist():
                    for raw in listed:
                        report = work(session, lake, as_path(os.fsdecode(raw)))
                        if report is not None:
                            yield pa.RecordBatch.from_pydict({"report": [json.dumps(report)]})

        tasks = _balanced(items, TASKS_A_CORE * context.defaultParallelism, parts or {})
        rows = context.parallelize([(task,) for task in tasks], len(tasks))
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            frame = self._spark.createDataFrame(rows, TASK_SCHEMA).mapInArrow(decode, REPORT_SCHEMA)
            reports = [json.loads(row[0]) for row in frame.collect()]
        except (Py4JJavaError, PySparkException) as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            message = next((line for line in reversed(lines) if "Error" in line and " at " not in line), lines[0])
            text = (
                f"a Spark job failed: {message.strip()}; committed files are kept, and the same command "
                "ingests the rest"
            )
            raise SparkError(text) from error
        finally:
            live.unpersist()
        places = {path_to_text(path): place for place, path in enumerate(items)}
        return sorted(reports, key=lambda report: places.get(report["path"], len(places)))


def committed(ingest: Ingest, report: Report) -> Attempt:
    """Commit what a task reported, and return the attempt."""
    path = path_of_text(report["path"])
    if "unchanged" in report:
        commit = _unchanged_commit(ingest.lake, path, report["unchanged"])
        return Attempt(path, commit, "unchanged", report["refused"])
    outcome = Outcome(**report["outcome"])
    files = tuple(DataFile(**item) for item in report["files"])
    parts = tuple(Outcome(**part) for part in report["parts"])
    superseded = {commit.name: commit for commit in ingest.lake.live() if commit.name in report["supersedes"]}
    holder = ingest.lake.facts_of(outcome.content_hash, outcome.decoder_version) if files and not parts else None
    if holder is not None:
        # Another task decoded the same content from another path at the same time: one copy is kept.
        _delete(ingest.lake, files)
        return Attempt(path, ingest.state.commit(duplicate_of(holder, outcome), (), superseded=superseded), "new")
    commit = ingest.state.commit(outcome, files, report["subject"], parts, superseded)
    return Attempt(path, commit, "new", report["refused"])


def _committed_recording(ingest: Ingest, report: Report, earlier: set[str]) -> list[Attempt]:
    """Return the attempts of a recording; none where another task has meanwhile read one of its contents."""
    for part in report.get("parts", ()):
        if any(commit.name not in earlier for commit in ingest.lake.holding_facts(part["content_hash"])):
            _delete(ingest.lake, [DataFile(**file) for file in report["files"]])
            return []
    attempt = committed(ingest, report)
    return attempts_of(attempt.path, attempt.commit, attempt.disposition, attempt.refused_by_reason)


def _unchanged_commit(lake: Lake, path: Path, name: str) -> Commit:
    try:
        return lake.named(name)
    except KeyError:
        # A part of a recording stays as it is if another part is gone: the recording's commit has its outcome.
        text = path_text(path)
        recording = lake.recording_with(text)
        part = None if recording is None else recording.of_part(text)
        if part is None:
            raise
        return part


def _delete(lake: Lake, files: Iterable[DataFile]) -> None:
    for file in files:
        lake.storage.delete(file.path)


def duplicate_of(holder: Commit, outcome: Outcome) -> Outcome:
    """Return the outcome of a content whose facts another path holds already."""
    return replace(
        outcome,
        status="ok" if holder.status == "ok" else "partial",
        duplicate_of=holder.source_path,
        records_read=holder.records_read,
        refused={},
        reason=holder.reason,
        message=holder.message if holder.reason is not None else None,
        fault_offset_bytes=None,
    )


def _balanced(files: list[Path], tasks: int, parts: Mapping[Path, tuple[Path, ...]]) -> list[list[bytes]]:
    """Return the files in at most ``tasks`` groups of about equal size, the largest files first."""

    def size(path: Path) -> int:
        return sum(_size(part) for part in parts.get(path, (path,)))

    groups: list[tuple[int, int, list[bytes]]] = [(0, place, []) for place in range(min(tasks, len(files)))]
    for path in sorted(files, key=size, reverse=True):
        total, place, group = min(groups)
        group.append(os.fsencode(path))
        groups[place] = (total + size(path) + 1, place, group)
    return [group for _, _, group in groups]
