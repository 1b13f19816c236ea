"""What brings files to the disk."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Bring a file, or a folder's list of files, to the disk; of a file, its name in its folder too."""
    for entry in (path,) if path.is_dir() else (path, path.parent):
        descriptor = os.open(entry, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
