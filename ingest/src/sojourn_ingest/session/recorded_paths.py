"""The text by which the lake knows a file: its path, or with a root its path below that folder.

With a root, what is recorded does not depend on where a study lies: `ROOT/run/a.pcap` is recorded as `/run/a.pcap`. So
folders of a machine, in which names of people may stand, stay out of the lake, and another machine that has the same
files records the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn_ingest.remote.path import as_path

_PACKAGE = Path(__file__).resolve().parents[1]
# One ingest runs in a process, in several threads, and all of them record alike.
_root: Path | None = None


@contextmanager
def recorded_below(root: Path | None) -> Iterator[None]:
    """Record paths as they are below a folder while this is held; None records them as they are."""
    global _root
    before, _root = _root, None if root is None else root.resolve()
    try:
        yield
    finally:
        _root = before


def path_text(path: Path) -> str:
    """Return a path as it is recorded, as text that can be written, even if its bytes are not UTF-8."""
    if _root is not None and path.is_relative_to(_root):
        path = Path("/", path.relative_to(_root))
    elif _root is not None and path.is_relative_to(_PACKAGE):
        # A description that ships with the package is the same wherever that is installed.
        path = Path("/", path.relative_to(_PACKAGE.parent))
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def path_of(text: str) -> Path:
    """Return the file of this machine that a recorded path names; with a root, one that was recorded below it first."""
    if _root is not None:
        for folder in (_root, _PACKAGE.parent):
            if (folder / text.lstrip("/")).exists():
                return folder / text.lstrip("/")
    return as_path(text)
