"""Points in the course of a command at which a test makes it fail: killed, a disk that fails or is full, a torn write.

``SOJOURN_FAULT=kill@commit.published:3`` kills the process when it reaches that point for the third time; without a
number it is the first. `FAULTS` lists what else can happen. Errors and torn writes happen only at `WRITES`, the points
that come right before something is written, renamed, linked or removed. A pause has a file behind a comma
(``pause@facts.written,FILE``): of several processes, such as the tasks of Spark, only the first to reach the point
pauses.

Without a setting a point is a call of a function that does nothing.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

FAULT = "SOJOURN_FAULT"
#: What a slow step takes more.
SLOW_S = 0.2

#: What may happen at a point, and what it stands for.
FAULTS = {
    "kill": "the process is killed",
    "pause": "the process writes its id to a file and pauses (SIGSTOP)",
    "eio": "the disk reports an error (EIO)",
    "enospc": "the disk is full (ENOSPC)",
    "torn": "half of the file is on the disk, and the process is killed",
    "slow": f"from here on, this step takes {SLOW_S} s more each time",
}

#: Points right before a write, rename, link, conditional put or removal, and what is about to happen.
WRITES = {
    "facts.writing": "rows of one source, or the hash of it, go into a file that no commit names",
    "data.flushing": "a file of facts, which no commit names yet, is brought to the disk or uploaded",
    "object.writing": "a commit, pack or hold is brought to the disk under a name that nobody reads",
    "object.creating": "a commit, pack or hold appears, by a link, a rename or a conditional put",
    "object.deleting": "an object that nothing names is removed",
    "compaction.writing": "rows of several sources go into a file that no pack names",
    "list.writing": "the list of forgotten hosts, with one more, is brought to the disk under another name",
    "list.renaming": "the list of forgotten hosts is replaced",
    "mart.writing": "one file of a mart is brought to the disk in a folder that nobody reads",
    "snapshot.renaming": "the folder of a finished snapshot gets its name",
    "pointer.renaming": "CURRENT is replaced, by which the snapshot is served",
    "snapshot.removing": "an old snapshot is removed",
}

#: Every point, and what has just happened there, or for `WRITES` what is about to.
POINTS = WRITES | {
    "facts.written": "the facts of one source are on the disk, and no commit names them",
    "object.created": "a commit, pack or hold has appeared, and its other name is still there",
    "commit.published": "one commit is visible",
    "compaction.written": "the files of a compaction are on the disk, and no pack names them",
    "pack.published": "one pack is visible, and what it replaces is not removed yet",
    "host.listed": "a host is on the list of forgotten hosts, and its rows are in the lake",
    "lake.registered": "the warehouse sees the lake's files, and no mart is built",
    "mart.built": "dbt has built one mart",
    "snapshot.written": "every file of a snapshot is on the disk, in a folder that nobody reads",
    "snapshot.renamed": "a snapshot has its name, and CURRENT names the one before",
    "pointer.renamed": "CURRENT names the new snapshot, and old ones are not removed yet",
}


class Reach(Protocol):
    """What is called at each point, with its name and the file that is being written there, if it is one."""

    def __call__(self, point: str, file: Path | None = None) -> None:
        """Go on, or do what the setting says."""


class _Once:
    """Counts how often a point is reached, and acts at the requested time."""

    def __init__(self, point: str, times: int, act: Callable[[Path | None], None], *, again: bool = False) -> None:
        self._point = point
        self._left = times
        self._act = act
        self._again = again
        self._lock = threading.Lock()

    def __call__(self, point: str, file: Path | None = None) -> None:
        if point != self._point:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0 or (self._again and self._left < 0):
                self._act(file)


def _kill(_: Path | None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _pause(claim: Path) -> Callable[[Path | None], None]:
    def pause(_: Path | None) -> None:
        if _claimed(claim):
            os.kill(os.getpid(), signal.SIGSTOP)

    return pause


def _fail(number: int) -> Callable[[Path | None], None]:
    def fail(file: Path | None) -> None:
        raise OSError(number, os.strerror(number), None if file is None else str(file))

    return fail


def _tear(file: Path | None) -> None:
    if file is not None and file.is_file():
        os.truncate(file, file.stat().st_size // 2)
    _kill(file)


def _act_of(fault: str, claim: Path) -> Callable[[Path | None], None]:
    return {
        "kill": _kill,
        "pause": _pause(claim),
        "eio": _fail(errno.EIO),
        "enospc": _fail(errno.ENOSPC),
        "torn": _tear,
        "slow": lambda _: time.sleep(SLOW_S),
    }[fault]


def _claimed(file: Path) -> bool:
    """Write this process's id to a file that does not exist yet; the file appears with the id in it."""
    own = file.with_name(f"{file.name}.{os.getpid()}")
    own.write_text(str(os.getpid()), encoding="utf-8")
    try:
        file.hardlink_to(own)
    except FileExistsError:
        return False
    finally:
        own.unlink()
    return True


def _pass_by(point: str, file: Path | None = None) -> None:
    """Go on: no point is set."""


def point_of(environment: Mapping[str, str]) -> Reach:
    """Return the function to be called at each point with its name.

    Raises
    ------
    ValueError
        If the setting names no point or fault, what follows its colon is not a number, the fault cannot happen there,
        or a pause has no file.
    """
    fault = environment.get(FAULT)
    if not fault:
        return _pass_by
    kind, _, where = fault.partition("@")
    where, _, claim = where.partition(",")
    point, _, times = where.partition(":")
    if kind not in FAULTS:
        raise ValueError(f"{FAULT}={fault}: expected {', '.join(FAULTS)}, then @ and a point")
    if point not in POINTS:
        raise ValueError(f"{FAULT}={fault}: no such point; expected one of {', '.join(POINTS)}")
    if times and not (times.isascii() and times.isdigit() and int(times) > 0):
        raise ValueError(f"{FAULT}={fault}: expected a number from 1 on behind the colon")
    if kind not in ("kill", "pause", "slow") and point not in WRITES:
        raise ValueError(f"{FAULT}={fault}: nothing is written at this point; expected one of {', '.join(WRITES)}")
    if (kind == "pause") != bool(claim):
        raise ValueError(f"{FAULT}={fault}: expected a comma and a file after a pause, and after nothing else")
    return _Once(point, int(times or 1), _act_of(kind, Path(claim)), again=kind == "slow")


#: To be called at each point, with its name.
reach: Reach = point_of(os.environ)
