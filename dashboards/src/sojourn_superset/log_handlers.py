"""Handlers of log files that do not stand in the way of the end of a request.

Python's own first lock, and then see to it that the lock is opened again: what is raised between leaves it locked. And
they print any error and go on.
"""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler, WatchedFileHandler


class RequestEndedError(Exception):
    """A request takes too long (`sojourn_superset.request_time`)."""


class _LockedByWith(logging.FileHandler):
    def handle(self, record: logging.LogRecord) -> bool:
        """Write a record, one at a time."""
        is_kept = bool(self.filter(record))
        if is_kept and self.lock is not None:
            with self.lock:
                self.emit(record)
        return is_kept

    def flush(self) -> None:
        """Pass on what has been written."""
        if self.lock is not None:
            with self.lock:
                if self.stream:
                    self.stream.flush()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that Python has for it
        """Let the request end, and print any other error."""
        if isinstance(sys.exc_info()[1], RequestEndedError):
            raise
        super().handleError(record)


class RotatingFile(_LockedByWith, RotatingFileHandler):
    """A file that is renamed when it is large."""


class WatchedFile(_LockedByWith, WatchedFileHandler):
    """A file that may be renamed by others."""
