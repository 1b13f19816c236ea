"""What every input format offers: recognition by content, and reading into facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.input_error import InputError


@dataclass
class Reading:
    """What reading one source has come to so far; the reader updates it as it goes.

    ``subject`` is set where there can be only one source of a thing, which a later one replaces.
    """

    records_read: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    fault: InputError | None = None
    subject: str | None = None

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count records that were seen but not decoded."""
        if count:
            self.refused[reason] = self.refused.get(reason, 0) + count


@dataclass(frozen=True)
class Source:
    """One file to read: its path, how it is compressed, and the first bytes of its plain content.

    A member of an archive has a ``stream`` of its plain content, which can be read once; ``plain_bytes`` then only says
    whether there is more than the head.
    """

    path: Path
    compression: str
    head: bytes
    plain_bytes: int
    stream: BinaryIO | None = None

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
    """What readers need beside the file."""

    pseudonymiser: Pseudonymiser
    fingerprint: Callable[[Path], str]
    enrichment: Enrichment = field(default_factory=Enrichment)


__all__ = ["Context", "Facts", "Format", "InputError", "Reading", "Source"]

Facts = Iterator[tuple[str, pa.RecordBatch]]


class Format(Protocol):
    """An input format. ``holds_addresses``: its facts depend on the address policy and key.

    ``read`` yields ``(table, batch)`` with all declared columns but the provenance, and keeps ``reading``
    up to date. It raises InputError where nothing can be read; a fault after some facts goes into
    ``reading.fault`` and ends the iteration, so that what came before the damage is kept.
    """

    name: str
    holds_addresses: bool

    @property
    def version(self) -> str:
        """Version of the reader, which changes whenever its facts may change."""

    def recognises(self, source: Source) -> bool:
        """Return whether the content is of this format, from its first bytes."""

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the facts of one source."""
