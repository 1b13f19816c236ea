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
#: Memory of a document and its values; below one of so few bytes it is not looked at.
LARGEST_IN_MEMORY = 5 * 2**28
_FEW_BYTES = LARGEST_IN_MEMORY // 200
#: Memory of an object, a list, what a comma separates, and half a text without its characters.
_OBJECT_BYTES, _LIST_BYTES, _VALUE_BYTES, _QUOTE_BYTES = 200, 64, 40, 20
_BEYOND_LATIN_1 = re.compile(rb"[\xc4-\xff]|\\u")
_BEYOND_THE_FIRST_PLANE = re.compile(rb"[\xf0-\xff]|\\u[dD][89aAbB]")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
#: What a piece of a document has up to a text that does not end in it; texts are left out a piece at a time.
_WHOLE_TEXTS = re.compile(rb'(?:[^"]|"(?:[^"\\]|\\.)*+")*+', re.DOTALL)
_PIECE_BYTES = 2**20
_TEXT_OR_NONE = re.compile(_TEXT.pattern + rb"|(?<![\w.])(?P<none>-?(?:nan|inf))(?![\w.])", re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
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


def up_to_largest(handle: BinaryIO, what: str, most: int | None = None) -> bytes:
    """Return what is left of a stream; raise InputError if it has more bytes than any such document, or ``most``."""
    most = min(MAX_BYTES, most or MAX_BYTES)
    text = read_whole(handle, most + 1)
    if len(text) > most:
        raise InputError("too_large", f"{what}: larger than {most // 2**20} MiB, the limit for such documents")
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
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    refuse_what_takes_memory(content, what)
    try:
        return _value_of(content.decode(json.detect_encoding(content), "surrogatepass"), what, reading)
    except json.JSONDecodeError as error:
        spelt = _with_json_constants(content) if error.msg == "Expecting value" else content
        if spelt == content:
            message = f"{what}: JSON is damaged at character {error.pos} ({error.msg}); copy the file again"
            raise InputError("corrupt_record", message, error.pos) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError("corrupt_record", f"{what}: not JSON ({type(error).__name__}); copy the file again") from error
    # The error had the whole text.
    return parse_value(spelt, what, reading)


def _value_of(text: str, what: str, reading: Reading | None) -> Any:
    value, end = json.JSONDecoder().raw_decode(text, _end_of_blanks(text, 0))
    end = _end_of_blanks(text, end)
    if end == len(text):
        return value
    rest = text[end:]
    if reading is not None and not _goes_on(rest):
        reading.refuse(TEXT_AFTER, rest.strip().count("\n") + 1)
        return value
    if rest.startswith("{"):
        message = f"{what}: another JSON object follows the first one; put each result into a separate file"
        raise InputError("several_results", message, end)
    raise json.JSONDecodeError("Extra data", text, end)


def _end_of_blanks(text: str, place: int) -> int:
    blanks = _BLANK.match(text, place)
    assert blanks is not None
    return blanks.end()


def refuse_what_takes_memory(content: bytes, what: str) -> None:
    """Go on if a JSON text and its values fit in `LARGEST_IN_MEMORY`; raises InputError (``too_large``) if not."""
    if len(content) < _FEW_BYTES:
        return
    most = LARGEST_IN_MEMORY - _characters_bytes(content)
    # Texts may have any signs, but to leave them out takes seconds.
    if _values_bytes(content) > most and (most < 0 or sum(map(_values_bytes, _without_texts(content))) > most):
        message = f"{what}: it takes more than {LARGEST_IN_MEMORY / 2**30:g} GiB of memory; split the document"
        raise InputError("too_large", message)


def _characters_bytes(content: bytes) -> int:
    """Return about how much memory the characters of a JSON document take, in the document and in its texts.

    Python keeps each of a text in as many bytes as its largest takes.
    """
    wide = 4 if _BEYOND_THE_FIRST_PLANE.search(content) else 2 if _BEYOND_LATIN_1.search(content) else 1
    # Of a character that takes several bytes, all but the first begin with the same two bits.
    characters = len(content) if content.isascii() else len(content.translate(None, bytes(range(0x80, 0xC0))))
    return 2 * wide * characters


def _values_bytes(content: bytes) -> int:
    """Return about how much memory the values of a JSON document take, without the characters of texts."""
    objects, lists, others, quotes = (content.count(sign) for sign in (b"{", b"[", b",", b'"'))
    return objects * _OBJECT_BYTES + lists * _LIST_BYTES + others * _VALUE_BYTES + quotes * _QUOTE_BYTES


def _without_texts(content: bytes) -> Iterator[bytes]:
    """Yield a document whose texts are empty, a piece at a time: what is between them are very many objects."""
    place = 0
    while place < len(content):
        whole = _WHOLE_TEXTS.match(content, place, place + _PIECE_BYTES)
        end = place if whole is None else whole.end()
        if end > place:
            yield _TEXT.sub(b'""', content[place:end])
        else:
            text = _TEXT.match(content, place)
            end = len(content) if text is None else text.end()
            yield b'""'
        place = end


def _with_json_constants(content: bytes) -> bytes:
    """Return a content with what C prints for no number, as iperf3 3.0 did, spelt as Python reads it."""
    return _TEXT_OR_NONE.sub(lambda match: match[0] if match["none"] is None else b"NaN", content)


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


def label(value: Any) -> str:
    """Return a text, or how a number is written; empty for anything else, which may be as large as the document."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def count(value: Any) -> int | None:
    """Return a count; None for what is not a 64-bit number."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**63 else None
