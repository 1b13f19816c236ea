"""Texts of JSON that are not text: one half of a surrogate pair, escaped, is no character, and Arrow has none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sojourn_ingest.input_error import InputError


@contextmanager
def whole_characters() -> Iterator[None]:
    """Refuse a source in which a text has half of a character.

    Raises
    ------
    InputError
        In the place of Python's error, which has the text in it: that may be a name.
    """
    try:
        yield
    except UnicodeEncodeError:
        message = "a text has half of a character (an escape between \\ud800 and \\udfff without its partner)"
        raise InputError("corrupt_record", f"{message}; fix the tool that wrote it") from None
