"""The lake: which commits are live, where their facts are, and how one is added."""

from __future__ import annotations

import hashlib
import logging
import threading
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.lake.chain import (
    Gap,
    Head,
    StoredHead,
    altered,
    gaps,
    last_of,
    read_head,
    superseded_heads,
    write_head,
)
from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.live_commits import LiveCommits
from sojourn_ingest.lake.outcome import Outcome, commit_of
from sojourn_ingest.lake.pack import Pack, Part, SharedFile, outcome_pack
from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.lake.readers import holding_files, reader_names
from sojourn_ingest.lake.storage import FolderStorage, Storage, StorageError, open_storage
from sojourn_ingest.lake.stored_commits import LakeDamagedError, StoredCommits, moved_files, repair_command
from sojourn_ingest.schema import TABLES

logger = logging.getLogger(__name__)

#: Outcomes without facts that become visible together, at most; and how many are worth a pack, which stays among the
#: objects that every reader lists until the next compaction.
MOST_WAITING = 1_000
FEWEST_IN_PACK = 16


class Lake:
    """Parquet facts (``data/<table>/*.parquet``) and commits (``commits/<name>.json``, ``packs/<name>.json.gz``).

    Readers see exactly the files that live commits name, so a file that was being written when a process was
    killed is never seen; the next writer removes it. ``location`` is a folder or a URI (see
    :func:`sojourn_ingest.lake.storage.open_storage`), and ``cache`` where copies of remote files are kept.
    With ``live`` these are the live commits and none is read: a task of a cluster receives them. The commits and packs
    named in ``skip`` are taken as absent: a repair looks at what is left without those that cannot be read.
    """

    def __init__(
        self,
        location: Path | str | Storage,
        cache: Path | None = None,
        *,
        live: Iterable[Commit] | None = None,
        skip: Collection[str] = (),
    ) -> None:
        self.storage = open_storage(location, cache) if isinstance(location, Path | str) else location
        self._lock = threading.Lock()
        self._content_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._stored = StoredCommits(self.storage, skip)
        self._live = LiveCommits(live or ())
        self._replaced: set[str] = set()
        self._moved: dict[str, str] = {}
        self._stored_head = StoredHead(None, 0)
        self._last = Head(0, None, None, ())
        self._gaps: list[Gap] = []
        self._headless: str | None = None
        self._skips = bool(skip)
        #: Outcomes that are to be made visible together, by the name of their commit; None if none does.
        self._waiting: dict[str, tuple[Commit, Outcome]] | None = None
        if live is None:
            self.refresh()

    @property
    def root(self) -> Path:
        """The lake's folder.

        Raises
        ------
        StorageError
            If it is not in a local folder.
        """
        if not isinstance(self.storage, FolderStorage):
            raise StorageError(f"{self.storage.uri} is not a folder of this machine")
        return self.storage.root

    def refresh(self) -> None:
        """Read the commits that came since the last reading.

        Raises
        ------
        LakeDamagedError
            If a commit is damaged, or commits vanish faster than they can be read.
        """
        commits = self._read()
        self._gaps, self._headless = self._gaps_of_listing(), self._why_headless()
        if self._gaps or self._headless:
            # A listing is not atomic: it may have what a writer just made without what came before. The next one has
            # all up to there.
            first, last = self._gaps, self._last.number
            commits = self._read()
            self._gaps = [gap for gap in self._gaps_of_listing(last) if gap.kind == "commit" or gap in first]
            self._headless = self._headless and self._why_headless()
        self._replaced = {name for commit in commits.values() for name in commit.replaces}
        self._moved = moved_files(self._stored.packs.values())
        self._live = LiveCommits(commit for commit in commits.values() if commit.name not in self._replaced)

    def _read(self) -> dict[str, Commit]:
        # The head is read first: a writer makes it after what it names.
        self._stored_head = read_head(self.storage)
        head = self._stored_head.head
        commits = self._stored.read(head.packs if head else ())
        self._last = last_of(commits.values(), self._stored.packs.values(), head)
        return commits

    def _gaps_of_listing(self, last: int | None = None) -> list[Gap]:
        packs = self._stored.packs.values()
        return gaps(self._stored.commits, packs, self._stored.replaced_names, self._stored_head.head, last)

    def live(self) -> list[Commit]:
        """Return the commits that no other one replaces, by name."""
        with self._lock:
            return self._live.all()

    def packs(self) -> list[Pack]:
        """Return the packs that no other one replaces."""
        return list(self._stored.packs.values())

    def place_of(self, file: DataFile) -> str:
        """Return where the facts of a commit's file are now: in the file itself, or in one shared with others."""
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
        hidden = {}
        for pack in self.packs():
            for shared in pack.shared:
                gone = tuple(part for part in shared.parts if part.path not in live)
                if shared.file.table == table and gone and len(gone) < len(shared.parts):
                    hidden[shared.file.path] = gone
        return hidden

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
        """Return a hash that changes when, and only when, the live facts or outcomes change.

        It says nothing of what was there before: lakes with the same facts have the same fingerprint, however they
        came to have them.
        """
        digest = hashlib.sha256()
        for statement in sorted(commit.statement() for commit in self.live()):
            digest.update(statement.encode())
        return digest.hexdigest()

    def studies_of_runs(self, commit: Commit) -> set[str]:
        """Return the studies to which the runs of one commit belong."""
        holder = commit if commit.holds_facts else self.facts_of(commit.content_hash, commit.decoder_version)
        return set() if holder is None else self.values("run", "study_id", [holder])

    def named(self, name: str) -> Commit:
        """Return the live commit of a name; raises KeyError if there is none."""
        with self._lock:
            return self._live.named(name)

    def at_path(self, source_path: str) -> list[Commit]:
        """Return the live commits of one path, by name."""
        with self._lock:
            return self._live.at_path(source_path)

    def current_at(self, source_path: str) -> list[Commit]:
        """Return the live commits of what a path has; facts of an earlier content may stay for another path."""
        with self._lock:
            return self._live.current_at(source_path)

    def facts_of(self, content_hash: str, decoder_version: str) -> Commit | None:
        """Return the live commit that holds the facts of a content, from any path, if there is one."""
        with self._lock:
            return self._live.facts_of(content_hash, decoder_version)

    def holding_facts(self, content_hash: str) -> list[Commit]:
        """Return, by name, the live commits with facts of a content, of any version, as a source or a part of one."""
        with self._lock:
            return self._live.holding_facts(content_hash)

    def copies_without_facts(self) -> list[Commit]:
        """Return, by name, the live commits of copies without facts, or with those of a path that had the content."""
        with self._lock:
            return self._live.copies_without_facts()

    def is_read_where_it_is(self, content_hash: str) -> bool:
        """Return whether live facts of a content are those of a path that has it, and not of one that had it."""
        with self._lock:
            return self._live.is_read_where_it_is(content_hash)

    def recording_with(self, source_path: str) -> Commit | None:
        """Return the live commit of the recording that a file is a part of, if there is one."""
        with self._lock:
            return self._live.recording_with(source_path)

    @contextmanager
    def deciding(self, *content_hashes: str) -> Iterator[None]:
        """Hold contents, so that of two equal files in one folder only one is the source of facts."""
        with self._lock:
            locks = [self._content_locks[content_hash] for content_hash in sorted(set(content_hashes))]
        with ExitStack() as held:
            for lock in locks:
                held.enter_context(lock)
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
        of the files of a recording. An outcome may wait for others: see :meth:`joining_outcomes`.
        """
        draft = commit_of(outcome, files, subject, part_outcomes)
        with self._lock:
            gone = {name for name in supersedes if name in self._live}
            draft = self._live.in_its_place(draft, gone)
            while draft.name in self._replaced:
                # It was here before and made way for another path's: it is a new commit, after its former self.
                draft = replace(draft, replaces=tuple(sorted((*draft.replaces, draft.name))))
            if self._waiting is not None and not (files or part_outcomes or draft.replaces):
                self._waiting[draft.name] = (draft, outcome)
                self._live.add(draft)
                if len(self._waiting) >= MOST_WAITING:
                    self._publish_waiting()
                return draft
            # What waits comes before what may replace it, or was decided with regard to it.
            if draft.replaces:
                self._publish_waiting()
            outcomes = self.write_outcomes(draft.name, Outcome.as_table((outcome, *part_outcomes)))
            commit = replace(draft, files=(*files, outcomes))
            self._publish(commit)
            self._replaced.update(commit.replaces)
        return commit

    @contextmanager
    def joining_outcomes(self) -> Iterator[None]:
        """Make outcomes without facts that replace nothing visible together, when they are many and at the end.

        Commits of 20,000 files of a few bytes would take far more place than the files. If the writer fails before,
        the next one tries these files again.
        """
        self._waiting = {}
        try:
            yield
            with self._lock:
                self._publish_waiting()
        finally:
            self._waiting = None

    def _publish_waiting(self) -> None:
        """Make the outcomes that wait visible: as a pack, or as commits of their own if they are few."""
        if not self._waiting:
            return
        waiting, self._waiting = list(self._waiting.values()), {}
        if len(waiting) < FEWEST_IN_PACK:
            for commit, outcome in waiting:
                rows = Outcome.as_table((outcome,))
                self._publish(replace(commit, files=(self.write_outcomes(commit.name, rows),)))
            return
        rows = Outcome.as_table([outcome for _, outcome in waiting])
        pack = outcome_pack(
            [commit for commit, _ in waiting], self.write_outcomes(f"together-{uuid.uuid4().hex}", rows)
        )
        self._stored.publish_pack(pack)
        self._moved |= moved_files([pack])
        self._last = replace(self._last, packs=tuple(sorted((*self._last.packs, pack.name))))
        for commit in pack.commits:
            self._live.add(commit)

    def replace_commit(self, commit: Commit) -> None:
        """Make a commit visible in the place of those it replaces; what only they named is a leftover then."""
        with self._lock:
            self._publish(commit)

    def _publish(self, commit: Commit) -> None:
        if self._stored_head.head is None:
            # A repair adds the first commit that is chained.
            self._stored_head = write_head(self.storage, self._stored_head, self._last)
        commit = replace(commit, link=self._last.next_link)
        if self._stored.publish(commit):
            self._last = Head(self._last.number + 1, commit.name, commit.checksum(), self._last.packs)
        for name in commit.replaces:
            self._live.remove(name)
        self._live.add(commit)

    def write_outcomes(self, name: str, rows: pa.Table) -> DataFile:
        """Write the outcomes of a commit that is to be made, or of several, as rows of ``ingest_outcome``."""
        path = f"data/ingest_outcome/{name}.parquet"
        draft = self.storage.draft(path)
        # A row or a few: compressors, dictionaries and statistics of each column, and Arrow's schema beside Parquet's
        # own, would take longer to write than the rows, and three times their place.
        few = rows.num_rows <= 100
        settings: dict[str, Any] = {"use_dictionary": False, "write_statistics": False} if few else {}
        with parquet_writer(
            draft, rows.schema, compression="none" if few else "zstd", store_schema=False, **settings
        ) as writer:
            writer.write_table(rows)
        return DataFile.of("ingest_outcome", path, rows.num_rows, self.storage.keep(path, draft))

    def pack_of_all(self, commits: Iterable[Commit], shared: Iterable[SharedFile]) -> Pack:
        """Return a pack that takes over every live commit, with all packs; it is not visible yet."""
        named = tuple(sorted(old.name for old in self.packs()))
        return Pack(tuple(replace(one, link=None) for one in commits), tuple(shared), named, self._last.number)

    def publish_pack(self, pack: Pack) -> None:
        """Make a pack visible; the commits and files that it replaces are then orphaned."""
        self._stored.publish_pack(pack)
        self.refresh()
        self._write_head()

    def _write_head(self) -> None:
        if self._last != self._stored_head.head:
            self._stored_head = write_head(self.storage, self._stored_head, self._last)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lake for writing, having removed what a killed writer left behind.

        Files that no commit ever named are logged before they are removed.

        Raises
        ------
        LakeBusyError
            If another process holds it.
        LakeDamagedError
            If a commit or pack is missing or altered, or the head is damaged: what they named is not removed, so that
            they can be put back.
        """
        with self.storage.held():
            self.refresh()
            if missing := self.missing():
                raise LakeDamagedError(f"{self.storage.uri}: {missing[0]}; run {repair_command(self.storage.uri)}")
            # Before anything else: from here on a lake without a head is not whole.
            self._write_head()
            leftovers, named = self.leftovers(), self._ever_named()
            if unnamed := [name for name in leftovers if name.startswith("data/") and name not in named]:
                more = f", and {len(unnamed) - 1:,} more" if len(unnamed) > 1 else ""
                logger.warning(
                    "%s: no commit names %s%s: removed, unless a command reads", self.storage.uri, unnamed[0], more
                )
            self._remove(leftovers)
            yield
            self._write_head()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one state of the lake for reading: what is live now stays readable while writers change the lake."""
        with holding_files(self.storage):
            self.refresh()
            yield

    def is_read(self) -> bool:
        """Return whether anybody holds a state of the lake for reading."""
        return bool(reader_names(self.storage)[0])

    def remove_leftovers(self) -> int:
        """Remove every object that nothing live names, and return how many; only while the lake is held.

        Nothing is removed while a reader holds the lake; the next writer does it.
        """
        return self._remove(self.leftovers())

    def _remove(self, names: Collection[str]) -> int:
        reading, over = reader_names(self.storage)
        for name in over:
            self.storage.delete(name)
        if reading:
            return 0
        for name in names:
            self.storage.delete(name)
        return len(names)

    def leftovers(self) -> list[str]:
        """Return every object that nothing live names; while the lake is held, what a writer is to remove.

        There is none while a live file is missing: if a commit or pack of another lake, or an old one, names it, others
        may have the facts that should be live.
        """
        named = {self.place_of(file) for commit in self.live() for file in commit.files if file.table in TABLES}
        there = self._files_without(())
        if not named.issubset(there):
            return []
        # Files go before what says that they were replaced: afterwards nobody would know what they were.
        files = [name for name in there if name not in named]
        return files + self._stored.leftovers() + superseded_heads(self.storage)

    def unnamed_files(self) -> list[str]:
        """Return the files of facts that no commit or pack names, not even one that was replaced.

        A writer that was killed left them, or the commit that named them is gone.
        """
        return self._files_without(self._ever_named())

    def _ever_named(self) -> set[str]:
        packs = (*self.packs(), *self._stored.replaced_packs.values())
        named = {file.path for commit in self._stored.commits.values() for file in commit.files}
        named |= {file.path for pack in packs for commit in pack.commits for file in commit.files}
        return named | {item.file.path for pack in packs for item in pack.shared}

    def _files_without(self, named: Collection[str]) -> list[str]:
        return [name for table in TABLES for name in self.storage.names(f"data/{table}") if name not in named]

    def gaps(self) -> list[Gap]:
        """Return the commits and packs that are missing, those that are skipped too."""
        return list(self._gaps)

    def altered_commits(self) -> dict[str, str]:
        """Return the commits that are not as the chain says, by name, and what says so: head or next commit."""
        return altered(self._stored.commits, self.packs(), self._stored_head.head)

    @property
    def damaged_head(self) -> str | None:
        """The object of the head if it cannot be read; what only it named cannot be missed."""
        return self._stored_head.damaged

    @property
    def ends_unknown(self) -> bool:
        """Whether nobody can tell where the chain ended, and so how many commits are missing."""
        return bool(self.damaged_head or self._headless)

    def _why_headless(self) -> str | None:
        """Return what is missing if there is no head although a writer of this version was here; None otherwise."""
        if self._stored_head.head is not None or self.damaged_head:
            return None
        commits, packs = self._stored.commits, self.packs()
        if any(pack.covers is not None for pack in packs) or any(commit.link for commit in commits.values()):
            return "the head of the chain is missing, and perhaps the last commits"
        if not (commits or packs or self._skips) and self._files_without(()):
            return "there are data files, but the head of the chain and all commits are missing"
        return None

    def missing(self) -> tuple[str, ...]:
        """Return what is missing of the chain or not as it was written, one line each.

        Gaps are not among them if some commits are skipped, which may be the ones.
        """
        return (
            *(gap.text for gap in ([] if self._skips else self._gaps)),
            *(f"commit {name} is not the one that the {by} names" for name, by in self.altered_commits().items()),
            *([f"{self.damaged_head} is damaged"] if self.damaged_head else []),
            *([self._headless] if self._headless and self._stored_head.head is None else []),
        )
