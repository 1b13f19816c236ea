"""The commits and packs of a lake as its storage holds them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

from sojourn_ingest import named_points
from sojourn_ingest.lake.commit import Commit
from sojourn_ingest.lake.pack import Pack
from sojourn_ingest.lake.storage import Storage
from sojourn_ingest.operator_error import OperatorError

PACK_SUFFIX = ".json.gz"
#: Commits read at a time: an object store answers many requests at once.
READERS = 16
#: How often commits are listed again if one was removed before it was read.
REFRESHES = 5


class LakeDamagedError(OperatorError, RuntimeError):
    """A commit of the lake cannot be read; the message names the file."""


def commit_object(name: str) -> str:
    """Return the object in which a commit is kept."""
    return f"commits/{name}.json"


def pack_object(name: str) -> str:
    """Return the object in which a pack is kept."""
    return f"packs/{name}{PACK_SUFFIX}"


class StoredCommits:
    """Reads each commit and pack once, because they never change."""

    def __init__(self, storage: Storage, skip: Collection[str] = ()) -> None:
        self._storage = storage
        self._skip = frozenset(skip)
        self._seen: dict[str, Commit] = {}
        #: Packs that no other one replaces, by the name of their object.
        self.packs: dict[str, Pack] = {}

    def read(self) -> dict[str, Commit]:
        """Return all commits by name, those in packs too, and those that another one replaces.

        Raises
        ------
        LakeDamagedError
            If a commit is damaged, or commits vanish faster than they can be read.
        """
        for _ in range(REFRESHES):
            try:
                return self._read()
            except FileNotFoundError:
                # A compaction put it into a pack, which was visible before the commit was removed.
                continue
        where = self._storage.uri
        raise LakeDamagedError(f"{where}: commits that are listed cannot be found; expected one lake at this place")

    def _read(self) -> dict[str, Commit]:
        # Commits are listed before packs: a pack appears before what it replaces is removed, so nothing is missed.
        names = [name for name in self._storage.names("commits") if name.endswith(".json") and name not in self._skip]
        self.packs = self._read_packs()
        unread = [name for name in names if name not in self._seen]
        with ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="commits") as pool:
            self._seen.update(zip(unread, pool.map(self._read_commit, unread), strict=True))
        commits = {commit.name: commit for pack in self.packs.values() for commit in pack.commits}
        return commits | {commit.name: commit for commit in (self._seen[name] for name in names)}

    def _read_commit(self, name: str) -> Commit:
        try:
            return Commit.from_json(self._storage.read(name).decode("utf-8"))
        except ValueError as error:
            where = f"{self._storage.uri}/{name}"
            raise LakeDamagedError(f"{where} is damaged ({error}); run sojourn maintain repair") from error

    def _read_packs(self) -> dict[str, Pack]:
        packs = {}
        for name in self._storage.names("packs"):
            if name.endswith(PACK_SUFFIX) and name not in self._skip:
                try:
                    packs[name] = self.packs.get(name) or Pack.from_bytes(self._storage.read(name))
                except ValueError as error:
                    where = f"{self._storage.uri}/{name}"
                    raise LakeDamagedError(f"{where} is damaged ({error}); run sojourn maintain repair") from error
        replaced = {pack_object(name) for pack in packs.values() for name in pack.replaces}
        return {name: pack for name, pack in packs.items() if name not in replaced}

    def publish(self, commit: Commit) -> None:
        """Make a commit visible."""
        # A commit of that name has the same content for the same attempt: it is kept, whoever wrote it.
        self._storage.create(commit_object(commit.name), commit.to_json().encode())
        named_points.reach("commit.published")

    def publish_pack(self, pack: Pack) -> None:
        """Make a pack visible; the next reading sees it instead of what it replaces."""
        self._storage.create(pack_object(pack.name), pack.to_bytes())
        named_points.reach("pack.published")

    def leftovers(self) -> list[str]:
        """Return the objects that are commits in packs, packs that were replaced, or were never finished."""
        packed = {commit_object(commit.name) for pack in self.packs.values() for commit in pack.commits}
        found = [name for name in self._storage.names("commits") if name.endswith(".tmp") or name in packed]
        return found + [name for name in self._storage.names("packs") if name not in self.packs]


def unreadable_objects(storage: Storage) -> dict[str, str]:
    """Return the commits and packs that cannot be read, with the reason of each; normally there is none."""
    found = {}
    for folder, suffix in (("commits", ".json"), ("packs", PACK_SUFFIX)):
        for name in storage.names(folder):
            if name.endswith(suffix):
                try:
                    content = storage.read(name)
                    if folder == "commits":
                        Commit.from_json(content.decode("utf-8"))
                    else:
                        Pack.from_bytes(content)
                except ValueError as error:
                    found[name] = str(error)
    return found


def moved_files(packs: Iterable[Pack]) -> dict[str, str]:
    """Return where the facts of commits in packs are, by the file that their commit names."""
    return {part.path: shared.file.path for pack in packs for shared in pack.shared for part in shared.parts}
