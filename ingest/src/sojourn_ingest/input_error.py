"""The error of an input that cannot be read."""

from __future__ import annotations

from sojourn_ingest.hosts_in_text import without_addresses


class InputError(Exception):
    """An input that cannot be read, or only in part.

    ``reason`` is one word for counting; ``offset`` is the byte offset of the fault in the plain content. ``message``
    may quote the input: it is printed, logged and kept, and has no public address.
    """

    def __init__(self, reason: str, message: str, offset: int | None = None) -> None:
        self.message = without_addresses(message, private=False)
        super().__init__(self.message)
        self.reason = reason
        self.offset = offset


def changed_while_read() -> InputError:
    """Return the error of a file that was not the same from its first byte read to its last."""
    return InputError("changed_while_read", "the file changed while it was read; ingest it again when it is complete")
