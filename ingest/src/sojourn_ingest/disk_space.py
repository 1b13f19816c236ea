"""Whether a disk has room for what a command will write: estimated and said first, and refused if it cannot fit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sojourn_ingest.operator_error import OperatorError

IGNORE_VARIABLE = "SOJOURN_IGNORE_DISK"
IGNORE_OPTION = "--ignore-disk"


class DiskTooSmallError(OperatorError):
    """What a command is estimated to write does not fit on the disk; the message says how to go on."""


def free_bytes(folder: Path) -> int:
    """Return what an ordinary user may still write on the disk of a folder, which need not exist yet."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(existing).free


def size_text(count: float) -> str:
    """Return a number of bytes as people read it, such as ``1.5 GB``."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} bytes"


def refuse_too_small_a_disk(what: str, needed_bytes: int, folder: Path, say: Callable[[str], None]) -> None:
    """Say what is needed and what is free; go on if it fits.

    Raises
    ------
    DiskTooSmallError
        If it does not.
    """
    free = free_bytes(folder)
    say(f"disk: {what} needs about {size_text(needed_bytes)}; {size_text(free)} are free for {folder}")
    if needed_bytes > free:
        raise DiskTooSmallError(
            f"{what} needs about {size_text(needed_bytes)} of disk, but only {size_text(free)} are free for "
            f"{folder}; free some space, or continue anyway with {IGNORE_OPTION} ({IGNORE_VARIABLE}=1)"
        )
