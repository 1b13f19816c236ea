"""Forgetting hosts: which rows of the lake name them, and the commits without those rows.

A commit is rewritten whole or not at all: the new one replaces the old one at the moment it appears, and the old files
are removed right after. Were the process killed in between, the next writer removes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.durability import flush
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.purge import (
    FLOW,
    FLOW_KEY,
    Selection,
    belongs_to_flow,
    count_rows,
    host_key_columns,
    of_flows,
    of_hosts,
    rewrite_without,
    selected_flows,
)

REASON = "forgotten_host"
OUTCOMES = "ingest_outcome"


@dataclass(frozen=True)
class Forgetting:
    """What of one commit names the hosts: the files to rewrite, each with its selection, and the rows that go."""

    commit: Commit
    selections: dict[str, Selection]
    rows: Counter[str]


def find(lake: Lake, host_keys: Collection[str]) -> list[Forgetting]:
    """Return what of each live commit names one of the hosts; nothing is changed."""
    found = [_find_in(lake.root, commit, host_keys) for commit in lake.live() if commit.holds_facts]
    return [one for one in found if one.rows]


def _find_in(root: Path, commit: Commit, host_keys: Collection[str]) -> Forgetting:
    selections: dict[str, Selection] = {}
    rows: Counter[str] = Counter()
    flows: set[int] = set()
    for file in commit.files:
        columns = host_key_columns(file.table)
        if not columns:
            continue
        select = of_hosts(file.table, host_keys)
        count = count_rows(root / file.path, columns, select)
        if count:
            selections[file.path] = select
            rows[file.table] += count
            if file.table == FLOW:
                flows |= selected_flows(root / file.path, select)
    for file in commit.files:
        if flows and belongs_to_flow(file.table):
            count = count_rows(root / file.path, [FLOW_KEY], of_flows(flows))
            if count:
                selections[file.path] = of_flows(flows)
                rows[file.table] += count
    return Forgetting(commit, selections, rows)


def forget(lake: Lake, found: Forgetting) -> Commit:
    """Replace a commit by one without the rows that were found; use within ``lake.writing()``."""
    commit = replace(found.commit, replaces=(found.commit.name,))
    files: list[DataFile] = []
    for file in found.commit.files:
        source = lake.root / file.path
        if file.table == OUTCOMES:
            files.append(_rewritten_outcome(lake.root, source, commit.name, found.rows.total()))
        elif file.path in found.selections:
            target = source.with_name(f"{found.commit.content_hash[:24]}-{commit.name}.parquet")
            rows = rewrite_without(source, target, found.selections[file.path])
            if rows:
                files.append(_data_file(lake.root, file.table, target, rows))
        else:
            files.append(file)
    # holds_facts stays, also where no row is left: the content was read, and is not to be read again.
    return lake.replace_commit(replace(commit, files=tuple(files)))


def _rewritten_outcome(root: Path, source: Path, name: str, gone: int) -> DataFile:
    table = pq.read_table(source)
    row = table.to_pylist()[0]
    refused = json.loads(row["refused_by_reason"])
    refused[REASON] = refused.get(REASON, 0) + gone
    row |= {"refused_by_reason": json.dumps(refused, sort_keys=True), "records_refused": row["records_refused"] + gone}
    target = source.with_name(f"{name}.parquet")
    pq.write_table(pa.Table.from_pylist([row], schema=table.schema), target, compression="zstd")
    flush(target)
    return _data_file(root, OUTCOMES, target, 1)


def _data_file(root: Path, table: str, path: Path, rows: int) -> DataFile:
    return DataFile(table, str(path.relative_to(root)), rows, path.stat().st_size)
