"""Output of Windows' ping in any language and code page: a heading, one line a probe, statistics.

Only numbers, ``TTL=`` and punctuation are the same in every language. RTTs are whole milliseconds; ``<1ms`` is 1.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

#: Behind an address, also one in brackets, stands no port, and no rest of a longer one.
_NO_PORT = rb"(?!\w|\.\d|\]?:[\w:])"
#: The last value is the time; the unit is translated too (``мс``). IPv6 has no TTL.
_REPLY = re.compile(
    rb"^\S.*[^\s\d][ \xa0]?[=<] ?(?P<rtt>-?\d{1,9})[ \xa0]?[^\d\s=<,]{1,12}(?P<ttl>\s+TTL ?= ?\d{1,3})?$"
)
#: No time of day: it has ``::`` or eight groups.
_IPV6 = re.compile(
    rb"(?<![\w:.])(?:H(?::H){7}|H(?::H){0,6}::(?:H(?::H){0,6})?|::H(?::H){0,6})(?:%\w{1,80})?".replace(
        b"H", rb"[0-9A-Fa-f]{1,4}"
    )
    + _NO_PORT
)
_IPV4 = re.compile(rb"(?<![\w:.])\d{1,3}(?:\.\d{1,3}){3}" + _NO_PORT)
#: A number that is no part of an address, a port, a date or a time.
_SIZE = re.compile(rb"(?<![\w.:/-])\d{1,5}(?![\w.:/-])")
#: A colon of any width at the end.
_COLON = re.compile(rb"(?::|\xef\xbc\x9a)$")
#: Sent, received, lost.
_COUNTS = re.compile(rb"= {0,3}(\d{1,12})\D[^=]*= {0,3}(\d{1,12})\D[^=]*= {0,3}(\d{1,12})(?!\d)")
#: Smallest, largest, mean; some languages have two blanks before them.
_RTTS = re.compile(rb"= {0,3}(\d{1,9}+) ?\S[^=]*= {0,3}(\d{1,9}+) ?\S[^=]*= {0,3}(\d{1,9}+) ?[^\s\d]{1,12}$")

_FIGURE = re.compile(rb"= {0,3}\d")
#: Lines that may stand before the heading.
LINES_BEFORE = 5


@dataclass(frozen=True)
class Counts:
    """Numbers of probes."""

    sent: int
    received: int
    lost: int


def is_heading(line: bytes) -> bool:
    """Return whether a line begins an output: it has an address and the size of a probe, and ends in a colon."""
    text = line.strip()
    if not is_title(text) or b"=" in text:
        return False
    without, addresses = _IPV6.subn(b" ", text[:-1])
    without, further = _IPV4.subn(b" ", without)
    return addresses + further > 0 and _SIZE.search(without) is not None


def is_title(line: bytes) -> bool:
    """Return whether a line ends in a colon, as those above the statistics do."""
    return _COLON.search(line.strip()) is not None


def is_rest_of_statistics(line: bytes) -> bool:
    """Return whether a line may be a part of statistics that are broken over several lines, as some languages' are."""
    figures = len(_FIGURE.findall(line))
    is_end = b"%" in line or line.strip().endswith((b")", b"),"))
    return line[:1].isspace() and figures < 3 and (figures > 0 or is_end)


def reply_ms(line: bytes) -> float | None:
    """Return the round trip of a line in ms; None for a line that is no answer."""
    match = _REPLY.match(line.strip())
    if match is None or (match["ttl"] is None and _IPV6.search(line) is None):
        return None
    return float(match["rtt"])


def counts(line: bytes) -> Counts | None:
    """Return the numbers of probes that a line states; None for one whose numbers do not add up."""
    match = _COUNTS.search(line)
    if match is None:
        return None
    sent, received, lost = (int(number) for number in match.groups())
    return Counts(sent, received, lost) if sent and sent == received + lost else None


def stated_ms(line: bytes) -> tuple[float, float, float] | None:
    """Return smallest, mean and largest round trip that a line states, in ms; Windows' order is another."""
    match = _RTTS.search(line.strip())
    if match is None:
        return None
    smallest, largest, mean = (float(number) for number in match.groups())
    return (smallest, mean, largest) if smallest <= mean <= largest else None


def unanswered(lines: list[bytes], lost: int) -> list[bool]:
    """Return which lines without an answer are lost probes, where the statistics behind them state their number.

    Where there are more lines than lost probes, some are remarks, such as that of a key that was pressed. Lines of lost
    probes are sentences, which recur.
    """
    if len(lines) <= lost:
        return [True] * len(lines)
    counted = Counter(line.strip() for line in lines)
    probes: set[bytes] = set()
    for text, count in sorted(counted.items(), key=lambda item: (_is_sentence(item[0]), item[1]), reverse=True):
        if count <= lost:
            probes.add(text)
            lost -= count
    return [line.strip() in probes for line in lines]


def _is_sentence(text: bytes) -> bool:
    # A full stop; of the East, of bytes above 127, or in Shift-JIS of one of them and another one.
    return text.endswith(b".") or any(byte > 127 for byte in text[-2:])


def is_output(lines: list[bytes]) -> bool:
    """Return whether the first lines are those of an output: a heading and a probe, with or without an answer.

    Before the heading there may be the lines of a console: the command, and the name and rights of Windows. Behind it,
    one probe must be answered, or the numbers of probes be stated.
    """
    texts = [line for line in lines if line.strip()]
    for number, (line, following) in enumerate(pairwise(texts[: LINES_BEFORE + 1]), start=1):
        if is_heading(line) and (reply_ms(following) is not None or not (is_title(following) or b"=" in following)):
            return any(reply_ms(text) is not None or counts(text) is not None for text in texts[number:])
    return False
