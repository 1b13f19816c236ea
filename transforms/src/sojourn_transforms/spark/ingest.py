"""Ingest on Spark: tasks decode and write facts, this process alone makes them visible.

A task does what one machine's thread does, with one difference: where that would commit, it reports. Its files bear
names of that attempt only, so a task that is retried, speculated or killed leaves files that nothing names, never
a fact twice. The reports are committed here, one source at a time and in the order of the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.formats.content.file_parts import FilePart, SplittableFormat
from sojourn_ingest.formats.interface import Format, InputError, Reading, Source
from sojourn_ingest.ingest_plan import Plan, PlannedRecording
from sojourn_ingest.lake import Commit, DataFile, Lake, Outcome, commit_of
from sojourn_ingest.paths import Paths
from sojourn_ingest.session import (
    INTERNAL_ERROR,
    Attempt,
    Draft,
    IngestSession,
    RecordingAttempt,
    attempts_of,
    path_text,
)
from sojourn_transforms.spark.session import SparkError, SparkSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Files of one job for each core: what a job has done is committed when its last file is done.
FILES_A_CORE = 16
#: Tasks of one job for each core; more than one, so that a slow file does not keep the others waiting.
TASKS_A_CORE = 4
#: A table of connections of at least two parts is shared by several tasks, each of which reads about so many bytes.
PART_BYTES = 256 * 2**20
#: Jobs under way at a time: while one waits for its slowest file, the next uses the cores.
JOBS_AT_A_TIME = 2

TASK_SCHEMA = "paths array<binary>"
REPORT_SCHEMA = "report string"


class ReportingLake(Lake):
    """A lake as a task sees it: it knows what is live, writes files, and keeps what it would commit for the driver."""

    def __init__(self, uri: str, live: Iterable[Commit]) -> None:
        super().__init__(uri, live=live)
        self.reported: dict[str, dict[str, Any]] = {}

    def commit(
        self,
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: tuple[Outcome, ...] = (),
        supersedes: Iterable[str] = (),
    ) -> Commit:
        """Keep what would be committed; nothing becomes visible."""
        draft = commit_of(outcome, files, subject, part_outcomes)
        self.reported[draft.name] = {
            "outcome": asdict(outcome),
            "files": [asdict(file) for file in files],
            "subject": subject,
            "parts": [asdict(part) for part in part_outcomes],
            "supersedes": tuple(supersedes),
        }
        return draft


@dataclass(frozen=True)
class TaskSettings:
    """What a task needs to be an ingest of its own."""

    lake_uri: str
    key: bytes
    policy: AddressPolicy
    packets: bool
    descriptions: tuple[Path, ...]
    plan: Plan
    forgotten: ForgottenHosts
    enrichment: Enrichment

    def session(self, live: Iterable[Commit]) -> tuple[IngestSession, ReportingLake]:
        """Return a session of this task."""
        lake = ReportingLake(self.lake_uri, live)
        pseudonymiser = Pseudonymiser(self.key, self.policy, self.forgotten)
        session = IngestSession(lake, pseudonymiser, packets=self.packets, enrichment=self.enrichment)
        session.prepare(list(self.descriptions))
        session.follow(self.plan)
        return session, lake


#: What a task does with one item; none where there is nothing to report.
Work = Callable[[IngestSession, ReportingLake, Path], dict[str, Any] | None]


def _hex(path: Path) -> str:
    return os.fsencode(path).hex()


def _path(text: str) -> Path:
    return Path(os.fsdecode(bytes.fromhex(text)))


def _report(attempt: Attempt, lake: ReportingLake) -> dict[str, Any]:
    report = {"path": _hex(attempt.path), "refused": attempt.refused}
    made = lake.reported.pop(attempt.commit.name, None)
    return {**report, **(made or {"unchanged": attempt.commit.name})}


def _try_file(session: IngestSession, lake: ReportingLake, path: Path) -> dict[str, Any]:
    return _report(session.attempt(path), lake)


def _try_pair(session: IngestSession, lake: ReportingLake, path: Path, manifest: Commit) -> dict[str, Any] | None:
    attempt = session.pair(Attempt(path, manifest, "unchanged"))
    return None if attempt is None else _report(attempt, lake)


def _try_recording(session: IngestSession, lake: ReportingLake, planned: PlannedRecording) -> dict[str, Any]:
    found = session.attempt_recording(planned)
    # The first attempt is the recording's; those of its files follow from its commit.
    whole = [_report(attempt, lake) for attempt in found.attempts[:1]]
    return {"path": _hex(planned.parts[0]), "whole": whole, "alone": [_hex(path) for path in found.alone]}


def _read_part(
    session: IngestSession,
    source: Source,
    name: str,
    part: FilePart,
    content_hash: str,
    version: str,
    item: Path,
) -> dict[str, Any]:
    try:
        files, reading = session.read_part(source, name, part, content_hash, version)
        fault = reading.fault
    except InputError as error:
        files, reading, fault = (), Reading(), error
    return {
        "path": _hex(item),
        "files": [asdict(file) for file in files],
        "records_read": reading.records_read,
        "refused": reading.refused,
        "fault": None if fault is None else (fault.reason, fault.message, fault.offset),
    }


def _part_item(place: int) -> Path:
    return Path(f"part{place}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        # Its own attempt records why it cannot be read.
        return 0


class SparkIngestSession(IngestSession):
    """An ingest whose files are decoded by Spark's tasks. Paths must mean the same on every worker."""

    def __init__(
        self,
        session: SparkSession,
        lake: Lake,
        pseudonymiser: Pseudonymiser,
        *,
        packets: bool = False,
        enrichment: Enrichment | None = None,
    ) -> None:
        super().__init__(lake, pseudonymiser, packets=packets, enrichment=enrichment)
        self._enrichment = enrichment or Enrichment()
        self._spark = session
        self._pseudonymiser = pseudonymiser
        self._packets_wanted = packets

    def _try_all(self, files: list[Path]) -> Iterator[Attempt]:
        large = [path for path in files if _size(path) >= 2 * PART_BYTES and self.splittable(path) is not None]
        whole = [path for path in files if path not in set(large)]
        wave = FILES_A_CORE * self._spark.sparkContext.defaultParallelism
        waves = [whole[start : start + wave] for start in range(0, len(whole), wave)]
        with ThreadPoolExecutor(max_workers=JOBS_AT_A_TIME, thread_name_prefix="spark-job") as pool:
            # Submitted a few ahead only: what the driver knows is sent along with each job.
            running = [pool.submit(self._decode, chosen) for chosen in waves[:JOBS_AT_A_TIME]]
            for place in range(len(waves)):
                reports = running[place].result()
                if len(running) < len(waves):
                    running.append(pool.submit(self._decode, waves[len(running)]))
                for report in reports:
                    yield self._committed(report)
        # The driver tries a large file itself, and leaves the reading of it to tasks: see _decoded.
        yield from map(self.attempt, large)

    def _decoded(self, draft: Draft, source: Source, chosen: Format, reading: Reading) -> tuple[DataFile, ...]:
        large = source.plain_bytes >= 2 * PART_BYTES
        parts = chosen.parts(source, PART_BYTES) if large and isinstance(chosen, SplittableFormat) else []
        if len(parts) < 2:
            return super()._decoded(draft, source, chosen, reading)
        parts = self._with_rows_before(source, chosen.name, parts)
        files: list[DataFile] = []
        for told in self._read_parts(source, chosen.name, parts, draft.content_hash, draft.version):
            found = [DataFile(**item) for item in told["files"]]
            if reading.fault is not None:
                # One machine stops at damage: what stands behind it is not read.
                for file in found:
                    self.lake.storage.delete(file.path)
                continue
            files += found
            reading.records_read += told["records_read"]
            for reason, count in told["refused"].items():
                reading.refuse(reason, count)
            if told["fault"] is not None:
                reading.fault = InputError(*told["fault"])
        fault = reading.fault
        if fault is not None and (fault.reason == INTERNAL_ERROR or reading.records_read == 0):
            for file in files:
                self.lake.storage.delete(file.path)
            raise fault
        return tuple(files)

    def _with_rows_before(self, source: Source, name: str, parts: list[FilePart]) -> list[FilePart]:
        if all(part.first_row is not None for part in parts):
            return parts
        by_item = {_part_item(place): part for place, part in enumerate(parts)}

        def work(session: IngestSession, lake: ReportingLake, item: Path) -> dict[str, Any]:
            return {"path": _hex(item), "rows": session.rows_in_part(source, name, by_item[item])}

        counted = self._run_tasks(list(by_item), work)
        before = accumulate((told["rows"] for told in counted), initial=0)
        return [replace(part, first_row=rows) for part, rows in zip(parts, before, strict=False)]

    def _read_parts(
        self, source: Source, name: str, parts: list[FilePart], content_hash: str, version: str
    ) -> list[dict[str, Any]]:
        by_item = {_part_item(place): part for place, part in enumerate(parts)}

        def work(session: IngestSession, lake: ReportingLake, item: Path) -> dict[str, Any]:
            return _read_part(session, source, name, by_item[item], content_hash, version, item)

        return self._run_tasks(list(by_item), work)

    def _try_recordings(self, recordings: list[PlannedRecording]) -> Iterator[RecordingAttempt]:
        planned = {recording.parts[0]: recording for recording in recordings}
        known = {commit.name for commit in self.lake.live()}

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> dict[str, Any]:
            return _try_recording(session, lake, planned[path])

        for report in self._run_tasks(list(planned), work, {path: planned[path].parts for path in planned}):
            attempts = [found for told in report["whole"] for found in self._committed_recording(told, known)]
            if report["whole"] and not attempts:
                yield self.attempt_recording(planned[_path(report["path"])])
            else:
                yield RecordingAttempt(attempts, tuple(_path(path) for path in report["alone"]))

    def _committed_recording(self, told: dict[str, Any], known: set[str]) -> list[Attempt]:
        """Return the attempts of a recording; none where another task has meanwhile read one of its contents."""
        for part in told.get("parts", ()):
            if any(commit.name not in known for commit in self.lake.holding_facts(part["content_hash"])):
                for file in told["files"]:
                    self.lake.storage.delete(file["path"])
                return []
        attempt = self._committed(told)
        return attempts_of(attempt.path, attempt.commit, attempt.disposition, attempt.refused)

    def _pair_all(self, manifests: list[Attempt]) -> list[Attempt]:
        known = {attempt.path: attempt.commit for attempt in manifests}

        def work(session: IngestSession, lake: ReportingLake, path: Path) -> dict[str, Any] | None:
            return _try_pair(session, lake, path, known[path])

        return [self._committed(report) for report in self._run_tasks(list(known), work)]

    def _decode(self, files: list[Path]) -> list[dict[str, Any]]:
        return self._run_tasks(files, _try_file)

    def _run_tasks(
        self, items: list[Path], work: Work, parts: Mapping[Path, tuple[Path, ...]] | None = None
    ) -> list[dict[str, Any]]:
        """Do ``work`` for each item in a task, and return the reports in their order; ``parts``: files of an item."""
        if not items:
            return []
        context = self._spark.sparkContext
        # Paths of files are most of a commit, and no task needs them.
        live = context.broadcast([replace(commit, files=()) for commit in self.lake.live()])
        settings = TaskSettings(
            self.lake.storage.uri,
            self._pseudonymiser.key,
            self._pseudonymiser.policy,
            self._packets_wanted,
            tuple(self._descriptions),
            self._plan,
            self._pseudonymiser.forgotten,
            self._enrichment,
        )

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            session, lake = settings.session(live.value)
            for batch in batches:
                for listed in batch.column("paths").to_pylist():
                    for raw in listed:
                        report = work(session, lake, Path(os.fsdecode(raw)))
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
            told = next((line for line in reversed(lines) if "Error" in line and " at " not in line), lines[0])
            text = f"a Spark job failed: {told.strip()}; what was committed stays, the same command completes the rest"
            raise SparkError(text) from error
        finally:
            live.unpersist()
        places = {_hex(path): place for place, path in enumerate(items)}
        return sorted(reports, key=lambda report: places.get(report["path"], len(places)))

    def _committed(self, report: dict[str, Any]) -> Attempt:
        path = _path(report["path"])
        if "unchanged" in report:
            return Attempt(path, self._unchanged_commit(path, report["unchanged"]), "unchanged", report["refused"])
        outcome = Outcome(**report["outcome"])
        files = tuple(DataFile(**item) for item in report["files"])
        parts = tuple(Outcome(**part) for part in report["parts"])
        superseded = {commit.name: commit for commit in self.lake.live() if commit.name in report["supersedes"]}
        holder = self.lake.facts_of(outcome.content_hash, outcome.decoder_version) if files and not parts else None
        if holder is not None:
            # Another task decoded the same content from another path at the same time: one copy is kept.
            for file in files:
                self.lake.storage.delete(file.path)
            return Attempt(path, self._commit(duplicate_of(holder, outcome), (), superseded=superseded), "new")
        commit = self._commit(outcome, files, report["subject"], parts, superseded)
        return Attempt(path, commit, "new", report["refused"])

    def _unchanged_commit(self, path: Path, name: str) -> Commit:
        try:
            return self.lake.named(name)
        except KeyError:
            # A part of a recording of which another part is gone stays as it is: the recording's commit speaks for it.
            text = path_text(path)
            recording = self.lake.recording_with(text)
            part = None if recording is None else recording.of_part(text)
            if part is None:
                raise
            return part


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


@contextmanager
def spark_ingest(
    paths: Paths,
    lake: Lake,
    pseudonymiser: Pseudonymiser,
    *,
    packets: bool,
    enrichment: Enrichment,
    master: str | None,
    conf: list[str],
) -> Iterator[IngestSession]:
    """Hold a Spark session for one ingest into ``lake``, which the caller holds for writing.

    When it ends no task is left, so whatever no commit names is removed.

    Raises
    ------
    SparkError
        If Spark cannot be used, or a job failed for another reason than a file's content.
    """
    try:
        with spark_session(paths, SparkSettings.from_options(master, conf)) as session:
            yield SparkIngestSession(session, lake, pseudonymiser, packets=packets, enrichment=enrichment)
    finally:
        lake.remove_leftovers()
