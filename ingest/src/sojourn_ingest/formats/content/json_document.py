"""Sources that are one JSON document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from sojourn_ingest.formats.content.before_damage import read_whole
from sojourn_ingest.formats.content.plain_text import TEXT_AFTER, open_json, open_plain
from sojourn_ingest.formats.interface import InputError, Reading, Source

MAX_BYTES = 256 * 2**20
#: Memory of the values of a document, and of an object, a list and what a comma separates; less is not looked at.
LARGEST_VALUES_BYTES = 2**30
_OBJECT_BYTES, _LIST_BYTES, _VALUE_BYTES = 200, 64, 40
_FEW_BYTES = LARGEST_VALUES_BYTES // _OBJECT_BYTES
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
#: What a piece of a document has up to a text that does not end in it; texts are left out a piece at a time.
_WHOLE_TEXTS = re.compile(rb'(?:[^"]|"(?:[^"\\]|\\.)*+")*+', re.DOTALL)
_PIECE_BYTES = 2**20
_TEXT_OR_NONE = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(?<![\w.])(?P<none>-?(?:nan|inf))(?![\w.])', re.DOTALL)
_BEGINS_OBJECT = re.compile(r"\{\s*(?:[\"}]|$)")


def read_object(source: Source, what: str, reading: Reading) -> dict[str, Any]:
    """Return the JSON object that a source is; lines of text before and after it are counted as refused.

    Raises
    ------
    InputError
        As :func:`parse_object` does, or if the document is larger than any such.
    """
    with open_json(source, reading) as handle:
        text = up_to_largest(handle, what)
    return parse_object(text, what, reading)


def read_text(source: Source, what: str) -> bytes:
    """Return the whole content.

    Raises
    ------
    InputError
        If it is larger than any such document.
    """
    with open_plain(source) as handle:
        return up_to_largest(handle, what)


def up_to_largest(handle: BinaryIO, what: str) -> bytes:
    """Return what is left of a stream; raise InputError if it is larger than any such document."""
    text = read_whole(handle, MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise InputError("too_large", f"{what}: larger than {MAX_BYTES // 2**20} MiB, the limit for such documents")
    return text


def parse_object(text: bytes, what: str, reading: Reading | None = None) -> dict[str, Any]:
    """Return the JSON object that is the whole text, or, with a ``reading``, that the text begins with.

    Raises
    ------
    InputError
        As :func:`parse_value` does, or if it is not a JSON object.
    """
    content = parse_value(text, what, reading)
    if not isinstance(content, dict):
        raise InputError("corrupt_record", f"{what}: the document is not a JSON object")
    return content


def parse_value(text: bytes | str, what: str, reading: Reading | None = None) -> Any:
    """Return the JSON value that is the whole text, or, with a ``reading``, that the text begins with.

    Lines behind it, such as the shell's prompt, are then counted as refused.

    Raises
    ------
    InputError
        If it is not JSON, or its values take too much memory; the message never quotes the content.
        ``several_results`` where another object follows the first, as in the log of a command that was run several
        times.
    """
    _refuse_many_values(text, what)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        is_extra = error.msg == "Extra data"
        rest = error.doc[error.pos :] if is_extra else ""
        if is_extra and reading is not None and not _goes_on(rest):
            reading.refuse(TEXT_AFTER, len(rest.strip().splitlines()))
            return parse_value(error.doc[: error.pos], what)
        if rest.startswith("{"):
            message = f"{what}: another JSON object follows the first one; put each result into a separate file"
            raise InputError("several_results", message, error.pos) from error
        if error.msg == "Expecting value" and (spelt := _with_json_constants(error.doc)) != error.doc:
            return parse_value(spelt, what, reading)
        message = f"{what}: JSON is damaged at character {error.pos} ({error.msg}); copy the file again"
        raise InputError("corrupt_record", message, error.pos) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError("corrupt_record", f"{what}: not JSON ({type(error).__name__}); copy the file again") from error


def _refuse_many_values(text: bytes | str, what: str) -> None:
    if len(text) < _FEW_BYTES:
        return
    content = text.encode(errors="replace") if isinstance(text, str) else text
    # Texts may have any signs, but to leave them out takes seconds.
    if _values_bytes(content) > LARGEST_VALUES_BYTES < sum(map(_values_bytes, _without_texts(content))):
        most = LARGEST_VALUES_BYTES // 2**30
        raise InputError("too_large", f"{what}: its values take more than {most} GiB of memory; split the document")


def _values_bytes(content: bytes) -> int:
    """Return about how much memory the values of a JSON document take."""
    objects, lists, others = (content.count(sign) for sign in (b"{", b"[", b","))
    return objects * _OBJECT_BYTES + lists * _LIST_BYTES + others * _VALUE_BYTES


def _without_texts(content: bytes) -> Iterator[bytes]:
    """Yield a document without its texts, a piece at a time: what is between them are very many objects."""
    place = 0
    while place < len(content):
        whole = _WHOLE_TEXTS.match(content, place, place + _PIECE_BYTES)
        end = place if whole is None else whole.end()
        if end > place:
            yield _TEXT.sub(b"", content[place:end])
        else:
            text = _TEXT.match(content, place)
            end = len(content) if text is None else text.end()
        place = end


def _with_json_constants(text: str) -> str:
    """Return a text with what C prints for no number, as iperf3 3.0 did, spelt as Python reads it."""
    return _TEXT_OR_NONE.sub(lambda match: match[0] if match["none"] is None else "NaN", text)


def _goes_on(rest: str) -> bool:
    """Return whether what follows a JSON value is JSON too, also one that is cut short, and not a text.

    A prompt may begin with a bracket, as in ``[root@host ~]$``.
    """
    if rest[:1] in ("}", "]", ",") or _BEGINS_OBJECT.match(rest):
        return True
    if rest[:1] != "[":
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(rest)
    except json.JSONDecodeError:
        return False
    except (RecursionError, ValueError):
        return True
    # A shell says of a job `[1]+  Done`.
    return rest[end:].partition("\n")[0].strip()[:1] in ("", *"{[}],")


def count(value: Any) -> int | None:
    """Return a count; None for what is not a 64-bit number."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**63 else None
