"""Remote sources before they are read: how many, what they take, and which of them describe the others.

A listing is gone through once for this and once to read what is listed, batch by batch. One that fits into one batch
is kept, and not asked for again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from sojourn_ingest.formats.registry import is_description
from sojourn_ingest.lake import Lake
from sojourn_ingest.remote.listing import Listed, remote_batches
from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.states import listed
from sojourn_ingest.session.disk_need import DiskNeed, disk_need

NOTHING = DiskNeed(0, 0, 0)


@dataclass(frozen=True)
class Survey:
    """What is below some remote paths; ``largest_bytes`` are the sizes of the largest objects that are to be read."""

    sources: tuple[RemotePath, ...] = ()
    objects: int = 0
    need: DiskNeed = NOTHING
    descriptions: tuple[Path, ...] = ()
    largest_bytes: tuple[int, ...] = ()
    only: Listed | None = None

    def batches(self) -> Iterator[list[Path]]:
        """Yield the objects in batches, sorted; while one is used, what was listed of it is known."""
        for batch in remote_batches(self.sources) if self.only is None else [self.only]:
            with listed(batch):
                yield sorted(batch)


def survey(lake: Lake, sources: Iterable[RemotePath], *, packets: bool, largest: int) -> Survey:
    """Go through the listings of some paths.

    Raises
    ------
    FileNotFoundError
        If there is nothing at a path.
    StorageError
        If a store cannot be used.
    """
    paths = tuple(sources)
    if not paths:
        return Survey()
    batches = remote_batches(paths)
    first, second = next(batches, {}), next(batches, None)
    objects, needs = 0, NOTHING
    descriptions: list[Path] = []
    sizes: list[int] = []
    for batch in [first] if second is None else chain((first, second), batches):
        with listed(batch):
            objects += len(batch)
            needs += disk_need(lake, batch, packets=packets)
            descriptions += [path for path in batch if _may_describe(path)]
            sizes = heapq.nlargest(largest, [*sizes, *(state.size_bytes for state in batch.values())])
    return Survey(paths, objects, needs, tuple(sorted(descriptions)), tuple(sizes), first if second is None else None)


def _may_describe(path: RemotePath) -> bool:
    try:
        return is_description(path)
    except OSError:
        return False  # its own attempt says why it cannot be read
