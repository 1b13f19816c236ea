"""How many filters one request to the API takes, and how lists of values are shared out among several.

The API takes targets of 16 KiB, and filters of 1,000 values in all (`docs/api.md`). A filter of a chart may have 5,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

MOST_VALUES = 1_000
"""Values of the filters of a request."""
MOST_FILTER_BYTES = 12 * 2**10
"""Filters of a request, as the query string spells them. The rest is for the path, the columns and the cursor."""
MOST_REQUESTS = 100
"""Requests of a question: nothing interrupts them. A statement of SQL, of 1 MiB at most, needs fewer for plain text."""

Parameters = list[tuple[str, str]]


def fits(parameters: Parameters) -> bool:
    """Return whether one request takes these filters."""
    return len(parameters) <= MOST_VALUES and len(urlencode(parameters)) <= MOST_FILTER_BYTES


def shared_out(alone: Parameters, lists: Sequence[Parameters]) -> tuple[list[Parameters], bool]:
    """Return the filters of each request whose rows together meet all filters, and whether they do.

    Parameters
    ----------
    alone
        Filters that every request has.
    lists
        For each of some columns, the same filter with each value that the column may have. One of these is shared out
        where they do not fit; what does not fit then either is left out, and the rows have to be checked.
    """
    together = list(alone)
    longer: list[Parameters] = []
    for one in sorted(lists, key=len):
        if fits([*together, *one]):
            together += one
        else:
            longer.append(one)
    if not longer:
        return [together], True
    requests: list[Parameters] = []
    part: Parameters = []
    size = len(urlencode(together))
    length = size
    for value in longer[0]:
        added = len(urlencode([value])) + 1
        if part and (len(together) + len(part) >= MOST_VALUES or length + added > MOST_FILTER_BYTES):
            requests.append([*together, *part])
            part, length = [], size
        part.append(value)
        length += added
    requests.append([*together, *part])
    if len(requests) > MOST_REQUESTS:
        return [together], False
    return requests, len(longer) == 1
