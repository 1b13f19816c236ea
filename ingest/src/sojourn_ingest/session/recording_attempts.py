"""Attempts at recordings: several files that are read as one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sojourn_ingest.formats.interface import InputError, Reading, Recording, Source, recording_hash
from sojourn_ingest.lake import Commit
from sojourn_ingest.remote import keeping
from sojourn_ingest.session.attempt import Attempt, RecordingAttempt, attempts_of
from sojourn_ingest.session.content_attempts import ContentAttempts
from sojourn_ingest.session.draft import DAMAGE, Draft
from sojourn_ingest.session.plan import PlannedRecording
from sojourn_ingest.session.recorded_paths import path_text
from sojourn_ingest.session.sources import compression_of
from sojourn_ingest.session.state import IngestState


def _contents(commit: Commit) -> set[str]:
    """Return the contents of files whose facts a commit holds."""
    return {part.content_hash for part in commit.parts} or {commit.content_hash}


def _has_parts(commit: Commit, parts: list[Draft]) -> bool:
    """Return whether a recording is of these files as they are.

    Of a compressed file that is damaged, or no longer, the same may be read; only its state tells.
    """
    if [(part.source_path, part.content_hash) for part in commit.parts] != [
        (part.source_path, part.content_hash) for part in parts
    ]:
        return False
    return all(
        (recorded.size_bytes, recorded.modified_ns) == (part.size_bytes, part.modified_ns)
        or (compression_of(part.path) == "none" and recorded.reason not in DAMAGE)
        for recorded, part in zip(commit.parts, parts, strict=True)
    )


class RecordingAttempts:
    """Tries planned recordings."""

    def __init__(self, state: IngestState, contents: ContentAttempts) -> None:
        self._state = state
        self._contents = contents

    def attempt(self, planned: PlannedRecording) -> RecordingAttempt:
        """Try the files of a recording as one; return those that cannot be part of it, to be tried one by one."""
        reader = self._reader(planned, planned.parts)
        draft = Draft(reader.path_of(planned.parts), format=reader.name)
        fault = planned.fault(self._state.registry)
        if fault is not None:
            return RecordingAttempt([self._contents.reject(draft, fault)], planned.parts)
        with keeping(planned.parts):
            try:
                parts = [self._draft_of_part(part, planned, draft) for part in planned.parts]
            except (OSError, InputError):
                return RecordingAttempt([], planned.parts)  # each file's own attempt says what is wrong with it
            return self._attempt(planned, reader, draft, parts)

    def _attempt(
        self, planned: PlannedRecording, reader: Recording, draft: Draft, parts: list[Draft]
    ) -> RecordingAttempt:
        attempts: list[Attempt] = []
        # Of two recordings with the same file that are tried at the same time, the first has it.
        with self._state.lake.deciding(*(part.content_hash for part in parts)):
            overlapping = self._recordings_with(planned.parts)
            own = self._not_held_elsewhere(parts, overlapping)
            others = [part for part in parts if part not in own]
            if len(own) > 1:
                own_paths = [part.path for part in own]
                draft.path = reader.path_of(own_paths)
                attempts = self._read(draft, self._reader(planned, own_paths), own, overlapping)
        if not attempts:
            others = parts
        # A copy of a file that is elsewhere in the lake, or in the recording itself, is tried as a single file.
        return RecordingAttempt(attempts, tuple(part.path for part in others))

    def _reader(self, planned: PlannedRecording, parts: Iterable[Path]) -> Recording:
        paths = tuple(parts)
        return planned.reader(self._state.registry).with_hints(self._state.hints_for(paths[0])).recording(paths)

    def _draft_of_part(self, path: Path, planned: PlannedRecording, whole: Draft) -> Draft:
        file_state = path.stat()
        draft = Draft(
            path, file_state.st_size, file_state.st_mtime_ns, whole.started_ns, whole.started_s, format=planned.format
        )
        draft.content_hash = self._state.hashes.of(path)
        draft.take_state_of_copy()
        return draft

    def _recordings_with(self, paths: Iterable[Path]) -> dict[str, Commit]:
        recordings = (self._state.lake.recording_with(path_text(path)) for path in paths)
        return {commit.name: commit for commit in recordings if commit is not None}

    def _not_held_elsewhere(self, parts: list[Draft], overlapping: dict[str, Commit]) -> list[Draft]:
        """Return the parts whose content no other path's facts contain, except facts of only these contents."""
        lake = self._state.lake
        contents = {part.content_hash for part in parts}
        paths = {part.source_path for part in parts}
        own: list[Draft] = []
        for part in parts:
            held = any(
                commit.name not in overlapping
                and commit.source_path not in paths
                and not contents.issuperset(_contents(commit))
                for commit in lake.holding_facts(part.content_hash)
            )
            repeated = any(part.content_hash == earlier.content_hash for earlier in own)
            if not held and not repeated:
                own.append(part)
        # Of two recordings of the same files, in two folders, the one that is there stays.
        recording = recording_hash([part.content_hash for part in own]) if own else ""
        there = [commit for commit in lake.holding_facts(recording) if commit.name not in overlapping]
        return [] if there and len(own) > 1 else own

    def _read(
        self, draft: Draft, reader: Recording, parts: list[Draft], overlapping: dict[str, Commit]
    ) -> list[Attempt]:
        """Read a recording, and return what became of it and its parts; nothing if it cannot be read as one."""
        state, lake = self._state, self._state.lake
        draft.content_hash = recording_hash([part.content_hash for part in parts])
        draft.size_bytes = sum(part.size_bytes for part in parts)
        draft.modified_ns = max(part.modified_ns for part in parts)
        draft.seen = tuple((part.path, part.size_bytes, part.modified_ns) for part in parts)
        draft.version = state.versions.of(reader)
        with lake.deciding(draft.content_hash):
            for commit in lake.current_at(draft.source_path):
                if _has_parts(commit, parts) and commit.decoder_version in state.versions.compatible(reader):
                    return attempts_of(draft.path, commit, "unchanged")
            contents = {part.content_hash for part in parts}
            alone = {
                commit.name: commit
                for part in parts
                for commit in (*lake.at_path(part.source_path), *lake.holding_facts(part.content_hash))
                if commit.source_path == part.source_path or contents.issuperset(_contents(commit))
            }
            reading = Reading()
            try:
                files = state.decode(draft, Source(draft.path, "none", b"", draft.size_bytes), reader, reading)
            except InputError:
                return []
            if draft.read_another_version():
                for file in files:
                    lake.storage.delete(file.path)
                return []
            outcomes = []
            for part, seen in zip(parts, reader.part_readings, strict=True):
                part.version = draft.version
                part.compression = compression_of(part.path)
                outcomes.append(part.read(seen, part_of=draft.source_path))
            superseded = {**overlapping, **alone}
            commit = state.commit(draft.read(reading), files, None, outcomes, superseded)
            return attempts_of(draft.path, commit, "new", dict(reading.refused))
