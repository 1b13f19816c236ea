"""Lines of ping and fping: what each says, in any language of the tool.

Words are translated, numbers and their order are not. A line that is not wholly understood is one of which the caller
counts a refusal; it never becomes a loss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER = rb"-?\d[\d.,]{0,20}(?:[eE][+-]?\d{1,3})?"
STAMP = rb"(?:\[(?P<time>\d{1,10}(?:[.,]\d{1,9})?)\]\s+)?"
#: macOS' --apple-time states the time of day only, in the local zone.
TIME_OF_DAY = rb"(?:\d\d:\d\d:\d\d(?:\.\d{1,9})?\s+)?"
#: English in every form, with those of HP-UX and toybox; else the sizes without and with headers, or the size behind
#: the address.
HEADER = re.compile(
    rb"^PING\s+\S.*\bdata bytes\b|^PING\s+\S.*\bbytes of data\b|^PING6?\(\d+=.* bytes\) "
    rb"|^PING\s+\S+: \d{1,6} byte packets$|^Ping \S+ \(\S{1,80}\): \d{1,6}\(\d{1,6}\) bytes\.$"
    rb"|^PING\s+\S+ ?\(.{1,200}\) (?:\S.{0,80}: )?\d{1,6}(?:\(\d{1,6}\))? +\S"
)
#: What ping says of the bytes that -p asks for stands before its heading.
PATTERN = re.compile(rb"^PATTERN: 0x[0-9a-fA-F]")

_BEGINNING = re.compile(STAMP + TIME_OF_DAY + rb"(?:(?P<size>\d{1,6}) (?P<word>[^\d\s]\S*))?")
_SEQUENCE = re.compile(rb"(?<![A-Za-z])(?:icmp_)?seq[= ](?P<seq>\d{1,9})(?!\d)")
_TIME = re.compile(
    # The identifier stands there with iputils' -v.
    rb"^[.,]?(?: ident=\d{1,5})?(?: (?:ttl|hlim|hops)=\d{1,3})? [^=<\d]{1,60}[=<] ?(?P<rtt>"
    + NUMBER
    + rb") ?(?P<unit>[^\s\d(]{1,16})"
)
_MARKS = re.compile(rb"^\s*(?:\([^()]*\)\s*)*$")
_MS_PER = {b"ms": 1.0, b"msec": 1.0, b"us": 1e-3, b"usec": 1e-3}
#: Sent, received and the share that was lost, in this order in every language.
_SENT = re.compile(rb"^\D{0,80}(?P<sent>\d{1,12})\D+(?P<received>\d{1,12})\D.*?(?P<lost>\d{1,3}(?:[.,]\d{1,6})?) ?%")
_STATED = re.compile(rb"^\S[^=]{0,80}= ?(?P<min>" + NUMBER + rb")/(?P<avg>" + NUMBER + rb")/(?P<max>" + NUMBER + rb")")
#: What ping says that is neither an answer nor a probe without one.
_REMARK = re.compile(
    rb"^(?:---|PATTERN:|WARNING:|ping6?:|pipe \d|\^C|load: |From |\d+ bytes from [^=]*: [A-Z][A-Za-z]+|\d+/\d+ packets"
    rb"|wrong data byte|Vr HL TOS| \d  \d  \d\d |ai->ai_family: )"
)

FPING = re.compile(
    STAMP
    + rb"(?P<target>\S+(?: \([0-9a-fA-F.:%]{2,80}\))?)\s+: \[(?P<seq>\d{1,9})\], (?:\d+ bytes, (?P<rtt>"
    + NUMBER
    + rb") ms|(?P<lost>timed out))(?![A-Za-z])"
)
FPING_PROBE = re.compile(rb" : \[\d{1,9}\], ")
FPING_DUPLICATE = re.compile(rb"^" + STAMP + rb"\S+(?: \(\S+\))?\s+: duplicate for \[\d{1,9}\]")
FPING_REMARK = re.compile(
    rb" : xmt/rcv/%|^ICMP |^\[\d\d:\d\d:\d\d\]$|(?:is|are) (?:alive|unreachable)|^\S+: "
    # What -C sums up of each target.
    rb"|^\S+ +: (?:[\d.]+|-)(?: (?:[\d.]+|-))*$"
)

#: Loss is rounded to whole percent by some.
_ROUNDED_PERCENT = 1.0


@dataclass(frozen=True)
class Reply:
    """One answer: its number, time in ms (None where it cannot be read), and whether the tool calls it a duplicate."""

    sequence: int
    rtt_ms: float | None
    is_duplicate: bool


@dataclass(frozen=True)
class PingLine:
    """What one line of ping says.

    ``unanswered`` is a number that it says has no answer so far. ``nameless`` are answers whose number is lost.
    ``is_whole`` is false if a part of the line is not understood.
    """

    stamp_s: float | None = None
    replies: tuple[Reply, ...] = ()
    unanswered: int | None = None
    nameless: int = 0
    is_whole: bool = True


@dataclass(frozen=True)
class Summary:
    """What the output says at its end: numbers of probes and answers, or smallest, mean and largest RTT in ms."""

    sent: int | None = None
    received: int = 0
    rtts_ms: tuple[float, float, float] | None = None


def number_of(text: bytes) -> float | None:
    """Return a number with a point or a comma before its fraction; None for anything else."""
    try:
        return float(text.replace(b",", b"."))
    except ValueError:
        return None


def ping_line(line: bytes) -> PingLine:
    """Return what a line between heading and statistics says."""
    numbers = list(_SEQUENCE.finditer(line))
    beginning = _BEGINNING.match(line)
    assert beginning is not None  # every part of it is optional
    stamp_s = None if beginning["time"] is None else number_of(beginning["time"])
    if not numbers:
        if is_remark(line):
            return PingLine(stamp_s)
        return PingLine(stamp_s, nameless=int(beginning["size"] is not None), is_whole=False)
    if beginning["size"] is None and len(numbers) == 1:
        return PingLine(stamp_s, unanswered=int(numbers[0]["seq"]))
    replies = []
    # Each answer has its size with the same word behind it.
    nameless = max(0, line.count(beginning["word"]) - len(numbers)) if beginning["word"] is not None else 0
    is_whole = len(numbers) == 1 and not nameless
    for place, match in enumerate(numbers):
        rest = line[match.end() : numbers[place + 1].start() if place + 1 < len(numbers) else None]
        time = _TIME.match(rest)
        replies.append(Reply(int(match["seq"]), None if time is None else _rtt_ms(time), b"DUP!" in rest))
        is_whole = is_whole and time is not None and _MARKS.match(rest[time.end() :]) is not None
    return PingLine(stamp_s, tuple(replies), nameless=nameless, is_whole=is_whole)


def summary(line: bytes) -> Summary | None:
    """Return what a line of the statistics says; None for one that says neither, or contradicts itself."""
    stated = _STATED.match(line)
    if stated is not None:
        rtts = [number_of(stated[name]) for name in ("min", "avg", "max")]
        smallest, mean, largest = rtts
        if smallest is None or mean is None or largest is None:
            return None
        return Summary(rtts_ms=(smallest, mean, largest))
    match = _SENT.match(line)
    if match is None:
        return None
    sent, received, lost = int(match["sent"]), int(match["received"]), number_of(match["lost"])
    if lost is None or received > sent or abs(100 * (sent - received) - lost * sent) > _ROUNDED_PERCENT * sent:
        return None
    return Summary(sent, received)


def is_remark(line: bytes) -> bool:
    """Return whether a line is one that ping writes beside answers and figures."""
    return not line.strip() or _REMARK.match(line) is not None


def _rtt_ms(time: re.Match[bytes]) -> float | None:
    # The name of the unit is translated too; only those of old releases are another unit.
    unit = time["unit"]
    factor = _MS_PER.get(unit) if unit.isascii() else 1.0
    value = number_of(time["rtt"])
    return None if value is None or factor is None else value * factor
