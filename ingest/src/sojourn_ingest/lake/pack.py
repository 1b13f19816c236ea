"""A pack: many commits in one object, and the larger files into which their facts were put together.

A pack changes where facts are, never which facts there are: the commits in it keep their names, so the live commits
and the fingerprint of the lake stay the same. When a commit in a pack is replaced later, its rows in a shared file
are hidden from readers until the next compaction omits them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from sojourn_ingest.lake.commit import Commit, DataFile, is_text, without_later_members

FORMAT_VERSION = 1


def _name_of(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]


@dataclass(frozen=True)
class Part:
    """What one file of one commit became: rows of a shared file, distinguished by their source."""

    path: str
    source_path: str
    content_hash: str
    decoder_version: str


@dataclass(frozen=True)
class SharedFile:
    """One Parquet file that holds the facts of many commits."""

    file: DataFile
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Pack:
    """Commits, the shared files they have facts in, and the packs that this one replaces.

    ``covers`` is the number in the chain up to which it has taken over every commit; see `sojourn_ingest.lake.chain`.
    """

    commits: tuple[Commit, ...]
    shared: tuple[SharedFile, ...]
    replaces: tuple[str, ...] = ()
    covers: int | None = None

    @cached_property
    def name(self) -> str:
        """Name of the pack: the hash of all that it says, which is every commit in it."""
        return _name_of(self._text().encode())

    def _text(self) -> str:
        return json.dumps({"version": FORMAT_VERSION, **without_later_members(asdict(self))}, sort_keys=True)

    def to_bytes(self) -> bytes:
        """Return the pack as compressed JSON, the same bytes each time."""
        return gzip.compress(self._text().encode(), mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> Pack:
        """Return the pack that ``content`` holds.

        Raises
        ------
        ValueError
            If it is not a pack of a version this release reads.
        """
        try:
            text = gzip.decompress(content)
            document = json.loads(text)
            version = document.pop("version")
            if version != FORMAT_VERSION:
                raise ValueError(f"pack version {version!r}; this release reads version {FORMAT_VERSION}")
            shared = tuple(
                SharedFile(DataFile(**item["file"]), tuple(Part(**part) for part in item["parts"]))
                for item in document["shared"]
            )
            pack = cls(
                tuple(map(Commit.from_dict, document["commits"])),
                shared,
                tuple(document["replaces"]),
                document.get("covers"),
            )
        except (KeyError, TypeError, AttributeError, EOFError, OSError, RecursionError, zlib.error) as error:
            raise ValueError(f"not a pack: {error}") from error
        if not all(map(is_text, pack.replaces)) or not (pack.covers is None or type(pack.covers) is int):
            raise ValueError("not a pack: a member has another type")
        # The text is there: it need not be told again, and is named as the version named it that wrote it.
        pack.__dict__["name"] = _name_of(text)
        return pack


def outcome_pack(commits: Sequence[Commit], outcomes: DataFile) -> Pack:
    """Return the pack of commits without facts, whose outcomes are the rows of one file, one of each commit.

    It takes over no other commit, but there is a chain where it is. Each commit names a file of its own, as if a
    compaction had put these together.
    """
    size_bytes = outcomes.size_bytes // len(commits)
    named = [
        replace(one, files=(DataFile(outcomes.table, f"data/{outcomes.table}/{one.name}.parquet", 1, size_bytes),))
        for one in commits
    ]
    parts = (Part(one.files[0].path, one.source_path, one.content_hash, one.decoder_version) for one in named)
    return Pack(tuple(named), (SharedFile(outcomes, tuple(parts)),), covers=0)
