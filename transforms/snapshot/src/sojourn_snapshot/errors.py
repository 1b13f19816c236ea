"""What goes wrong with a snapshot."""

from __future__ import annotations

from pydantic import ValidationError


class DamagedSnapshotError(ValueError):
    """A snapshot is not as its own files say; the message names the file."""


def what_is_wrong(error: OSError | ValidationError) -> str:
    """Return in one line why a document cannot be read."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    first = error.errors(include_url=False)[0]
    return "".join(f"{part}: " for part in first["loc"]) + first["msg"]
