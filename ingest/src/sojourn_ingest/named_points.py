"""Points in the course of a command at which it stops, so that a test kills it exactly there.

``SOJOURN_STOP_AT=commit.published:3`` ends the process by SIGKILL when it comes to that point for the third time;
without a number it is the first. With ``SOJOURN_STOP_FILE=FILE`` a process pauses there instead (SIGSTOP), once it has
written its id to FILE; of several processes, such as the tasks of Spark, only the first that comes there.

Without the setting a point is a call of a function that does nothing.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

STOP_AT = "SOJOURN_STOP_AT"
STOP_FILE = "SOJOURN_STOP_FILE"

#: Every point, and what has just happened there.
POINTS = {
    "facts.written": "the facts of one source are on the disk, and no commit names them",
    "commit.published": "one commit is visible",
    "compaction.written": "the files of a compaction are on the disk, and no pack names them",
    "pack.published": "one pack is visible, and what it stands for is not removed yet",
    "mart.built": "dbt has built one mart",
}


class _Stop:
    """Counts how often a point is come to, and stops the process at the time that is wanted."""

    def __init__(self, point: str, times: int, file: Path | None) -> None:
        self._point = point
        self._left = times
        self._file = file
        self._lock = threading.Lock()

    def __call__(self, point: str) -> None:
        if point != self._point:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._stop()

    def _stop(self) -> None:
        if self._file is None:
            os.kill(os.getpid(), signal.SIGKILL)
        elif _claimed(self._file):
            os.kill(os.getpid(), signal.SIGSTOP)


def _claimed(file: Path) -> bool:
    """Write this process's id to a file that nobody has made yet; the file appears with the id in it."""
    own = file.with_name(f"{file.name}.{os.getpid()}")
    own.write_text(str(os.getpid()), encoding="utf-8")
    try:
        file.hardlink_to(own)
    except FileExistsError:
        return False
    finally:
        own.unlink()
    return True


def _pass_by(point: str) -> None:
    """Go on: no point is set."""


def point_of(environment: Mapping[str, str]) -> Callable[[str], None]:
    """Return what is to be called at each point, with its name.

    Raises
    ------
    ValueError
        If the setting names no point, or what follows its colon is not a number.
    """
    wanted = environment.get(STOP_AT)
    if not wanted:
        return _pass_by
    point, _, times = wanted.partition(":")
    if point not in POINTS:
        raise ValueError(f"{STOP_AT}={wanted}: no such point; expected one of {', '.join(POINTS)}")
    if times and not (times.isascii() and times.isdigit() and int(times) > 0):
        raise ValueError(f"{STOP_AT}={wanted}: expected a number from 1 on behind the colon")
    file = environment.get(STOP_FILE)
    return _Stop(point, int(times or 1), Path(file) if file else None)


#: To be called at each point, with its name.
reach = point_of(os.environ)
