"""The commits and packs of a lake as its storage holds them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sojourn_ingest import named_points
from sojourn_ingest.lake.chain import covered
from sojourn_ingest.lake.commit import Commit
from sojourn_ingest.lake.pack import Pack
from sojourn_ingest.lake.storage import Storage
from sojourn_ingest.operator_error import OperatorError

PACK_SUFFIX = ".json.gz"
_OBJECT_NAME = re.compile(r"(commits/[0-9a-f]{32}\.json|packs/[0-9a-f]{32}\.json\.gz)")
#: Commits read at a time: an object store answers many requests at once.
READERS = 16
#: How often commits are listed again if one was removed before it was read.
REFRESHES = 5


class LakeDamagedError(OperatorError, RuntimeError):
    """A commit of the lake cannot be read; the message names the file."""


def repair_command(uri: str) -> str:
    """Return what repairs the lake at a place; see :func:`maintenance_command`."""
    return maintenance_command("repair", uri)


def maintenance_command(name: str, uri: str) -> str:
    """Return a command for the lake at a place; --var names the folder around it, if it is in one of this machine."""
    place = urlsplit(uri)
    lake = Path(unquote(place.path))
    is_below = place.scheme == "file" and lake.name == "lake"
    return f"sojourn maintain {name}" + (f" --var {shlex.quote(str(lake.parent))}" if is_below else "")


def commit_object(name: str) -> str:
    """Return the object in which a commit is kept."""
    return f"commits/{name}.json"


def pack_object(name: str) -> str:
    """Return the object in which a pack is kept."""
    return f"packs/{name}{PACK_SUFFIX}"


def is_object_name(name: str) -> bool:
    """Return whether a commit or pack can be kept in an object of this name."""
    return _OBJECT_NAME.fullmatch(name) is not None


def _read_commit(storage: Storage, name: str) -> Commit:
    commit = Commit.from_json(storage.read(name).decode("utf-8"))
    if commit_object(commit.name) != name:
        raise ValueError(f"it holds commit {commit.name}")
    return commit


def _read_pack(storage: Storage, name: str) -> Pack:
    pack = Pack.from_bytes(storage.read(name))
    if pack_object(pack.name) != name:
        raise ValueError(f"it holds pack {pack.name}")
    return pack


class StoredCommits:
    """Reads each commit and pack once, because they never change."""

    def __init__(self, storage: Storage, skip: Collection[str] = ()) -> None:
        self._storage = storage
        self._skip = frozenset(skip)
        self._seen: dict[str, Commit] = {}
        #: Packs that no other one replaces, by the name of their object. Of those with the same commit the last one
        #: says where its facts are.
        self.packs: dict[str, Pack] = {}
        #: Packs that another one replaces, and that are still there, by the name of their object.
        self.replaced_packs: dict[str, Pack] = {}
        #: The names of packs that another one replaces, whether or not they are still there.
        self.replaced_names: frozenset[str] = frozenset()
        #: All commits by name as they were read last, those that another one replaces too.
        self.commits: dict[str, Commit] = {}

    def read(self, named: Collection[str] = ()) -> dict[str, Commit]:
        """Return all commits by name, those in packs too, and those that another one replaces.

        ``named`` are the packs that the head names: an old pack that was put back must not hide them.

        Raises
        ------
        LakeDamagedError
            If a commit is damaged, or commits vanish faster than they can be read.
        """
        for _ in range(REFRESHES):
            try:
                return self._read(named)
            except FileNotFoundError:
                # A compaction put it into a pack, which was visible before the commit was removed.
                continue
        where = self._storage.uri
        raise LakeDamagedError(f"{where}: commits that are listed cannot be found; expected one lake at this place")

    def _read(self, named: Collection[str]) -> dict[str, Commit]:
        # Commits are listed before packs: a pack appears before what it replaces is removed, so nothing is missed.
        names = [name for name in self._storage.names("commits") if name.endswith(".json") and name not in self._skip]
        packs = self._read_packs().items()
        self.packs = dict(sorted(packs, key=lambda item: (item[1].name in named, item[1].covers or 0, item[0])))
        unread = [name for name in names if name not in self._seen]
        with ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="commits") as pool:
            self._seen.update(zip(unread, pool.map(self._read_commit, unread), strict=True))
        commits = {commit.name: commit for commit in (self._seen[name] for name in names)}
        # A commit that is in a pack too is what a killed compaction left, or was put back: its files may be gone.
        self.commits = commits | {commit.name: commit for pack in self.packs.values() for commit in pack.commits}
        return self.commits

    def _read_commit(self, name: str) -> Commit:
        try:
            return _read_commit(self._storage, name)
        except ValueError as error:
            where = f"{self._storage.uri}/{name}"
            raise LakeDamagedError(f"{where} is damaged ({error}); run {repair_command(self._storage.uri)}") from error

    def _read_packs(self) -> dict[str, Pack]:
        packs = {}
        for name in self._storage.names("packs"):
            if name.endswith(PACK_SUFFIX) and name not in self._skip:
                try:
                    packs[name] = (
                        self.packs.get(name) or self.replaced_packs.get(name) or _read_pack(self._storage, name)
                    )
                except ValueError as error:
                    where = f"{self._storage.uri}/{name}"
                    raise LakeDamagedError(
                        f"{where} is damaged ({error}); run {repair_command(self._storage.uri)}"
                    ) from error
        self.replaced_names = frozenset(name for pack in packs.values() for name in pack.replaces)
        replaced = {pack_object(name) for name in self.replaced_names}
        self.replaced_packs = {name: pack for name, pack in packs.items() if name in replaced}
        return {name: pack for name, pack in packs.items() if name not in replaced}

    def publish(self, commit: Commit) -> bool:
        """Make a commit visible; return False if there is one of that name.

        That one has the same content for the same attempt: it is kept, whoever wrote it.
        """
        is_new = self._storage.create(commit_object(commit.name), commit.to_json().encode())
        named_points.reach("commit.published")
        return is_new

    def publish_pack(self, pack: Pack) -> None:
        """Make a pack visible; the next reading no longer has what it replaces."""
        self._storage.create(pack_object(pack.name), pack.to_bytes())
        self.packs[pack_object(pack.name)] = pack
        named_points.reach("pack.published")

    def leftovers(self) -> list[str]:
        """Return the objects that are commits in packs, packs that were replaced, or were never finished.

        Commits that a commit in a pack replaces are among them, each before the one that replaces it: it would come
        back once nothing says that it was replaced.
        """
        packed = {commit.name for pack in self.packs.values() for commit in pack.commits}
        gone = {commit_object(name): None for name in self._replaced_by_packed(packed)}
        written = [
            name
            for name in self._storage.names("commits")
            if name.endswith(".tmp") or name.removeprefix("commits/").removesuffix(".json") in packed
        ]
        return [*gone, *written, *(name for name in self._storage.names("packs") if name not in self.packs)]

    def _replaced_by_packed(self, packed: Collection[str]) -> list[str]:
        """Return the commits outside of packs that a commit in a pack replaces, at once or by others in between."""
        covers = covered(self.packs.values())
        order: list[str] = []
        waiting = [name for one in packed for name in self.commits[one].replaces]
        while waiting:
            name = waiting.pop()
            commit = self.commits.get(name)
            if commit is not None and name not in packed and (commit.link is None or commit.link.number <= covers):
                order.append(name)
                waiting += commit.replaces
        # A commit may be reached by several ways; where it is farthest from the pack, it goes first.
        return list(dict.fromkeys(reversed(order)))


def unreadable_objects(storage: Storage) -> dict[str, str]:
    """Return the commits and packs that cannot be read, with the reason of each; normally there is none."""
    reasons = {}
    for folder, suffix, read in (("commits", ".json", _read_commit), ("packs", PACK_SUFFIX, _read_pack)):
        for name in storage.names(folder):
            if name.endswith(suffix):
                try:
                    read(storage, name)
                except ValueError as error:
                    reasons[name] = str(error)
    return reasons


def moved_files(packs: Iterable[Pack]) -> dict[str, str]:
    """Return where the facts of commits in packs are, by the file that their commit names."""
    return {part.path: shared.file.path for pack in packs for shared in pack.shared for part in shared.parts}
