"""The commits that no other one replaces, found by name, path, content and part; and what a new one replaces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

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
        return [one for one in commits if (one.revision or 0) == self._revision_of(source_path)]

    def _revision_of(self, source_path: str) -> int:
        return max((one.revision or 0 for one in self.at_path(source_path)), default=0)

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

    def is_read_where_it_is(self, content_hash: str) -> bool:
        """Return whether facts of a content are those of a path that has it, and not of one that had it."""
        return any(holder in self.current_at(holder.source_path) for holder in self.holding_facts(content_hash))

    def copies_without_facts(self) -> list[Commit]:
        """Return, by name, the commits of copies whose content has no facts, or only those of a path that had it."""
        copies = (commit for commit in self.all() if commit.duplicate_of is not None)
        return [copy for copy in copies if not self.is_read_where_it_is(copy.content_hash)]

    def recording_with(self, source_path: str) -> Commit | None:
        """Return the commit of the recording that a file is a part of."""
        names = sorted(self._names_by_part[f"path {source_path}"])
        return self._commits[names[0]] if names else None

    def in_its_place(self, draft: Commit, superseded: set[str]) -> Commit:
        """Return a new commit with the names of what it replaces, those of ``superseded`` among them.

        These are what the same path held, what another version made of the same content, another source of the
        same subject, and facts that no path has any more.
        """
        at_path = self._names_by_path[draft.source_path]
        same_content = {
            name
            for name in self._names_by_content[draft.content_hash]
            if draft.holds_facts and self._commits[name].holds_facts
        }
        same_subject: set[str] = set()
        if draft.subject is not None:
            same_subject = {name for name, commit in self._commits.items() if commit.subject == draft.subject}
        gone = same_content | same_subject | superseded
        gone |= {name for name in at_path - gone if not (self._commits[name].holds_facts and self._copies(name))}
        gone |= self._left_without_path(draft, gone)
        revision = self._revision_of(draft.source_path) + 1 if at_path - gone else None
        return replace(draft, replaces=tuple(sorted(gone)), revision=revision)

    def _left_without_path(self, draft: Commit, gone: set[str]) -> set[str]:
        """Return facts that stayed for another path, the last one of which now has another content."""
        contents = {self._commits[name].content_hash for name in gone}
        if draft.duplicate_of is not None:
            contents.discard(draft.content_hash)
        holders = {
            name
            for content in contents
            for name in self._names_by_content[content] - gone
            if self._commits[name].holds_facts and self._copies(name) <= gone
        }
        return {name for name in holders if not self._is_current(self._commits[name], draft)}

    def _is_current(self, commit: Commit, draft: Commit) -> bool:
        return commit.source_path != draft.source_path and commit in self.current_at(commit.source_path)

    def _copies(self, name: str) -> set[str]:
        """Return the commits of other paths that have the content of a commit as copies."""
        content = self._names_by_content[self._commits[name].content_hash]
        return {other for other in content if self._commits[other].duplicate_of is not None}
