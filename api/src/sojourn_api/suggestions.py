"""What a name or value that is not known may have meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from difflib import get_close_matches
from heapq import nlargest

MOST_CLOSE = 5
_MOST_NAMED = 6
_CUTOFF = 0.6
#: Texts that are compared letter by letter, which takes a hundred times as long as to count their letters.
_MOST_COMPARED = 30
_MOST_LETTERS = 40
_MOST_CHARACTERS = 200
_NUMBER = r"[.,]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
#: Numbers with their sign, which a hyphen after a letter or digit is not; words; and symbols that separate nothing.
_TOKEN = re.compile(rf"(?<![^\W_])[-+−]{_NUMBER}|{_NUMBER}|[^\W\d_]+|[^\w\s\-.,:;/()\[\]'\"]")


def plain(text: str) -> str:
    """Return a text without case and separators: ``FQ-CoDel`` and ``fq_codel`` are one, ``1.0`` and ``10`` are not."""
    return " ".join(_TOKEN.findall(text.casefold()))


def closest(text: str, plain_texts: Collection[str]) -> list[str]:
    """Return the plain texts that a text may have meant, the closest first: at most five.

    Of many, only those that share most letters with it are compared.
    """
    wanted = plain(text[:_MOST_CHARACTERS])[:_MOST_CHARACTERS]
    if not wanted:
        return []
    letters = Counter(wanted).most_common(_MOST_LETTERS)

    def shared(one: str) -> float:
        return sum([min(times, one.count(letter)) for letter, times in letters]) / (len(one) + len(wanted))

    # Twice the shorter length in relation to both is the most that `get_close_matches` can find.
    similar = [one for one in plain_texts if 2 * min(len(one), len(wanted)) >= _CUTOFF * (len(one) + len(wanted))]
    if len(similar) > _MOST_COMPARED:
        similar = nlargest(_MOST_COMPARED, similar, key=shared)
    return get_close_matches(wanted, similar, MOST_CLOSE, _CUTOFF)


def close_to(text: str, candidates: Collection[str]) -> list[str]:
    """Return the texts that one may have meant, the closest first: at most five."""
    by_plain = {plain(one): one for one in candidates}
    return [by_plain[one] for one in closest(text, by_plain)]


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
