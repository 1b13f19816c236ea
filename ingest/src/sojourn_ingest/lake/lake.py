"""The lake: which commits are live, where their facts lie, and how one is added."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit, DataFile, RecordingPart
from sojourn_ingest.lake.outcome import Outcome
from sojourn_ingest.lake.pack import Pack, Part
from sojourn_ingest.lake.readers import holding_files, reader_names
from sojourn_ingest.lake.storage import FolderStorage, Storage, StorageError, open_storage
from sojourn_ingest.schema import TABLES

PACK_SUFFIX = ".json.gz"
#: Commits read at a time: an object store answers many requests at once.
READERS = 16
#: How often commits are listed anew where one was removed before it was read.
REFRESHES = 5


def pack_path(name: str) -> str:
    """Return the object in which a pack is kept."""
    return f"packs/{name}{PACK_SUFFIX}"


class LakeDamagedError(RuntimeError):
    """A commit of the lake cannot be read; the message names the file."""


def _part_keys(commit: Commit) -> Iterator[str]:
    for part in commit.parts:
        yield f"path {part.source_path}"
        yield f"content {part.content_hash}"


class Lake:
    """Parquet facts (``data/<table>/*.parquet``) and commits (``commits/<name>.json``, ``packs/<name>.json.gz``).

    Readers see exactly the files that live commits name, so a file that was being written when a process was
    killed is never seen; the next writer removes it. ``location`` is a folder or a URI (see
    :func:`sojourn_ingest.lake.storage.open_storage`), and ``cache`` where copies of remote files are kept.
    """

    def __init__(self, location: Path | str | Storage, cache: Path | None = None) -> None:
        self.storage = open_storage(location, cache) if isinstance(location, Path | str) else location
        self._lock = threading.Lock()
        self._content_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._live: dict[str, Commit] = {}
        self._names_by_path: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_content: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_part: defaultdict[str, set[str]] = defaultdict(set)
        self._replaced: set[str] = set()
        self._seen_commits: dict[str, Commit] = {}
        self._packs: dict[str, Pack] = {}
        self._moved: dict[str, str] = {}
        self.refresh()

    @property
    def root(self) -> Path:
        """The lake's folder.

        Raises
        ------
        StorageError
            If it lies in no folder of this machine.
        """
        if not isinstance(self.storage, FolderStorage):
            raise StorageError(f"{self.storage.uri} is no folder of this machine")
        return self.storage.root

    def refresh(self) -> None:
        """Read the commits anew; those read before have not changed, for none ever does.

        Raises
        ------
        LakeDamagedError
            If a commit is damaged, or commits vanish faster than they can be read.
        """
        for _ in range(REFRESHES):
            try:
                self._read_live()
            except FileNotFoundError:
                # A compaction put it into a pack, which was there before it was gone.
                continue
            return
        raise LakeDamagedError(f"{self.storage.uri}: commits that are listed cannot be found; is another lake there?")

    def _read_live(self) -> None:
        # Commits are listed before packs: a pack appears before what it stands for is removed, so nothing is missed.
        names = [name for name in self.storage.names("commits") if name.endswith(".json")]
        self._packs = self._read_packs()
        unread = [name for name in names if name not in self._seen_commits]
        with ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="commits") as pool:
            self._seen_commits.update(zip(unread, pool.map(self._read_commit, unread), strict=True))
        commits = {commit.name: commit for pack in self._packs.values() for commit in pack.commits}
        commits |= {commit.name: commit for commit in (self._seen_commits[name] for name in names)}
        replaced = self._replaced = {name for commit in commits.values() for name in commit.replaces}
        self._moved = {
            part.path: shared.file.path
            for pack in self._packs.values()
            for shared in pack.shared
            for part in shared.parts
        }
        self._live.clear()
        self._names_by_path.clear()
        self._names_by_content.clear()
        self._names_by_part.clear()
        for commit in commits.values():
            if commit.name not in replaced:
                self._add(commit)

    def _read_commit(self, name: str) -> Commit:
        try:
            return Commit.from_json(self.storage.read(name).decode("utf-8"))
        except ValueError as error:
            where = f"{self.storage.uri}/{name}"
            raise LakeDamagedError(f"{where} is damaged ({error}); remove it and ingest its source again") from error

    def _read_packs(self) -> dict[str, Pack]:
        packs = {}
        for name in self.storage.names("packs"):
            if name.endswith(PACK_SUFFIX):
                try:
                    packs[name] = self._packs.get(name) or Pack.from_bytes(self.storage.read(name))
                except ValueError as error:
                    raise LakeDamagedError(f"{self.storage.uri}/{name} is damaged ({error})") from error
        replaced = {pack_path(name) for pack in packs.values() for name in pack.replaces}
        return {name: pack for name, pack in packs.items() if name not in replaced}

    def _add(self, commit: Commit) -> None:
        self._live[commit.name] = commit
        self._names_by_path[commit.source_path].add(commit.name)
        self._names_by_content[commit.content_hash].add(commit.name)
        for key in _part_keys(commit):
            self._names_by_part[key].add(commit.name)

    def _remove(self, name: str) -> None:
        commit = self._live.pop(name, None)
        if commit is None:
            return
        self._names_by_path[commit.source_path].discard(name)
        self._names_by_content[commit.content_hash].discard(name)
        for key in _part_keys(commit):
            self._names_by_part[key].discard(name)

    def live(self) -> list[Commit]:
        """Return the commits that no other one replaces, by name."""
        with self._lock:
            return [self._live[name] for name in sorted(self._live)]

    def packs(self) -> list[Pack]:
        """Return the packs that no other one replaces."""
        return list(self._packs.values())

    def place_of(self, file: DataFile) -> str:
        """Return where the facts of a commit's file lie now: in the file itself, or in one shared with others."""
        return self._moved.get(file.path, file.path)

    def objects(self, table: str) -> list[str]:
        """Return the live Parquet files of one table as the storage names them, in order."""
        return sorted({self.place_of(file) for commit in self.live() for file in commit.files if file.table == table})

    def files(self, table: str) -> list[Path]:
        """Return the live Parquet files of one table as files of this machine; see :meth:`hidden` for their rows."""
        return [self.storage.local(name) for name in self.objects(table)]

    def hidden(self, table: str) -> dict[str, tuple[Part, ...]]:
        """Return, by shared file, the rows in it whose commit is no longer live: no reader may see them."""
        live = {file.path for commit in self.live() for file in commit.files if file.table == table}
        found = {}
        for pack in self._packs.values():
            for shared in pack.shared:
                gone = tuple(part for part in shared.parts if part.path not in live)
                if shared.file.table == table and gone and len(gone) < len(shared.parts):
                    found[shared.file.path] = gone
        return found

    def values(self, table: str, column: str, commits: Iterable[Commit] | None = None) -> set[Any]:
        """Return the distinct values of one column over the facts of some commits, or of all that are live."""
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for commit in self.live() if commits is None else commits:
            for file in commit.files:
                if file.table == table:
                    wanted[self.place_of(file)].add(commit.content_hash)
        values: set[Any] = set()
        for name, hashes in wanted.items():
            rows = pq.read_table(self.storage.local(name), columns=[column, "source_hash"])
            is_wanted = pc.is_in(rows.column("source_hash"), pa.array(sorted(hashes)))
            values |= set(rows.filter(is_wanted).column(column).to_pylist())
        return values

    def fingerprint(self) -> str:
        """Return a hash that changes when, and only when, the live facts or outcomes change."""
        digest = hashlib.sha256()
        for commit in self.live():
            digest.update(commit.name.encode())
        return digest.hexdigest()

    def studies_of_runs(self, commit: Commit) -> set[str]:
        """Return the studies to which the runs of one commit belong."""
        holder = commit if commit.holds_facts else self.facts_of(commit.content_hash, commit.decoder_version)
        return set() if holder is None else self.values("run", "study_id", [holder])

    def named(self, name: str) -> Commit:
        """Return the live commit of a name; raises KeyError where none is."""
        with self._lock:
            return self._live[name]

    def at_path(self, source_path: str) -> list[Commit]:
        """Return the live commits of one path, by name."""
        with self._lock:
            return [self._live[name] for name in sorted(self._names_by_path[source_path])]

    def facts_of(self, content_hash: str, decoder_version: str) -> Commit | None:
        """Return the live commit that holds the facts of a content, from whatever path, if there is one."""
        with self._lock:
            for name in sorted(self._names_by_content[content_hash]):
                commit = self._live[name]
                if commit.holds_facts and commit.decoder_version == decoder_version:
                    return commit
        return None

    def holding_facts(self, content_hash: str) -> list[Commit]:
        """Return the live commits that hold facts of a content, of any version, alone or as a part, by name."""
        with self._lock:
            alone = {name for name in self._names_by_content[content_hash] if self._live[name].holds_facts}
            return [self._live[name] for name in sorted(alone | self._names_by_part[f"content {content_hash}"])]

    def recording_with(self, source_path: str) -> Commit | None:
        """Return the live commit of the recording that a file is a part of, if there is one."""
        with self._lock:
            names = sorted(self._names_by_part[f"path {source_path}"])
            return self._live[names[0]] if names else None

    @contextmanager
    def deciding(self, content_hash: str) -> Iterator[None]:
        """Hold one content, so that of two equal files in one folder only the first is decoded."""
        with self._lock:
            lock = self._content_locks[content_hash]
        with lock:
            yield

    def commit(
        self,
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: tuple[Outcome, ...] = (),
        supersedes: Iterable[str] = (),
    ) -> Commit:
        """Make an attempt visible: its outcome and its facts, at once or not at all.

        What the same path held before, what an older decoder made of the same content, another source of
        the same ``subject``, and the commits named in ``supersedes`` are replaced. ``part_outcomes`` are those
        of the files of a recording.
        """
        draft = self.draft(outcome, files, subject, part_outcomes)
        with self._lock:
            gone = {name for name in supersedes if name in self._live}
            draft = replace(draft, replaces=self._replaced_by(draft, gone))
            while draft.name in self._replaced:
                # It was here before and made way for another path's: it is a new commit, after its former self.
                draft = replace(draft, replaces=tuple(sorted((*draft.replaces, draft.name))))
            commit = replace(draft, files=(*files, self._write_outcomes(draft.name, (outcome, *part_outcomes))))
            self._publish(commit)
            for name in commit.replaces:
                self._remove(name)
            self._add(commit)
            self._replaced.update(commit.replaces)
        return commit

    def replace_commit(self, commit: Commit) -> None:
        """Make a commit visible in the place of those it replaces; what only they named is a leftover then."""
        with self._lock:
            self._publish(commit)
            for name in commit.replaces:
                self._remove(name)
            self._add(commit)

    @staticmethod
    def draft(
        outcome: Outcome,
        files: tuple[DataFile, ...],
        subject: str | None = None,
        part_outcomes: tuple[Outcome, ...] = (),
    ) -> Commit:
        """Return the commit of an attempt before it is known what it replaces."""
        return Commit(
            source_path=outcome.source_path,
            content_hash=outcome.content_hash,
            decoder_version=outcome.decoder_version,
            size_bytes=outcome.size_bytes,
            modified_ns=outcome.modified_ns,
            format=outcome.format,
            status=outcome.status,
            holds_facts=bool(files),
            reason=outcome.reason,
            message=outcome.message,
            records_read=outcome.records_read,
            files=files,
            subject=subject,
            duplicate_of=outcome.duplicate_of,
            parts=tuple(
                RecordingPart(
                    source_path=part.source_path,
                    content_hash=part.content_hash,
                    size_bytes=part.size_bytes,
                    modified_ns=part.modified_ns,
                    status=part.status,
                    reason=part.reason,
                    message=part.message,
                    records_read=part.records_read,
                )
                for part in part_outcomes
            ),
        )

    def _replaced_by(self, draft: Commit, superseded: set[str]) -> tuple[str, ...]:
        older_decoder = {
            name
            for name in self._names_by_content[draft.content_hash]
            if draft.holds_facts and self._live[name].holds_facts
        }
        same_path = {
            name for name in self._names_by_path[draft.source_path] if not self._holds_facts_for_another_path(name)
        }
        same_subject: set[str] = set()
        if draft.subject is not None:
            same_subject = {name for name, commit in self._live.items() if commit.subject == draft.subject}
        gone = older_decoder | same_path | same_subject | superseded
        return tuple(sorted(gone | self._left_without_path(draft, gone)))

    def _left_without_path(self, draft: Commit, gone: set[str]) -> set[str]:
        # Facts outlive their own path's change while another path has their content; when that one goes, so do they.
        left: set[str] = set()
        for name in gone:
            if self._live[name].holds_facts:
                continue
            content = self._names_by_content[self._live[name].content_hash]
            others = [self._live[other] for other in content - gone]
            if len(others) != 1 or others[0].content_hash == draft.content_hash:
                continue
            holder = others[0]
            at_its_path = self._names_by_path[holder.source_path] - gone - {holder.name}
            if holder.holds_facts and at_its_path:
                left.add(holder.name)
        return left

    def _holds_facts_for_another_path(self, name: str) -> bool:
        commit = self._live[name]
        return commit.holds_facts and any(
            self._live[other].source_path != commit.source_path for other in self._names_by_content[commit.content_hash]
        )

    def replace_with_reason(self, old: Commit, new: Commit) -> Commit:
        """Make ``new`` visible in place of ``old``, with the same outcomes but for its own reason and message."""
        kept = next(file for file in old.files if file.table == "ingest_outcome")
        known = {(old.source_path, old.content_hash), *((part.source_path, part.content_hash) for part in old.parts)}
        rows = [
            row
            for row in pq.read_table(self.storage.local(self.place_of(kept))).to_pylist()
            if (row["source_path"], row["content_hash"]) in known and row["decoder_version"] == old.decoder_version
        ]
        for row in rows:
            if row["source_path"] == old.source_path:
                row |= {"reason": new.reason, "message": new.message}
        table = pa.Table.from_pylist(rows, schema=TABLES["ingest_outcome"].arrow_schema())
        commit = replace(new, files=(*new.files, self._write_outcome_table(new.name, table)))
        self.replace_commit(commit)
        return commit

    def _write_outcomes(self, name: str, outcomes: tuple[Outcome, ...]) -> DataFile:
        return self._write_outcome_table(name, Outcome.as_table(outcomes))

    def _write_outcome_table(self, name: str, table: pa.Table) -> DataFile:
        path = f"data/ingest_outcome/{name}.parquet"
        draft = self.storage.draft(path)
        pq.write_table(table, draft, compression="zstd")
        return DataFile("ingest_outcome", path, table.num_rows, self.storage.keep(path, draft))

    def _publish(self, commit: Commit) -> None:
        # A commit of that name says the same of the same attempt: it stands whoever made it.
        self.storage.create(f"commits/{commit.name}.json", commit.to_json().encode())

    def publish_pack(self, pack: Pack) -> None:
        """Make a pack visible; the commits and files that it stands for are then leftovers."""
        self.storage.create(pack_path(pack.name), pack.to_bytes())
        self.refresh()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lake for writing, having removed what a killed writer left behind.

        Raises
        ------
        LakeBusyError
            If another process holds it.
        """
        with self.storage.held():
            self.refresh()
            self.remove_leftovers()
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one state of the lake for reading: what is live now stays readable, whatever writers do meanwhile."""
        with holding_files(self.storage):
            self.refresh()
            yield

    def is_read(self) -> bool:
        """Return whether anybody holds a state of the lake for reading."""
        return bool(reader_names(self.storage)[0])

    def remove_leftovers(self) -> int:
        """Remove every object that nothing live names, and return how many; only while the lake is held.

        While somebody reads nothing is removed: it waits for the next writer.
        """
        reading, over = reader_names(self.storage)
        for name in over:
            self.storage.delete(name)
        if reading:
            return 0
        leftovers = self.leftovers()
        for name in leftovers:
            self.storage.delete(name)
        return len(leftovers)

    def leftovers(self) -> list[str]:
        """Return every object that nothing live names; while the lake is held, what a writer is to remove."""
        packed = {f"commits/{commit.name}.json" for pack in self._packs.values() for commit in pack.commits}
        named = {self.place_of(file) for commit in self.live() for file in commit.files}
        leftovers = [name for name in self.storage.names("commits") if name.endswith(".tmp") or name in packed]
        leftovers += [name for name in self.storage.names("packs") if name not in self._packs]
        for table in TABLES:
            leftovers += [name for name in self.storage.names(f"data/{table}") if name not in named]
        return leftovers
