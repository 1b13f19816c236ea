"""Repair: damaged facts are set aside, so that builds go on, and their sources are named to be ingested again.

A commit with a damaged file is replaced by one that says so, in the same step as every other change of the lake: it is
rejected for ``damaged_in_lake``, and the next ingest of its path reads the file again. Facts whose source is gone are
left as they are, damaged, unless they are given up explicitly: a file restored from a backup makes them whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sojourn_ingest.formats.interface import InputError, recording_hash
from sojourn_ingest.lake import Commit, Lake, Outcome
from sojourn_ingest.lake.storage import Storage
from sojourn_ingest.lake.stored_commits import is_object_name, pack_object, unreadable_objects
from sojourn_ingest.lake.verification import (
    Verification,
    give_up_missing_commits,
    has_facts_of_unknown_sources,
    stored_files,
    unnamed_outcomes,
    verify,
)
from sojourn_ingest.remote import as_path
from sojourn_ingest.session.sources import content_hash

REASON = "damaged_in_lake"
SourceState = Literal["same", "changed", "gone"]


@dataclass(frozen=True)
class DamagedSource:
    """One source whose facts are damaged: the path to ingest again, and whether that still has the same content."""

    source_path: str
    state: SourceState
    ingest: Path
    commit: Commit | None


@dataclass(frozen=True)
class RepairPlan:
    """What cannot be read in a lake, what is damaged, and what a repair would do about it."""

    unreadable: dict[str, str]
    verification: Verification
    sources: tuple[DamagedSource, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is damaged."""
        return not (self.unreadable or self.verification.missing or self.verification.damages or self.sources)

    @property
    def lost(self) -> tuple[DamagedSource, ...]:
        """The sources that cannot be ingested again."""
        return tuple(source for source in self.sources if source.state != "same")


def _hash_of(path: Path) -> str | None:
    try:
        return content_hash(path)
    except InputError:
        return None


def _state_of(path: Path, expected: str) -> SourceState:
    if not path.is_file():
        return "gone"
    return "same" if _hash_of(path) == expected else "changed"


def _worst(states: Sequence[SourceState]) -> SourceState:
    return "gone" if "gone" in states else "changed" if "changed" in states else "same"


def _source_of(lake: Lake, commit: Commit) -> DamagedSource:
    path = as_path(commit.source_path)
    if commit.parts:
        state = _worst([_state_of(as_path(part.source_path), part.content_hash) for part in commit.parts])
        if state == "same" and commit.content_hash != recording_hash([part.content_hash for part in commit.parts]):
            state = "changed"
        return DamagedSource(commit.source_path, state, path.parent, commit)
    if commit.format == "capture_pair" and not path.exists():
        # The facts of two captures beside a manifest: the folder is ingested again.
        files = [path.with_name(name) for name in path.name.split("+")]
        by_file = [{held.content_hash for held in lake.at_path(str(file))} for file in files]
        same = all(_hash_of(file) in hashes for file, hashes in zip(files, by_file, strict=True) if file.is_file())
        state = "gone" if not all(file.is_file() for file in files) else "same" if same else "changed"
        return DamagedSource(commit.source_path, state, path.parent, commit)
    state = _state_of(path, commit.content_hash)
    if state != "same":
        for copy in lake.live():
            if copy.content_hash == commit.content_hash and copy.source_path != commit.source_path:
                other = as_path(copy.source_path)
                if _state_of(other, commit.content_hash) == "same":
                    return DamagedSource(commit.source_path, "same", other, commit)
    return DamagedSource(commit.source_path, state, path, commit)


def plan_repair(storage: Storage, *, full: bool) -> RepairPlan:
    """Return what is damaged in the lake of a storage, and the state of the sources; nothing is changed.

    ``full``: hashes are compared too.
    """
    unreadable = unreadable_objects(storage)
    lake = Lake(storage, skip=unreadable)
    verification = verify(lake, full=full)
    damaged = {damage.file.path for damage in verification.damages}
    commits = {
        commit.name: commit for place, (_, held) in stored_files(lake).items() if place in damaged for commit in held
    }
    sources = [_source_of(lake, commits[name]) for name in sorted(commits)]
    # Where a live file is missing too: if a commit or pack of another lake names it, the lake's own may be gone.
    if unreadable or verification.missing or any(damage.kind == "missing" for damage in verification.damages):
        sources += _without_commit(lake)
    return RepairPlan(unreadable, verification, tuple(sorted(sources, key=lambda source: source.source_path)))


def _without_commit(lake: Lake) -> list[DamagedSource]:
    """Return the sources of outcomes that no commit names any more, because theirs is missing or cannot be read."""
    live = {(commit.source_path, commit.content_hash) for commit in lake.live()}
    sources = {}
    for path, expected in unnamed_outcomes(lake):
        if (path, expected) not in live and "+" not in Path(path).name:
            source = as_path(path)
            sources[path] = DamagedSource(path, _state_of(source, expected), source, None)
    return list(sources.values())


def _all_can_be_ingested_again(lake: Lake, plan: RepairPlan) -> bool:
    """Return whether as many sources are named by outcomes without a commit as commits are missing or unreadable.

    What a pack that is gone held, or an altered commit, nobody can tell. If nobody can tell either how many commits are
    missing, every source whose facts are left must be named.
    """
    gaps = lake.gaps()
    unreadable_packs = {name for name in plan.unreadable if name.startswith("packs/")}
    packs = {pack_object(gap.name) for gap in gaps if gap.kind == "pack" and gap.name is not None}
    if lake.altered_commits() or packs - unreadable_packs:
        return False
    if lake.ends_unknown and has_facts_of_unknown_sources(lake):
        return False
    # A file of another name, such as a copy, is no commit's.
    unreadable = sum(is_object_name(name) for name in plan.unreadable)
    lost = max(sum(gap.count for gap in gaps if gap.kind == "commit"), unreadable)
    orphaned = [source for source in plan.sources if source.commit is None]
    return len(orphaned) >= lost and all(source.state == "same" for source in orphaned)


def repair(storage: Storage, plan: RepairPlan, *, give_up: bool) -> bool:
    """Set aside what is damaged and can be ingested again; with ``give_up`` also what cannot.

    Returns whether it was done; False if a source that is not named would be lost, and ``give_up`` is not given.
    Unreadable commits and packs go, as nothing can be read with them there, and missing ones are no longer missed: with
    ``give_up`` always, otherwise if what they left names a source for each, and all are there with the same content.

    Raises
    ------
    LakeBusyError
        If another process writes to the lake.
    """
    with storage.held():
        has_orphans = any(source.commit is None for source in plan.sources)
        is_broken = bool(plan.unreadable or plan.verification.missing or has_orphans)
        # Another writer may have changed the lake since the plan was made.
        if is_broken and not give_up and not _all_can_be_ingested_again(Lake(storage, skip=plan.unreadable), plan):
            return False
        for name in plan.unreadable:
            storage.delete(name)
        lake = Lake(storage)
        if lake.missing():
            give_up_missing_commits(lake)
        # What another writer has replaced since the plan was made is not damaged any more.
        live = {commit.name for commit in lake.live()}
        for source in plan.sources:
            if source.commit is not None and source.commit.name in live and (give_up or source.state == "same"):
                _set_aside(lake, source.commit)
        lake.remove_leftovers()
    return True


def _set_aside(lake: Lake, commit: Commit) -> None:
    outcome = Outcome(
        source_path=commit.source_path,
        content_hash=commit.content_hash,
        decoder_version=commit.decoder_version,
        size_bytes=commit.size_bytes,
        modified_ns=commit.modified_ns,
        compression="none",
        format=commit.format,
        status="rejected",
        reason=REASON,
        message="its facts in the lake were damaged and set aside; ingest the file again",
    )
    lake.commit(outcome, (), supersedes=[commit.name])
