"""The commits that no other one replaces, found by name, path, content and part; and what a new one replaces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from sojourn_ingest.lake.commit import Commit


def _part_keys(commit: Commit) -> Iterator[str]:
    for part in commit.parts:
        yield f"path {part.source_path}"
        yield f"content {part.content_hash}"


class LiveCommits:
    """An index in memory. It is not safe for several threads: the lake holds its lock around each call."""

    def __init__(self, commits: Iterable[Commit] = ()) -> None:
        self._commits: dict[str, Commit] = {}
        self._names_by_path: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_content: defaultdict[str, set[str]] = defaultdict(set)
        self._names_by_part: defaultdict[str, set[str]] = defaultdict(set)
        for commit in commits:
            self.add(commit)

    def __contains__(self, name: str) -> bool:
        return name in self._commits

    def add(self, commit: Commit) -> None:
        """Take in a commit."""
        self._commits[commit.name] = commit
        self._names_by_path[commit.source_path].add(commit.name)
        self._names_by_content[commit.content_hash].add(commit.name)
        for key in _part_keys(commit):
            self._names_by_part[key].add(commit.name)

    def remove(self, name: str) -> None:
        """Take out a commit, if it is there."""
        commit = self._commits.pop(name, None)
        if commit is None:
            return
        self._names_by_path[commit.source_path].discard(name)
        self._names_by_content[commit.content_hash].discard(name)
        for key in _part_keys(commit):
            self._names_by_part[key].discard(name)

    def all(self) -> list[Commit]:
        """Return the commits, by name."""
        return [self._commits[name] for name in sorted(self._commits)]

    def named(self, name: str) -> Commit:
        """Return the commit of a name; raises KeyError if there is none."""
        return self._commits[name]

    def at_path(self, source_path: str) -> list[Commit]:
        """Return the commits of one path, by name."""
        return [self._commits[name] for name in sorted(self._names_by_path[source_path])]

    def current_at(self, source_path: str) -> list[Commit]:
        """Return the commits of what a path has, without facts that stay only for another path with their content."""
        commits = self.at_path(source_path)
        return [one for one in commits if not self._holds_facts_for_another_path(one.name)] or commits

    def facts_of(self, content_hash: str, decoder_version: str) -> Commit | None:
        """Return the commit that holds the facts of a content as one version decoded them."""
        for name in sorted(self._names_by_content[content_hash]):
            commit = self._commits[name]
            if commit.holds_facts and commit.decoder_version == decoder_version:
                return commit
        return None

    def holding_facts(self, content_hash: str) -> list[Commit]:
        """Return, by name, the commits with facts of a content, of any version, as a source or a part of one."""
        alone = {name for name in self._names_by_content[content_hash] if self._commits[name].holds_facts}
        return [self._commits[name] for name in sorted(alone | self._names_by_part[f"content {content_hash}"])]

    def recording_with(self, source_path: str) -> Commit | None:
        """Return the commit of the recording that a file is a part of."""
        names = sorted(self._names_by_part[f"path {source_path}"])
        return self._commits[names[0]] if names else None

    def replaced_by(self, draft: Commit, superseded: set[str]) -> tuple[str, ...]:
        """Return the names of the commits that a new one replaces, those of ``superseded`` among them.

        These are what the same path held, what another version made of the same content, another source of the
        same subject, and facts that no path has any more.
        """
        same_content = {
            name
            for name in self._names_by_content[draft.content_hash]
            if draft.holds_facts and self._commits[name].holds_facts
        }
        same_path = {
            name for name in self._names_by_path[draft.source_path] if not self._holds_facts_for_another_path(name)
        }
        same_subject: set[str] = set()
        if draft.subject is not None:
            same_subject = {name for name, commit in self._commits.items() if commit.subject == draft.subject}
        gone = same_content | same_path | same_subject | superseded
        return tuple(sorted(gone | self._left_without_path(draft, gone)))

    def _left_without_path(self, draft: Commit, gone: set[str]) -> set[str]:
        # If a path's content changes, its facts stay as long as another path has that content.
        left: set[str] = set()
        for name in gone:
            if self._commits[name].holds_facts:
                continue
            content = self._names_by_content[self._commits[name].content_hash]
            others = [self._commits[other] for other in content - gone]
            if len(others) != 1 or others[0].content_hash == draft.content_hash:
                continue
            holder = others[0]
            at_its_path = self._names_by_path[holder.source_path] - gone - {holder.name}
            if holder.holds_facts and at_its_path:
                left.add(holder.name)
        return left

    def _holds_facts_for_another_path(self, name: str) -> bool:
        commit = self._commits[name]
        return commit.holds_facts and any(
            self._commits[other].source_path != commit.source_path
            for other in self._names_by_content[commit.content_hash]
        )
