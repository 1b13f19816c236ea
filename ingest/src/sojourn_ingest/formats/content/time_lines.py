"""Times that stand on a line of their own before each poll, as ``date`` prints them into a loop."""

from __future__ import annotations

import re

from sojourn_ingest.text_columns import rfc3339_ns_of

#: ``date +%s`` and ``date +%s.%N``, also behind a hash or what flent's tc_iterate writes.
SECONDS = re.compile(rb"(?:#|Time:)?\s*(?P<whole>\d{9,10})(?:[.,](?P<fraction>\d{1,9}))?")
#: ``date +%s%3N``, ``+%s%6N`` and ``+%s%N``: milliseconds, microseconds and nanoseconds.
WHOLE = re.compile(rb"(?:#|Time:)?\s*(\d{13}|\d{16}|\d{19})")
#: ``date --iso-8601=ns`` writes a comma before the fraction, ``date +%FT%T%z`` no colon in the zone.
DATE = re.compile(rb"(?:#|Time:)?\s*(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d\S{0,40})")
ZONE = re.compile(r"([+-]\d\d)(\d\d)\Z")
LARGEST_NS = 2**63 - 1


def time_line_ns(line: bytes) -> int | None:
    """Return the time that is all of a line, in ns of the UTC epoch; None for any other line."""
    text = line.strip()
    if (stated := DATE.fullmatch(text)) is not None:
        return rfc3339_ns_of(ZONE.sub(r"\1:\2", stated[1].decode(errors="replace").replace(",", ".")))
    if (stated := SECONDS.fullmatch(text)) is not None:
        time_ns = int(stated["whole"]) * 10**9 + int((stated["fraction"] or b"").ljust(9, b"0"))
    elif (stated := WHOLE.fullmatch(text)) is not None:
        time_ns = int(stated[1].ljust(19, b"0"))
    else:
        return None
    return time_ns if time_ns <= LARGEST_NS else None
