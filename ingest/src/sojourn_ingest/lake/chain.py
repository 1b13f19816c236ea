"""The chain of commits: each commit says which one came before it, so that one that was deleted is missed.

A commit without its object would otherwise be no commit: its source would be ingested again, and its files removed as
what a killed writer left. Each commit has a number and names the one before it with its hash. A compaction ends what is
to be looked for: the pack takes over all commits up to a number. What nothing follows yet, the last commit and the
packs, is named by the head, an object that the first writer makes before all else, and each one replaces when it ends:
without it the last commits may be missing too, or all of them. Commits of versions without a chain are not missed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

from sojourn_ingest.lake.commit import Commit, Link
from sojourn_ingest.lake.pack import Pack
from sojourn_ingest.lake.storage import Storage

FOLDER = "heads"


@dataclass(frozen=True)
class Head:
    """Where the chain ends: the number, name and hash of the last commit, and the packs that no other one replaces.

    The name and the hash are None as long as no commit has a number.
    """

    number: int
    commit: str | None
    checksum: str | None
    packs: tuple[str, ...]

    @property
    def next_link(self) -> Link:
        """The place of the commit that comes next."""
        return Link(self.number + 1, self.commit, self.checksum)


@dataclass(frozen=True)
class StoredHead:
    """The head of a lake, and the number of its object: the next one has the number after it.

    ``damaged`` is the name of the object if it cannot be read: what it named cannot be missed.
    """

    head: Head | None
    revision: int
    damaged: str | None = None


_NAME = re.compile(rf"{FOLDER}/(\d{{10}})\.json")


def _objects(storage: Storage) -> dict[int, str]:
    """Return the objects of heads by their revision, the last one last."""
    return {int(match[1]): name for name in storage.names(FOLDER) if (match := _NAME.fullmatch(name))}


def read_head(storage: Storage) -> StoredHead:
    """Return the head of a lake; a lake of an earlier version, or a new one, has none."""
    name = None
    while names := _objects(storage):
        revision = max(names)
        if names[revision] == name:
            # It is listed and is not there: the disk has lost it.
            return StoredHead(None, revision, name)
        name = names[revision]
        try:
            stored = json.loads(storage.read(name))
            head = Head(stored["number"], stored["commit"], stored["checksum"], tuple(stored["packs"]))
        except FileNotFoundError:
            # A writer has put the next one in its place.
            continue
        except (ValueError, KeyError, TypeError):
            return StoredHead(None, revision, name)
        return StoredHead(head, revision)
    return StoredHead(None, 0)


def write_head(storage: Storage, before: StoredHead, head: Head) -> StoredHead:
    """Put a head in the place of the one before, unless another writer has done so meanwhile; return what is stored."""
    name = f"{FOLDER}/{before.revision + 1:010d}.json"
    if not storage.create(name, json.dumps(asdict(head)).encode()):
        # Only a writer whose lease was taken over comes here: what it made is named by nobody's head.
        return before
    for old in superseded_heads(storage):
        storage.delete(old)
    return StoredHead(head, before.revision + 1)


def superseded_heads(storage: Storage) -> list[str]:
    """Return the objects of heads that have a later one, or that were never finished."""
    last = max(_objects(storage).items(), default=(0, None))[1]
    return [name for name in storage.names(FOLDER) if name != last]


def covered(packs: Iterable[Pack]) -> int:
    """Return the number up to which packs have taken over every commit."""
    return max((pack.covers or 0 for pack in packs), default=0)


def last_of(commits: Iterable[Commit], packs: Collection[Pack], stored: Head | None) -> Head:
    """Return where the chain ends, as a lake's commits, packs and head say."""
    names = tuple(sorted(pack.name for pack in packs))
    last = max((commit for commit in commits if commit.link), key=lambda one: one.link.number, default=None)  # type: ignore[union-attr]
    ends = [Head(covered(packs), None, None, names)]
    if stored is not None:
        ends.append(Head(stored.number, stored.commit, stored.checksum, names))
    if last is not None and last.link is not None:
        ends.append(Head(last.link.number, last.name, last.checksum(), names))
    return max(ends, key=lambda one: (one.number, one.commit is not None))


@dataclass(frozen=True)
class Gap:
    """Commits that are missing: how many, and the name of the last of them, or of a pack; None if nothing names it."""

    name: str | None
    count: int
    kind: str = "commit"

    @property
    def text(self) -> str:
        """What is missing, in a few words."""
        if self.name is None:
            return f"{self.count:,} {self.kind}s are missing" if self.count > 1 else f"a {self.kind} is missing"
        before = f", and {self.count - 1:,} before it" if self.count > 1 else ""
        return f"{self.kind} {self.name} is missing{before}"


def gaps(
    commits: Mapping[str, Commit],
    packs: Collection[Pack],
    replaced: Collection[str],
    head: Head | None,
    last: int | None = None,
) -> list[Gap]:
    """Return what is missing of the chain.

    ``commits`` are all that can be read, by name, those that another one replaces too; ``packs`` those that no other
    pack replaces, and ``replaced`` the names of those that one does. Commits after the number ``last`` are not missed.
    """
    there = {pack.name for pack in packs} | set(replaced)
    missing = [Gap(name, 1, "pack") for name in (head.packs if head else ()) if name not in there]
    start = covered(packs)
    numbers = {commit.link.number for commit in commits.values() if commit.link}
    if last is not None:
        numbers = {number for number in numbers if number <= last}
    names = {commit.link.number - 1: commit.link.previous for commit in commits.values() if commit.link}
    if head is not None:
        names.setdefault(head.number, head.commit)
    end = max([start, *numbers, *([head.number] if head and (last is None or head.number <= last) else [])])
    before = start
    for number in sorted({*(number for number in numbers if number > start), end + 1}):
        if number > before + 1:
            missing.append(Gap(names.get(number - 1), number - before - 1))
        before = number
    return missing


def altered(commits: Mapping[str, Commit]) -> list[str]:
    """Return the names of commits that are not as the next one in the chain says."""
    changed = []
    for commit in commits.values():
        link = commit.link
        before = commits.get(link.previous) if link is not None and link.previous is not None else None
        if link is None or before is None or before.link is None:
            continue
        if before.link.number == link.number - 1 and before.checksum() != link.previous_checksum:
            changed.append(before.name)
    return sorted(changed)
