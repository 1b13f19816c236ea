"""The chain of commits: each commit says which one came before it, so that one that was deleted is missed.

A commit without its object would otherwise be no commit: its source would be ingested again, and its files removed as
what a killed writer left. Each commit has a number and names the one before it with its hash. A compaction ends what is
to be looked for: the pack takes over all commits up to a number. What nothing follows yet, the last commit and the
packs, is named by the head, an object that the first writer makes before all else, and each one replaces when it ends:
without it the last commits may be missing too, or all of them. Commits of versions without a chain are not missed.

A number alone proves nothing, as the commits of every lake are numbered from 1: of what no pack has taken over, the
head and each commit on the chain name the one that is to be there. The head may be older than the last commits, which a
killed writer made; whoever takes the place of an earlier commit is not on the chain.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from sojourn_ingest.lake.commit import Commit, Link, is_text
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

    @classmethod
    def from_json(cls, text: bytes) -> Head:
        """Return the head that ``text`` holds.

        Raises
        ------
        ValueError
            If it is not a head.
        """
        try:
            stored = json.loads(text)
            head = cls(stored["number"], stored["commit"], stored["checksum"], tuple(stored["packs"]))
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a head: {error}") from error
        is_head = (
            type(head.number) is int
            and head.number >= 0
            and ((head.commit is None and head.checksum is None) or (is_text(head.commit) and is_text(head.checksum)))
            and all(map(is_text, head.packs))
        )
        if not is_head:
            raise ValueError("not a head")
        return head

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
            head = Head.from_json(storage.read(name))
        except FileNotFoundError:
            # A writer has put the next one in its place.
            continue
        except ValueError:
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
    """Commits that are missing: how many, and the name of the last of them, or of a pack; None if nothing names it.

    ``instead`` is the name of a commit that has its number and is not on the chain.
    """

    name: str | None
    count: int
    kind: str = "commit"
    instead: str | None = None

    @property
    def text(self) -> str:
        """What is missing, in a few words."""
        if self.name is None:
            return f"{self.count:,} {self.kind}s are missing" if self.count > 1 else f"a {self.kind} is missing"
        before = f", and {self.count - 1:,} before it" if self.count > 1 else ""
        instead = f"; {self.kind} {self.instead} has its place" if self.instead else ""
        return f"{self.kind} {self.name} is missing{before}{instead}"


@dataclass(frozen=True)
class _Named:
    """One commit as the head or the next commit names it; ``by`` is the name of the next commit, None for the head."""

    name: str
    checksum: str | None
    by: str | None


class _Chain:
    """Which commits are to be at each number, from the end to what packs have taken over."""

    def __init__(self, commits: Mapping[str, Commit], start: int, head: Head | None) -> None:
        #: What the head and the commits on the chain name, by number.
        self.named: defaultdict[int, set[_Named]] = defaultdict(set)
        #: Commits on the chain, and others that have a number of it.
        self.held: defaultdict[int, list[str]] = defaultdict(list)
        self.others: defaultdict[int, list[str]] = defaultdict(list)
        if head is not None and head.commit is not None and head.number > start:
            self.named[head.number].add(_Named(head.commit, head.checksum, None))
        links: defaultdict[int, dict[str, Link]] = defaultdict(dict)
        for commit in commits.values():
            if commit.link is not None and commit.link.number > start:
                links[commit.link.number][commit.name] = commit.link
        disowned: set[tuple[int, str | None]] = set()
        for number in sorted(links, reverse=True):
            names = {one.name for one in self.named.get(number, ())}
            for name, link in sorted(links[number].items()):
                # A killed writer's last commits are after the head. If the next one is missing, nothing names this one.
                is_end = head is None or number > head.number
                is_next_missing = not names and (number, name) not in disowned
                if is_end or name in names or is_next_missing:
                    self.held[number].append(name)
                    if link.previous is not None and number > start + 1:
                        self.named[number - 1].add(_Named(link.previous, link.previous_checksum, name))
                else:
                    self.others[number].append(name)
                    disowned.add((number - 1, link.previous))


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
    chain = _Chain(commits, start, head)
    numbers = {start, *chain.named, *chain.held, *chain.others, *([head.number] if head else [])}
    found: list[Gap] = []
    # From the end: the lowest number that was looked at, and whether it is missing.
    looked_at, goes_on = None, False
    for number in sorted((one for one in numbers if one >= start and (last is None or one <= last)), reverse=True):
        names = sorted({one.name for one in chain.named.get(number, ())})
        lost = [name for name in names if name not in commits]
        is_nameless = number > start and not names and number not in chain.held
        count = (looked_at - number - 1 if looked_at is not None else 0) + is_nameless
        if count and goes_on:
            found[-1] = replace(found[-1], count=found[-1].count + count)
        elif count:
            found.append(Gap(None, count))
        others = chain.others.get(number)
        found += [Gap(name, 1, instead=others[0] if others else None) for name in lost]
        looked_at, goes_on = number, bool(lost or is_nameless)
    return missing + found[::-1]


def altered(commits: Mapping[str, Commit], packs: Collection[Pack], head: Head | None) -> dict[str, str]:
    """Return the commits that are not as the chain says, by name, and what says so: the head or the next commit."""
    changed: dict[str, str] = {}
    named_by_number = _Chain(commits, covered(packs), head).named
    for number in sorted(named_by_number, reverse=True):
        for named in named_by_number[number]:
            commit = commits.get(named.name)
            # What an altered commit names proves nothing.
            if commit is not None and named.by not in changed:
                is_at_place = commit.link is not None and commit.link.number == number
                if not is_at_place or commit.checksum() != named.checksum:
                    changed[named.name] = "next commit" if named.by else "head"
    return dict(sorted(changed.items()))
