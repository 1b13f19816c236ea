"""What a page says, apart from how it looks: sections of figures and tables, each with unit, n and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Why single packets have no interval, as docs/statistics.md explains.
OF_PACKETS = "none: packets of one run are no repetitions of each other"
ONE_RUN = "none: one run; an interval needs repetitions"
OF_CONNECTIONS = "none: connections of one client are no repetitions of each other"
#: What a count is: the packets were counted, nothing is estimated.
COUNTED = "none: counted, not estimated"


@dataclass(frozen=True)
class Evidence:
    """What a figure rests on: its unit, n of what, and its interval or the reason why there is none."""

    unit: str
    n: str
    interval: str


@dataclass(frozen=True)
class Figure:
    """A drawing with the numbers that it shows."""

    key: str
    title: str
    svg: str
    evidence: Evidence
    data: Sequence[Mapping[str, Any]]
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the rows, its heading, its unit, and digits after the point of numbers."""

    name: str
    heading: str
    unit: str = ""
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    """Rows as a mart has them; ``left_off`` says what is not shown of it."""

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    evidence: Evidence
    left_off: str = ""
    note: str = ""


@dataclass
class Section:
    """One subject of the page; ``absent`` says which figures there are not, and why."""

    key: str
    title: str
    items: list[Figure | Table] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    lead: str = ""


@dataclass(frozen=True)
class Tile:
    """One number at the top of the page."""

    value: str
    what: str


@dataclass
class Page:
    """Everything that a page says."""

    title: str
    tiles: list[Tile]
    sections: list[Section]
    command: str
    version: str


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return a number with the word for what is counted: ``1 packet``, ``2,000 packets``."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"
