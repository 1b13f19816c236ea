"""Local files beside a storage that has none: drafts before they are uploaded, copies of what was read."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path


class RemoteCopies:
    """Drafts and copies of one remote lake, below one local folder.

    Objects of a lake never change once they are there, so a copy is good for ever.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def _base(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="sojourn-lake-")
        return Path(self._scratch.name)

    def draft(self, name: str) -> Path:
        """Return a new local file for an object in the making."""
        path = self._base() / "drafts" / f"{uuid.uuid4().hex}-{Path(name).name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def copy(self, name: str, read: Callable[[str], bytes]) -> Path:
        """Return a local copy of an object, fetched when there is none yet."""
        path = self._base() / "copies" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex}")
            temporary.write_bytes(read(name))
            temporary.replace(path)
        return path
