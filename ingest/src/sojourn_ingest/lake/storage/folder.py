"""A lake in a folder of this machine."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn_ingest import named_points
from sojourn_ingest.lake.storage.interface import Kept, LakeBusyError, kept_of


def flush(path: Path) -> None:
    """Bring a file, or a folder's list of files, to the disk; of a file, its name in its folder too."""
    for entry in (path,) if path.is_dir() else (path, path.parent):
        flush_content(entry)


def flush_content(path: Path) -> None:
    """Bring what a file holds, or a folder's list of files, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FolderStorage:
    """A folder of a local or mounted file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def uri(self) -> str:
        """The folder."""
        return self.root.absolute().as_uri()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, in order."""
        try:
            # Unlike glob, it says so if the folder may not be listed.
            paths = list((self.root / folder).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(f"{folder}/{path.name}" for path in paths if path.is_file())

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in one folder."""
        return {name: (self.root / name).stat().st_size for name in self.names(folder)}

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if it is not there."""
        path = self.root / name
        return path.stat().st_size if path.is_file() else None

    def copied_sha256(self, name: str) -> str | None:
        """Return None: readers look at the file itself."""
        return None

    def sha256(self, name: str) -> str:
        """Return the hash of a file."""
        return kept_of(self.root / name).sha256

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return (self.root / name).read_bytes()

    def create(self, name: str, content: bytes) -> bool:
        """Make a file appear whole: a hard link to a finished one, which the system refuses where the name is taken."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with temporary.open("wb") as handle:
                handle.write(content)
                handle.flush()
                named_points.reach("object.writing", temporary)
                os.fsync(handle.fileno())
            named_points.reach("object.creating")
            path.hardlink_to(temporary)
            named_points.reach("object.created")
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        flush(path.parent)
        return True

    def delete(self, name: str) -> None:
        """Remove a file."""
        named_points.reach("object.deleting")
        (self.root / name).unlink(missing_ok=True)

    def draft(self, name: str) -> Path:
        """Return the file itself: no reader looks at it before a commit names it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, name: str, draft: Path) -> Kept:
        """Bring the file to the disk."""
        kept = kept_of(draft)
        named_points.reach("data.flushing", draft)
        flush(draft)
        return kept

    def discard(self, name: str, draft: Path) -> None:
        """Remove the file."""
        draft.unlink(missing_ok=True)

    def local(self, name: str) -> Path:
        """Return the file."""
        return self.root / name

    def drop_copy(self, name: str) -> None:
        """Do nothing: readers look at the file itself."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a lock of the file system, which ends with the process that has it."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LakeBusyError(f"another process is writing to {self.root}; wait for it to end") from error
            yield
