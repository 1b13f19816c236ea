"""Attempts at one content, of a file or a recording: found unchanged, found at another path, read, or rejected."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sojourn_ingest.formats.interface import Format, InputError, Reading, Source
from sojourn_ingest.input_error import changed_while_read
from sojourn_ingest.lake import Commit, DataFile
from sojourn_ingest.remote import is_remote
from sojourn_ingest.session.attempt import Attempt
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.sources import content_hash
from sojourn_ingest.session.state import IngestState


@dataclass(frozen=True)
class _Decoded:
    """Files of facts that no commit names yet, or the error of a source of which nothing can be read."""

    reading: Reading
    files: tuple[DataFile, ...] = ()
    error: InputError | None = None


class ContentAttempts:
    """Ends the attempt at a content in a commit."""

    def __init__(self, state: IngestState) -> None:
        self._state = state

    def read(self, draft: Draft, source: Source, chosen: Format) -> Attempt:
        """Return what became of a content of a known format; the caller holds it, see :meth:`Lake.deciding`."""
        chosen, compatible = self._begin(draft, source, chosen)
        return self._recorded(draft, chosen, compatible) or self._end(draft, self._decode(draft, source, chosen))

    def read_unhashed(self, draft: Draft, source: Source, chosen: Format) -> Attempt:
        """Return what became of a content that is hashed as it is decoded, before it is known whether it is a copy."""
        unread = replace(draft)
        chosen, compatible = self._begin(draft, source, chosen)
        decoded = self._decode(draft, source, chosen)
        draft.note_damage(decoded.error or decoded.reading.fault)
        if not draft.content_hash:
            # The reader ended before it.
            try:
                draft.content_hash = content_hash(draft.path)
            except InputError as error:
                return self.reject(unread, error)
        with self._state.lake.deciding(draft.content_hash):
            recorded = self._recorded(draft, chosen, compatible)
            if recorded is None:
                return self._end(draft, decoded)
            self._delete(decoded.files)
            return recorded

    def _begin(self, draft: Draft, source: Source, chosen: Format) -> tuple[Format, tuple[str, ...]]:
        """Return the reader with what is declared of the content, and the versions of facts that will do."""
        state = self._state
        draft.format = chosen.name
        chosen = state.reader_for(draft.path, chosen)
        describing = chosen.describing()
        bound = "" if describing is None else describing.bound_to(source, state.hashes.of)
        draft.version = state.versions.of(chosen, bound)
        return chosen, state.versions.compatible(chosen, bound)

    def _recorded(self, draft: Draft, chosen: Format, compatible: tuple[str, ...]) -> Attempt | None:
        """Return the attempt at a content that the lake has, at this path or at another; None if it has not."""
        state = self._state
        superseded = state.superseded_recording(draft)
        for commit in state.lake.current_at(draft.source_path):
            same_content = commit.content_hash == draft.content_hash and commit.status != "rejected"
            copied = commit.duplicate_of is not None
            still_held = not copied or bool(state.lake.holding_facts(commit.content_hash))
            same_content = same_content and draft.is_damaged_like(commit)
            if same_content and commit.decoder_version in compatible and still_held and not superseded:
                return Attempt(draft.path, commit, "unchanged")
        holder = self._holder(draft, chosen, compatible, superseded)
        if holder is None:
            return None
        draft.version = holder.decoder_version
        for commit in state.lake.current_at(draft.source_path):
            same = (commit.content_hash, commit.duplicate_of) == (draft.content_hash, holder.source_path)
            if same and commit.decoder_version == draft.version and draft.is_damaged_like(commit):
                return Attempt(draft.path, commit, "unchanged")
        return Attempt(draft.path, state.commit(draft.duplicate(holder), (), superseded=superseded), "new")

    def _decode(self, draft: Draft, source: Source, chosen: Format) -> _Decoded:
        reading = Reading()
        try:
            files = self._state.decode(draft, source, chosen, reading)
            self._refuse_change(draft, files)
        except InputError as error:
            return _Decoded(reading, error=error)
        finally:
            draft.content_hash = draft.content_hash or reading.content_hash or ""
        return _Decoded(reading, files)

    def _end(self, draft: Draft, decoded: _Decoded) -> Attempt:
        if decoded.error is not None:
            return self.reject(draft, decoded.error, decoded.reading)
        state, reading = self._state, decoded.reading
        # A reader may end before the damage.
        reading.fault = reading.fault or draft.damage
        superseded = state.superseded_recording(draft)
        commit = state.commit(draft.read(reading), decoded.files, reading.subject, superseded=superseded)
        return Attempt(draft.path, commit, "new", dict(reading.refused))

    def _delete(self, files: tuple[DataFile, ...]) -> None:
        for file in files:
            self._state.lake.storage.delete(file.path)

    def _refuse_change(self, draft: Draft, files: tuple[DataFile, ...]) -> None:
        """Go on if a file is as it was before it was read: otherwise its facts may be of another content."""
        if is_remote(draft.path):
            changed = draft.read_another_version()
        elif draft.path.is_file():
            state = draft.path.stat()
            changed = (state.st_size, state.st_mtime_ns) != (draft.size_bytes, draft.modified_ns)
        else:
            # A recording or a pair, whose name is not a file; or one that was removed, whose facts are whole.
            changed = False
        if changed:
            self._delete(files)
            raise changed_while_read()

    def _holder(
        self, draft: Draft, chosen: Format, compatible: tuple[str, ...], superseded: dict[str, Commit]
    ) -> Commit | None:
        """Return what the lake holds of a content, so that it need not be read again."""
        lake = self._state.lake
        for version in compatible:
            commit = lake.facts_of(draft.content_hash, version)
            if commit is not None and commit.source_path == draft.source_path:
                # Facts of a file as it was: it is damaged now, or no longer.
                return None
            if commit is not None:
                return commit
        for commit in lake.holding_facts(draft.content_hash):
            if commit.name in superseded or commit.source_path == draft.source_path:
                continue
            if commit.parts and chosen.joined() is not None:
                # In any version: it is read again with the other files of its recording.
                part = next(part for part in commit.parts if part.content_hash == draft.content_hash)
                return commit.of_part(part.source_path)
            # What was declared where the content is no more does not hold here.
            if self._state.is_still_there(commit) and (
                self._state.versions.is_served_by(chosen, commit.decoder_version)
                or self._is_of_another_description(chosen, commit)
            ):
                return commit
        return None

    def _is_of_another_description(self, chosen: Format, holder: Commit) -> bool:
        """Return whether a table is read by another description at another path: its rows count once, by that one."""
        reader = self._state.registry.named(holder.format)
        if reader is None or None in (reader.description, chosen.description):
            return False
        is_other = reader.description != chosen.description
        return is_other and holder.decoder_version in self._state.versions.compatible(reader)

    def reject(self, draft: Draft, error: InputError, reading: Reading | None = None) -> Attempt:
        """Record that a content cannot be read, unless that is on record already."""
        outcome = draft.rejected(error, reading or Reading())
        for commit in self._state.lake.current_at(outcome.source_path):
            if (
                commit.content_hash == outcome.content_hash
                and commit.decoder_version == outcome.decoder_version
                and (commit.reason, commit.message) == (outcome.reason, outcome.message)
            ):
                return Attempt(draft.path, commit, "unchanged")
        superseded = self._state.superseded_recording(draft)
        commit = self._state.commit(outcome, (), superseded=superseded)
        return Attempt(draft.path, commit, "new", dict(outcome.refused))
