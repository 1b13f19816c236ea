"""What every input format offers: recognition by content, and reading into facts."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.formats.capture.flow_hints import NO_HINTS, FlowHints
from sojourn_ingest.formats.content.json_outline import JsonStart, json_start
from sojourn_ingest.formats.content.text_encoding import TextEncoding, encoding_of
from sojourn_ingest.input_error import InputError, kept_text


@dataclass
class Reading:
    """The result of reading one source so far; the reader updates it while it reads.

    ``subject`` is set where there can be only one source of a thing, which a later one replaces. ``content_hash`` is
    that of the plain content, of a source that is ``to_hash``; None as long as it is not known.
    """

    records_read: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    fault: InputError | None = None
    subject: str | None = None
    content_hash: str | None = None

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count records that were seen but not decoded."""
        if count:
            if reason not in self.refused:
                # It may quote the input; but names with dots are of members and columns.
                reason = kept_text(reason, names=False)
                reason = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
            if reason not in self.refused and len(self.refused) >= MOST_REASONS:
                reason = "other reasons"
            self.refused[reason] = self.refused.get(reason, 0) + count

    def refuse_once(self, reason: str) -> None:
        """Count a reason that is one of the file, at its first record."""
        self.refuse(reason, int(reason not in self.refused))


@dataclass(frozen=True)
class Source:
    """One file to read: its path, how it is compressed, and the first bytes of its plain content.

    A text in UTF-16, or with a byte order mark, has ``head`` in UTF-8 without the mark, and its ``encoding``. A member
    of an archive has a ``stream`` of its plain content, which can be read once; ``plain_bytes`` then only says whether
    there is more than the head. So it does of a content that is ``to_hash``, whose reader is to hash it.
    """

    path: Path
    compression: str
    head: bytes
    plain_bytes: int
    stream: BinaryIO | None = None
    encoding: TextEncoding | None = None
    to_hash: bool = False
    _json: JsonStart | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find what a text is written in."""
        encoding = encoding_of(self.head) if self.encoding is None else None
        if encoding is None:
            return
        is_whole = len(self.head) >= self.plain_bytes
        head = encoding.text_of(self.head)
        if head is not None:
            size = len(head) if is_whole else max(self.plain_bytes - encoding.mark_bytes, len(head) + 1)
            for name, value in (("encoding", encoding), ("head", head), ("plain_bytes", size)):
                object.__setattr__(self, name, value)

    @property
    def json(self) -> JsonStart | None:
        """The JSON value that the content begins with, by which its format is recognised; None if there is none."""
        if self._json is None and self.head:
            start = json_start(self.head, is_whole=len(self.head) >= self.plain_bytes)
            object.__setattr__(self, "_json", start or JsonStart(None))
        return self._json if self._json is not None and self._json.value is not None else None

    @property
    def object(self) -> dict[str, Any]:
        """The JSON object that the content begins with, as much of it as was looked at; empty if there is none."""
        return self.json.value if self.json is not None and isinstance(self.json.value, dict) else {}

    def without_json(self) -> Source:
        """Return the source as a text that is not JSON."""
        return replace(self, _json=JsonStart(None))

    def look_through(self, value: Any) -> None:
        """Take the outline of the whole JSON value in the place of that of the head."""
        if self.json is not None:
            object.__setattr__(self, "_json", replace(self.json, value=value, is_cut=False))

    @contextmanager
    def open_stored(self) -> Iterator[BinaryIO]:
        """Open the content as it is stored."""
        if self.stream is not None:
            yield self.stream
            return
        with self.path.open("rb") as handle:
            yield handle

    @property
    def plain_name(self) -> str:
        """File name without a compression suffix."""
        name = self.path.name
        for suffix in (".gz", ".zst", ".xz"):
            name = name.removesuffix(suffix)
        return name


@dataclass(frozen=True)
class Context:
    """What readers need in addition to the file."""

    pseudonymiser: Pseudonymiser
    fingerprint: Callable[[Path], str]
    enrichment: Enrichment = field(default_factory=Enrichment)


Facts = Iterator[tuple[str, pa.RecordBatch]]
#: Tables in which readers of results say what run a file is.
RUN_TABLES = frozenset(("run", "run_source"))
#: Reasons in a message.
MOST_SHOWN = 5
#: Reasons that are counted apart; a reason may quote a name of the input.
MOST_REASONS = 1000
LONGEST_REASON = 256
#: Returns the hash of a file's plain content; raises OSError or InputError if it cannot be read.
Fingerprint = Callable[[Path], str]


@dataclass(frozen=True)
class FilePart:
    """Row groups of Parquet, or bytes of text, from ``start`` up to and without ``end``; ``first_row`` rows before."""

    start: int
    end: int
    first_row: int | None = None


@dataclass(frozen=True)
class DeclaredFiles:
    """Files of one format beside a description that are one measurement, in the order of time.

    ``is_listed``: the description names them, so that what their own names say does not count. ``hints`` is what it
    says of the flows in them.
    """

    paths: tuple[Path, ...]
    format: str
    is_listed: bool
    hints: FlowHints = NO_HINTS


class Format(ABC):
    """An input format: what an ingest has to know of it is asked here, never by its type.

    Most answers have a default: that of a file that depends on no other.
    """

    name: str
    #: Its facts depend on the address policy and key.
    holds_addresses: bool
    #: Its facts depend on the prefix lists and on the rules of access technology.
    is_enriched: bool = False
    #: The study whose description its facts need, where the format is a table of one study.
    described_study: str | None = None
    #: The subject of the description file that tells how to read it, where the format is a described table.
    description: str | None = None
    #: The columns that such a table must have.
    columns: Collection[str] = ()
    #: Its facts are rows of runs, which of other formats say only what a file is.
    gives_runs: bool = False
    #: A content of it may rightly have no fact.
    may_give_none: bool = False
    #: First bytes of contents that its reader can hash as it reads them, of which nothing but these tell the format.
    hashed_magics: frozenset[bytes] = frozenset()
    #: What a source without a fact is, and what to do.
    without_facts: str = "no record in it can be used"

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the reader, which changes whenever its facts may change."""

    @abstractmethod
    def recognises(self, source: Source) -> bool:
        """Return whether the content is of this format, from its first bytes."""

    @abstractmethod
    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield ``(table, batch)`` with all declared columns but the provenance, and keep ``reading`` up to date.

        A fault after some facts goes into ``reading.fault`` and ends the iteration, so that what came before the
        damage is kept.

        Raises
        ------
        InputError
            If nothing can be read.
        """

    def facts(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield what :meth:`read` does.

        Raises
        ------
        InputError
            As :meth:`read` does, and ``no_measurement`` where it gives nothing but the run that a file is.
        """
        is_measured = self.may_give_none
        for name, batch in self.read(source, context, reading):
            is_measured = is_measured or (batch.num_rows > 0 and (self.gives_runs or name not in RUN_TABLES))
            yield name, batch
        if not is_measured:
            raise reading.fault or self.nothing_measured(reading)

    def nothing_measured(self, reading: Reading) -> InputError:
        """Return the error of a source that has no fact, with what was refused."""
        refused = ", ".join(f"{count} {reason}" for reason, count in sorted(reading.refused.items())[:MOST_SHOWN])
        text = f"{self.without_facts}{f' (refused: {refused})' if refused else ''}"
        # Reasons have names of members and columns.
        return InputError("no_measurement", text, has_public_names=True)

    def compatible_versions(self) -> tuple[str, ...]:
        """Return the versions whose facts hold all that this reader gives."""
        return (self.version,)

    def is_served_by(self, version: str) -> bool:
        """Return whether facts will do that were read at another path, where other things were declared of it.

        ``version`` is that of their reader, without the fingerprint of addresses.
        """
        return False

    def splittable(self) -> SplittableFormat | None:
        """Return this format as one whose files can be read in parts, if they can."""
        return None

    def joined(self) -> JoinedFormat | None:
        """Return this format as one whose files may be parts of one recording, if they may."""
        return None

    def describing(self) -> DescribingFormat | None:
        """Return this format as one whose files describe a run and the files next to them, if they do."""
        return None


class SplittableFormat(Format):
    """A format whose files can be read in parts, so that several tasks share a large one."""

    def splittable(self) -> SplittableFormat | None:
        """Return this format."""
        return self

    @abstractmethod
    def parts(self, source: Source, part_bytes: int) -> list[FilePart]:
        """Return the parts of a file in order, of about so many bytes each; none if it is read as a whole."""

    @abstractmethod
    def rows_in(self, source: Source, part: FilePart) -> int:
        """Return how many rows a part of text has, up to damage: the numbers that its rows take up."""

    @abstractmethod
    def read_part(self, source: Source, part: FilePart, context: Context, reading: Reading) -> Facts:
        """Yield the facts of one part; a fault after rows, also those of parts before it, goes into ``reading``."""


class JoinedFormat(Format):
    """A format whose files may be parts of one recording."""

    def joined(self) -> JoinedFormat | None:
        """Return this format."""
        return self

    @abstractmethod
    def with_hints(self, hints: FlowHints) -> JoinedFormat:
        """Return a reader that uses what is declared about flows."""

    @abstractmethod
    def families_among(self, paths: Iterable[Path]) -> list[list[Path]]:
        """Return the files of this format that may continue one another, by their names alone."""

    @abstractmethod
    def recordings_among(self, paths: Iterable[Path]) -> list[tuple[Path, ...]]:
        """Return the files of this format that continue one another, by name and by content."""

    @abstractmethod
    def why_not_one_recording(self, parts: Sequence[Path]) -> InputError | None:
        """Return why files that are declared to be one recording cannot be one, if they cannot."""

    @abstractmethod
    def recording(self, parts: Sequence[Path]) -> Recording:
        """Return what reads files of this format as one."""


class DescribingFormat(Format):
    """A format whose files describe a run of a study and the files next to them.

    They are read again at each ingest, because their neighbours may come or change.
    """

    #: What :meth:`pair` returns.
    pair_format: type[Pair]

    def describing(self) -> DescribingFormat | None:
        """Return this format."""
        return self

    @abstractmethod
    def bound_to(self, source: Source, fingerprint: Fingerprint) -> str:
        """Return a suffix of the version for the files that its facts depend on; empty if there are none."""

    @abstractmethod
    def may_be_called(self, name: str) -> bool:
        """Return whether a file of this format may have a name, so that others need not be opened to look."""

    @abstractmethod
    def declared_files(self, source: Source) -> list[DeclaredFiles]:
        """Return what a file declares about those next to it; nothing if it is not valid (its own attempt fails)."""

    @abstractmethod
    def pair_path(self, source: Source) -> Path | None:
        """Return the name in outcomes of the pair that a file declares; None if it declares none, or is not valid."""

    @abstractmethod
    def pair(self, source: Source, fingerprint: Fingerprint) -> Pair | None:
        """Return the two measurements that a file's neighbours are together, if they are.

        Raises
        ------
        InputError
            If the file is not valid, or a neighbour is not the one that it lists.
        """


class Recording(Format):
    """Several files that are read as one, in the order of time."""

    parts: tuple[Path, ...]
    #: What was read of each part; empty until :meth:`read` has ended.
    part_readings: list[Reading]

    @staticmethod
    def path_of(parts: Sequence[Path]) -> Path:
        """Return the name of a recording in outcomes: that of its first file, in its folder."""
        return parts[0].with_name(f"{parts[0].name}+continued")

    def recognises(self, source: Source) -> bool:
        """Return False: a recording is found by its files' names or a declaration, never by a content."""
        return False


class Pair(Format):
    """Two measurements of one thing that give facts only together."""

    #: Its name in outcomes, in the folder of what declares it, where it is not known what it would be a pair of.
    unknown_name: str

    @property
    @abstractmethod
    def path(self) -> Path:
        """Name of the pair in outcomes."""

    @property
    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """All files of both."""

    @property
    @abstractmethod
    def content_hash(self) -> str:
        """Identity of the pair's facts."""

    def recognises(self, source: Source) -> bool:
        """Return False: a pair is found by what declares it, never by a content."""
        return False


def recording_hash(part_hashes: Sequence[str]) -> str:
    """Return the identity of a recording by the content of its files; of one file it is that of the content."""
    if len(part_hashes) == 1:
        return part_hashes[0]
    return hashlib.sha256("\0".join(("recording", *part_hashes)).encode()).hexdigest()


__all__ = [
    "Context",
    "DeclaredFiles",
    "DescribingFormat",
    "Facts",
    "FilePart",
    "Fingerprint",
    "Format",
    "InputError",
    "JoinedFormat",
    "Pair",
    "Reading",
    "Recording",
    "Source",
    "SplittableFormat",
    "recording_hash",
]
