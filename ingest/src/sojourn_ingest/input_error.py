"""The error of an input that cannot be read."""

from __future__ import annotations

from sojourn_ingest.hosts_in_text import without_hosts

#: Characters of a message, at most, of which so many stand before and behind what is left out. Its end says what to do.
LONGEST_MESSAGE = 600
_BEFORE, _BEHIND = 399, 200
#: Of what is left out, so many characters are searched: more than a host has, unless it was made to be long.
_MARGIN = 1000


class InputError(Exception):
    """An input that cannot be read, or only in part.

    ``reason`` is one word for counting; ``offset`` is the byte offset of the fault in the plain content. ``message``
    may quote the input: it is printed, logged and kept, so it is short and names no host that is public.
    ``has_public_names``: names with dots in it are not of the input, and no hosts'.
    """

    def __init__(self, reason: str, message: str, offset: int | None = None, *, has_public_names: bool = False) -> None:
        self.message = kept_text(message, names=not has_public_names)
        super().__init__(self.message)
        self.reason = reason
        self.offset = offset


def kept_text(text: str, *, names: bool = True) -> str:
    """Return a text about an input without hosts; of a long one, its beginning and its end."""
    if len(text) <= LONGEST_MESSAGE:
        return without_hosts(text, names=names)
    before = without_hosts(text[: _BEFORE + _MARGIN], end=_BEFORE, names=names)
    end = text[-_BEHIND - _MARGIN :]
    return f"{before}…{without_hosts(end, start=len(end) - _BEHIND, names=names)}"


def changed_while_read() -> InputError:
    """Return the error of a file that was not the same from its first byte read to its last."""
    return InputError("changed_while_read", "the file changed while it was read; ingest it again when it is complete")
