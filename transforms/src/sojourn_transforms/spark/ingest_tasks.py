"""What Spark's tasks do in an ingest: they decode and write facts, and report what they would commit.

A task's files bear names of that attempt only, so a task that is retried, speculated or killed leaves files that
nothing names, never a fact twice. Reports are JSON, one for each item of a task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest import _native
from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.formats.capture.rotation import capture_span
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.interface import FilePart, InputError, Reading, Source
from sojourn_ingest.lake import Commit, DataFile, Lake, Outcome, commit_of
from sojourn_ingest.remote import RemotePath, as_path
from sojourn_ingest.remote.states import state_now
from sojourn_ingest.session import Attempt, IngestSession
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.plan import Plan, PlannedRecording
from sojourn_ingest.session.runner import Ingest
from sojourn_ingest.session.sources import streamed

Report = dict[str, Any]


class ReportingLake(Lake):
    """A lake as a task sees it: it knows what is live, writes files, and keeps what it would commit for the driver."""

    def __init__(self, uri: str, live: Iterable[Commit]) -> None:
        super().__init__(uri, live=live)
        self.reported: dict[str, Report] = {}

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
    forgotten: ForgottenHosts
    enrichment: Enrichment
    packets: bool
    server_names: ServerNames
    descriptions: tuple[Path, ...]
    plan: Plan

    @classmethod
    def of(cls, ingest: Ingest) -> TaskSettings:
        """Return the settings of the tasks of an ingest."""
        pseudonymiser = ingest.context.pseudonymiser
        return cls(
            lake_uri=ingest.lake.storage.uri,
            key=pseudonymiser.key,
            policy=pseudonymiser.policy,
            forgotten=pseudonymiser.forgotten,
            enrichment=ingest.context.enrichment,
            packets=ingest.packets,
            server_names=ingest.server_names,
            descriptions=ingest.descriptions,
            plan=ingest.plan,
        )

    def session(self, live: Iterable[Commit]) -> tuple[IngestSession, ReportingLake]:
        """Return a session of this task."""
        lake = ReportingLake(self.lake_uri, live)
        pseudonymiser = Pseudonymiser(self.key, self.policy, self.forgotten)
        session = IngestSession(
            lake, pseudonymiser, packets=self.packets, server_names=self.server_names, enrichment=self.enrichment
        )
        session.follow(self.descriptions, self.plan)
        return session, lake


#: What a task does with one item, which is named by a path; none if there is nothing to report.
Work = Callable[[IngestSession, ReportingLake, Path], Report | None]


def path_to_text(path: Path) -> str:
    """Return a path as text of a report, even if its bytes are not UTF-8."""
    return os.fsencode(path).hex()


def path_of_text(text: str) -> Path:
    """Return the path that a report names."""
    return as_path(os.fsdecode(bytes.fromhex(text)))


def _report(attempt: Attempt, lake: ReportingLake) -> Report:
    report = {"path": path_to_text(attempt.path), "refused": attempt.refused_by_reason}
    made = lake.reported.pop(attempt.commit.name, None)
    return {**report, **(made or {"unchanged": attempt.commit.name})}


def try_file(session: IngestSession, lake: ReportingLake, path: Path) -> Report:
    """Try a file, and report the attempt."""
    return _report(session.files.attempt(path), lake)


def try_pair(session: IngestSession, lake: ReportingLake, declaring: Attempt) -> Report | None:
    """Try what a file declares to belong together, and report the attempt; None if there are not two."""
    attempt = session.pairs.attempt(declaring)
    return None if attempt is None else _report(attempt, lake)


def try_recording(session: IngestSession, lake: ReportingLake, planned: PlannedRecording) -> Report:
    """Try a recording, and report its attempt under ``whole`` and the files to be tried one by one."""
    of_recording = session.recordings.attempt(planned)
    # The first attempt is the recording's; those of its files follow from its commit.
    whole = [_report(attempt, lake) for attempt in of_recording.attempts[:1]]
    return {
        "path": path_to_text(planned.parts[0]),
        "whole": whole,
        "alone": [path_to_text(path) for path in of_recording.alone],
    }


@dataclass(frozen=True)
class LargeFile:
    """A file that several tasks read: as what, and as the facts of which content and version.

    ``state`` is size and time of modification of the object that was hashed, where it is one.
    """

    source: Source
    format: str
    content_hash: str
    version: str
    state: tuple[int, int] | None = None

    def refuse_change(self) -> None:
        """Go on if an object is still the one that was hashed.

        Raises
        ------
        InputError
            If it is not.
        """
        path = self.source.path
        if self.state is None or not isinstance(path, RemotePath):
            return
        try:
            now = state_now(path)
        except OSError as error:
            raise InputError("unreadable", f"cannot be read: {error.strerror}") from error
        if (now.size_bytes, now.modified_ns) != self.state:
            raise InputError("changed_while_read", "the object changed while it was read; ingest it again")


def look_into(path: Path) -> Report:
    """Report when a capture began and ended, and its link types; nothing of them if it cannot be read."""
    report: Report = {"path": path_to_text(path)}
    with suppress(_native.DecodeError, InputError):
        report["span"] = capture_span(path)
    return report


def open_large(session: IngestSession, path: Path, part_bytes: int) -> Report:
    """Report what identifies a large remote file and its parts; only its path if it is not read in parts."""
    report: Report = {"path": path_to_text(path)}
    try:
        if not session.is_splittable(path):
            return report
        opened = streamed(path)
        parts = session.parts_of(opened.source, part_bytes)
    except (InputError, OSError):
        return report  # its attempt says why it cannot be read
    if len(parts) > 1:
        source = opened.source
        report["opened"] = (source.head.hex(), source.plain_bytes, opened.content_hash)
        report["parts"] = [asdict(part) for part in parts]
    return report


def count_rows(session: IngestSession, large: LargeFile, part: FilePart, item: Path) -> Report:
    """Report how many rows a part has."""
    return {"path": path_to_text(item), "rows": session.rows_in_part(large.source, large.format, part)}


def read_part(session: IngestSession, lake: Lake, large: LargeFile, part: FilePart, item: Path) -> Report:
    """Read a part, and report its files, and what was read and refused."""
    draft = Draft(large.source.path, content_hash=large.content_hash, format=large.format, version=large.version)
    files: tuple[DataFile, ...] = ()
    try:
        large.refuse_change()
        files, reading = session.decode_part(draft, large.source, large.format, part)
        large.refuse_change()
        fault = reading.fault
    except InputError as error:
        for file in files:
            lake.storage.delete(file.path)
        files = ()
        reading, fault = Reading(), error
    return {
        "path": path_to_text(item),
        "files": [asdict(file) for file in files],
        "records_read": reading.records_read,
        "refused": reading.refused,
        "fault": None if fault is None else (fault.reason, fault.message, fault.offset),
    }
