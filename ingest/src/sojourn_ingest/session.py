"""One ingest: every file under the given paths is tried, and every attempt ends in a recorded outcome."""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.formats.capture import Capture
from sojourn_ingest.formats.capture_pair import CapturePair
from sojourn_ingest.formats.capture_recording import CaptureRecording
from sojourn_ingest.formats.connection_format import ConnectionFormat
from sojourn_ingest.formats.file_parts import FilePart, PartOfFile, SplittableFormat
from sojourn_ingest.formats.interface import Context, Format, InputError, Reading, Source
from sojourn_ingest.formats.native_decoder import input_error
from sojourn_ingest.formats.registry import Registry, is_description
from sojourn_ingest.formats.rotation import recording_hash
from sojourn_ingest.formats.run_manifest import RunManifest
from sojourn_ingest.ingest_plan import Plan, PlannedRecording, plan
from sojourn_ingest.lake import Commit, DataFile, FactWriter, Lake, Outcome

logger = logging.getLogger(__name__)

#: The reason where a reader itself failed: nothing that it gave is kept.
INTERNAL_ERROR = "internal_error"
#: What a format is told by, at most; as many bytes as the native recogniser takes.
HEAD_BYTES = 65_536

Item = TypeVar("Item")
Result = TypeVar("Result")

# A version of its own, not of the package: an outcome is a fact, and does not change with a release.
UNRECOGNISED_VERSION = "sojourn-ingest-0.1.0"


@dataclass(frozen=True)
class Attempt:
    """What became of one file: its commit, and whether this ingest made it or found it."""

    path: Path
    commit: Commit
    disposition: Literal["new", "unchanged"]
    refused: int = 0


@dataclass(frozen=True)
class RecordingAttempt:
    """What became of a planned recording: its attempt and those of its files, and the files to be tried alone."""

    attempts: list[Attempt]
    alone: tuple[Path, ...]


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Return every regular file below the paths, sorted, each once; hidden files and folders are left out.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.is_file():
            found.add(path.resolve())
            continue
        base = path.resolve()
        for item in base.rglob("*"):
            hidden = any(part.startswith(".") for part in item.relative_to(base).parts)
            if not hidden and item.is_file():
                found.add(item)
    return sorted(found)


class IngestSession:
    """Reads files into a lake. Use :meth:`run` within ``lake.writing()``."""

    def __init__(
        self,
        lake: Lake,
        pseudonymiser: Pseudonymiser,
        workers: int = 2,
        *,
        packets: bool = False,
        enrichment: Enrichment | None = None,
    ) -> None:
        self.lake = lake
        self._workers = workers
        self._packets = packets
        self._context = Context(
            pseudonymiser=pseudonymiser, fingerprint=_plain_hash, enrichment=enrichment or Enrichment()
        )
        self._registry = Registry(packets=packets)
        self._plan = Plan()
        # Paths whose outcome was replaced by that of another path with the same content.
        self._orphaned: set[Path] = set()
        self._descriptions: list[Path] = []

    def run(self, files: list[Path], on_done: Callable[[Attempt], None]) -> list[Attempt]:
        """Try every file, several at a time, and return what became of each, in the order of ``files``.

        ``on_done`` is called in this thread as each file ends. A description of a study that a file belongs
        to is ingested with it, and the two captures of a run are paired once its manifest was read.
        """
        self.prepare(files)
        attempts: dict[Path, Attempt] = {}
        given = set(files)

        def note(attempt: Attempt) -> None:
            attempts[attempt.path] = attempt
            if attempt.path in given:
                on_done(attempt)

        # Recordings first, so that a copy of one of their files is known to be one.
        alone: set[Path] = set()
        for found in self._try_recordings(self._plan.recordings):
            for attempt in found.attempts:
                note(attempt)
            alone |= set(found.alone)
        parts = self._plan.parts
        single = [path for path in files if path not in parts]
        for attempt in self._try_all([*single, *sorted((self._plan.also | alone) - set(single))]):
            note(attempt)
        self._restate(attempts)
        ordered = [attempts[path] for path in files]
        ordered += [attempts[path] for path in sorted(set(attempts) - given)]
        manifests = [attempt for attempt in ordered if attempt.commit.format == RunManifest.name]
        ordered += self._pair_all([attempt for attempt in manifests if attempt.commit.status != "rejected"])
        return ordered + [self.attempt(path) for path in self._descriptions_needed(ordered) if path not in attempts]

    def _try_recordings(self, recordings: list[PlannedRecording]) -> Iterator[RecordingAttempt]:
        return self._in_parallel(self.attempt_recording, recordings)

    def _try_all(self, files: list[Path]) -> Iterator[Attempt]:
        return self._in_parallel(self.attempt, files)

    def _restate(self, attempts: dict[Path, Attempt]) -> None:
        """Try again the files whose facts are now another path's, so that their outcomes say so."""
        while self._orphaned:
            orphaned, self._orphaned = sorted(self._orphaned), set()
            for path in orphaned:
                text = path_text(path)
                if not self.lake.at_path(text) and self.lake.recording_with(text) is None:
                    attempts[path] = self.attempt(path)

    def _in_parallel(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        with ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="ingest") as pool:
            pending: set[Future[Result]] = {pool.submit(work, item) for item in items}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            except BaseException:
                # Ctrl-C or a fault of the lake itself: what is committed stays, the rest is not begun.
                pool.shutdown(cancel_futures=True)
                raise

    def attempt_recording(self, planned: PlannedRecording) -> RecordingAttempt:
        """Try the files of a recording as one; those that cannot be part of it are to be tried alone."""
        started_ns, clock = time.time_ns(), time.perf_counter()
        path = CaptureRecording.path_of(planned.parts)
        draft = Draft(path, 0, 0, started_ns, clock, format=CaptureRecording.name)
        fault = planned.fault()
        if fault is not None:
            return RecordingAttempt([self._reject(draft, fault)], planned.parts)
        try:
            parts = [self._draft_of_part(part, started_ns, clock) for part in planned.parts]
        except (OSError, InputError):
            return RecordingAttempt([], planned.parts)  # each file's own attempt says what is wrong with it
        attempts: list[Attempt] = []
        # Of two equal recordings that are tried at the same time the first is decoded.
        with self.lake.deciding(f"recording {recording_hash([part.content_hash for part in parts])}"):
            overlapping = self._recordings_with(planned.parts)
            own = self._not_held_elsewhere(parts, overlapping)
            others = [part for part in parts if part not in own]
            if len(own) > 1:
                draft.path = CaptureRecording.path_of([part.path for part in own])
                attempts = self._read_recording(draft, own, overlapping)
        if not attempts:
            others = parts
        # What is a copy of a file held elsewhere, or in the recording itself, is so alone.
        return RecordingAttempt(attempts, tuple(part.path for part in others))

    def _draft_of_part(self, path: Path, started_ns: int, clock: float) -> Draft:
        state = path.stat()
        draft = Draft(path, state.st_size, state.st_mtime_ns, started_ns, clock, format=Capture.name)
        draft.content_hash = self._hash_of(path)
        return draft

    def _recordings_with(self, paths: Iterable[Path]) -> dict[str, Commit]:
        found = (self.lake.recording_with(path_text(path)) for path in paths)
        return {commit.name: commit for commit in found if commit is not None}

    def _not_held_elsewhere(self, parts: list[Draft], overlapping: dict[str, Commit]) -> list[Draft]:
        """Return the parts whose content no other path's facts hold, but facts of these contents alone."""
        contents = {part.content_hash for part in parts}
        paths = {part.source_path for part in parts}
        own: list[Draft] = []
        for part in parts:
            held = any(
                commit.name not in overlapping
                and commit.source_path not in paths
                and not contents.issuperset(_contents(commit))
                for commit in self.lake.holding_facts(part.content_hash)
            )
            repeated = any(part.content_hash == earlier.content_hash for earlier in own)
            if not held and not repeated:
                own.append(part)
        # Of two recordings of the same files, in two folders, the one that is there stays.
        recording = recording_hash([part.content_hash for part in own]) if own else ""
        there = [commit for commit in self.lake.holding_facts(recording) if commit.name not in overlapping]
        return [] if there and len(own) > 1 else own

    def _read_recording(self, draft: Draft, parts: list[Draft], overlapping: dict[str, Commit]) -> list[Attempt]:
        """Read a recording, and return what became of it and its parts; nothing where it cannot be read as one."""
        draft.content_hash = recording_hash([part.content_hash for part in parts])
        draft.size_bytes = sum(part.size_bytes for part in parts)
        draft.modified_ns = max(part.modified_ns for part in parts)
        reader = CaptureRecording([part.path for part in parts], self._capture(parts[0].path))
        draft.version = self._version(reader)
        with self.lake.deciding(draft.content_hash):
            for commit in self.lake.at_path(draft.source_path):
                same = [(part.source_path, part.content_hash) for part in commit.parts] == [
                    (part.source_path, part.content_hash) for part in parts
                ]
                if same and commit.decoder_version in self._compatible_versions(reader):
                    return attempts_of(draft.path, commit, "unchanged")
            contents = {part.content_hash for part in parts}
            alone = {
                commit.name: commit
                for part in parts
                for commit in (*self.lake.at_path(part.source_path), *self.lake.holding_facts(part.content_hash))
                if commit.source_path == part.source_path or contents.issuperset(_contents(commit))
            }
            reading = Reading()
            try:
                files = self._decoded(draft, Source(draft.path, "none", b"", draft.size_bytes), reader, reading)
            except InputError:
                return []
            outcomes = []
            for part, seen in zip(parts, reader.part_readings, strict=True):
                part.version = draft.version
                part.compression = self._open(part.path)[0].compression
                outcomes.append(part.read(seen, part_of=draft.source_path))
            superseded = {**overlapping, **alone}
            commit = self._commit(draft.read(reading), files, None, tuple(outcomes), superseded)
            refused = sum(reading.refused.values())
            return attempts_of(draft.path, commit, "new", refused)

    def _commit(
        self,
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: tuple[Outcome, ...] = (),
        superseded: dict[str, Commit] | None = None,
    ) -> Commit:
        before = {commit.name: commit for commit in self.lake.holding_facts(outcome.content_hash)} | (superseded or {})
        commit = self.lake.commit(outcome, files, subject, part_outcomes, superseded or ())
        here = {outcome.source_path, *(part.source_path for part in part_outcomes)}
        for name in set(commit.replaces) & set(before):
            lost = before[name]
            for path in {lost.source_path, *(part.source_path for part in lost.parts)} - here:
                # The facts of that path's content are now those of this one: its outcome says so.
                if Path(path).is_file():
                    self._orphaned.add(Path(path))
        return commit

    def recording_of(self, path: Path) -> Path | None:
        """Return the name of the recording as a part of which a file will be read; see :meth:`prepare`."""
        for recording in self._plan.recordings:
            if path in recording.parts:
                return CaptureRecording.path_of(recording.parts)
        return None

    def _capture(self, path: Path) -> Capture:
        hints = self._plan.hints.get(path, ())
        return Capture(packets=self._packets, rtp_hints=hints)

    def _pair_all(self, manifests: list[Attempt]) -> list[Attempt]:
        pairs = [self.pair(attempt) for attempt in manifests]
        return [attempt for attempt in pairs if attempt is not None]

    def pair(self, manifest: Attempt) -> Attempt | None:
        """Pair the two captures of a run whose manifest was read; None where it has no two."""
        started_ns, clock = time.time_ns(), time.perf_counter()
        draft = Draft(manifest.path.with_name("before+after"), 0, 0, started_ns, clock, format=CapturePair.name)
        try:
            source, _, _ = self._open(manifest.path)
            pair = RunManifest.capture_pair(source, self._hash_of)
            if pair is None:
                return None
            sizes = [path.stat() for path in (*pair.before, *pair.after)]
        except InputError as error:
            return self._reject(draft, error)
        except OSError as error:
            return self._reject(draft, InputError("unreadable", f"cannot be read: {error.strerror}"))
        draft.path, draft.content_hash = pair.path, pair.content_hash
        draft.size_bytes = sum(state.st_size for state in sizes)
        draft.modified_ns = max(state.st_mtime_ns for state in sizes)
        with self.lake.deciding(draft.content_hash):
            return self._read(draft, Source(pair.path, "none", b"", draft.size_bytes), pair)

    def _hash_of(self, path: Path) -> str:
        state = path.stat()
        text = path_text(path)
        known = self.lake.at_path(text)
        recording = self.lake.recording_with(text)
        part = None if recording is None else recording.of_part(text)
        if part is not None:
            known.append(part)
        for commit in known:
            # It was hashed when it was tried, in this session or an earlier one.
            if commit.content_hash and (commit.size_bytes, commit.modified_ns) == (state.st_size, state.st_mtime_ns):
                return commit.content_hash
        return _plain_hash(path)

    def _described(self, files: list[Path]) -> list[Path]:
        described = []
        for path in filter(is_description, files):
            try:
                Registry([path])
            except InputError as error:
                # The file's own attempt records this; it must not stop the others.
                logger.warning("%s: %s", path, error.message)
            else:
                described.append(path)
        return described

    def _descriptions_needed(self, attempts: list[Attempt]) -> list[Path]:
        studies: set[str] = set()
        for attempt in attempts:
            name = attempt.commit.format or ""
            if name.startswith("study_table:"):
                studies.add(name.removeprefix("study_table:").partition("/")[0])
            elif name == RunManifest.name:
                studies |= self.lake.studies_of_runs(attempt.commit)
        known = [self._registry.study(study_id) for study_id in sorted(studies)]
        return [study.path for study in known if study is not None]

    def prepare(self, files: list[Path]) -> None:
        """Take note of what the files say of one another: study descriptions, recordings, manifests."""
        self._descriptions = self._described(files)
        self._registry = Registry(self._descriptions, packets=self._packets)
        self.follow(plan(files, self.lake, lambda path: self._open(path)[0]))

    def follow(self, made: Plan) -> None:
        """Take the plan of an ingest that another session made."""
        self._plan = made
        self._orphaned = set()

    def recognise(self, path: Path) -> tuple[Format, Source]:
        """Return the format of one file, without reading it whole into the lake.

        Raises
        ------
        InputError
            If no format recognises it, or it cannot be read.
        """
        source, _, fault = self._open(path)
        if fault is not None and source.plain_bytes == 0:
            raise fault
        return self._registry.recognise(source), source

    def attempt(self, path: Path) -> Attempt:
        """Try one file. Whatever goes wrong becomes the outcome's message; only faults of the lake are raised."""
        started_ns = time.time_ns()
        clock = time.perf_counter()
        try:
            state = path.stat()
            size_bytes, modified_ns = state.st_size, state.st_mtime_ns
        except OSError as error:
            draft = Draft(path, 0, 0, started_ns, clock)
            return self._reject(draft, InputError("unreadable", f"cannot be read: {error.strerror}"))
        draft = Draft(path, size_bytes, modified_ns, started_ns, clock)
        found = self._unchanged(draft)
        if found is not None:
            return Attempt(path, found, "unchanged")
        try:
            source, draft.content_hash, fault = self._open(path)
        except InputError as error:
            return self._reject(draft, error)
        draft.compression = source.compression
        try:
            if fault is not None and source.plain_bytes == 0:
                raise fault
            chosen = self._registry.recognise(source)
        except InputError as error:
            return self._reject(draft, error)
        with self.lake.deciding(draft.content_hash):
            return self._read(draft, source, chosen)

    def _unchanged(self, draft: Draft) -> Commit | None:
        recording = self.lake.recording_with(draft.source_path)
        if recording is not None:
            part = recording.of_part(draft.source_path) if draft.path in self._plan.frozen else None
            same = part is not None and (part.size_bytes, part.modified_ns) == (draft.size_bytes, draft.modified_ns)
            # It was read as a part and now stands alone, unless the rest of its recording is gone.
            return part if same else None
        for commit in self.lake.at_path(draft.source_path):
            if commit.status == "rejected" or commit.format == RunManifest.name:
                # What was rejected may be readable now: a description was added, a full disk was emptied. A manifest
                # is bound to the files that lie beside it, which may have come or changed since.
                continue
            if commit.duplicate_of is not None and not self.lake.holding_facts(commit.content_hash):
                continue  # what it was a copy of has changed since
            same = commit.size_bytes == draft.size_bytes and commit.modified_ns == draft.modified_ns
            if same and commit.decoder_version in self._versions(draft.path, commit):
                return commit
        return None

    def _versions(self, path: Path, commit: Commit) -> set[str]:
        if commit.format == Capture.name:
            versions = set(self._compatible_versions(self._capture(path)))
            copied = commit.duplicate_of is not None
            return versions | ({commit.decoder_version} if copied and self._is_compatible(path, commit) else set())
        return {version for candidate in self._registry.formats for version in self._compatible_versions(candidate)}

    def _is_compatible(self, path: Path, holder: Commit) -> bool:
        """Whether facts that another path's manifest had its say in will do for this path.

        Where two manifests say different things of the same content, those are kept that are there.
        """
        version, fingerprint = holder.decoder_version, self._context.pseudonymiser.fingerprint
        current = version.startswith(Capture.base_version()) and version.endswith(f"+{fingerprint}")
        has_packets = not self._packets or "+packets" in version
        return current and has_packets and ("+rtp-" in version or not self._capture(path).rtp_hints)

    def _version(self, chosen: Format, bound: str = "") -> str:
        return chosen.version + bound + self._mark(chosen)

    def _mark(self, chosen: Format) -> str:
        # Facts with addresses under another policy or key do not join with these, and clients of connections are others
        # under another prefix list: they are facts of another version.
        fingerprint = f"+{self._context.enrichment.fingerprint}" if isinstance(chosen, ConnectionFormat) else ""
        return fingerprint + (f"+{self._context.pseudonymiser.fingerprint}" if chosen.holds_addresses else "")

    def _compatible_versions(self, candidate: Format, bound: str = "") -> tuple[str, ...]:
        versions = candidate.compatible_versions() if isinstance(candidate, Capture) else (candidate.version,)
        return tuple(version + bound + self._mark(candidate) for version in versions)

    def _open(self, path: Path) -> tuple[Source, str, InputError | None]:
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError("unreadable", "the file's name is not UTF-8; rename it") from error
        try:
            content = _native.fingerprint(str(path))
        except _native.DecodeError as error:
            raise input_error(error) from error
        source = Source(path=path, compression=content.compression, head=content.head, plain_bytes=content.plain_bytes)
        return source, content.sha256, None if content.fault is None else input_error(content.fault)

    def _read(self, draft: Draft, source: Source, chosen: Format) -> Attempt:
        draft.format = chosen.name
        if type(chosen) is Capture:
            chosen = self._capture(draft.path)
        bound = chosen.bound_to(source, self._hash_of) if isinstance(chosen, RunManifest) else ""
        draft.version = self._version(chosen, bound)
        compatible = self._compatible_versions(chosen, bound)
        recording = self.lake.recording_with(draft.source_path)
        superseded = {} if recording is None or draft.path in self._plan.frozen else {recording.name: recording}
        for commit in self.lake.at_path(draft.source_path):
            same_content = commit.content_hash == draft.content_hash and commit.status != "rejected"
            copied = commit.duplicate_of is not None
            still_held = not copied or bool(self.lake.holding_facts(commit.content_hash))
            if same_content and commit.decoder_version in compatible and still_held and not superseded:
                return Attempt(draft.path, commit, "unchanged")
        holder = self._holder(draft, chosen, compatible, superseded)
        if holder is not None:
            draft.version = holder.decoder_version
            for commit in self.lake.at_path(draft.source_path):
                same = (commit.content_hash, commit.duplicate_of) == (draft.content_hash, holder.source_path)
                if same and commit.decoder_version == draft.version:
                    return Attempt(draft.path, commit, "unchanged")
            return Attempt(draft.path, self._commit(draft.duplicate(holder), (), superseded=superseded), "new")
        reading = Reading()
        try:
            files = self._decoded(draft, source, chosen, reading)
        except InputError as error:
            return self._reject(draft, error, reading)
        refused = sum(reading.refused.values())
        commit = self._commit(draft.read(reading), files, reading.subject, superseded=superseded)
        return Attempt(draft.path, commit, "new", refused)

    def _holder(
        self, draft: Draft, chosen: Format, compatible: tuple[str, ...], superseded: dict[str, Commit]
    ) -> Commit | None:
        """Return what the lake holds of a content, so that it need not be read again."""
        for version in compatible:
            commit = self.lake.facts_of(draft.content_hash, version)
            if commit is not None:
                return commit
        if type(chosen) is not Capture:
            return None
        for commit in self.lake.holding_facts(draft.content_hash):
            if commit.name in superseded or commit.source_path == draft.source_path:
                continue
            if commit.parts:
                # Whatever its version: it is read anew with the other files of its recording.
                part = next(part for part in commit.parts if part.content_hash == draft.content_hash)
                return commit.of_part(part.source_path)
            if self._is_compatible(draft.path, commit):
                return commit
        return None

    def _decoded(self, draft: Draft, source: Source, chosen: Format, reading: Reading) -> tuple[DataFile, ...]:
        """Read a source into files that no commit names yet."""
        forgotten = self._context.pseudonymiser.forgotten.host_keys
        with FactWriter(self.lake.storage, draft.content_hash, draft.version, forgotten) as writer:
            try:
                for name, batch in chosen.read(source, self._context, reading):
                    writer.write(name, batch)
            except (InputError, MemoryError):
                raise
            except BaseException as error:
                # A panic of the decoder derives from BaseException and from no class that can be imported.
                if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                    raise
                # Where the fault came up is told, and what it says only where it cannot quote an address.
                frames = "".join(traceback.format_tb(error.__traceback__))
                what = type(error).__name__ if chosen.holds_addresses else f"{type(error).__name__}: {error}"
                logger.error("%s: reader %s failed: %s\n%s", draft.path, chosen.name, what, frames)  # noqa: TRY400
                text = f"reader {chosen.name} failed: {what}; please report this"
                raise InputError(INTERNAL_ERROR, text) from error
            files = writer.finish()
            reading.refuse("forgotten_host", writer.forgotten_rows)
            return files

    def splittable(self, path: Path) -> SplittableFormat | None:
        """Return the format of a plain file that can be read in parts, from its first bytes; None for any other."""
        try:
            with path.open("rb") as handle:
                head = handle.read(HEAD_BYTES)
            chosen = self._registry.recognise(Source(path, "none", head, path.stat().st_size))
        except (OSError, InputError):
            return None
        return chosen if isinstance(chosen, SplittableFormat) else None

    def rows_in_part(self, source: Source, format_name: str, part: FilePart) -> int:
        """Return how many rows a part of a file of text has."""
        return self._splittable_named(format_name).rows_in(source, part)

    def read_part(
        self, source: Source, format_name: str, part: FilePart, content_hash: str, version: str
    ) -> tuple[tuple[DataFile, ...], Reading]:
        """Read one part of a file into files that no commit names yet, as facts of the whole.

        Raises
        ------
        InputError
            If nothing of the first part can be read.
        """
        draft = Draft(source.path, 0, 0, 0, 0.0, content_hash=content_hash, format=format_name, version=version)
        reading = Reading()
        part_format = PartOfFile(self._splittable_named(format_name), part)
        return self._decoded(draft, source, part_format, reading), reading

    def _splittable_named(self, name: str) -> SplittableFormat:
        return next(
            found for found in self._registry.formats if isinstance(found, SplittableFormat) and found.name == name
        )

    def _reject(self, draft: Draft, error: InputError, reading: Reading | None = None) -> Attempt:
        outcome = draft.rejected(error, reading or Reading())
        for commit in self.lake.at_path(outcome.source_path):
            if (
                commit.content_hash == outcome.content_hash
                and commit.decoder_version == outcome.decoder_version
                and commit.reason == outcome.reason
            ):
                return Attempt(draft.path, commit, "unchanged")
        recording = self.lake.recording_with(outcome.source_path)
        alone = recording is not None and draft.path not in self._plan.frozen
        superseded = {recording.name: recording} if recording is not None and alone else {}
        return Attempt(draft.path, self._commit(outcome, (), superseded=superseded), "new")


@dataclass
class Draft:
    """An outcome in the making: what is known of a source before it is read."""

    path: Path
    size_bytes: int
    modified_ns: int
    started_ns: int
    clock: float
    content_hash: str = ""
    compression: str = "none"
    format: str | None = None
    version: str = UNRECOGNISED_VERSION

    @property
    def source_path(self) -> str:
        """The path as text, also where its bytes are not UTF-8."""
        return path_text(self.path)

    def _outcome(
        self, status: Literal["ok", "partial", "rejected"], reading: Reading, **more: str | int | None
    ) -> Outcome:
        fault = reading.fault
        return Outcome(
            source_path=self.source_path,
            content_hash=self.content_hash,
            decoder_version=self.version,
            size_bytes=self.size_bytes,
            modified_ns=self.modified_ns,
            compression=self.compression,
            format=self.format,
            status=status,
            records_read=reading.records_read,
            refused=dict(reading.refused),
            reason=None if fault is None else fault.reason,
            message=None if fault is None else fault.message,
            fault_offset_bytes=None if fault is None else fault.offset,
            started_ns=self.started_ns,
            duration_ms=(time.perf_counter() - self.clock) * 1000,
            **more,  # type: ignore[arg-type]
        )

    def read(self, reading: Reading, part_of: str | None = None) -> Outcome:
        """Return the outcome of what was read, as a file of its own or as part of a recording."""
        fault = reading.fault
        nothing_read = part_of is not None and reading.records_read == 0
        status: Literal["ok", "partial", "rejected"] = (
            "ok" if fault is None else "rejected" if nothing_read else "partial"
        )
        return self._outcome(status, reading, part_of=part_of)

    def duplicate(self, holder: Commit) -> Outcome:
        """Return the outcome of a content that another path holds."""
        fault = None if holder.reason is None else InputError(holder.reason, holder.message or "")
        reading = Reading(records_read=holder.records_read, fault=fault)
        status: Literal["ok", "partial"] = "ok" if holder.status == "ok" else "partial"
        return self._outcome(status, reading, duplicate_of=holder.source_path)

    def rejected(self, error: InputError, reading: Reading) -> Outcome:
        """Return the outcome of what cannot be read."""
        reading.fault = error
        return self._outcome("rejected", reading)


def _contents(commit: Commit) -> set[str]:
    """Return the contents of files whose facts a commit holds."""
    return {part.content_hash for part in commit.parts} or {commit.content_hash}


def attempts_of(
    path: Path, commit: Commit, disposition: Literal["new", "unchanged"], refused: int = 0
) -> list[Attempt]:
    """Return a recording's attempt, and those of its parts."""
    attempts = [Attempt(path, commit, disposition, refused)]
    for part in commit.parts:
        of_part = commit.of_part(part.source_path)
        if of_part is not None:
            attempts.append(Attempt(Path(part.source_path), of_part, disposition))
    return attempts


def path_text(path: Path) -> str:
    """Return a path as text that can be written, also where its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _plain_hash(path: Path) -> str:
    try:
        content = _native.fingerprint(str(path))
    except _native.DecodeError as error:
        raise input_error(error) from error
    return content.sha256
