"""Texts of inputs on a terminal and in a log: a name may move the cursor, clear the screen, or forge another line."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: object) -> str:
    """Return a text on one line, with escapes for what is not printed as it is.

    Those are control characters, separators of lines, invisible characters such as those that turn the direction of
    writing, and halves of characters that stand for bytes which are no text.
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))


def markup(text: object) -> str:
    """Return a printable text for Rich, which then takes no part of it as markup."""
    # Commands that print no table start without Rich.
    from rich.markup import escape

    return escape(printable(text))


#: Columns of a table that no terminal limits: more than any has.
_FREE_WIDTH = 1000


def output_console() -> Console:
    """Return the console of standard output, which cuts no cell of a table in a file or a pipe."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _FREE_WIDTH)


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return a number with the word for what is counted: ``1 packet``, ``2,000 packets``."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


class PrintableFormatter(logging.Formatter):
    """Formats a record as a line of printable text; only a traceback adds others."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name in logging
        """Return the line of a record, whose message may have texts of inputs."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: logging._SysExcInfoType) -> str:  # noqa: N802 - its name in logging
        """Return a traceback, whose last line may have texts of inputs."""
        return "\n".join(printable(line) for line in super().formatException(ei).splitlines())
