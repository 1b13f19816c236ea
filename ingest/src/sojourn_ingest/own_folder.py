"""Temporary folders that go with their process: what one that was killed left, the next one removes.

The folder is locked (flock) as long as its process lives, so that no process id has to be believed: ids come back, and
other containers have others for the same process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """Hold a new temporary folder whose name begins with ``prefix``, and remove it in the end.

    Folders of the same prefix whose process was killed are removed first.
    """
    parent = Path(tempfile.gettempdir())
    _remove_stale(parent, prefix)
    folder, handle = _new_folder(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _new_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = _opened(folder)
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Before it was locked, another process may have taken it for a killed one's.
            if folder.is_dir():
                return folder, handle
            os.close(handle)


def _opened(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # It is gone meanwhile, no folder, or another user's.
        return None


def _remove_stale(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        handle = _opened(folder)
        if handle is None:
            continue
        try:
            if os.fstat(handle).st_uid == os.getuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue  # its process lives
        finally:
            os.close(handle)
