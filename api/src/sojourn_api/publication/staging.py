"""The folder in which a publication is written, and how it takes the place of an older one.

It is in a folder of this process beside its place, so that the next publication tells what a killed one left from what
another one is writing, and from what is the user's. The older publication is moved in there too.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sojourn_process.own_folder import own_folder, remove_abandoned

NEW, OLD = "new", "old"


def end_killed_publications(out: Path) -> None:
    """Remove temporary folders of killed publications beside a target, and restore the one that was being replaced."""
    remove_abandoned(_prefix(out), out.parent, partial(_restore, out))


def _prefix(out: Path) -> str:
    return f".{out.name}.new-"


def _restore(out: Path, held: Path) -> None:
    if (held / OLD).exists() and not out.exists():
        (held / OLD).replace(out)


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """Hold a new folder beside ``out``; what is still there in the end is removed."""
    with own_folder(_prefix(out), out.parent, partial(_restore, out)) as held:
        staging = held / NEW
        staging.mkdir()
        yield staging


def take_place(staging: Path, out: Path) -> None:
    """Put a finished publication in the place of an older one, which stays if that fails."""
    old = staging.with_name(OLD)
    with _locked(out) as is_there:
        if is_there:
            out.replace(old)
        try:
            staging.replace(out)
        except OSError:
            if is_there:
                old.replace(out)
            raise


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a lock of a folder, against others that replace it; yield False if there is none."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield folder.exists()
    finally:
        os.close(handle)
