"""Captures that one tool wrote in several files: which names belong together, and whether the packets do too.

Names are those of tcpdump (``-C``: the file's name, then the name and 1, 2, …; ``-C -W``: numbered from 0; ``-G``: a
time by strftime, with ``-C`` a number after it) and of the ring buffers of dumpcap and Wireshark
(``name_00001_20261121120000.pcapng``, or time and number the other way round). A name alone proves little: files are
one recording only if they are in one folder, are numbered without a gap, have the same link types, and each
begins soon enough after the end of the previous one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sojourn_ingest import _native
from sojourn_ingest.input_error import InputError
from sojourn_ingest.remote import RemotePath, local_file

COMPRESSION_SUFFIXES = (".gz", ".zst", ".xz")
_EXTENSION = r"\.(?:pcap|pcapng|cap|dmp)"

#: The queues of a network card are written in turn, so two files may overlap by a little.
OVERLAP_NS = 1_000_000_000
#: No flow outlives a longer silence, so that nothing is gained by reading such files as one.
LONGEST_SILENCE_NS = 600_000_000_000
#: People too name files by time, or number runs: there, nothing but an unbroken series of packets counts.
LONGEST_SILENCE_OF_A_WEAK_NAME_NS = 2_000_000_000


@dataclass(frozen=True, order=True)
class Name:
    """The name of a rotated file: its family, and its place in it. ``weak``: people use such names too."""

    family: tuple[str, str, str]
    place: tuple[int, ...]
    weak: bool

    @property
    def numbered(self) -> bool:
        """Whether the last part of the place counts files one by one."""
        return self.family[0] != "time"

    @property
    def stem(self) -> str:
        """What all names of the family begin with, separators left out."""
        return self.family[1].rstrip("_-.")


_RING = re.compile(rf"(?P<stem>.+?)_(?P<number>\d{{5,}})_(?P<time>\d{{14}})(?P<end>(?:{_EXTENSION})?)")
_RING_TIME_FIRST = re.compile(rf"(?P<stem>.+?)_(?P<time>\d{{14}})_(?P<number>\d{{5,}})(?P<end>(?:{_EXTENSION})?)")
_TIME = re.compile(
    r"(?P<stem>.*?)(?<!\d)(?P<time>\d{4}-?\d\d-?\d\d[-_T.]?\d\d[-:_.]?\d\d(?:[-:_.]?\d\d)?|\d{10})(?!\d)"
    rf"(?P<tail>\D*?)(?P<end>{_EXTENSION})(?P<number>\d*)"
)
_NUMBERED = re.compile(rf"(?P<stem>.+{_EXTENSION})(?P<number>\d*)")
_BARE = re.compile(r"(?P<stem>[^.]*[^.\d])(?P<number>\d*)")


def plain_name(path: Path) -> str:
    """Return a file's name without a compression suffix."""
    name = path.name
    for suffix in COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def parse(name: str) -> Name | None:
    """Return what a plain file name says of rotation, if it can be that of a rotated file.

    >>> parse("trace.pcap2")
    Name(family=('number', 'trace.pcap', ''), place=(2,), weak=False)
    """
    for pattern in (_RING, _RING_TIME_FIRST):
        if match := pattern.fullmatch(name):
            return Name(("ring", match["stem"], match["end"]), (int(match["number"]),), weak=False)
    if match := _TIME.fullmatch(name):
        time = int(re.sub(r"\D", "", match["time"]))
        return Name(("time", match["stem"], match["tail"] + match["end"]), (time, int(match["number"] or 0)), weak=True)
    if match := _NUMBERED.fullmatch(name):
        return Name(("number", match["stem"], ""), (int(match["number"] or 0),), weak=False)
    if match := _BARE.fullmatch(name):
        return Name(("number", match["stem"], ""), (int(match["number"] or 0),), weak=True)
    return None


class Span(NamedTuple):
    """When a capture began and ended, in ns (None without a packet), and the link types of its packets, ascending."""

    first_ns: int | None
    last_ns: int | None
    link_types: list[int]


SpanOf = Callable[[Path], Span]
#: Spans of remote captures by path, size and time: a span takes the whole file, and a recording asks for it twice.
_spans: dict[tuple[RemotePath, int, int], Span] = {}
SPANS_KEPT = 100_000


def _known_as(path: RemotePath) -> tuple[RemotePath, int, int]:
    state = path.stat()
    return path, state.st_size, state.st_mtime_ns


def note_span(path: RemotePath, span: Span) -> None:
    """Keep the span of a remote capture that was found elsewhere, such as by a task; nothing if it is gone."""
    while len(_spans) >= SPANS_KEPT:
        _spans.pop(next(iter(_spans)), None)
    with suppress(FileNotFoundError):
        _spans[_known_as(path)] = span


def capture_span(path: Path) -> Span:
    """Return the times and link types of a capture.

    Raises
    ------
    _native.DecodeError
        If it cannot be read.
    InputError
        If it is elsewhere and cannot be fetched.
    """
    if isinstance(path, RemotePath):
        with suppress(FileNotFoundError):
            cached = _spans.get(_known_as(path))
            if cached is not None:
                return cached
    with local_file(path) as (local,):
        bounds = _native.capture_span(local)
        span = Span(bounds.first_ns, bounds.last_ns, bounds.link_types)
        if isinstance(path, RemotePath):
            note_span(path, span)
        return span


def why_not_continued(one: Span, other: Span, silence_ns: int | None) -> str | None:
    """Return why a capture does not continue another one, ``None`` if it does.

    Without ``silence_ns`` the time between them may have any length.
    """
    if one.first_ns is None or one.last_ns is None or other.first_ns is None or other.last_ns is None:
        return "one of them has no packets"
    if one.link_types != other.link_types:
        return f"their link types differ ({one.link_types} and {other.link_types})"
    if other.first_ns < one.last_ns - OVERLAP_NS:
        return "the later one begins before the earlier one has ended"
    if silence_ns is not None and other.first_ns - one.last_ns > silence_ns:
        return "the gap between them is too long"
    return None


def families_among(paths: Iterable[Path]) -> list[list[Path]]:
    """Return the files that may continue one another by their names, in the order of their places.

    Files of different folders never do. Where two files claim one place, such as a capture and its compressed
    copy, the first by name is taken.
    """
    families: defaultdict[tuple[Path, tuple[str, str, str]], dict[tuple[int, ...], Path]] = defaultdict(dict)
    names: dict[Path, Name] = {}
    for path in sorted(paths):
        name = parse(plain_name(path))
        if name is not None and families[path.parent, name.family].setdefault(name.place, path) == path:
            names[path] = name
    all_families: list[list[Path]] = []
    for (_, family), places in families.items():
        if len(places) < 2:
            continue
        ordered = [places[place] for place in sorted(places)]
        if names[ordered[0]].weak and family[0] == "number" and names[ordered[0]].place != (0,):
            continue  # run1, run2, …: numbers without a first file are people's
        all_families.append(ordered)
    return all_families


def recordings_among(paths: Iterable[Path], span: SpanOf = capture_span) -> list[tuple[Path, ...]]:
    """Return the files that continue one another, by name and by content; each recording has two files or more."""
    return sorted(chain for ordered in families_among(paths) for chain in _chains(ordered, span))


def _chains(ordered: list[Path], span: SpanOf) -> list[tuple[Path, ...]]:
    names = {path: name for path in ordered if (name := parse(plain_name(path))) is not None}
    chains: list[list[Path]] = []
    last: Span | None = None
    for path in ordered:
        try:
            this = span(path)
        except (_native.DecodeError, InputError):
            last = None  # its own attempt says what is wrong with it
            continue
        name = names[path]
        if chains and last is not None and _follows(names[chains[-1][-1]], name):
            silence_ns = LONGEST_SILENCE_OF_A_WEAK_NAME_NS if name.weak else LONGEST_SILENCE_NS
            continued = why_not_continued(last, this, silence_ns) is None
        else:
            continued = False
        if continued:
            chains[-1].append(path)
        else:
            chains.append([path])
        last = this
    return [tuple(chain) for chain in chains if len(chain) > 1]


def _follows(one: Name, other: Name) -> bool:
    return not one.numbered or other.place[-1] == one.place[-1] + 1
