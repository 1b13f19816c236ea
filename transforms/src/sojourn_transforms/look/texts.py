"""Texts of files and people on a page: without addresses, and without letters that a page cannot have."""

from __future__ import annotations

import re
from typing import Any

from sojourn_ingest.hosts_in_text import IPV4, IPV6, canonical_address

HIDDEN = "‹address›"
#: Letters that XML cannot have, and halves of such that no text has.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
#: Names of files write an IPv4 address with other separators too, and letters next to it.
_IPV4_IN_NAME = re.compile(r"(?<!\d)(\d{1,3})([-_.])(\d{1,3})\2(\d{1,3})\2(\d{1,3})(?!\d)")


def plain(text: str) -> str:
    """Return a text without letters that neither HTML nor SVG can have, and without addresses.

    A page is passed on, so it shows no address, not even a private one, wherever the text comes from.
    """
    text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    if not any(mark in text for mark in ".:-_"):
        return text
    for pattern in (IPV4, IPV6):
        text = pattern.sub(lambda found: found[0] if canonical_address(found[0]) is None else HIDDEN, text)
    return _IPV4_IN_NAME.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    dotted = ".".join(str(int(found[number])) for number in (1, 3, 4, 5))
    return found[0] if canonical_address(dotted) is None else HIDDEN


def short(text: str, most: int = 26) -> str:
    """Return a text that fits beside an axis; the middle is left out of a long one."""
    text = plain(text)
    if len(text) <= most:
        return text
    ahead = most // 2
    return f"{text[:ahead]}…{text[-(most - ahead - 1) :]}"


def number(value: Any, digits: int | None) -> str:
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
        return f"{value:,.{digits}f}" if digits is not None else f"{value:,.6g}"
    return plain(str(value))
