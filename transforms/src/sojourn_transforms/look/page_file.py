"""Where a page goes: never over a file of somebody else, and whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from sojourn_ingest.operator_error import OperatorError
from sojourn_transforms.look.html import is_ours


class PageInTheWayError(OperatorError):
    """A page cannot be written where it was asked for; the message says what to do."""


def check_place(out: Path, generator: str) -> None:
    """Refuse a place where a page would replace what is not one of the same command.

    Raises
    ------
    PageInTheWayError
        If the place is a folder, is in none, or has another file.
    """
    if out.is_dir():
        raise PageInTheWayError(f"{out} is a folder; give the name of a file")
    if out.exists() and not is_ours(out, generator):
        raise PageInTheWayError(f"{out} is not a page of {generator} and is not replaced; give another name with --out")
    if not out.parent.is_dir():
        raise PageInTheWayError(f"{out.parent} is not a folder; create it, or give another name with --out")


def write_page(out: Path, text: str) -> None:
    """Write a page, or replace it, all at once."""
    # Whoever reloads the page while it is written sees the old one.
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=out.parent, prefix=f".{out.name}.", delete=False
    ) as handle:
        handle.write(text)
    written = Path(handle.name)
    # A temporary file is its owner's alone; a page is to be passed on.
    mask = os.umask(0)
    os.umask(mask)
    written.chmod(0o666 & ~mask)
    written.replace(out)


def has_display() -> bool:
    """Return whether a browser has a window to open; without one, some would take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
