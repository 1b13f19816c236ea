"""What a page says, apart from how it looks: sections of figures and tables, each with unit, n and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Why single packets have no interval, as docs/statistics.md explains.
DEPENDENT_PACKETS = "none: packets of one run are not independent replicates"
ONE_RUN = "none: one run; an interval needs repetitions"
DEPENDENT_CONNECTIONS = "none: connections of one client are not independent replicates"
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
    """A column of a table: its name in the rows, its heading, its unit, and how numbers are rounded.

    ``digits`` are those after the point; ``significant`` are those that count, for columns of unlike units, which the
    rows have in ``unit_of``. ``in_words`` says that values are identifiers, which a page shows as words and machines
    get as they are. ``below`` are further texts of the row in the same cell.
    """

    name: str
    heading: str
    unit: str = ""
    digits: int | None = None
    significant: int | None = None
    in_words: bool = False
    unit_of: str = ""
    below: Sequence[str] = ()


@dataclass(frozen=True)
class Table:
    """Rows as a mart has them; ``left_off`` says what is not shown of it.

    ``more`` are columns that only machines get, such as those that ``columns`` show in a cell of another.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    evidence: Evidence
    left_off: str = ""
    note: str = ""
    more: Sequence[Column] = ()


@dataclass
class Section:
    """One subject of the page; ``absent`` says which figures there are not, and why, ``formula`` is set as it is.

    ``points`` are sentences after the lead. ``is_answer`` says that the lead begins with what the files show.
    """

    key: str
    title: str
    items: list[Figure | Table] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    lead: str = ""
    formula: str = ""
    points: list[str] = field(default_factory=list)
    is_answer: bool = False


@dataclass(frozen=True)
class Tile:
    """One number at the top of the page."""

    value: str
    what: str


@dataclass(frozen=True)
class Frame:
    """What a page says of itself: its command, what it is, its last section, commands after its own."""

    generator: str
    about: str
    closing_key: str
    closing_title: str
    closing: str
    footer: str
    then: tuple[str, ...] = ()


LOOK = Frame(
    generator="sojourn look",
    about="How long packets wait, who gets the bandwidth, who is harmed: what is in these files",
    closing_key="keep",
    closing_title="Put these files into a warehouse",
    closing="sojourn look stores nothing. To put the same files into a warehouse, where you can compare them "
    "with others and serve them:",
    footer="Hosts are not named, and addresses in texts are hidden. This page loads nothing from the network.",
    then=("sojourn build", "sojourn serve"),
)


@dataclass
class Page:
    """Everything that a page says; ``command`` is shown at its end."""

    title: str
    tiles: list[Tile]
    sections: list[Section]
    command: str
    version: str
    frame: Frame = LOOK
