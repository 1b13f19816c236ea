"""Forgetting hosts: which rows of the lake name them, and the commits without those rows.

A commit is rewritten whole or not at all: the new one replaces the old one at the moment it appears. Where its facts
was in a file shared with other commits, a new pack then names that file without the rows of the old commit. What
nothing names any more is removed at the end; were the process killed before, the next writer removes it.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.pack import SharedFile
from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.lake.purge import (
    FLOW,
    FLOW_KEY,
    Selection,
    belongs_to_flow,
    both,
    either,
    naming_columns,
    neither,
    of_flows,
    of_hosts,
    of_source,
    rewrite_without,
    selected_values,
)
from sojourn_ingest.lake.stored_commits import LakeDamagedError, maintenance_command
from sojourn_ingest.lake.verification import check_files, shared_files

REASON = "forgotten_host"
OUTCOMES = "ingest_outcome"
SOURCE_COLUMNS = ("source_hash", "decoder_version")


@dataclass(frozen=True)
class Forgetting:
    """What of one commit names the hosts: the rows that go, by file, and how many of each table."""

    commit: Commit
    selections: dict[str, Selection]
    rows: Counter[str]


def find(lake: Lake, host_keys: Collection[str]) -> list[Forgetting]:
    """Return what of each live commit names one of the hosts; nothing is changed.

    Raises
    ------
    LakeDamagedError
        If a file that may name one cannot be read.
    """
    forgettings = [_find_in(lake, commit, host_keys) for commit in lake.live() if commit.holds_facts]
    return [one for one in forgettings if one.rows]


def _of(commit: Commit, file: DataFile) -> Selection:
    path = commit.source_path if file.table == OUTCOMES else None
    return of_source(commit.content_hash, commit.decoder_version, path)


def _find_in(lake: Lake, commit: Commit, host_keys: Collection[str]) -> Forgetting:
    selections: dict[str, Selection] = {}
    rows: Counter[str] = Counter()
    flows: set[int] = set()
    for file in commit.files:
        names = naming_columns(file.table)
        if names:
            select = both(_of(commit, file), of_hosts(file.table, host_keys))
            wanted = FLOW_KEY if file.table == FLOW else names[0]
            values = _values_in(lake, file, {*SOURCE_COLUMNS, *names}, select, wanted)
            if values:
                selections[file.path] = select
                rows[file.table] += len(values)
                flows |= set(values) if file.table == FLOW else set()
    for file in commit.files:
        if flows and belongs_to_flow(file.table):
            select = both(_of(commit, file), of_flows(flows))
            values = _values_in(lake, file, SOURCE_COLUMNS, select, FLOW_KEY)
            if values:
                selections[file.path] = select
                rows[file.table] += len(values)
    return Forgetting(commit, selections, rows)


def _values_in(lake: Lake, file: DataFile, columns: Collection[str], select: Selection, wanted: str) -> list[Any]:
    place = lake.place_of(file)
    try:
        return selected_values(lake.storage.local(place), columns, select, wanted)
    except (OSError, pa.ArrowException) as error:
        uri, reason = lake.storage.uri, (str(error) or type(error).__name__).splitlines()[0]
        raise LakeDamagedError(
            f"{uri}/{place} cannot be read ({reason}); run {maintenance_command('verify', uri)}"
        ) from error


def forget(lake: Lake, forgettings: Collection[Forgetting]) -> None:
    """Replace each commit by one without the rows that were found; use within ``lake.writing()``."""
    for one in forgettings:
        lake.replace_commit(_without(lake, one))
    _rewrite_shared(lake)
    lake.remove_leftovers()


def _without(lake: Lake, forgetting: Forgetting) -> Commit:
    commit = replace(forgetting.commit, replaces=(forgetting.commit.name,))
    files: list[DataFile] = []
    stored = shared_files(lake)
    # A large source has several files of a table, written by several tasks.
    for place, file in enumerate(forgetting.commit.files):
        path = f"data/{file.table}/{forgetting.commit.content_hash[:24]}-{commit.name}-{place}.parquet"
        source, of_commit = lake.storage.local(lake.place_of(file)), _of(forgetting.commit, file)
        rewritten = file.table == OUTCOMES or file.path in forgetting.selections or lake.place_of(file) != file.path
        if rewritten:
            check_files(lake.storage, [stored.get(lake.place_of(file), file)], {file.path: [commit.source_path]})
        draft = lake.storage.draft(path)
        if file.table == OUTCOMES:
            rows = _rewrite_outcomes(source, draft, forgetting)
        elif file.path not in forgetting.selections and lake.place_of(file) == file.path:
            files.append(file)
            continue
        else:
            gone = forgetting.selections.get(file.path)
            others = neither(of_commit)
            rows = rewrite_without(source, draft, others if gone is None else either(others, gone))
        if rows:
            files.append(DataFile.of(file.table, path, rows, lake.storage.keep(path, draft)))
        else:
            lake.storage.discard(path, draft)
    # holds_facts stays, even if no row is left: the content was read, and is not to be read again.
    return replace(commit, files=tuple(files))


def _rewrite_outcomes(source: Path, draft: Path, forgetting: Forgetting) -> int:
    """Write the commit's own outcome, with the removed rows counted as refused, and those of its parts unchanged."""
    table, commit = pq.read_table(source), forgetting.commit
    row = table.filter(of_source(commit.content_hash, commit.decoder_version, commit.source_path)(table)).to_pylist()[0]
    refused, gone = json.loads(row["refused_by_reason"]), forgetting.rows.total()
    refused[REASON] = refused.get(REASON, 0) + gone
    row |= {"refused_by_reason": json.dumps(refused, sort_keys=True), "records_refused": row["records_refused"] + gone}
    kept = [pa.Table.from_pylist([row], schema=table.schema)]
    for part in commit.parts:
        of_part = of_source(part.content_hash, commit.decoder_version, part.source_path)
        kept.append(table.filter(of_part(table)))
    outcomes = pa.concat_tables(kept)
    with parquet_writer(draft, outcomes.schema, compression="zstd") as writer:
        writer.write_table(outcomes)
    return int(outcomes.num_rows)


def _rewrite_shared(lake: Lake) -> None:
    """Leave the rows of commits that are no longer live out of the files they share with others."""
    live = {file.path for commit in lake.live() for file in commit.files}
    for pack in lake.packs():
        kept = tuple(_shared_without(lake, shared, live) for shared in pack.shared)
        if kept != pack.shared:
            lake.publish_pack(replace(pack, shared=kept, replaces=(*pack.replaces, pack.name)))


def _shared_without(lake: Lake, shared: SharedFile, live: set[str]) -> SharedFile:
    parts = tuple(part for part in shared.parts if part.path in live)
    if len(parts) == len(shared.parts) or not parts:
        # No live commit names a file without any live part: it is removed as a whole.
        return shared
    outcomes = shared.file.table == OUTCOMES
    gone: Selection | None = None
    for part in shared.parts:
        if part not in parts:
            select = of_source(part.content_hash, part.decoder_version, part.source_path if outcomes else None)
            gone = select if gone is None else either(gone, select)
    path = f"data/{shared.file.table}/shared-{uuid.uuid4().hex[:24]}.parquet"
    check_files(lake.storage, [shared.file], {shared.file.path: [parts[0].source_path]})
    draft = lake.storage.draft(path)
    assert gone is not None
    rows = rewrite_without(lake.storage.local(shared.file.path), draft, gone)
    return SharedFile(DataFile.of(shared.file.table, path, rows, lake.storage.keep(path, draft)), parts)
