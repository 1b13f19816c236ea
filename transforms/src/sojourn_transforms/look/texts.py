"""Texts of files and people on a page: without addresses, and without letters that a page cannot have."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from sojourn_ingest.hosts_in_text import without_addresses
from sojourn_statistics.findings.wording import words_of
from sojourn_transforms.figures.series import PLAIN_NAMES

#: Letters that XML cannot have, and halves of such that no text has.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")


def plain(text: str) -> str:
    """Return a text without letters that neither HTML nor SVG can have, and without addresses.

    A page is passed on, so it shows no address, not even a private one, wherever the text comes from.
    """
    return without_addresses(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def short(text: str, most: int = 26) -> str:
    """Return a text that fits beside an axis; the middle is left out of a long one."""
    text = plain(text)
    if len(text) <= most:
        return text
    ahead = most // 2
    return f"{text[:ahead]}…{text[-(most - ahead - 1) :]}"


def short_apart(texts: Sequence[str], most: int = 26) -> list[str]:
    """Return texts that fit beside an axis, no two of which are the same.

    A text is longer than ``most``, up to twice as long, if only so it differs from the others; where that does not
    help, such as for texts that differ in an address, later ones have a number.
    """
    kept = max(range(most, 2 * most + 1), key=lambda size: (len({short(text, size) for text in texts}), -size))
    labels: list[str] = []
    for text in texts:
        label, number = short(text, kept), 1
        while label in labels:
            number += 1
            label = f"{short(text, kept)} ({number})"
        labels.append(label)
    return labels


def in_words(value: Any) -> str:
    """Return an identifier of a mart, a manifest or Linux as people read it: ``not_comparable`` is not comparable."""
    text = str(value)
    return PLAIN_NAMES.get(text) or words_of(text)


def natural(text: str) -> list[str | int]:
    """Return a key that sorts names as people count: run 2 is before run 10."""
    # Texts and numbers take turns, so that like is compared with like.
    return [int(part) if place % 2 else part.casefold() for place, part in enumerate(re.split(r"(\d+)", text))]


def significant(value: float, digits: int) -> str:
    """Return a number rounded to significant digits, never fewer than those before the point; they are grouped."""
    if not value or not math.isfinite(value):
        return f"{value:,.0f}"
    after = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(after, 0)}f}"


def number(value: Any, digits: int | None, significant_digits: int | None = None) -> str:
    """Return a value of a table as text: digits grouped, an en dash for a missing value."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value != value:
            return "–"
        if significant_digits is not None:
            return significant(value, significant_digits)
        return f"{value:,.{digits}f}" if digits is not None else f"{value:,.6g}"
    return plain(str(value))
