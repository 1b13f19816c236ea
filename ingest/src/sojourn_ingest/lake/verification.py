"""Verification: which files of a lake are missing, torn or altered, and the facts of which sources are in them.

Sizes are compared with what commits and packs recorded, from one listing per table; hashes only on request, because
every byte is read for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.pack import SharedFile
from sojourn_ingest.lake.storage import Storage, kept_of
from sojourn_ingest.lake.stored_commits import LakeDamagedError, repair_command

OUTCOMES = "ingest_outcome"
DamageKind = Literal["missing", "torn", "altered"]
WORDS: dict[DamageKind, str] = {
    "missing": "is missing",
    "torn": "is not of the size that was written",
    "altered": "does not have the bytes that were written",
}


@dataclass(frozen=True)
class Damage:
    """One file that is not as it was written, and the paths of the sources whose facts are in it."""

    file: DataFile
    kind: DamageKind
    source_paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is wrong with which file, and of which sources, in one line."""
        more = f" and {len(self.source_paths) - 1:,} more" if len(self.source_paths) > 1 else ""
        of = f" (facts of {self.source_paths[0]}{more})" if self.source_paths else ""
        return f"{self.file.path} {WORDS[self.kind]}{of}"


@dataclass(frozen=True)
class Verification:
    """What a verification found: how many files and bytes it looked at, and how many have no hash on record.

    ``missing`` says, one line each, which commits and packs are missing, or not as the next one says, and whether the
    head is damaged. ``unnamed`` are
    files that no commit ever named.
    """

    files: int
    size_bytes: int
    without_hash: int
    damages: tuple[Damage, ...]
    missing: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()


def shared_files(lake: Lake) -> dict[str, DataFile]:
    """Return the files that commits share, by their names."""
    return {item.file.path: item.file for pack in lake.packs() for item in pack.shared}


def stored_files(lake: Lake) -> dict[str, tuple[DataFile, tuple[Commit, ...]]]:
    """Return every live file as it is stored, by its name, with the commits whose facts are in it."""
    shared = shared_files(lake)
    held: defaultdict[str, list[Commit]] = defaultdict(list)
    files: dict[str, DataFile] = {}
    for commit in lake.live():
        for file in commit.files:
            place = lake.place_of(file)
            files[place] = shared.get(place, file)
            held[place].append(commit)
    return {place: (files[place], tuple(held[place])) for place in sorted(files)}


def verify(lake: Lake, *, full: bool, on_file: Callable[[str], None] = lambda _: None) -> Verification:
    """Compare the sizes of every live file with what was recorded; with ``full`` also their hashes.

    ``on_file`` is called with the name of each file before its hash is computed. A local copy of a remote file that
    differs from it is removed, so that it is fetched again.
    """
    stored = stored_files(lake)
    tables = {file.table for file, _ in stored.values()}
    sizes = {name: size for table in sorted(tables) for name, size in lake.storage.sizes(f"data/{table}").items()}
    damages = []
    for place, (file, commits) in stored.items():
        try:
            kind = _damage(lake.storage, file, sizes, full, on_file)
        except FileNotFoundError:
            kind = "missing"
        if kind is not None:
            damages.append(Damage(file, kind, tuple(sorted({commit.source_path for commit in commits}))))
        elif full:
            _check_copy(lake.storage, place, file)
    if any(damage.kind == "missing" for damage in damages):
        # A compaction may have replaced what this reading still names.
        lake.refresh()
        live = stored_files(lake)
        damages = [damage for damage in damages if damage.kind != "missing" or damage.file.path in live]
    return Verification(
        files=len(stored),
        size_bytes=sum(file.size_bytes for file, _ in stored.values()),
        without_hash=sum(file.sha256 is None for file, _ in stored.values()),
        damages=tuple(damages),
        missing=lake.missing(),
        unnamed=tuple(lake.unnamed_files()),
    )


def unnamed_outcomes(lake: Lake) -> list[tuple[str, str]]:
    """Return path and content hash of the sources whose outcomes are in files that no commit names."""
    unnamed = []
    for name in lake.unnamed_files():
        if name.startswith(f"data/{OUTCOMES}/"):
            try:
                rows = pq.read_table(lake.storage.local(name), columns=["source_path", "content_hash"]).to_pylist()
            except (OSError, pa.ArrowException):
                # Damaged, or never finished: it cannot say of which sources it was.
                continue
            unnamed += [(str(row["source_path"]), str(row["content_hash"])) for row in rows]
    return sorted(set(unnamed))


def has_facts_of_unknown_sources(lake: Lake) -> bool:
    """Return whether files that no commit names hold facts of a source that no outcome and no commit names either."""
    known = {content for _, content in unnamed_outcomes(lake)} | {commit.content_hash for commit in lake.live()}
    for name in lake.unnamed_files():
        if not name.startswith(f"data/{OUTCOMES}/"):
            try:
                hashes = pq.read_table(lake.storage.local(name), columns=["source_hash"]).column(0).unique().to_pylist()
            except (OSError, pa.ArrowException):
                # As of an outcome: it cannot say of which source it was.
                continue
            if not known.issuperset(hashes):
                return True
    return False


def _damage(
    storage: Storage, file: DataFile, sizes: Mapping[str, int], full: bool, on_file: Callable[[str], None]
) -> DamageKind | None:
    if file.path not in sizes:
        return "missing"
    if sizes[file.path] != file.size_bytes:
        return "torn"
    if full and file.sha256 is not None:
        on_file(file.path)
        if storage.sha256(file.path) != file.sha256:
            return "altered"
    return None


def _check_copy(storage: Storage, name: str, file: DataFile) -> None:
    if file.sha256 is not None and storage.copied_sha256(name) not in (None, file.sha256):
        storage.drop_copy(name)


def refuse_damage(lake: Lake, *, full: bool = False) -> None:
    """Go on if the lake's files are as they were written, by their sizes; with ``full`` also by their hashes.

    Raises
    ------
    LakeDamagedError
        If they are not; the message says in one line which file, which source, and which command.
    """
    damage = verify(lake, full=full)
    if damage.missing:
        raise LakeDamagedError(f"{lake.storage.uri}: {damage.missing[0]}; run {repair_command(lake.storage.uri)}")
    if damage.damages:
        raise LakeDamagedError(damage_message(lake.storage, damage.damages))


def damage_message(storage: Storage, damages: Sequence[Damage]) -> str:
    """Return one line for files that are damaged: the first of them, how many more, and the command."""
    more = f", and {len(damages) - 1:,} more files are damaged" if len(damages) > 1 else ""
    return f"{storage.uri}/{damages[0].text}{more}; run {repair_command(storage.uri)}"


def record_hashes(lake: Lake, on_file: Callable[[str], None] = lambda _: None) -> int:
    """Record the hashes of files that an older version wrote without; return how many. The lake is held for writing.

    The commits stay what they are: a pack takes them over with the hashes, as in a compaction. Which bytes were
    written is not known of these files; from now on it is noticed if they change.

    Raises
    ------
    LakeDamagedError
        If a file is missing or torn.
    """
    refuse_damage(lake)
    hashes: dict[str, str] = {}
    for place, (file, _) in stored_files(lake).items():
        if file.sha256 is None:
            on_file(place)
            hashes[place] = lake.storage.sha256(place)
    if not hashes:
        return 0

    def with_hash(file: DataFile) -> DataFile:
        return replace(file, sha256=hashes[file.path]) if file.path in hashes else file

    shared = [replace(item, file=with_hash(item.file)) for item in _live_shared(lake)]
    commits = [replace(commit, files=tuple(map(with_hash, commit.files))) for commit in lake.live()]
    lake.publish_pack(lake.pack_of_all(commits, shared))
    lake.remove_leftovers()
    return len(hashes)


def _live_shared(lake: Lake) -> list[SharedFile]:
    live = {lake.place_of(file) for commit in lake.live() for file in commit.files}
    return [item for pack in lake.packs() for item in pack.shared if item.file.path in live]


def give_up_missing_commits(lake: Lake) -> None:
    """Take what is live for all there is, so that commits before it are no longer missed; the lake is held."""
    lake.publish_pack(lake.pack_of_all(lake.live(), _live_shared(lake)))


def _damage_of_local(storage: Storage, file: DataFile) -> DamageKind | None:
    """Return what is wrong with the local file that readers of an object look at; a copy is fetched once more."""
    kind: DamageKind | None = None
    for _ in range(2):
        try:
            kept = kept_of(storage.local(file.path))
        except FileNotFoundError:
            return "missing"
        kind = "torn" if kept.size_bytes != file.size_bytes else None
        if kind is None and file.sha256 not in (None, kept.sha256):
            kind = "altered"
        if kind is None:
            return None
        storage.drop_copy(file.path)
    return kind


def check_files(storage: Storage, files: Iterable[DataFile], sources: Mapping[str, Collection[str]]) -> None:
    """Go on if files that are about to be put together have the sizes and hashes that were recorded.

    Otherwise their successor would get a hash of its own, and nobody could tell any more. ``sources`` are paths of
    sources by the name of the file.

    Raises
    ------
    LakeDamagedError
        If one is missing or differs.
    """
    for file in files:
        kind = _damage_of_local(storage, file)
        if kind is not None:
            damage = Damage(file, kind, tuple(sources.get(file.path, ())))
            raise LakeDamagedError(damage_message(storage, [damage]))
