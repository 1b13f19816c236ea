"""Where a page goes: never over a file of somebody else, and whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn_ingest.operator_error import OperatorError
from sojourn_process.own_folder import own_folder
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
    descriptor, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    written = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
        # A temporary file is its owner's alone; a page is to be passed on.
        mask = os.umask(0)
        os.umask(mask)
        written.chmod(0o666 & ~mask)
        written.replace(out)
    finally:
        written.unlink(missing_ok=True)


@contextmanager
def tables_folder(out: Path | None) -> Iterator[Path | None]:
    """Hold a folder for tables, all of which are moved to ``out`` in the end, or none if anything fails.

    Without ``out`` there are no tables, and it is None.
    """
    if out is None:
        yield None
        return
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with own_folder(".sojourn-look-", out) as held:
            tables = held / "tables"
            tables.mkdir()
            yield tables
            for path in sorted(tables.rglob("*.parquet")):
                target = out / path.relative_to(tables)
                target.parent.mkdir(exist_ok=True)
                path.replace(target)
    except BaseException:
        if is_new and not any(out.iterdir()):
            out.rmdir()
        raise


def has_display() -> bool:
    """Return whether a browser has a window to open; without one, some would take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
