"""A text as it is meant: escapes and letters of other widths and scripts as what they stand for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

#: Of URLs (RFC 3986 and JavaScript, escaped again or not), HTML (the same, and a point or colon without its semicolon),
#: JSON, strings of C and patterns, mail (RFC 2045), and how people keep a name from becoming a link.
_ESCAPES = re.compile(
    r"%(?:25)*u(?P<script>[0-9A-Fa-f]{4})"
    r"|(?P<url>(?:%(?:25)*[0-9A-Fa-f]{2})+)"
    r"|&(?:amp;)*\#(?:[xX]0*(?P<hex>[0-9A-Fa-f]{1,5})|0*(?P<decimal>[0-9]{1,6}));"
    r"|&(?:amp;)*\#(?:[xX]0*(?P<open_hex>2[eE]|3[aA])|0*(?P<open_decimal>46|58))"
    r"|&(?:amp;)*(?P<name>period|colon|commat|lowbar|hyphen);"
    r"|(?<!\\)\\++(?:u(?P<json>[0-9A-Fa-f]{4})|U(?P<long>[0-9A-Fa-f]{8})|[ux]\{(?P<braced>[0-9A-Fa-f]{1,8})\}"
    r"|x(?P<byte>[0-9A-Fa-f]{2})|(?P<octal>[01][0-7]{2})|(?P<itself>[.:_\-]))"
    r"|(?P<dot>(?:(?<=[0-9]) )?"
    r"(?:\[(?:\.|[dD][oO][tT])\]|\((?:\.|[dD][oO][tT])\)|\{(?:\.|[dD][oO][tT])\})(?: (?=[0-9]))?"
    r"|(?<=[0-9])(?: ?[dD][oO][tT] ?|=2[eE])(?=[0-9]))"
    r"|(?P<colon>\[:\]|\(:\)|\{:\})",
)
#: What may be an escape of a percent sign, or stand before a number as it is.
_ESCAPED_PERCENT = re.compile(r"%(?:25)+(?=[0-9A-Fa-f]{2})")
_KINDS_OF_BASE_16 = ("hex", "open_hex", "script", "json", "long", "braced", "byte")
_ONE_OF_URL = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})")
_NAMED = {"period": ".", "colon": ":", "commat": "@", "lowbar": "_", "hyphen": "-"}
#: Full stops that part labels of a name as a dot does (RFC 3490); others become one by their normal form.
_FULL_STOP = "\u3002"
_COLONS = "\u2236\ua789"
_MINUS = "\u2212"
_HYPHENS = "-\u2010"
#: What is between the parts of an address or a name.
_SEPARATORS = ".:-_@"
#: Invisible (Unicode's Default_Ignorable_Code_Point), beside those of the category Cf and the selectors of variants.
_IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
#: Between numbers, as in an address of dots.
_MIDDLE_DOTS = "\u00b7\u2022\u2027\u2219\u22c5\u30fb"


@dataclass(frozen=True)
class TextAsMeant:
    """A text, and where each of its characters is in the text as it is written; None where it is the same text."""

    text: str
    places: tuple[tuple[int, int], ...] | None = None

    def start_of(self, place: int) -> int:
        """Return where the character at a place begins in the text as it is written."""
        return place if self.places is None else self.places[place][0]

    def end_of(self, end: int) -> int:
        """Return where the last character before a place ends in the text as it is written."""
        return end if self.places is None else self.places[end - 1][1]


def text_as_meant(text: str) -> TextAsMeant:
    """Return a text with escapes and compatible characters replaced (Unicode's NFKC), and without invisible ones."""
    return TextAsMeant(text) if _is_plain(text) else _read(text, parted=False)


def readings_of(text: str) -> list[TextAsMeant]:
    """Return what a text may say: as it is meant, the same with what may only stand beside a host kept, as written.

    Right before an address, a superscript read as a digit would hide it, and so would a percent sign as an escape.
    """
    if _is_plain(text):
        return [TextAsMeant(text)]
    meant, parted = (_read(text, parted=parted) for parted in (False, True))
    return [*([meant] if parted == meant else [meant, parted]), TextAsMeant(text)]


def _is_plain(text: str) -> bool:
    return text.isascii() and not _ESCAPES.search(text)


def _read(text: str, *, parted: bool) -> TextAsMeant:
    """Return a text as it is meant; if ``parted``, symbols, dashes and what may be no escape stay as they are."""
    meant: list[str] = []
    places: list[tuple[int, int]] = []
    written = list(_unescaped(text, parted=parted))
    for number, (character, start, end) in enumerate(written):
        before = written[number - 1][0] if number else ""
        after = written[number + 1][0] if number + 1 < len(written) else ""
        is_kept = parted and _parts_words(character)
        for plain in character if is_kept else _plain(character, before + after):
            meant.append(plain)
            places.append((start, end))
    return TextAsMeant("".join(meant), tuple(places))


def _unescaped(text: str, *, parted: bool) -> Iterator[tuple[str, int, int]]:
    place = 0
    for escape in _ESCAPES.finditer(text):
        yield from _written(text, place, escape.start())
        place = escape.end()
        for character, start, end in _meant_by(escape):
            if parted and not _is_surely_meant(character):
                yield from _written(text, start, end)
            else:
                yield character, start, end
    yield from _written(text, place, len(text))


def _is_surely_meant(character: str) -> bool:
    """Return whether an escape of a character surely is one: that of a letter may be a percent sign and a number."""
    return character in _SEPARATORS or (character >= "\xa0" and unicodedata.category(character) != "Cs")


def _written(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the characters of a part of a text; an escaped percent sign is one, since its digits may look like more."""
    if percent := _ESCAPED_PERCENT.match(text, start, end):
        yield "%", *percent.span()
        start = percent.end()
    yield from ((text[at], at, at + 1) for at in range(start, end))


def _meant_by(escape: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the characters that an escape stands for."""
    if escape["url"]:
        yield from _unescaped_url(escape)
        return
    if named := escape["name"] or (escape["dot"] and "period") or (escape["colon"] and "colon"):
        number = ord(_NAMED[named])
    elif escape["itself"]:
        number = ord(escape["itself"])
    elif escape["octal"]:
        number = int(escape["octal"], 8)
    elif decimal := escape["decimal"] or escape["open_decimal"]:
        number = int(decimal)
    else:
        number = int(next(escape[kind] for kind in _KINDS_OF_BASE_16 if escape[kind]), 16)
    yield chr(number) if number < 0x110000 else "\N{REPLACEMENT CHARACTER}", *escape.span()


def _unescaped_url(encoded: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    escapes = list(_ONE_OF_URL.finditer(encoded.string, *encoded.span()))
    values = bytes(int(escape[1], 16) for escape in escapes)
    place = 0
    # Surrogates stand for bytes that are no text.
    for character in values.decode(errors="surrogateescape"):
        width = len(character.encode(errors="surrogateescape"))
        yield character, escapes[place].start(), escapes[place + width - 1].end()
        place += width


def _parts_words(character: str) -> bool:
    """Return whether a character is a symbol, a dash or a number that is no digit, whatever its normal form is."""
    category = unicodedata.category(character)
    is_dash = category == "Pd" and unicodedata.normalize("NFKC", character) not in _HYPHENS
    return is_dash or category[0] == "S" or category in ("Nl", "No")


def _plain(character: str, neighbours: str) -> str:
    if character.isascii():
        return character
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    normal = unicodedata.normalize("NFKC", character)
    if normal in _MIDDLE_DOTS and len(neighbours) == 2 and all(one.isdecimal() for one in neighbours):
        return "."
    category = unicodedata.category(character)
    is_selector = unicodedata.name(character, "").startswith("VARIATION SELECTOR")
    if category == "Cf" or is_selector or character in _IGNORABLE:
        return ""
    if normal == _FULL_STOP:
        # Between words of Chinese and Japanese it ends a sentence.
        return normal if any(unicodedata.east_asian_width(letter) == "W" for letter in neighbours) else "."
    if category == "Pd" or character == _MINUS:
        return "-"
    return ":" if character in _COLONS else normal
