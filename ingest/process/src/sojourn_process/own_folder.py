"""Folders that go with their process: what one that was killed left, the next one removes.

A file inside says that a folder is one of these and names it, so that a folder of somebody else goes under no name,
and neither does a copy. The file is locked (flock) as long as its process lives, so that no process id has to be
believed: ids come back, and other containers have others for the same process.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARKER = ".sojourn-temporary"


@contextmanager
def own_folder(
    prefix: str, parent: Path | None = None, before_removal: Callable[[Path], None] = lambda _: None
) -> Iterator[Path]:
    """Hold a new folder whose name begins with ``prefix``, and remove it in the end.

    It is in ``parent``, by default where temporary files go. Folders of the same prefix whose process was killed are
    removed first.

    Parameters
    ----------
    before_removal
        Called with each folder before it is removed, to save what is in it; if it fails, the folder stays for the next
        process.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(prefix, place, before_removal)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    handle = None
    try:
        handle = _marked(folder)
        yield folder
    finally:
        try:
            before_removal(folder)
            _empty(folder)
        finally:
            if handle is not None:
                os.close(handle)
        _remove_if_empty(folder)


def remove_abandoned(prefix: str, parent: Path, before_removal: Callable[[Path], None] = lambda _: None) -> None:
    """Remove the folders in ``parent`` that a killed process held; see :func:`own_folder`."""
    for folder in parent.glob(f"{glob.escape(prefix)}*"):
        # A folder that was moved elsewhere and linked back is its user's.
        handle = None if folder.is_symlink() else _opened_marker(folder)
        if handle is None:
            continue
        try:
            if _is_mine(handle, folder):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Before it was locked, another process may have removed it.
                if (folder / MARKER).exists():
                    before_removal(folder)
                    _empty(folder)
        except BlockingIOError:
            continue  # its process lives
        finally:
            os.close(handle)
        if not (folder / MARKER).exists():
            _remove_if_empty(folder)


def _empty(folder: Path) -> None:
    """Remove what is in a folder, the marker last: until then the next process removes what this one could not."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARKER:
                path.unlink(missing_ok=True)
        if all(path.name == MARKER for path in folder.iterdir()):
            (folder / MARKER).unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder whose marker is closed: NFS keeps an open file, under another name, in its folder."""
    with suppress(OSError):
        folder.rmdir()


def _content(folder: Path) -> bytes:
    return b"temporary folder of sojourn: " + os.fsencode(folder.name) + b"\n"


def _marked(folder: Path) -> int:
    """Write the marker of a folder, which is locked when it appears."""
    draft = folder / f"{MARKER}.new"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, _content(folder))
        fcntl.flock(handle, fcntl.LOCK_EX)
        draft.rename(folder / MARKER)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _opened_marker(folder: Path) -> int | None:
    try:
        # NFS gives a lock only of what is open for writing.
        return os.open(folder / MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        # There is none, or it is another user's: the folder is nobody's to remove here.
        return None


def _is_mine(handle: int, folder: Path) -> bool:
    content, status = _content(folder), os.fstat(handle)
    is_file = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return is_file and os.read(handle, len(content) + 1) == content
