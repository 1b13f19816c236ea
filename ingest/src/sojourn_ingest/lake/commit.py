"""A commit: the one small file whose appearance makes a source's facts visible.

Facts become visible by writing one object under a name that is new, never by renaming data: the same
holds on a local disk and on an object store, where a rename is a copy. A commit can replace earlier ones
(a newer decoder, a file that changed); what is live is every commit that no other one replaces, so the
order in which commits are read does not matter.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any, get_origin, get_type_hints

from sojourn_ingest.lake.storage import Kept

FORMAT_VERSION = 1
#: The member that has the SHA-256 of all others; commits of versions that recorded none lack it.
CHECKSUM = "checksum"


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


#: Members that are no part of what a commit says of its source.
UNSAID = ("files", "replaces", "link", "revision")
#: Members that earlier versions did not write.
LATER_MEMBERS = ("sha256", "link", "covers", "revision")


def is_text(value: Any) -> bool:
    """Return whether a value of a document is text."""
    return isinstance(value, str)


def without_later_members(content: Any) -> Any:
    """Return a commit or pack as told by ``asdict``, without members that an earlier version did not write.

    What was written without them so keeps its text, from which the name of a pack is made.
    """
    if isinstance(content, dict):
        members = {name: without_later_members(value) for name, value in content.items()}
        return {name: value for name, value in members.items() if name not in LATER_MEMBERS or value is not None}
    if isinstance(content, list | tuple):
        return [without_later_members(item) for item in content]
    return content


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a commit; ``path`` is relative to the lake.

    ``sha256`` is the hash of its bytes; None if a version wrote it that recorded none.
    """

    table: str
    path: str
    rows: int
    size_bytes: int
    sha256: str | None = None

    @classmethod
    def of(cls, table: str, path: str, rows: int, kept: Kept) -> DataFile:
        """Return the file as the storage has kept it."""
        return cls(table, path, rows, kept.size_bytes, kept.sha256)


@dataclass(frozen=True)
class RecordingPart:
    """One file of a recording that is in several files, with what was read of it."""

    source_path: str
    content_hash: str
    size_bytes: int
    modified_ns: int
    status: str
    reason: str | None
    message: str | None
    records_read: int


@dataclass(frozen=True)
class Link:
    """The place of a commit in the chain of a lake's commits: see `sojourn_ingest.lake.chain`.

    ``number`` counts from 1. ``previous`` is the name of the commit before, and ``previous_checksum`` the SHA-256 of
    what it says; both are None for the first.
    """

    number: int
    previous: str | None
    previous_checksum: str | None

    @property
    def is_place(self) -> bool:
        """Whether its members have the types that a place in the chain has: it is read from a document."""
        texts = (self.previous, self.previous_checksum)
        return type(self.number) is int and self.number > 0 and all(text is None or is_text(text) for text in texts)


@dataclass(frozen=True)
class Commit:
    """The facts of one content (or, of a duplicate or rejected one, just its outcome).

    ``subject`` names what the facts are about where there can be only one such source, such as the description
    of a study: a later one replaces it, from any path. ``parts`` are the files of a recording in several
    files; their outcomes are in this commit too. ``revision`` is higher than that of facts of the same path that stay
    because another path has their content; None where there are none.
    """

    source_path: str
    content_hash: str
    decoder_version: str
    size_bytes: int
    modified_ns: int
    format: str | None
    status: str
    holds_facts: bool
    reason: str | None
    message: str | None
    records_read: int
    files: tuple[DataFile, ...]
    subject: str | None = None
    duplicate_of: str | None = None
    replaces: tuple[str, ...] = ()
    parts: tuple[RecordingPart, ...] = ()
    link: Link | None = None
    revision: int | None = None

    def of_part(self, source_path: str) -> Commit | None:
        """Return the outcome of one of this commit's parts, as a commit without facts; ``None`` if it lacks it."""
        part = next((part for part in self.parts if part.source_path == source_path), None)
        if part is None:
            return None
        return replace(
            self, **asdict(part), format="capture", holds_facts=False, files=(), subject=None, duplicate_of=None,
            replaces=(), parts=(), link=None, revision=None,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Name of the commit: one path with one content as one decoder version saw it, after what it replaces.

        What it replaces is part of the name, so that a file which changes and later changes back gets a new
        commit and not that of the one replaced before.
        """
        text = "\0".join((self.source_path, self.content_hash, self.decoder_version, *self.replaces))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def statement(self) -> str:
        """Return what the commit says of its source and how many rows it has in each table, as JSON.

        Where the rows are, what the commit replaced and what came before it is left out: it differs between lakes with
        the same facts.
        """
        # Not asdict, which copies what it tells: each build asks this of every commit, several times.
        said = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in UNSAID}
        said["parts"] = [asdict(part) for part in self.parts]
        said["rows"] = sorted((file.table, file.rows) for file in self.files)
        return json.dumps(said, sort_keys=True)

    def _content(self) -> dict[str, Any]:
        return {"version": FORMAT_VERSION, **without_later_members(asdict(self))}

    def checksum(self) -> str:
        """Return the SHA-256 of what the commit says, by which the next one knows it."""
        return _checksum(self._content())

    def to_json(self) -> str:
        """Return the commit as JSON."""
        content = self._content()
        return json.dumps({**content, CHECKSUM: _checksum(content)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Commit:
        """Return the commit that ``text`` holds.

        Raises
        ------
        ValueError
            If the text is not a commit of a version this release reads, or was altered.
        """
        try:
            content = json.loads(text)
        except RecursionError as error:
            raise ValueError("its values are nested too deeply") from error
        checksum = content.pop(CHECKSUM, None) if isinstance(content, dict) else None
        if checksum is not None and checksum != _checksum(content):
            raise ValueError("its content was altered")
        version = content.pop("version", None) if isinstance(content, dict) else None
        if version != FORMAT_VERSION:
            raise ValueError(f"commit version {version!r}; this release reads version {FORMAT_VERSION}")
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Commit:
        """Return the commit of a parsed one, as `dataclasses.asdict` gives it.

        Raises
        ------
        ValueError
            If it is not a commit.
        """
        try:
            content["files"] = tuple(DataFile(**item) for item in content["files"])
            content["replaces"] = tuple(content["replaces"])
            if (link := content.get("link")) is not None:
                content["link"] = Link(**link)
            content["parts"] = tuple(RecordingPart(**part) for part in content.get("parts", ()))
            commit = cls(**content)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a commit: {error}") from error
        items: tuple[Commit | DataFile | RecordingPart, ...] = (commit, *commit.files, *commit.parts)
        has_types = all(map(_has_types, items)) and all(map(is_text, commit.replaces))
        if not has_types or not (commit.link is None or commit.link.is_place):
            raise ValueError("not a commit: a member has another type")
        return commit


def _types_of_members(kind: type) -> list[tuple[str, Any]]:
    # A tuple is checked as one; what is in it, by itself.
    return [
        (name, get_origin(hint) if get_origin(hint) is tuple else hint) for name, hint in get_type_hints(kind).items()
    ]


_TYPES = {kind: _types_of_members(kind) for kind in (Commit, DataFile, RecordingPart)}


def _has_types(item: Commit | DataFile | RecordingPart) -> bool:
    """Return whether the members of what was read from a document have the types that they are declared with."""
    return all(isinstance(getattr(item, name), kind) for name, kind in _TYPES[type(item)])
