"""The order of an ingest: recordings, files, what lost its facts meanwhile, pairs, descriptions of studies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.interface import (
    Context,
    FilePart,
    Format,
    InputError,
    Reading,
    Source,
    SplittableFormat,
)
from sojourn_ingest.formats.registry import Registry, is_description
from sojourn_ingest.lake import DataFile, Lake
from sojourn_ingest.session.attempt import Attempt
from sojourn_ingest.session.content_attempts import ContentAttempts
from sojourn_ingest.session.decoding import decode_part
from sojourn_ingest.session.draft import Draft
from sojourn_ingest.session.file_attempts import FileAttempts
from sojourn_ingest.session.pair_attempts import PairAttempts
from sojourn_ingest.session.plan import Plan, RecordingLimit, plan
from sojourn_ingest.session.recorded import recorded_at
from sojourn_ingest.session.recorded_paths import path_of
from sojourn_ingest.session.recording_attempts import RecordingAttempts
from sojourn_ingest.session.runner import Runner, ThreadRunner
from sojourn_ingest.session.sources import HEAD_BYTES, content_hash, open_head
from sojourn_ingest.session.state import IngestState

logger = logging.getLogger(__name__)


class IngestSession:
    """Reads files into a lake. Use :meth:`run` within ``lake.writing()``; ``runner`` says where attempts run.

    ``descriptions`` are those that files of later runs have, and those of this one need. ``recording_limit`` bounds
    the recordings of rotated files, for a folder that never ceases to fill.
    """

    def __init__(
        self,
        lake: Lake,
        pseudonymiser: Pseudonymiser,
        *,
        runner: Runner | None = None,
        packets: bool = False,
        server_names: ServerNames = "registrable",
        enrichment: Enrichment | None = None,
        descriptions: Sequence[Path] = (),
        recording_limit: RecordingLimit | None = None,
    ) -> None:
        self.lake = lake
        self._recording_limit = recording_limit
        self._further_descriptions = tuple(descriptions)
        self.packets = packets
        self.server_names: ServerNames = server_names
        self.context = Context(pseudonymiser, content_hash, enrichment or Enrichment())
        self.descriptions: tuple[Path, ...] = ()
        self._recordings_by_part: dict[Path, Path] = {}
        self._runner = runner or ThreadRunner()
        self.state = IngestState(lake, self.context, self._registry(), self._runner.decoding(self))
        contents = ContentAttempts(self.state)
        self.files = FileAttempts(self.state, contents)
        self.recordings = RecordingAttempts(self.state, contents)
        self.pairs = PairAttempts(self.state, contents)

    @property
    def plan(self) -> Plan:
        """What is known of the files together; see :meth:`prepare`."""
        return self.state.plan

    def run(self, files: list[Path], on_done: Callable[[Attempt], None]) -> list[Attempt]:
        """Try every file, several at a time, and return what became of each, in the order of ``files``.

        ``on_done`` is called in this thread as each file ends. A description of a study that a file belongs
        to is ingested with it, and the two captures of a run are paired once its manifest was read.
        """
        with self.lake.joining_outcomes():
            self.prepare(files)
            attempts: dict[Path, Attempt] = {}
            to_report = set(files)

            def note(attempt: Attempt) -> None:
                attempts[attempt.path] = attempt
                if attempt.path in to_report:
                    on_done(attempt)

            # Recordings first, so that a copy of one of their files is known to be one.
            alone: set[Path] = set()
            for recording in self._runner.attempt_recordings(self, self.plan.recordings):
                for attempt in recording.attempts:
                    note(attempt)
                alone |= set(recording.alone)
            parts = self.plan.parts
            single = [path for path in files if path not in parts]
            also = sorted((self.plan.also | alone) - set(single))
            for attempt in self._runner.attempt_files(self, [*single, *also]):
                note(attempt)
            self._restate(attempts)
            ordered = [attempts[path] for path in files]
            ordered += [attempts[path] for path in sorted(set(attempts) - to_report)]
            declaring = [attempt for attempt in ordered if self.pairs.may_declare(attempt)]
            ordered += self._runner.attempt_pairs(self, declaring)
            return ordered + [
                self.files.attempt(path) for path in self._descriptions_needed(ordered) if path not in attempts
            ]

    def _restate(self, attempts: dict[Path, Attempt]) -> None:
        """Try again the files whose facts are now another path's, and the copies of what was replaced meanwhile."""
        tried: set[Path] = set()
        while stale := {*self.state.take_orphaned(), *self._copies_without_facts()} - tried:
            tried |= stale
            for path in sorted(stale):
                if not any(
                    one.duplicate_of is None or self.lake.is_read_where_it_is(one.content_hash)
                    for one in recorded_at(self.lake, path)
                ):
                    attempt = self.files.attempt(path)
                    if attempt.disposition == "new" or path in attempts:
                        attempts[path] = attempt

    def _copies_without_facts(self) -> list[Path]:
        paths = (path_of(copy.source_path) for copy in self.lake.copies_without_facts())
        return [path for path in paths if path.is_file()]

    def _descriptions_needed(self, attempts: list[Attempt]) -> list[Path]:
        registry = self.state.registry
        studies: set[str] = set()
        for attempt in attempts:
            format_of_facts = registry.named(attempt.commit.format)
            if format_of_facts is not None and format_of_facts.described_study is not None:
                studies.add(format_of_facts.described_study)
            elif format_of_facts is not None and format_of_facts.describing() is not None:
                studies |= self.lake.studies_of_runs(attempt.commit)
        descriptions = [registry.study(study_id) for study_id in sorted(studies)]
        return [study.path for study in descriptions if study is not None]

    def prepare(self, files: list[Path]) -> None:
        """Take note of what the files say of one another: study descriptions, recordings, manifests."""
        further = [path for path in self._further_descriptions if path not in set(files)]
        self.descriptions = tuple(_valid_descriptions([*further, *files]))
        registry = self._registry()

        def look_into(paths: list[Path]) -> None:
            self._runner.look_into(self, paths)

        self._begin(registry, plan(files, self.lake, registry, look_into, self._recording_limit))

    def follow(self, descriptions: Sequence[Path], made: Plan) -> None:
        """Take the descriptions and the plan of an ingest that another session prepared."""
        self.descriptions = tuple(descriptions)
        self._begin(self._registry(), made)

    def _begin(self, registry: Registry, made: Plan) -> None:
        self.state.begin(registry, made)
        self._recordings_by_part = {part: one.path for one in made.recordings for part in one.parts}

    def _registry(self) -> Registry:
        return Registry(self.descriptions, packets=self.packets, server_names=self.server_names)

    def recording_of(self, path: Path) -> Path | None:
        """Return the name of the recording as a part of which a file will be read; see :meth:`prepare`."""
        return self._recordings_by_part.get(path)

    def recognise(self, path: Path) -> tuple[Format, Source]:
        """Return the format of one file, without reading it into the lake.

        Raises
        ------
        InputError
            If no format recognises it, or it cannot be read.
        """
        source = open_head(path)
        return self.state.registry.recognise(source), source

    def is_splittable(self, path: Path) -> bool:
        """Return whether a plain file can be read in parts, from its first bytes."""
        try:
            with path.open("rb") as handle:
                head = handle.read(HEAD_BYTES)
            chosen = self.state.registry.recognise(Source(path, "none", head, path.stat().st_size))
        except (OSError, InputError):
            return False
        return chosen.splittable() is not None

    def parts_of(self, source: Source, part_bytes: int) -> list[FilePart]:
        """Return the parts of a file that is read in parts; raises InputError if no format recognises it."""
        splittable = self.state.registry.recognise(source).splittable()
        return [] if splittable is None else splittable.parts(source, part_bytes)

    def rows_in_part(self, source: Source, format_name: str, part: FilePart) -> int:
        """Return how many rows a part of a file of text has."""
        return self._splittable(format_name).rows_in(source, part)

    def decode_part(
        self, draft: Draft, source: Source, format_name: str, part: FilePart
    ) -> tuple[tuple[DataFile, ...], Reading]:
        """Read one part of a file into files that no commit names yet, as facts of the whole.

        Raises
        ------
        InputError
            If nothing of the first part can be read.
        """
        return decode_part(self.lake, self.context, draft, source, self._splittable(format_name), part)

    def _splittable(self, name: str) -> SplittableFormat:
        format_named = self.state.registry.named(name)
        splittable = None if format_named is None else format_named.splittable()
        if splittable is None:
            raise ValueError(f"format {name} is never read in parts")
        return splittable


def _valid_descriptions(files: list[Path]) -> list[Path]:
    valid = []
    for path in filter(is_description, files):
        try:
            Registry([path])
        except InputError as error:
            # The file's own attempt records this; it must not stop the others.
            logger.warning("%s: %s", path, error.message)
        else:
            valid.append(path)
    return valid
