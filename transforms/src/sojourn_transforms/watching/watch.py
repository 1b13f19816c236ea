"""The loop of ``sojourn watch``: look, ingest what is complete, build and publish, look again."""

from __future__ import annotations

import errno
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.disk_space import DiskTooSmallError, refuse_too_small_a_disk
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.registry import is_description
from sojourn_ingest.lake import Lake, LakeBusyError
from sojourn_ingest.lake.compaction import CompactionError, compact, plan_compaction
from sojourn_ingest.lake.storage import FolderStorage
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.paths import Paths
from sojourn_ingest.session import Attempt, IngestSession, ThreadRunner
from sojourn_ingest.session.disk_need import disk_need
from sojourn_ingest.session.plan import RecordingLimit
from sojourn_ingest.session.recorded import recorded_as_it_is
from sojourn_process.printable import counted
from sojourn_transforms.build import BuildError, BuildReport
from sojourn_transforms.watching.arrivals import Arrivals, WatchedFolders

#: Seconds between two looks at the folders, at least; and how many times as long as a look they are.
LOOK_EVERY_S = 1.0
LOOKS_SHARE = 10
#: Files of one batch: after each the marts are built, so that a long backlog becomes visible bit by bit.
BATCH_FILES = 1000
#: A file that continues a recording has the whole of it read again, which must not grow with the time of the watch.
RECORDING_LIMIT = RecordingLimit(files=60, size_bytes=2**30)
#: A build opens every file of the tables that it reads again; so many commits are put together into one pack.
LOOSE_COMMITS = 100
#: Until what failed is tried again, such as after a full disk.
RETRY_S = 30.0
#: Messages of one batch that are shown; all are in the table ingest_outcome.
MESSAGES_SHOWN = 5

#: What ends a step and not the watch: a full or failing disk, a store, another writer, a model or test that failed.
Failure = (OSError, OperatorError, LakeBusyError, CompactionError, BuildError, duckdb.Error)


@dataclass(frozen=True)
class Reading:
    """How files are read: what replaces addresses (looked up for each batch), what is looked up, how many at a time."""

    pseudonymiser: Callable[[], Pseudonymiser]
    enrichment: Enrichment
    server_names: ServerNames
    workers: int


class Watch:
    """Keeps the marts of an installation up to date with the files of some folders.

    Nothing of its progress is kept but what the lake has: after an end at any moment the next watch finds by their
    outcomes which files were read, and the build by its fingerprint whether something is to be published.
    ``publish`` builds; ``is_stopped`` tells of a signal to end, which also interrupts; ``say`` is called with each
    line of what happened, ``show`` with the state whenever it changes. Without ``ignore_disk`` nothing is begun that
    is estimated not to fit on the disk.
    """

    def __init__(
        self,
        paths: Paths,
        folders: WatchedFolders,
        reading: Reading,
        publish: Callable[[], BuildReport],
        is_stopped: Callable[[], bool],
        say: Callable[[str], None],
        show: Callable[[str], None],
        *,
        ignore_disk: bool = False,
    ) -> None:
        self._paths = paths
        self._folders = folders
        self._reading = reading
        self._publish = publish
        self._is_stopped = is_stopped
        self._say = say
        self._show = show
        self._ignore_disk = ignore_disk
        self._lake: Lake | None = None
        self._descriptions: set[Path] = set()
        self._is_build_due = True
        self._has_stepped = False
        self._last_build = "none yet"
        self._failure = ""
        self._unreadable: tuple[str, ...] = ()

    def run(self, *, once: bool) -> None:
        """Watch until a signal; with ``once`` until everything that is complete now was ingested and published.

        Raises
        ------
        KeyboardInterrupt
            If a signal ends it.
        OSError, OperatorError, LakeBusyError, CompactionError, BuildError, duckdb.Error
            With ``once``, if a step failed. Otherwise that is said, and tried again.
        """
        started = time.monotonic()
        while True:
            began = time.monotonic()
            arrivals = self._folders.look(began)
            took = time.monotonic() - began
            self._say_unreadable(arrivals)
            try:
                is_left = self._step(arrivals)
                self._failure = ""
            except Failure as error:
                if self._is_stopped():
                    # A library may make an error of its own of the interrupt.
                    raise KeyboardInterrupt from error
                if once:
                    raise
                self._say_failure(error, arrivals)
                time.sleep(RETRY_S)
                continue
            if is_left:
                continue
            # What still changes after so long may do so for ever.
            if once and (not arrivals.unsettled or began - started > self._folders.quiet_s + 2 * LOOK_EVERY_S):
                if not self._has_stepped:
                    self._say("nothing new to ingest or publish")
                return
            time.sleep(max(LOOK_EVERY_S, LOOKS_SHARE * took))

    def _step(self, arrivals: Arrivals) -> bool:
        """Ingest a batch and build; return whether complete files are left."""
        batch = self._new(arrivals.complete)
        left = len(batch[BATCH_FILES:])
        batch = batch[:BATCH_FILES]
        others = f"{arrivals.written} being written, {arrivals.unsettled} not settled yet"
        if batch:
            behind = f"behind by {counted(len(batch) + left, 'file')}"
            self._show(f"ingesting {counted(len(batch), 'file')}; {behind}; last build {self._last_build}")
            # Whatever ends the step, some of it may have been committed.
            self._is_build_due = self._has_stepped = True
            ingested = self._ingest(batch)
            self._say(f"{ingested}; behind by {counted(left, 'file')}, {others}")
        if self._is_build_due and self._opened().live():
            self._show(f"building; behind by {counted(left, 'file')}; last build {self._last_build}")
            began = time.monotonic()
            report = self._publish()
            if report.built:
                self._has_stepped = True
                self._last_build = f"{report.build_id} at {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
                self._say(f"build {report.build_id} published in {time.monotonic() - began:.1f} s")
                for warning in report.warnings:
                    self._say(f"warning: {warning}")
            self._is_build_due = False
        self._show(f"behind by {counted(left, 'file')}, {others}; last build {self._last_build}")
        return left > 0

    def _opened(self) -> Lake:
        if self._lake is None:
            self._lake = self._paths.open_lake()
        return self._lake

    def _new(self, complete: Iterable[Path]) -> list[Path]:
        """Return the files of which no outcome is on record as they are; note that the others were read."""
        lake = self._opened()
        new: list[Path] = []
        earlier: list[Path] = []
        for path in complete:
            if is_description_here(path):
                self._descriptions.add(path)
            try:
                state = path.stat()
            except FileNotFoundError:
                continue
            # What was rejected may be readable now: its permissions were changed, or this release has a reader for it.
            recorded = recorded_as_it_is(lake, path, state.st_size, state.st_mtime_ns)
            is_read = any(commit.status != "rejected" for commit in recorded)
            (earlier if is_read else new).append(path)
        self._folders.take(earlier)
        return new

    def _ingest(self, batch: Sequence[Path]) -> str:
        reading, lake = self._reading, self._opened()
        if isinstance(lake.storage, FolderStorage) and not self._ignore_disk:
            need = disk_need(lake, batch, packets=False).needed_bytes
            refuse_too_small_a_disk(f"ingest of {counted(len(batch), 'file')}", need, lake.storage.root, lambda _: None)
        with lake.writing():
            session = IngestSession(
                lake,
                reading.pseudonymiser(),
                runner=ThreadRunner(reading.workers),
                server_names=reading.server_names,
                enrichment=reading.enrichment,
                descriptions=sorted(path for path in self._descriptions if path.is_file()),
                recording_limit=RECORDING_LIMIT,
            )
            attempts = session.run(list(batch), lambda _: None)
            self._folders.take(batch)
            if self._descriptions.intersection(batch):
                # A table that nobody knew how to read has its description now.
                self._folders.try_again(path for path in self._folders.taken() if _was_rejected(lake, path))
            self._put_together(lake)
        files = set(batch)
        of_batch = [attempt for attempt in attempts if attempt.path in files]
        self._say_messages(of_batch)
        counts = Counter(attempt.commit.status for attempt in of_batch)
        faults = ", ".join(f"{counts[status]:,} {status}" for status in ("partial", "rejected") if counts[status])
        return f"{counted(len(of_batch), 'file')} read" + (f" ({faults})" if faults else "")

    def _put_together(self, lake: Lake) -> None:
        packed = {commit.name for pack in lake.packs() for commit in pack.commits}
        if sum(commit.name not in packed for commit in lake.live()) >= LOOSE_COMMITS:
            self._show("combining small files of the lake")
            compact(lake, plan_compaction(lake))
            # The next reading of the lake begins with the pack, and without what this object has noted.
            self._lake = None

    def _say_messages(self, attempts: Sequence[Attempt]) -> None:
        imperfect = [attempt for attempt in attempts if attempt.commit.status != "ok"]
        for attempt in imperfect[:MESSAGES_SHOWN]:
            commit = attempt.commit
            self._say(f"{commit.status} {attempt.path}: {commit.message or commit.reason}")
        if len(imperfect) > MESSAGES_SHOWN:
            self._say(f"… and {len(imperfect) - MESSAGES_SHOWN:,} more; all of them are in the table ingest_outcome")

    def _say_failure(self, error: Exception, arrivals: Arrivals) -> None:
        behind = f"behind by {counted(len(arrivals.complete), 'file')}"
        text = self._text_of(error)
        # How much is free differs each time.
        failure = DiskTooSmallError.__name__ if isinstance(error, DiskTooSmallError) else text
        if failure != self._failure:
            self._say(f"paused: {text}; tried again every {RETRY_S:.0f} s; {behind}")
        self._failure = failure
        self._show(f"paused: {text}; {behind}; last build {self._last_build}")

    def _text_of(self, error: Exception) -> str:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            # Without the file's name, which is another one each time.
            return f"no space left on the disk of {self._paths.var}; make room"
        return str(error).splitlines()[0] if str(error) else type(error).__name__

    def _say_unreadable(self, arrivals: Arrivals) -> None:
        for text in arrivals.unreadable:
            if text not in self._unreadable:
                self._say(f"cannot be read: {text}")
        self._unreadable = arrivals.unreadable


def is_description_here(path: Path) -> bool:
    """Return whether a file describes others; one that cannot be read does not, which its own attempt records."""
    try:
        return is_description(path)
    except OSError:
        return False


def _was_rejected(lake: Lake, path: Path) -> bool:
    try:
        state = path.stat()
    except FileNotFoundError:
        return False
    recorded = recorded_as_it_is(lake, path, state.st_size, state.st_mtime_ns)
    return bool(recorded) and all(commit.status == "rejected" for commit in recorded)
