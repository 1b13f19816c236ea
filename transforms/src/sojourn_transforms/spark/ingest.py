"""Ingest on Spark: tasks decode and write facts, this process alone makes them visible.

A task does what one machine's thread does, with one difference: where that would commit, it reports. Its files bear
names of that attempt only, so a task that is retried, speculated or killed leaves files that nothing names, never
a fact twice. The reports are committed here, one source at a time and in the order of the files.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.ingest_plan import Plan
from sojourn_ingest.lake import Commit, DataFile, Lake, Outcome
from sojourn_ingest.paths import Paths
from sojourn_ingest.session import Attempt, IngestSession
from sojourn_transforms.spark.session import SparkError, SparkSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Files of one job for each core: what a job has done is committed when its last file is done.
FILES_A_CORE = 16
#: Tasks of one job for each core; more than one, so that a slow file does not keep the others waiting.
TASKS_A_CORE = 4
#: Jobs under way at a time: while one waits for its slowest file, the next uses the cores.
JOBS_AT_A_TIME = 2

TASK_SCHEMA = "paths array<binary>"
REPORT_SCHEMA = "report string"


class ReportingLake(Lake):
    """A lake as a task sees it: it knows what is live, writes files, and keeps what it would commit for the driver."""

    def __init__(self, uri: str, live: Iterable[Commit]) -> None:
        self._given = list(live)
        self.reported: tuple[Outcome, tuple[DataFile, ...], str | None, tuple[str, ...]] | None = None
        super().__init__(uri)
        self.attempt = uuid.uuid4().hex[:12]

    def refresh(self) -> None:
        """Take what the driver knew when the job began; a task reads no commits."""
        for commit in self._given:
            self._add(commit)

    def commit(
        self,
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: tuple[Outcome, ...] = (),
        supersedes: Iterable[str] = (),
    ) -> Commit:
        """Keep what would be committed; nothing becomes visible. Recordings in several files are the driver's."""
        self.reported = (outcome, files, subject, tuple(supersedes))
        return self.draft(outcome, files, subject, part_outcomes)


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


def _report(attempt: Attempt, lake: ReportingLake) -> str:
    reported, lake.reported = lake.reported, None
    report: dict[str, Any] = {"path": os.fsencode(attempt.path).hex(), "refused": attempt.refused}
    if attempt.disposition == "unchanged" or reported is None:
        return json.dumps({**report, "unchanged": attempt.commit.name})
    outcome, files, subject, supersedes = reported
    told = {"outcome": asdict(outcome), "files": [asdict(f) for f in files], "subject": subject}
    return json.dumps({**report, **told, "supersedes": supersedes})


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
        wave = FILES_A_CORE * self._spark.sparkContext.defaultParallelism
        waves = [files[start : start + wave] for start in range(0, len(files), wave)]
        with ThreadPoolExecutor(max_workers=JOBS_AT_A_TIME, thread_name_prefix="spark-job") as pool:
            # Submitted a few ahead only: what the driver knows is sent along with each job.
            running = [pool.submit(self._decode, chosen) for chosen in waves[:JOBS_AT_A_TIME]]
            for place in range(len(waves)):
                reports = running[place].result()
                if len(running) < len(waves):
                    running.append(pool.submit(self._decode, waves[len(running)]))
                for report in reports:
                    yield self._committed(report)

    def _pair_all(self, manifests: list[Attempt]) -> list[Attempt]:
        if not manifests:
            return []
        known = {attempt.path: attempt for attempt in manifests}
        reports = self._run_tasks(list(known), pairs={path: attempt.commit for path, attempt in known.items()})
        return [self._committed(report) for report in reports]

    def _decode(self, files: list[Path]) -> list[dict[str, Any]]:
        return self._run_tasks(files, pairs=None)

    def _run_tasks(self, files: list[Path], pairs: dict[Path, Commit] | None) -> list[dict[str, Any]]:
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
                        path = Path(os.fsdecode(raw))
                        attempt: Attempt | None
                        if pairs is None:
                            attempt = session.attempt(path)
                        else:
                            attempt = session.pair(Attempt(path, pairs[path], "unchanged"))
                        if attempt is not None:
                            yield pa.RecordBatch.from_pydict({"report": [_report(attempt, lake)]})

        tasks = _balanced(files, TASKS_A_CORE * context.defaultParallelism)
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
        places = {os.fsencode(path).hex(): place for place, path in enumerate(files)}
        return sorted(reports, key=lambda report: places.get(report["path"], len(places)))

    def _committed(self, report: dict[str, Any]) -> Attempt:
        path = Path(os.fsdecode(bytes.fromhex(report["path"])))
        if "unchanged" in report:
            return Attempt(path, self.lake.named(report["unchanged"]), "unchanged", report["refused"])
        outcome = Outcome(**report["outcome"])
        files = tuple(DataFile(**item) for item in report["files"])
        superseded = {commit.name: commit for commit in self.lake.live() if commit.name in report["supersedes"]}
        holder = self.lake.facts_of(outcome.content_hash, outcome.decoder_version) if files else None
        if holder is not None:
            # Another task decoded the same content from another path at the same time: one copy is kept.
            for file in files:
                self.lake.storage.delete(file.path)
            return Attempt(path, self._commit(duplicate_of(holder, outcome), (), superseded=superseded), "new")
        commit = self._commit(outcome, files, report["subject"], superseded=superseded)
        return Attempt(path, commit, "new", report["refused"])


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


def _balanced(files: list[Path], tasks: int) -> list[list[bytes]]:
    """Return the files in at most ``tasks`` groups of about equal size, the largest files first."""

    def size(path: Path) -> int:
        try:
            return path.stat().st_size
        except OSError:
            # Its own attempt records why it cannot be read.
            return 0

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
