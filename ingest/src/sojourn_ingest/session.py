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
from typing import Literal

from sojourn_ingest import __version__, _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.formats.capture import Capture
from sojourn_ingest.formats.capture_pair import CapturePair
from sojourn_ingest.formats.interface import Context, Format, InputError, Reading, Source
from sojourn_ingest.formats.native_decoder import input_error
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.run_manifest import RunManifest
from sojourn_ingest.formats.snapshot_connections import SnapshotFormat
from sojourn_ingest.formats.snapshot_mapping import is_snapshot_description
from sojourn_ingest.formats.study_description import MARKER, MAX_BYTES
from sojourn_ingest.lake import Commit, FactWriter, Lake, Outcome

logger = logging.getLogger(__name__)

UNRECOGNISED_VERSION = f"sojourn-ingest-{__version__}"


@dataclass(frozen=True)
class Attempt:
    """What became of one file: its commit, and whether this ingest made it or found it."""

    path: Path
    commit: Commit
    disposition: Literal["new", "unchanged"]
    refused: int = 0


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


def _description_files(files: Iterable[Path]) -> Iterator[Path]:
    for path in files:
        if path.suffix in (".yaml", ".yml") and path.stat().st_size <= MAX_BYTES:
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(line.strip() == MARKER for line in text[:4096].splitlines()) or is_snapshot_description(path):
                yield path


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
        self._descriptions: list[Path] = []

    def run(self, files: list[Path], on_done: Callable[[Attempt], None]) -> list[Attempt]:
        """Try every file, several at a time, and return what became of each, in the order of ``files``.

        ``on_done`` is called in this thread as each file ends. A description of a study that a file belongs
        to is ingested with it, and the two captures of a run are paired once its manifest was read.
        """
        self.prepare(files)
        attempts: dict[Path, Attempt] = {}
        for attempt in self._try_all(files):
            attempts[attempt.path] = attempt
            on_done(attempt)
        ordered = [attempts[path] for path in files]
        manifests = [attempt for attempt in ordered if attempt.commit.format == RunManifest.name]
        ordered += self._pair_all([attempt for attempt in manifests if attempt.commit.status != "rejected"])
        return ordered + [self.attempt(path) for path in self._descriptions_needed(ordered) if path not in attempts]

    def _try_all(self, files: list[Path]) -> Iterator[Attempt]:
        with ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="ingest") as pool:
            pending: set[Future[Attempt]] = {pool.submit(self.attempt, path) for path in files}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            except BaseException:
                # Ctrl-C or a fault of the lake itself: what is committed stays, the rest is not begun.
                pool.shutdown(cancel_futures=True)
                raise

    def _pair_all(self, manifests: list[Attempt]) -> list[Attempt]:
        pairs = [self.pair(attempt) for attempt in manifests]
        return [attempt for attempt in pairs if attempt is not None]

    def pair(self, manifest: Attempt) -> Attempt | None:
        """Pair the two captures of a run whose manifest was read; None where it has no two."""
        started_ns, clock = time.time_ns(), time.perf_counter()
        draft = _Draft(manifest.path.with_name("before+after"), 0, 0, started_ns, clock, format=CapturePair.name)
        try:
            source, _, _ = self._open(manifest.path)
            pair = RunManifest.capture_pair(source, self._hash_of)
            if pair is None:
                return None
            sizes = [path.stat() for path in (pair.before, pair.after)]
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
        for commit in self.lake.at_path(path_text(path)):
            # It was hashed when it was tried, in this session or an earlier one.
            if commit.content_hash and (commit.size_bytes, commit.modified_ns) == (state.st_size, state.st_mtime_ns):
                return commit.content_hash
        return _plain_hash(path)

    def _described(self, files: list[Path]) -> list[Path]:
        described = []
        for path in _description_files(files):
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
        """Take note of the study descriptions among the files, so that tables they describe are recognised."""
        self._descriptions = self._described(files)
        self._registry = Registry(self._descriptions, packets=self._packets)

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
            draft = _Draft(path, 0, 0, started_ns, clock)
            return self._reject(draft, InputError("unreadable", f"cannot be read: {error.strerror}"))
        draft = _Draft(path, size_bytes, modified_ns, started_ns, clock)
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

    def _unchanged(self, draft: _Draft) -> Commit | None:
        for commit in self.lake.at_path(draft.source_path):
            if commit.status == "rejected" or commit.format == RunManifest.name:
                # What was rejected may be readable now: a description was added, a full disk was emptied. A manifest
                # is bound to the files that lie beside it, which may have come or changed since.
                continue
            same = commit.size_bytes == draft.size_bytes and commit.modified_ns == draft.modified_ns
            if same and commit.decoder_version in self._versions():
                return commit
        return None

    def _versions(self) -> set[str]:
        return {version for candidate in self._registry.formats for version in self._versions_as_good(candidate)}

    def _version(self, chosen: Format, bound: str = "") -> str:
        return chosen.version + bound + self._mark(chosen)

    def _mark(self, chosen: Format) -> str:
        # Facts with addresses under another policy or key do not join with these, and clients of connections are others
        # under another prefix list: they are facts of another version.
        mark = f"+{self._context.enrichment.mark}" if isinstance(chosen, SnapshotFormat) else ""
        return mark + (f"+{self._context.pseudonymiser.mark}" if chosen.holds_addresses else "")

    def _versions_as_good(self, candidate: Format, bound: str = "") -> tuple[str, ...]:
        versions = candidate.versions_as_good() if isinstance(candidate, Capture) else (candidate.version,)
        return tuple(version + bound + self._mark(candidate) for version in versions)

    def _open(self, path: Path) -> tuple[Source, str, InputError | None]:
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError("unreadable", "the file's name is not UTF-8; rename it") from error
        try:
            mark = _native.fingerprint(str(path))
        except _native.DecodeError as error:
            raise input_error(error) from error
        source = Source(path=path, compression=mark.compression, head=mark.head, plain_bytes=mark.plain_bytes)
        return source, mark.sha256, None if mark.fault is None else input_error(mark.fault)

    def _read(self, draft: _Draft, source: Source, chosen: Format) -> Attempt:
        draft.format = chosen.name
        bound = chosen.bound_to(source, self._hash_of) if isinstance(chosen, RunManifest) else ""
        draft.version = self._version(chosen, bound)
        as_good = self._versions_as_good(chosen, bound)
        for commit in self.lake.at_path(draft.source_path):
            same_content = commit.content_hash == draft.content_hash and commit.status != "rejected"
            if same_content and commit.decoder_version in as_good:
                return Attempt(draft.path, commit, "unchanged")
        holders = (self.lake.facts_of(draft.content_hash, version) for version in as_good)
        holder = next((commit for commit in holders if commit is not None), None)
        if holder is not None:
            draft.version = holder.decoder_version
            return Attempt(draft.path, self.lake.commit(draft.duplicate(holder), ()), "new")
        reading = Reading()
        forgotten = self._context.pseudonymiser.forgotten.host_keys
        with FactWriter(self.lake.storage, draft.content_hash, draft.version, self.lake.attempt, forgotten) as writer:
            try:
                for name, batch in chosen.read(source, self._context, reading):
                    writer.write(name, batch)
            except InputError as error:
                return self._reject(draft, error, reading)
            except MemoryError:
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
                return self._reject(draft, InputError("internal_error", text), reading)
            files = writer.finish()
            reading.refuse("forgotten_host", writer.forgotten_rows)
            refused = sum(reading.refused.values())
            return Attempt(draft.path, self.lake.commit(draft.read(reading), files, reading.subject), "new", refused)

    def _reject(self, draft: _Draft, error: InputError, reading: Reading | None = None) -> Attempt:
        outcome = draft.rejected(error, reading or Reading())
        for commit in self.lake.at_path(outcome.source_path):
            if (
                commit.content_hash == outcome.content_hash
                and commit.decoder_version == outcome.decoder_version
                and commit.reason == outcome.reason
            ):
                return Attempt(draft.path, commit, "unchanged")
        return Attempt(draft.path, self.lake.commit(outcome, ()), "new")


@dataclass
class _Draft:
    """An outcome in the making."""

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

    def read(self, reading: Reading) -> Outcome:
        return self._outcome("ok" if reading.fault is None else "partial", reading)

    def duplicate(self, holder: Commit) -> Outcome:
        fault = None if holder.reason is None else InputError(holder.reason, holder.message or "")
        reading = Reading(records_read=holder.records_read, fault=fault)
        status: Literal["ok", "partial"] = "ok" if holder.status == "ok" else "partial"
        return self._outcome(status, reading, duplicate_of=holder.source_path)

    def rejected(self, error: InputError, reading: Reading) -> Outcome:
        reading.fault = error
        return self._outcome("rejected", reading)


def path_text(path: Path) -> str:
    """Return a path as text that can be written, also where its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _plain_hash(path: Path) -> str:
    try:
        mark = _native.fingerprint(str(path))
    except _native.DecodeError as error:
        raise input_error(error) from error
    return mark.sha256
