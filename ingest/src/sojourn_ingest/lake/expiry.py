"""Expiry: the facts of old or named sources are removed, and their outcomes stay on record."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.schema import TABLES

EXPIRED = "expired"


@dataclass(frozen=True)
class Expiry:
    """Facts of one commit that would be removed."""

    commit: Commit
    tables: tuple[str, ...]
    rows: int


def plan_expiry(
    lake: Lake, tables: Iterable[str], *, before_ns: int | None = None, sources: Collection[str] = ()
) -> list[Expiry]:
    """Return the facts of some tables, of sources that were last modified before a time and that are named.

    The time is in nanoseconds since 1970; without it, or without names, that is no condition. A name is the path of a
    file, or of a folder with all files in it; a capture, or a part of one, takes its pair with it.
    """
    wanted = set(tables)
    expired = []
    named = {commit.source_path for commit in lake.live() if _is_of(commit, sources)}
    for commit in lake.live():
        files = [file for file in commit.files if file.table in wanted]
        is_old = before_ns is None or commit.modified_ns < before_ns
        if files and is_old and (not sources or commit.source_path in named or _is_pair_of(commit, named)):
            names = tuple(sorted({file.table for file in files}))
            expired.append(Expiry(commit, names, sum(file.rows for file in files)))
    return expired


def _is_of(commit: Commit, sources: Collection[str]) -> bool:
    paths = [commit.source_path, *(part.source_path for part in commit.parts)]
    return any(path == source or path.startswith(f"{source}/") for path in paths for source in sources)


def _is_pair_of(commit: Commit, paths: Collection[str]) -> bool:
    """Return whether a commit is of a pair of captures one of which has one of some paths."""
    folder, _, name = commit.source_path.rpartition("/")
    at = [place for place, character in enumerate(name) if character == "+" and commit.format == "capture_pair"]
    return any(f"{folder}/{capture}" in paths for place in at for capture in (name[:place], name[place + 1 :]))


def expire(lake: Lake, expiry: Expiry, now: datetime | None = None) -> Commit:
    """Remove the facts of one commit from the tables; the lake is held for writing.

    The attempt and its outcome stay on record, with the reason ``expired``, so that another ingest of the same file
    does not bring the facts back.
    """
    on = (now or datetime.now(UTC)).strftime("%Y-%m-%d")
    message = f"rows of {', '.join(expiry.tables)} were removed on {on}"
    kept = tuple(
        file for file in expiry.commit.files if file.table not in expiry.tables and file.table != "ingest_outcome"
    )
    draft = replace(
        expiry.commit,
        # holds_facts stays, even if no row is left: the content was read, and is not to be read again.
        files=kept,
        reason=expiry.commit.reason or EXPIRED,
        message=f"{expiry.commit.message}; {message}" if expiry.commit.message else message,
        replaces=(expiry.commit.name,),
    )
    return _replace_with_reason(lake, expiry.commit, draft)


def _replace_with_reason(lake: Lake, old: Commit, new: Commit) -> Commit:
    """Make ``new`` visible in place of ``old``, with the same outcomes but for its own reason and message."""
    kept = next(file for file in old.files if file.table == "ingest_outcome")
    contents = {(old.source_path, old.content_hash), *((part.source_path, part.content_hash) for part in old.parts)}
    rows = [
        row
        for row in pq.read_table(lake.storage.local(lake.place_of(kept))).to_pylist()
        if (row["source_path"], row["content_hash"]) in contents and row["decoder_version"] == old.decoder_version
    ]
    for row in rows:
        if row["source_path"] == old.source_path:
            row |= {"reason": new.reason, "message": new.message}
    table = pa.Table.from_pylist(rows, schema=TABLES["ingest_outcome"].arrow_schema())
    commit = replace(new, files=(*new.files, lake.write_outcomes(new.name, table)))
    lake.replace_commit(commit)
    return commit
