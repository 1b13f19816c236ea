"""What the attempts of one ingest share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn_ingest.formats.capture.flow_hints import NO_HINTS, FlowHints
from sojourn_ingest.formats.interface import Context, Format, Reading, Source
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.lake import Commit, DataFile, Lake, Outcome
from sojourn_ingest.remote import is_remote
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.plan import Plan
from sojourn_ingest.session.recorded import recorded_at
from sojourn_ingest.session.recorded_paths import path_of
from sojourn_ingest.session.sources import KnownHashes
from sojourn_ingest.session.versions import Versions

#: Smaller files are hashed before they are decoded: it takes next to no time, and spares to decode a copy.
HASHED_FIRST_BYTES = 2**16

#: Reads a source into files of facts; raises InputError if nothing can be read.
Decode = Callable[[Draft, Source, Format, Reading], tuple[DataFile, ...]]


class IngestState:
    """The lake, the formats and the plan of an ingest, and what its commits have replaced so far."""

    def __init__(self, lake: Lake, context: Context, registry: Registry, decode: Decode) -> None:
        self.lake = lake
        self.context = context
        self.decode = decode
        self.versions = Versions(context)
        self.hashes = KnownHashes(lake)
        self.registry = registry
        self.plan = Plan()
        self._sizes: set[int] = set()
        # Paths whose outcome was replaced by that of another path with the same content.
        self._orphaned: set[Path] = set()

    def begin(self, registry: Registry, plan: Plan) -> None:
        """Take what is known about the files that are to be tried."""
        self.registry = registry
        self.plan = plan
        self._orphaned = set()
        self._sizes = set(plan.repeated_sizes)
        for commit in self.lake.live():
            self._sizes.add(commit.size_bytes)
            self._sizes.update(part.size_bytes for part in commit.parts)

    def hashed_by_reader(self, draft: Draft) -> frozenset[bytes]:
        """Return the first bytes of contents that their reader hashes; none for a file that is hashed before.

        Hashed before are files that could be duplicates: another one here or in the lake has the same size, or the lake
        has a file of this path, which may have been recompressed. An object is hashed while it is fetched.
        """
        is_first = (
            draft.size_bytes < HASHED_FIRST_BYTES
            or draft.size_bytes in self._sizes
            or is_remote(draft.path)
            or bool(recorded_at(self.lake, draft.path))
        )
        return frozenset() if is_first else frozenset().union(*(one.hashed_magics for one in self.registry.formats))

    def hints_for(self, path: Path) -> FlowHints:
        """Return what is declared about the flows of a file."""
        return self.plan.hints.get(path, NO_HINTS)

    def reader_for(self, path: Path, chosen: Format) -> Format:
        """Return the reader of a file, which uses what is declared about its flows."""
        joined = chosen.joined()
        return chosen if joined is None else joined.with_hints(self.hints_for(path))

    def commit(
        self,
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: Sequence[Outcome] = (),
        superseded: dict[str, Commit] | None = None,
    ) -> Commit:
        """Commit an attempt in place of what it supersedes, and note the paths that lose their facts to it."""
        before = {commit.name: commit for commit in self.lake.holding_facts(outcome.content_hash)} | (superseded or {})
        commit = self.lake.commit(outcome, files, subject, tuple(part_outcomes), superseded or ())
        here = {outcome.source_path, *(part.source_path for part in part_outcomes)}
        for name in set(commit.replaces) & set(before):
            lost = before[name]
            for path in {lost.source_path, *(part.source_path for part in lost.parts)} - here:
                # The facts of that path's content are now those of this one: its outcome says so.
                if path_of(path).is_file():
                    self._orphaned.add(path_of(path))
        return commit

    def take_orphaned(self) -> list[Path]:
        """Return the paths that lost their facts since this was last asked, sorted."""
        orphaned, self._orphaned = sorted(self._orphaned), set()
        return orphaned

    def is_still_there(self, holder: Commit) -> bool:
        """Return whether the path of which the lake has facts has that content, and not another or none."""
        path = path_of(holder.source_path)
        is_gone = not (holder.parts or is_remote(path) or path.is_file())
        return not is_gone and holder in self.lake.current_at(holder.source_path)

    def superseded_recording(self, draft: Draft) -> dict[str, Commit]:
        """Return the recording that a file was a part of and no longer is, unless it is to stay."""
        recording = self.lake.recording_with(draft.source_path)
        return {} if recording is None or draft.path in self.plan.frozen else {recording.name: recording}
