"""Texts of a build on a terminal and in a log: a name may move the cursor, clear the screen, or forge another line."""

from __future__ import annotations

import logging


def printable(text: object) -> str:
    """Return a text on one line, with escapes for what is not printed as it is.

    The commands that make data have one of their own, `sojourn_ingest.printable`, which the service does not see.
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))


class PrintableFormatter(logging.Formatter):
    """Formats a record as a line of printable text; only a traceback adds others."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name in logging
        """Return the line of a record, whose message may have texts of a build or of a request."""
        record.message = printable(record.message)
        return super().formatMessage(record)
