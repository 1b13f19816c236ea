"""Compaction: small files of a table are put together, and rows that no commit names any more are left out.

It only ever makes new objects visible by one conditional write, so a kill at any moment leaves the lake as it was
or as it should be, with leftovers that the next writer removes. Files that have been put together are removed at once,
or, where a build reads the lake, by the next writer after it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from sojourn_ingest import named_points
from sojourn_ingest.file_sizes import SMALL_BYTES, TARGET_BYTES
from sojourn_ingest.lake.commit import Commit, DataFile
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.live_rows_sql import rows_sql
from sojourn_ingest.lake.pack import Pack, Part, SharedFile
from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.lake.storage import Storage
from sojourn_ingest.lake.verification import check_files, stored_files
from sojourn_ingest.memory import duckdb_memory
from sojourn_ingest.schema import TABLES, Table, table
from sojourn_process.own_folder import own_folder

MEMORY_BYTES = 2 * 2**30
"""Most memory of a sort, which spills beyond it."""

MOST_FILES = 2_000
"""Files that become one at a time: DuckDB holds the footers of all, of a wide table a quarter of a MiB for each."""

ROW_GROUP_ROWS = 122_880
"""Rows of a row group: DuckDB's own, and small enough that the bounds of its columns skip much."""

#: Columns that readers filter by, where they are not the key's. Rows are sorted by them, so row groups can be skipped.
FILTER_COLUMNS: dict[str, tuple[str, ...]] = {
    "ingest_outcome": ("source_path",),
    "connection": ("dataset", "start_ns", "source_hash", "connection_number"),
}


class CompactionError(RuntimeError):
    """A compaction stopped before it changed anything; the message says why."""


@dataclass(frozen=True)
class Group:
    """Files of one table that become one: their names, and by name the rows to leave out."""

    table: str
    names: tuple[str, ...]
    hidden: dict[str, tuple[Part, ...]]
    rows: int
    size_bytes: int
    #: The files as commits and packs recorded them, and the path of a source of each, to tell one that is damaged.
    files: tuple[DataFile, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompactionPlan:
    """What a compaction would do."""

    groups: tuple[Group, ...]
    loose_commits: int

    @property
    def is_first_of_several(self) -> bool:
        """Whether what it makes is to be put together once more: there are more files than are taken at a time."""
        return any(len(group.names) == MOST_FILES for group in self.groups)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to gain."""
        return not self.groups and self.loose_commits <= 1


def sort_columns(declared: Table) -> tuple[str, ...]:
    """Return the columns by which the rows of a table are sorted."""
    if declared.name in FILTER_COLUMNS:
        return FILTER_COLUMNS[declared.name]
    names = [column.name for column in declared.columns]
    return tuple(dict.fromkeys(name for name in ("source_hash", *declared.key) if name in names))


def _sizes(lake: Lake, name: str) -> dict[str, tuple[int, int]]:
    """Return live rows and bytes of each file of a table."""
    shared = {item.file.path: item for pack in lake.packs() for item in pack.shared}
    sizes: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for commit in lake.live():
        for file in commit.files:
            if file.table == name:
                place = lake.place_of(file)
                sizes[place][0] += file.rows
                sizes[place][1] = shared[place].file.size_bytes if place in shared else file.size_bytes
    return {place: (rows, size) for place, (rows, size) in sizes.items()}


def plan_compaction(lake: Lake, small_bytes: int = SMALL_BYTES, target_bytes: int = TARGET_BYTES) -> CompactionPlan:
    """Return which files would be put together: small ones, and those in which rows are hidden."""
    groups = []
    stored = stored_files(lake)
    for name in TABLES:
        hidden = lake.hidden(name)
        sizes = _sizes(lake, name)
        wanted = [place for place in sorted(sizes) if sizes[place][1] < small_bytes or place in hidden]
        group: list[str] = []
        size_bytes = 0
        for place in wanted:
            if group and (size_bytes + sizes[place][1] > target_bytes or len(group) == MOST_FILES):
                groups.append(_group(name, group, hidden, sizes, stored))
                group, size_bytes = [], 0
            group.append(place)
            size_bytes += sizes[place][1]
        if group:
            groups.append(_group(name, group, hidden, sizes, stored))
    useful = tuple(group for group in groups if len(group.names) > 1 or group.hidden)
    packed = {commit.name for pack in lake.packs() for commit in pack.commits}
    return CompactionPlan(useful, sum(commit.name not in packed for commit in lake.live()))


def _group(
    name: str,
    places: list[str],
    hidden: dict[str, tuple[Part, ...]],
    sizes: dict[str, tuple[int, int]],
    stored: dict[str, tuple[DataFile, tuple[Commit, ...]]],
) -> Group:
    return Group(
        name,
        tuple(places),
        {place: hidden[place] for place in places if place in hidden},
        sum(sizes[place][0] for place in places),
        sum(sizes[place][1] for place in places),
        tuple(stored[place][0] for place in places),
        tuple(stored[place][1][0].source_path for place in places),
    )


def write_group(storage: Storage, group: Group) -> DataFile:
    """Write the live rows of a group's files as one sorted file, under a name of this attempt only.

    Raises
    ------
    CompactionError
        If the files do not hold the rows that their commits promise.
    LakeDamagedError
        If one of them is missing, torn or altered.
    """
    sources = {file.path: (source,) for file, source in zip(group.files, group.sources, strict=True)}
    check_files(storage, group.files, sources)
    declared = table(group.table)
    whole = [storage.local(name) for name in group.names if name not in group.hidden]
    partly = {storage.local(name): parts for name, parts in group.hidden.items()}
    name = f"data/{group.table}/compacted-{uuid.uuid4().hex}.parquet"
    draft = storage.draft(name)
    try:
        _write_sorted(declared, rows_sql(declared, whole, partly), draft, group.rows)
    except BaseException:
        storage.discard(name, draft)
        raise
    return DataFile.of(group.table, name, group.rows, storage.keep(name, draft))


def _write_sorted(declared: Table, statement: str, path: Path, promised_rows: int) -> None:
    schema = declared.arrow_schema()
    order = ", ".join(f'"{column}" nulls first' for column in sort_columns(declared))
    rows = 0
    with own_folder("sojourn-sort-") as spill, duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{duckdb_memory(most=MEMORY_BYTES)}'")
        connection.execute("set temp_directory = $1", [str(spill)])
        selected = connection.sql(f"{statement} order by {order}")
        with parquet_writer(path, schema, compression="zstd") as writer:
            for batch in selected.to_arrow_reader(ROW_GROUP_ROWS):
                rows += batch.num_rows
                named_points.reach("compaction.writing", path)
                writer.write_table(_as_declared(batch, schema), row_group_size=ROW_GROUP_ROWS)
    if rows != promised_rows:
        what = f"{rows:,} rows in files whose commits promise {promised_rows:,}"
        raise CompactionError(f"table {declared.name}: {what}")


def _as_declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    for column in schema:
        if not column.nullable and batch.column(column.name).null_count:
            what = f"column {column.name} is never null, and older files lack it"
            raise CompactionError(f"{what}: ingest their sources again with this version first")
    return pa.Table.from_batches([batch]).cast(schema)


#: Writes the file of each group, in their order: in this process, or in the tasks of a cluster.
WriteGroups = Callable[[Lake, Sequence[Group]], list[DataFile]]


def write_groups_here(
    lake: Lake, groups: Sequence[Group], on_step: Callable[[str], None] = lambda _: None
) -> list[DataFile]:
    """Write each group's file in this process, one after the other: each sort uses every core.

    ``on_step`` is called with a short text of what is being written.
    """
    files = []
    for group in groups:
        on_step(f"{group.table}: {len(group.names):,} files")
        files.append(write_group(lake.storage, group))
    return files


def compact(lake: Lake, plan: CompactionPlan, write: WriteGroups = write_groups_here) -> Pack:
    """Put the files of each group of a plan together; the lake is held for writing.

    The commits stay what they are, so the fingerprint of the lake, and with it the id of the next build, does too.

    Raises
    ------
    CompactionError
        If files do not hold the rows that their commits promise.
    """
    files = write(lake, plan.groups)
    named_points.reach("compaction.written")
    place_to_file = {name: file for group, file in zip(plan.groups, files, strict=True) for name in group.names}
    parts: defaultdict[DataFile, list[Part]] = defaultdict(list)
    for commit in lake.live():
        for file in commit.files:
            made = place_to_file.get(lake.place_of(file))
            if made is not None:
                parts[made] += _parts(commit, file)
    live_places = {lake.place_of(file) for commit in lake.live() for file in commit.files}
    kept = [
        item
        for pack in lake.packs()
        for item in pack.shared
        if item.file.path in live_places and item.file.path not in place_to_file
    ]
    pack = lake.pack_of_all(lake.live(), (*kept, *(SharedFile(file, tuple(held)) for file, held in parts.items())))
    lake.publish_pack(pack)
    lake.remove_leftovers()
    return pack


def _parts(commit: Commit, file: DataFile) -> list[Part]:
    # The outcomes of a recording's files are with its own, each under its own path.
    named = [(commit.source_path, commit.content_hash)]
    if file.table == "ingest_outcome":
        named += [(part.source_path, part.content_hash) for part in commit.parts]
    return [Part(file.path, path, content_hash, commit.decoder_version) for path, content_hash in named]
