"""The lake on disk: which commits are live, and how one is added."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit, DataFile, Part
from sojourn_ingest.lake.outcome import Outcome
from sojourn_ingest.lake.writer import flush
from sojourn_ingest.schema import TABLES


class LakeBusyError(RuntimeError):
    """Another process is writing to the lake."""


class LakeDamagedError(RuntimeError):
    """A commit of the lake cannot be read; the message names the file."""


def _read_commit(path: Path) -> Commit:
    try:
        return Commit.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LakeDamagedError(f"{path} is damaged ({error}); remove it and ingest its source again") from error


def _part_keys(commit: Commit) -> Iterator[str]:
    for part in commit.parts:
        yield f"path {part.source_path}"
        yield f"content {part.content_hash}"


class Lake:
    """A folder of Parquet facts (``data/<table>/*.parquet``) and commits (``commits/<name>.json``).

    Readers see exactly the files that live commits name, so a file that was being written when a process was
    killed is never seen; the next writer removes it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._content_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._live: dict[str, Commit] = {}
        self._names_by_path: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_content: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_part: defaultdict[str, set[str]] = defaultdict(set)
        self._replaced: set[str] = set()
        self.refresh()

    @property
    def _commit_folder(self) -> Path:
        return self.root / "commits"

    def refresh(self) -> None:
        """Read the commits anew."""
        commits = [_read_commit(path) for path in sorted(self._commit_folder.glob("*.json"))]
        replaced = self._replaced = {name for commit in commits for name in commit.replaces}
        self._live.clear()
        self._names_by_path.clear()
        self._names_by_content.clear()
        self._names_by_part.clear()
        for commit in commits:
            if commit.name not in replaced:
                self._add(commit)

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

    def files(self, table: str) -> list[Path]:
        """Return the live Parquet files of one table, by path."""
        return sorted(self.root / file.path for commit in self.live() for file in commit.files if file.table == table)

    def fingerprint(self) -> str:
        """Return a hash that changes when, and only when, the live facts or outcomes change."""
        digest = hashlib.sha256()
        for commit in self.live():
            digest.update(commit.name.encode())
        return digest.hexdigest()

    def studies_of_runs(self, commit: Commit) -> set[str]:
        """Return the studies to which the runs of one commit belong."""
        studies: set[str] = set()
        holder = commit if commit.holds_facts else self.facts_of(commit.content_hash, commit.decoder_version)
        for file in () if holder is None else holder.files:
            if file.table == "run":
                column = pq.read_table(self.root / file.path, columns=["study_id"]).column("study_id")
                studies |= set(column.to_pylist())
        return studies

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
        draft = Commit(
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
                Part(
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

    def _write_outcomes(self, name: str, outcomes: tuple[Outcome, ...]) -> DataFile:
        path = self.root / "data" / "ingest_outcome" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(Outcome.as_table(outcomes), path, compression="zstd")
        flush(path)
        return DataFile("ingest_outcome", str(path.relative_to(self.root)), len(outcomes), path.stat().st_size)

    def _publish(self, commit: Commit) -> None:
        self._commit_folder.mkdir(parents=True, exist_ok=True)
        path = self._commit_folder / f"{commit.name}.json"
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as handle:
            handle.write(commit.to_json())
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
        flush(self._commit_folder)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lake for writing, having removed what a killed writer left behind.

        Raises
        ------
        LakeBusyError
            If another process holds it.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LakeBusyError(f"another process is ingesting into {self.root}; wait for it to end") from error
            self.refresh()
            self._remove_orphans()
            yield

    def _remove_orphans(self) -> None:
        for leftover in self._commit_folder.glob("*.tmp"):
            leftover.unlink()
        named = {self.root / file.path for commit in self.live() for file in commit.files}
        for table in TABLES:
            for path in (self.root / "data" / table).glob("*.parquet"):
                if path not in named:
                    path.unlink()
