"""The error of an input that cannot be read."""

from __future__ import annotations


class InputError(Exception):
    """An input that cannot be read, or only in part.

    ``reason`` is one word for counting; ``offset`` is the byte offset of the fault in the plain content.
    """

    def __init__(self, reason: str, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.offset = offset
