"""What goes wrong when a publication is written or checked."""

from __future__ import annotations


class PublicationError(ValueError):
    """A publication cannot be written, or is not as it says; the message is one line that says what to do."""
