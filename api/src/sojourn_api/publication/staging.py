"""The folder in which a publication is written, and how it takes the place of an older one.

It is beside its place, locked (flock) as long as its process lives, so that the next publication tells what a killed
one left from what another one is writing.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def end_killed_publications(out: Path) -> None:
    """Remove temporary folders of killed publications beside a target, and restore the one that was being replaced."""
    for path in _left(out, "old"):
        with _locked(path, wait=False) as is_ours:
            if is_ours and out.exists():
                shutil.rmtree(path, ignore_errors=True)
            elif is_ours:
                path.replace(out)
    for path in _left(out, "new"):
        with _locked(path, wait=False) as is_ours:
            if is_ours:
                shutil.rmtree(path, ignore_errors=True)


def _left(out: Path, kind: str) -> list[Path]:
    """Return the folders beside ``out`` that a publication names so: the kind, and the number of its process."""
    start = f".{out.name}.{kind}-"
    return [
        path
        for path in out.parent.glob(".*")
        if path.name.startswith(start) and re.fullmatch("[0-9]+", path.name.removeprefix(start))
    ]


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """Hold a new folder beside ``out``; what is still there in the end is removed."""
    staging = out.with_name(f".{out.name}.new-{os.getpid()}")
    while True:
        staging.mkdir()
        with _locked(staging, wait=True) as is_ours:
            # Before it was locked, another process may have taken it for a killed one's.
            if not is_ours:
                continue
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
            return


def take_place(staging: Path, out: Path) -> None:
    """Put a finished publication in the place of an older one, which stays if that fails."""
    old = out.with_name(f".{out.name}.old-{os.getpid()}")
    with _locked(out, wait=True) as is_there:
        if is_there:
            out.replace(old)
        try:
            staging.replace(out)
        except OSError:
            if is_there:
                old.replace(out)
            raise
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock of a folder; yield False if it is gone, or without ``wait`` if another process holds it."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _lock(handle, wait) and folder.exists()
    finally:
        os.close(handle)


def _lock(handle: int, wait: bool) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
