"""What goes wrong with a snapshot."""

from __future__ import annotations


class DamagedSnapshotError(ValueError):
    """A snapshot is not as its own files say; the message names the file."""
