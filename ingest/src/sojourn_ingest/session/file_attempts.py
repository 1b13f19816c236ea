"""Attempts at single files."""

from __future__ import annotations

from pathlib import Path

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.lake import Commit
from sojourn_ingest.remote import keeping
from sojourn_ingest.session.attempt import Attempt
from sojourn_ingest.session.content_attempts import ContentAttempts
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.sources import OpenedFile, open_file, open_head
from sojourn_ingest.session.state import IngestState


class FileAttempts:
    """Tries files, each on its own."""

    def __init__(self, state: IngestState, contents: ContentAttempts) -> None:
        self._state = state
        self._contents = contents

    def attempt(self, path: Path, opened: OpenedFile | None = None) -> Attempt:
        """Try one file, of which ``opened`` is known where it was read for its hash elsewhere.

        Any error of the file becomes the outcome's message; only faults of the lake, and of a store, are raised.
        """
        draft = Draft(path)
        with keeping([path]):
            try:
                file_state = path.stat()
            except OSError as error:
                return self._contents.reject(draft, InputError("unreadable", f"cannot be read: {error.strerror}"))
            draft.size_bytes, draft.modified_ns = file_state.st_size, file_state.st_mtime_ns
            unchanged = self._unchanged(draft)
            if unchanged is not None:
                return Attempt(path, unchanged, "unchanged")
            try:
                opened = opened or open_file(path, self._state.hashed_by_reader(draft))
                draft.take_state_of_copy()
                source, draft.content_hash = opened.source, opened.content_hash
                draft.compression = source.compression
                if not source.to_hash:
                    draft.note_damage(opened.fault)
                if opened.fault is not None and source.plain_bytes == 0:
                    raise opened.fault
                chosen = self._state.registry.recognise(source)
            except InputError as error:
                return self._contents.reject(draft, error)
            if source.to_hash:
                return self._contents.read_unhashed(draft, source, chosen)
            with self._state.lake.deciding(draft.content_hash):
                return self._contents.read(draft, source, chosen)

    def is_unchanged(self, path: Path) -> bool:
        """Return whether the lake has a file as it is now."""
        draft = Draft(path)
        try:
            state = path.stat()
        except OSError:
            return False
        draft.size_bytes, draft.modified_ns = state.st_size, state.st_mtime_ns
        return self._unchanged(draft) is not None

    def _unchanged(self, draft: Draft) -> Commit | None:
        lake, plan = self._state.lake, self._state.plan
        recording = lake.recording_with(draft.source_path)
        if recording is not None:
            part = recording.of_part(draft.source_path) if draft.path in plan.frozen else None
            same = part is not None and (part.size_bytes, part.modified_ns) == (draft.size_bytes, draft.modified_ns)
            # It was read as a part and now is a recording of its own, unless the rest of its recording is gone.
            return part if same else None
        for commit in lake.current_at(draft.source_path):
            reader = self._state.registry.named(commit.format)
            if commit.status == "rejected" or (reader is not None and reader.describing() is not None):
                # What was rejected may be readable now: a description was added, a reader was corrected. What depends
                # on the files next to it is read again, because those may have come or changed.
                continue
            if commit.duplicate_of is not None and not lake.holding_facts(commit.content_hash):
                continue  # what it was a copy of has changed since
            same = commit.size_bytes == draft.size_bytes and commit.modified_ns == draft.modified_ns
            if same and self._is_current(draft.path, commit):
                return commit
        return None

    def _is_current(self, path: Path, commit: Commit) -> bool:
        """Return whether this ingest would read facts of the same version from the file, or others that will do."""
        state = self._state
        readers = [state.reader_for(path, candidate) for candidate in state.registry.formats]
        if any(commit.decoder_version in state.versions.compatible(reader) for reader in readers):
            name = commit.format
            return not state.registry.may_be_described_anew(name) or self._is_recognised_as(name, path)
        holders = state.lake.holding_facts(commit.content_hash) if commit.duplicate_of is not None else []
        copied = any(map(state.is_still_there, holders))
        same_format = (reader for reader in readers if reader.name == commit.format)
        return copied and any(state.versions.is_served_by(reader, commit.decoder_version) for reader in same_format)

    def _is_recognised_as(self, name: str | None, path: Path) -> bool:
        try:
            return self._state.registry.recognise(open_head(path, is_hashed=False)).name == name
        except InputError:
            return False
