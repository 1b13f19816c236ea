"""Where the attempts of an ingest run: in threads of this process, or elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from sojourn_ingest import _native
from sojourn_ingest.formats.capture.rotation import capture_span
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.interface import Context, InputError
from sojourn_ingest.lake import Lake
from sojourn_ingest.session.attempt import Attempt, RecordingAttempt
from sojourn_ingest.session.decoding import decode
from sojourn_ingest.session.file_attempts import FileAttempts
from sojourn_ingest.session.pair_attempts import PairAttempts
from sojourn_ingest.session.plan import Plan, PlannedRecording
from sojourn_ingest.session.recording_attempts import RecordingAttempts
from sojourn_ingest.session.state import Decode, IngestState

Item = TypeVar("Item")
Result = TypeVar("Result")


class Ingest(Protocol):
    """An ingest as a runner sees it."""

    lake: Lake
    context: Context
    #: Whether the table packet is written too.
    packets: bool
    #: How much of the names of servers is kept.
    server_names: ServerNames
    #: What commits attempts that were decoded elsewhere.
    state: IngestState
    #: What tries files, recordings and pairs in this process.
    files: FileAttempts
    recordings: RecordingAttempts
    pairs: PairAttempts

    @property
    def plan(self) -> Plan:
        """What is known of the files together."""

    @property
    def descriptions(self) -> tuple[Path, ...]:
        """Descriptions among the files that were given."""

    def is_splittable(self, path: Path) -> bool:
        """Return whether a file can be read in parts."""


class Runner(Protocol):
    """What runs the attempts of an ingest. Each iterator yields an attempt as it ends, in any order."""

    def look_into(self, ingest: Ingest, captures: Sequence[Path]) -> None:
        """Find the times of remote captures before they are asked for, where that is better done elsewhere."""

    def attempt_files(self, ingest: Ingest, files: Sequence[Path]) -> Iterator[Attempt]:
        """Try files, each on its own."""

    def attempt_recordings(self, ingest: Ingest, planned: Sequence[PlannedRecording]) -> Iterator[RecordingAttempt]:
        """Try recordings."""

    def attempt_pairs(self, ingest: Ingest, declaring: Sequence[Attempt]) -> Iterator[Attempt]:
        """Try the pairs that files declare which were read; in their order."""

    def decoding(self, ingest: Ingest) -> Decode:
        """Return what reads a source into files of facts, for an attempt that runs in this process."""


def _look_into(path: Path) -> None:
    # Its own attempt says why it cannot be read.
    with suppress(_native.DecodeError, InputError):
        capture_span(path)


class _NotStartedError(Exception):
    """An item was not tried, because another one had failed."""


class ThreadRunner:
    """Runs attempts in threads of this process; the decoders release Python's lock while they work."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers

    def look_into(self, ingest: Ingest, captures: Sequence[Path]) -> None:
        """Find the times of several remote captures at a time."""
        for _ in self._in_parallel(_look_into, captures):
            pass

    def attempt_files(self, ingest: Ingest, files: Sequence[Path]) -> Iterator[Attempt]:
        """Try several files at a time."""
        return self._in_parallel(ingest.files.attempt, files)

    def attempt_recordings(self, ingest: Ingest, planned: Sequence[PlannedRecording]) -> Iterator[RecordingAttempt]:
        """Try several recordings at a time."""
        return self._in_parallel(ingest.recordings.attempt, planned)

    def attempt_pairs(self, ingest: Ingest, declaring: Sequence[Attempt]) -> Iterator[Attempt]:
        """Try one pair after the other."""
        pairs = (ingest.pairs.attempt(attempt) for attempt in declaring)
        return (attempt for attempt in pairs if attempt is not None)

    def decoding(self, ingest: Ingest) -> Decode:
        """Return what reads a source in the thread that asks."""
        return partial(decode, ingest.lake, ingest.context)

    def _in_parallel(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        failed = threading.Event()

        def unless_failed(item: Item) -> Result:
            # A thread takes the next item before the others can be cancelled: after a fault of the lake, such as a full
            # disk, it must not go on, and make another path the holder of a content than the one that comes first.
            if failed.is_set():
                raise _NotStartedError
            try:
                return work(item)
            except BaseException:
                failed.set()
                raise

        with ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="ingest") as pool:
            # A few at a time: each wait looks at every one that is pending, and of 100,000 files all would be.
            waiting = iter(items)
            few = 4 * self._workers
            pending: set[Future[Result]] = {pool.submit(unless_failed, item) for item in islice(waiting, few)}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    pending |= {pool.submit(unless_failed, item) for item in islice(waiting, few - len(pending))}
                    # The fault itself is among these or those that are still pending.
                    tried = (future for future in done if not isinstance(future.exception(), _NotStartedError))
                    yield from (future.result() for future in tried)
            except BaseException:
                # Ctrl-C or a fault of the lake itself: what is committed stays, the rest is not started.
                pool.shutdown(cancel_futures=True)
                raise
