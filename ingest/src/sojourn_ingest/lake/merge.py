"""Two lakes become one: the same content once, with every outcome, and facts under two address keys apart.

A merge is decided before anything is written: :func:`plan_merge` names every commit of the new lake. The name of a
commit follows from what it says, so a merge that was killed goes on where it stopped.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.forgotten import listed
from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.shared_rows import SharedRows, SourceKey, is_interleaved, write_sorted_by_source
from sojourn_ingest.lake.stored_commits import LakeDamagedError
from sojourn_ingest.lake.verification import Damage, check_files, damage_message, stored_files
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.schema import TABLES
from sojourn_process.own_folder import own_folder
from sojourn_process.printable import counted

OUTCOMES = "ingest_outcome"
#: How the part of a version that names the address key is written; see `Versions`.
_KEY = re.compile(r"\+(key-[0-9a-f]{8}|addresses-kept)$")
_NUMBER = re.compile(r"\d+")
_SHOWN = 3
_OTHER_PATHS = "ingest the files of one of them into a new lake with another --root"
_OTHER_SUBJECTS = "ingest the same description into both"
_OTHER_RECORDINGS = "ingest all files of the recording into both"
_OTHER_RUNS = "give the runs of one of them another study or name in their manifests, and ingest them again"


class MergeError(OperatorError, ValueError):
    """Two lakes cannot become one as they are; the message says what to do."""


@dataclass(frozen=True)
class MergedCommit:
    """A commit of the merged lake, and the one that it comes from; ``holder`` has the facts of its content instead.

    ``revision`` is the highest that any of the lakes has of its path and content.
    """

    lake: Lake
    source: Commit
    holder: str | None
    revision: int | None

    @property
    def draft(self) -> Commit:
        """The commit without its files: its name is that in the merged lake."""
        return replace(self.source, files=(), replaces=(), holds_facts=self.source.holds_facts and not self.holder,
                       duplicate_of=self.holder or self.source.duplicate_of, revision=self.revision)  # fmt: skip

    @property
    def facts(self) -> list[DataFile]:
        """The files whose rows it has in the merged lake."""
        return [] if self.holder else _facts(self.source)


@dataclass(frozen=True)
class MergePlan:
    """Every commit of the merged lake, how many facts are the same content twice, and the keys of addresses."""

    commits: tuple[MergedCommit, ...]
    same_paths: int
    same_contents: int
    keys: tuple[tuple[str, ...], ...]


def key_of(version: str) -> str | None:
    """Return the mark of the address key in a version of facts; None if they hold no addresses."""
    match = _KEY.search(version)
    return match[1] if match else None


def _age(commit: Commit) -> tuple[int, ...]:
    # 0.10 is newer than 0.9, which texts do not know.
    return tuple(int(number) for number in _NUMBER.findall(commit.decoder_version.partition("+")[0]))


def plan_merge(lakes: Sequence[Lake]) -> MergePlan:
    """Return what the merged lake is to hold.

    A path that several lakes have with the same content is one path. Of facts of one content those of the newest
    reader stay, or else those of the lake named first; other paths with that content become duplicates, as in an
    ingest of all files, except paths that have another content by now.

    Raises
    ------
    MergeError
        If a path, the description of a study, a run or the files of a recording differ between the lakes.
    LakeDamagedError
        If a file with runs is damaged.
    """
    _refuse_differing(lakes, _contents_by_path, "paths whose content differs between the lakes", _OTHER_PATHS)
    _refuse_differing(lakes, _contents_by_subject, "subjects that the lakes describe differently", _OTHER_SUBJECTS)
    _refuse_differing(lakes, _contents_by_run, "runs with the same name but different files", _OTHER_RUNS)
    _refuse_overlapping_recordings(lakes)
    by_path: dict[tuple[str, str], tuple[Lake, Commit]] = {}
    revisions: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    same_paths = 0
    for lake in lakes:
        for commit in lake.live():
            place = (commit.source_path, commit.content_hash)
            revisions[place] |= set() if commit.revision is None else {commit.revision}
            before = by_path.get(place)
            same_paths += before is not None
            if before is None or (commit.holds_facts, _age(commit)) > (before[1].holds_facts, _age(before[1])):
                by_path[place] = (lake, commit)
    holders = _holders(by_path.values())
    commits, same_contents = [], 0
    for place, (lake, commit) in by_path.items():
        holder = holders.get(commit.content_hash)
        is_other = holder is not None and holder.source_path != commit.source_path
        if is_other and commit.holds_facts:
            same_contents += 1
        named = holder.source_path if holder is not None and is_other and _follows(commit) else None
        if named is None or commit in lake.current_at(commit.source_path):
            commits.append(MergedCommit(lake, commit, named, max(revisions[place], default=None)))
    keys = tuple(
        tuple(sorted({key for one in lake.live() if one.holds_facts and (key := key_of(one.decoder_version))}))
        for lake in lakes
    )
    commits.sort(key=lambda one: one.draft.name)
    return MergePlan(tuple(commits), same_paths, same_contents, keys)


def _follows(commit: Commit) -> bool:
    """Return whether a commit has, or had at another path, the facts of its content."""
    return commit.holds_facts or commit.duplicate_of is not None


def _holders(commits: Iterable[tuple[Lake, Commit]]) -> dict[str, Commit]:
    """Return the commit that holds the facts of each content: the newest reader's, else of the first lake."""
    holders: dict[str, Commit] = {}
    for _, commit in commits:
        holder = holders.get(commit.content_hash)
        if commit.holds_facts and (holder is None or _age(commit) > _age(holder)):
            holders[commit.content_hash] = commit
    return holders


Contents = dict[str, set[str]]


def _contents_by_path(lake: Lake) -> Contents:
    paths = {commit.source_path for commit in lake.live()}
    return {path: {commit.content_hash for commit in lake.current_at(path)} for path in paths}


def _contents_by_subject(lake: Lake) -> Contents:
    return {commit.subject: {commit.content_hash} for commit in lake.live() if commit.subject is not None}


def _contents_by_run(lake: Lake) -> Contents:
    live = {commit.content_hash for commit in lake.live()}
    contents: defaultdict[str, set[str]] = defaultdict(set)
    sources = _CheckedFiles()
    for place in lake.objects("run"):
        path = sources.checked(lake, place)
        for row in pq.read_table(path, columns=["study_id", "run_id", "source_hash"]).to_pylist():
            if row["source_hash"] in live:
                contents[f"{row['run_id']} of study {row['study_id']}"].add(row["source_hash"])
    return contents


def _refuse_differing(lakes: Sequence[Lake], contents: Callable[[Lake], Contents], what: str, remedy: str) -> None:
    """Refuse names that two lakes have with other contents."""
    earlier: Contents = {}
    differing = []
    for lake in lakes:
        for name, hashes in contents(lake).items():
            if earlier.setdefault(name, hashes) != hashes:
                differing.append(name)
    _refuse(sorted(differing), what, remedy)


def _refuse_overlapping_recordings(lakes: Sequence[Lake]) -> None:
    """Refuse recordings, of one file or several, that have some of their files in common: these would count twice."""
    differing: set[str] = set()
    for content in {part.content_hash for lake in lakes for commit in lake.live() for part in commit.parts}:
        holders = [[one for one in lake.holding_facts(content) if one.holds_facts] for lake in lakes]
        if len({frozenset(one.content_hash for one in of_lake) for of_lake in holders if of_lake}) > 1:
            differing |= {one.source_path for of_lake in holders for one in of_lake}
    _refuse(sorted(differing), "recordings that share files and differ between the lakes", _OTHER_RECORDINGS)


def _refuse(names: Sequence[str], what: str, remedy: str) -> None:
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise MergeError(f"{what} ({len(names):,}): {shown}; {remedy}")


def refuse_other(plan: MergePlan, target: Lake) -> None:
    """Go on if the lake holds nothing, or part of what the plan names, as a merge that was killed leaves it.

    Raises
    ------
    MergeError
        If it holds a source that the plan does not name, or has other rows of one: a source of the merge has changed
        since, for instance because a host was forgotten in it, whose rows are then still in this lake.
    """
    planned = {one.draft.name: one for one in plan.commits}
    there = target.live()
    if other := sum(commit.name not in planned for commit in there):
        raise MergeError(
            f"{target.storage.uri} has {counted(other, 'source')} that "
            f"{'is' if other == 1 else 'are'} in none of the lakes; give a new folder"
        )
    pairs = [(commit, planned[commit.name]) for commit in there]
    if changed := sum(_said(commit, _facts(commit)) != _said(one.draft, one.facts) for commit, one in pairs):
        raise MergeError(
            f"{target.storage.uri} has other facts of {counted(changed, 'source')} than the lakes have now, as when a "
            "host was forgotten since; give a new folder, and delete this one"
        )


def _said(commit: Commit, facts: Iterable[DataFile]) -> tuple[bool, str | None, list[tuple[str, int]]]:
    return commit.holds_facts, commit.duplicate_of, sorted((file.table, file.rows) for file in facts)


def merge(plan: MergePlan, target: Lake) -> int:
    """Write what the plan names into a lake that is held for writing, and return how many commits were missing.

    Raises
    ------
    MergeError
        If the lake holds something else than the plan says; see :func:`refuse_other`.
    LakeDamagedError
        If a file of a source does not have the hash that was recorded; what came before it is in the lake.
    """
    refuse_other(plan, target)
    there = {commit.name for commit in target.live()}
    missing = [one for one in plan.commits if one.draft.name not in there]
    places = {lake: number for number, lake in enumerate(dict.fromkeys(one.lake for one in missing))}
    # Commits that share files come one after the other, in the order of their rows in most of these.
    missing.sort(key=lambda one: (places[one.lake], _shared(one), one.source.content_hash, one.source.decoder_version))
    with own_folder("sojourn-sort-") as spill:
        sources = _Sources(spill, missing)
        for one in missing:
            draft = one.draft
            files = tuple(_copied(one, file, target, sources) for file in one.facts)
            outcomes = target.write_outcomes(draft.name, _outcomes(one, sources))
            target.replace_commit(replace(draft, files=(*files, outcomes)))
    return len(missing)


def _facts(commit: Commit) -> list[DataFile]:
    return [file for file in commit.files if file.table != OUTCOMES]


def _shared(one: MergedCommit) -> list[str]:
    """Return the shared files that a commit has rows in, the one with its outcomes first."""
    moved = {file: one.lake.place_of(file) for file in (_outcome_file(one.source), *one.facts)}
    return [place for file, place in moved.items() if place != file.path]


def _outcome_file(commit: Commit) -> DataFile:
    return next(file for file in commit.files if file.table == OUTCOMES)


def _key(commit: Commit) -> SourceKey:
    return commit.content_hash, commit.decoder_version


class _CheckedFiles:
    """The files that a merge reads: each is checked once."""

    def __init__(self) -> None:
        self._stored: dict[Lake, dict[str, tuple[DataFile, tuple[Commit, ...]]]] = {}
        self._checked: set[tuple[Lake, str]] = set()

    def checked(self, lake: Lake, place: str) -> Path:
        """Return the local file of an object whose rows are to be rewritten, if it has the hash that was recorded.

        Raises
        ------
        LakeDamagedError
            If it does not: what is written of it would get a hash of its own, and nobody could tell any more.
        """
        if (lake, place) not in self._checked:
            if lake not in self._stored:
                self._stored[lake] = stored_files(lake)
            file, commits = self._stored[lake][place]
            check_files(lake.storage, [file], {place: [commit.source_path for commit in commits]})
            self._checked.add((lake, place))
        return lake.storage.local(place)


class _Sources(_CheckedFiles):
    """The files that a merge takes rows of, each read for many commits that share it.

    ``commits`` are those that rows are taken for, in this order; ``spill`` is a folder for sorted copies.
    """

    def __init__(self, spill: Path, commits: Iterable[MergedCommit]) -> None:
        super().__init__()
        self._spill = spill
        self._sorted: dict[tuple[Lake, str], Path] = {}
        self._wanted: defaultdict[tuple[Lake, str], dict[SourceKey, int]] = defaultdict(dict)
        for one in commits:
            for file in one.facts:
                if (place := one.lake.place_of(file)) != file.path:
                    self._wanted[one.lake, place][_key(one.source)] = file.rows
        self._left = {place: len(wanted) for place, wanted in self._wanted.items()}
        # Of each table the one that was read last, so that memory does not grow with the number of files.
        self._rows: dict[str, tuple[tuple[Lake, str], SharedRows]] = {}
        self._outcomes: tuple[tuple[Lake, str], _Outcomes] | None = None

    def rows(self, lake: Lake, file: DataFile) -> SharedRows:
        """Return the rows of the file that now has those of a commit's file, if it is as it was written."""
        place = (lake, lake.place_of(file))
        last = self._rows.pop(file.table, None)
        if last is not None and last[0] != place and not self._left[last[0]] and last[0] in self._sorted:
            self._sorted.pop(last[0]).unlink()
        rows = last[1] if last and last[0] == place else SharedRows(self._by_source(place), self._wanted[place])
        self._rows[file.table] = (place, rows)
        self._left[place] -= 1
        return rows

    def _by_source(self, place: tuple[Lake, str]) -> Path:
        """Return a shared file, or a copy of it that is sorted, in which the rows of each source are together."""
        path = self.checked(*place)
        if place not in self._sorted and is_interleaved(path):
            self._sorted[place] = self._spill / f"{uuid4().hex}.parquet"
            write_sorted_by_source(path, self._sorted[place])
        return self._sorted.get(place, path)

    def outcomes(self, lake: Lake, file: DataFile) -> _Outcomes:
        """Return the outcomes in the file that now has those of a commit, if it is as it was written."""
        place = (lake, lake.place_of(file))
        if self._outcomes is None or self._outcomes[0] != place:
            self._outcomes = (place, _Outcomes(self.checked(*place)))
        return self._outcomes[1]


def _copied(one: MergedCommit, file: DataFile, target: Lake, sources: _Sources) -> DataFile:
    """Put the facts of one file into the merged lake; of a file that commits share, the rows of this one."""
    place = one.lake.place_of(file)
    draft = target.storage.draft(file.path)
    if place == file.path:
        shutil.copyfile(one.lake.storage.local(place), draft)
    else:
        rows = sources.rows(one.lake, file).write(_key(one.source), draft)
        if rows != file.rows:
            target.storage.discard(file.path, draft)
            what = f"{rows:,} rows of {one.source.source_path}, whose commit promises {file.rows:,}"
            raise LakeDamagedError(f"{one.lake.storage.uri}: {place} has {what}")
    kept = target.storage.keep(file.path, draft)
    if place == file.path and file.sha256 not in (None, kept.sha256):
        # The copy is compared, so that the source is read once, and what was read is what was checked.
        target.storage.discard(file.path, draft)
        damage = Damage(file, "altered", (one.source.source_path,))
        raise LakeDamagedError(damage_message(one.lake.storage, [damage]))
    return replace(file, size_bytes=kept.size_bytes, sha256=kept.sha256)


class _Outcomes:
    """The rows of a file of outcomes, found by path, content and version."""

    def __init__(self, path: Path) -> None:
        self._rows = pq.read_table(path).combine_chunks()
        self._numbers: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        columns = (self._rows.column(name).to_pylist() for name in ("source_path", "content_hash", "decoder_version"))
        for number, key in enumerate(zip(*columns, strict=True)):
            self._numbers[key].append(number)

    def of(self, commit: Commit) -> list[dict[str, Any]]:
        """Return the outcomes of a commit and of its parts, in the order of the file."""
        contents = {(commit.source_path, commit.content_hash)}
        contents |= {(part.source_path, part.content_hash) for part in commit.parts}
        numbers = (number for key in contents for number in self._numbers.get((*key, commit.decoder_version), ()))
        rows: list[dict[str, Any]] = self._rows.take(pa.array(sorted(numbers), pa.int64())).to_pylist()
        return rows


def _outcomes(one: MergedCommit, sources: _Sources) -> pa.Table:
    """Return the outcomes of a commit, which say where the facts of its content now are."""
    rows = sources.outcomes(one.lake, _outcome_file(one.source)).of(one.source)
    for row in rows:
        if one.holder is not None and row["source_path"] == one.source.source_path:
            row["duplicate_of"] = one.holder
    return pa.Table.from_pylist(rows, schema=TABLES[OUTCOMES].arrow_schema())


def forgotten_entries(path: Path) -> dict[str, str]:
    """Return the lines of a list of forgotten hosts by what identifies the host.

    Raises
    ------
    ForgottenListError
        If a line is not an entry of the list.
    """
    return {entry.host: entry.line for entry in listed(path)}
