"""Local files of a lake in an object store: drafts before they are uploaded, copies of what was read."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from sojourn_ingest.lake.storage.interface import kept_of
from sojourn_process.own_folder import own_folder


class RemoteCopies:
    """Drafts and copies of one remote lake, below one local folder.

    Objects of a lake never change once they are there, so a copy is good for ever.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._scratch: Path | None = None

    def _base(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._scratch is None:
            held = ExitStack()
            self._scratch = held.enter_context(own_folder("sojourn-lake-"))
            weakref.finalize(self, held.close)
        return self._scratch

    def draft(self, name: str) -> Path:
        """Return a new local file for an object in the making."""
        path = self._base() / "drafts" / f"{uuid.uuid4().hex}-{Path(name).name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def copy(self, name: str, read: Callable[[str], bytes]) -> Path:
        """Return a local copy of an object, fetched if there is none yet."""
        path = self._base() / "copies" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex}")
            temporary.write_bytes(read(name))
            temporary.replace(path)
        return path

    def sha256(self, name: str) -> str | None:
        """Return the hash of the copy of an object; None if there is none."""
        path = self._base() / "copies" / name
        return kept_of(path).sha256 if path.exists() else None

    def drop(self, name: str) -> None:
        """Remove the copy of an object, if there is one."""
        (self._base() / "copies" / name).unlink(missing_ok=True)
