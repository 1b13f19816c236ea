"""What a name or value that is not known may have meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

_MOST_CLOSE = 5
_MOST_NAMED = 6
_NUMBER = r"[.,]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
#: Numbers with their sign, which a hyphen after a letter or digit is not; words; and symbols that separate nothing.
_TOKEN = re.compile(rf"(?<![^\W_])[-+−]{_NUMBER}|{_NUMBER}|[^\W\d_]+|[^\w\s\-.,:;/()\[\]'\"]")


def plain(text: str) -> str:
    """Return a text without case and separators: ``FQ-CoDel`` and ``fq_codel`` are one, ``1.0`` and ``10`` are not."""
    return " ".join(_TOKEN.findall(text.casefold()))


def close_to(text: str, candidates: Collection[str]) -> list[str]:
    """Return the texts that one may have meant, the closest first: at most five."""
    by_plain = {plain(one): one for one in candidates}
    return [by_plain[one] for one in get_close_matches(plain(text[:200]), list(by_plain), _MOST_CLOSE)]


def did_you_mean(text: str, candidates: Collection[str]) -> str:
    """Return ``; did you mean 'a' or 'b'?``, or nothing where none of what is known comes close."""
    close = close_to(text, candidates)[:2]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def meant_or_expected(text: str, allowed: Collection[str]) -> str:
    """Return what was meant as :func:`did_you_mean` does; else ``; expected a, b or c`` if these are at most six."""
    meant = did_you_mean(text, allowed)
    if meant or not 1 < len(allowed) <= _MOST_NAMED:
        return meant
    *most, last = allowed
    return f"; expected {', '.join(most)} or {last}"
