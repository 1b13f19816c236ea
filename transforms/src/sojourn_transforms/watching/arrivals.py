"""Files of folders that fill: which of them are complete, and which are still being written.

Folders are listed again and again. Notifications of the kernel (inotify) would be sooner by a second, but tell neither
of what arrived before they were asked for, nor of what another machine writes through NFS, so that lists would be
needed beside them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sojourn_ingest.formats.capture.rotation import COMPRESSION_SUFFIXES, parse, plain_name
from sojourn_ingest.session.sources import regular_files

#: Names under which programs write a file before they rename it.
UNFINISHED_SUFFIXES = (".tmp", ".part", ".partial", ".filepart", ".crdownload")


class FileState(NamedTuple):
    """What changes when a file does. The time of its status tells of new permissions and of a rename too."""

    size_bytes: int
    modified_ns: int
    changed_ns: int
    inode: int


@dataclass
class _Waiting:
    state: FileState
    since_s: float


@dataclass(frozen=True)
class Arrivals:
    """The files of some folders that are complete, sorted, and how many others there are that were not taken yet.

    ``written`` are those that a process has open for writing; ``unsettled`` those of which that will show later;
    ``unreadable`` says of files and folders why they cannot be read.
    """

    complete: tuple[Path, ...]
    written: int
    unsettled: int
    unreadable: tuple[str, ...]


def is_being_written(path: Path) -> bool | None:
    """Return whether a process of this machine has a file open for writing; None if that cannot be found out.

    The kernel grants a read lease only on a file that nobody has open for writing (fcntl(2), F_SETLEASE). It is given
    back at once. It takes the owner of the file or CAP_LEASE, and a file system that has leases, which NFS has not.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None  # the attempt to ingest it says why it cannot be read
    try:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False


class WatchedFolders:
    """Folders that are looked at again and again; hidden files are left out, and what is below ``left_out``.

    ``quiet_s`` is how long a file has to stay as it is where nobody can say whether it is open for writing.
    """

    def __init__(self, folders: Iterable[Path], quiet_s: float, left_out: Iterable[Path] = ()) -> None:
        self._folders = sorted({folder.resolve() for folder in folders})
        self.quiet_s = quiet_s
        self._left_out = frozenset(left_out)
        self._taken: dict[Path, FileState] = {}
        self._waiting: dict[Path, _Waiting] = {}

    def take(self, files: Iterable[Path]) -> None:
        """Note that files were tried as they were when last looked at: they come again when they change."""
        for path in files:
            waiting = self._waiting.pop(path, None)
            if waiting is not None:
                self._taken[path] = waiting.state

    def taken(self) -> list[Path]:
        """Return the files that were tried and are as they were."""
        return sorted(self._taken)

    def try_again(self, files: Iterable[Path]) -> None:
        """Have files that were tried come again."""
        for path in files:
            self._taken.pop(path, None)

    def look(self, now_s: float) -> Arrivals:
        """Look at every file, and return those that are complete and were not taken yet; times are monotonic."""
        unreadable: list[str] = []
        states = dict(self._files(unreadable))
        self._taken = {path: state for path, state in self._taken.items() if states.get(path) == state}
        new = {path: state for path, state in states.items() if path not in self._taken}
        before, self._waiting = self._waiting, {}
        for path, state in new.items():
            earlier = before.get(path)
            same = earlier is not None and earlier.state == state
            self._waiting[path] = earlier if earlier is not None and same else _Waiting(state, now_s)
        is_written = {path: is_being_written(path) for path in self._waiting}
        followed = _followed([path for path, answer in is_written.items() if answer is None], states)
        complete = []
        for path, waiting in self._waiting.items():
            # What appends line by line opens and closes its file often: two looks have to find the same.
            quiet_s = now_s - waiting.since_s if before.get(path) is waiting else -1.0
            needed_s = self.quiet_s if is_written[path] is None and path not in followed else 0.0
            if not is_written[path] and quiet_s >= needed_s:
                complete.append(path)
        # While a compressor reads a file, its copy is still being written; then it removes the file.
        incomplete = {str(path) for path in self._waiting.keys() - set(complete)}
        ready = [path for path in complete if incomplete.isdisjoint(f"{path}{end}" for end in COMPRESSION_SUFFIXES)]
        written = sum(map(bool, is_written.values()))
        return Arrivals(tuple(sorted(ready)), written, len(self._waiting) - len(ready) - written, tuple(unreadable))

    def _files(self, unreadable: list[str]) -> Iterator[tuple[Path, FileState]]:
        def note(path: Path, error: OSError) -> None:
            unreadable.append(f"{path}: {error.strerror}")

        for path, status in regular_files(self._folders, note, self._left_out):
            if not path.name.endswith(UNFINISHED_SUFFIXES):
                yield path, FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _followed(files: list[Path], states: Mapping[Path, FileState]) -> set[Path]:
    """Return the files of a rotation of which a later one was begun, which happens when the one before was closed.

    Later by its name, and not written to before: the first files of a ring come after its last.
    """
    if not files:
        return set()
    newest: dict[object, tuple[int, tuple[int, ...]]] = {}
    for path, state in states.items():
        name = parse(plain_name(path))
        if name is not None:
            key = (path.parent, name.family)
            newest[key] = max(newest.get(key, (0, ())), (state.modified_ns, name.place))
    followed = set()
    for path in files:
        name = parse(plain_name(path))
        if name is not None:
            modified_ns, place = newest[path.parent, name.family]
            if modified_ns >= states[path].modified_ns and place > name.place:
                followed.add(path)
    return followed
