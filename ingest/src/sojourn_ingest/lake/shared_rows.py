"""The rows of sources out of a file that commits share, one source after the other.

A compacted file has the rows of many sources, and any number of rows of one. It is read once for as many sources as
fit in memory, and batch by batch. Where the rows of sources are interleaved, a copy is sorted by source before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.lake.writer import ROW_GROUP_ROWS
from sojourn_ingest.memory import duckdb_memory
from sojourn_process.parquet_sql import parquet_rows

#: What is decoded at a time: a row group may have any number of rows.
BATCH_ROWS = 16_384
#: Rows that are kept for the sources that come next. A merge keeps as many of each table that they have rows in.
HELD_ROWS = ROW_GROUP_ROWS
HELD_BYTES = 16 * 2**20
#: Most memory of a sort. What does not fit in it is written to temporary files.
SORT_MEMORY_BYTES = 2 * 2**30

#: The hash of a source, and the version of what decoded it.
SourceKey = tuple[str, str]


class SharedRows:
    """The rows that sources have in one file.

    ``wanted`` has the number of rows of each source, in the order in which they will be asked for: what is read for one
    is kept for those after it.
    """

    def __init__(self, path: Path, wanted: Mapping[SourceKey, int]) -> None:
        self._path = path
        self._wanted = wanted
        self._order = list(wanted)
        self._places = {source: place for place, source in enumerate(self._order)}
        self._held: dict[SourceKey, list[pa.RecordBatch]] = {}
        with pq.ParquetFile(path) as file:
            self._metadata, self._schema = file.metadata, file.schema_arrow
        self._bounds = _bounds_of_groups(self._metadata)

    def write(self, source: SourceKey, target: Path) -> int:
        """Write the rows of a source, in the order of the file, as a file of their own; return how many."""
        if source not in self._held:
            self._held = self._read_for(source)
        held = self._held.pop(source, None)
        batches = held if held is not None else (batch for _, batch in self._batches([source]))
        rows = 0
        with parquet_writer(target, self._schema, compression="zstd") as writer:
            for group in _groups(batches):
                writer.write_table(group)
                rows += group.num_rows
        return rows

    def _read_for(self, source: SourceKey) -> dict[SourceKey, list[pa.RecordBatch]]:
        """Return the rows of a source and of those after it; of none if those of the first alone are too many."""
        held: dict[SourceKey, list[pa.RecordBatch]] = {}
        rows = size_bytes = 0
        for one in islice(self._order, self._places[source], None):
            rows += self._wanted[one]
            if rows > HELD_ROWS:
                break
            held[one] = []
        if not held:
            return held
        for one, batch in self._batches(list(held)):
            # Also not of another version of a source's content.
            if one in held:
                held[one].append(batch)
                size_bytes += batch.nbytes
            while held and size_bytes > HELD_BYTES:
                # The one that is asked for last.
                size_bytes -= sum(given_up.nbytes for given_up in held.popitem()[1])
        return held

    def _batches(self, sources: list[SourceKey]) -> Iterator[tuple[SourceKey, pa.RecordBatch]]:
        hashes = sorted({source_hash for source_hash, _ in sources})
        versions = sorted({version for _, version in sources})
        groups = [group for group, bounds in enumerate(self._bounds) if _has_one_of(bounds, hashes)]
        with pq.ParquetFile(self._path, metadata=self._metadata) as file:
            for group in groups:
                for batch in file.iter_batches(BATCH_ROWS, row_groups=[group]):
                    yield from _by_source(batch, hashes, versions)


def is_interleaved(path: Path) -> bool:
    """Return whether a row group of a file may have rows of sources that come in the next one after other sources."""
    with pq.ParquetFile(path) as file:
        bounds = _bounds_of_groups(file.metadata)
    return any(first is None or second is None or first[1] > second[0] for first, second in pairwise(bounds))


def write_sorted_by_source(path: Path, target: Path) -> None:
    """Write the rows of a file with those of each source together, in the order of the file.

    What does not fit in memory is kept in the folder of ``target``.
    """
    schema = pq.read_schema(path)
    with duckdb.connect() as connection, parquet_writer(target, schema, compression="zstd") as writer:
        connection.execute(f"set memory_limit = '{duckdb_memory(most=SORT_MEMORY_BYTES)}'")
        connection.execute("set temp_directory = $1", [str(target.parent)])
        connection.execute("set enable_progress_bar = false")
        rows = connection.sql(
            f"select * exclude (file_row_number) from {parquet_rows([path], 'file_row_number = true')} "
            "order by source_hash, decoder_version, file_row_number"
        )
        for batch in rows.to_arrow_reader(ROW_GROUP_ROWS):
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))


def _bounds_of_groups(metadata: pq.FileMetaData) -> list[tuple[str, str] | None]:
    """Return the first and the last source of each row group; None where it does not say."""
    column = metadata.schema.names.index("source_hash")
    bounds: list[tuple[str, str] | None] = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        is_said = statistics is not None and statistics.has_min_max
        bounds.append((statistics.min, statistics.max) if is_said else None)
    return bounds


def _has_one_of(bounds: tuple[str, str] | None, hashes: list[str]) -> bool:
    """Return whether a row group may have rows of one of the sources, whose hashes are in order."""
    if bounds is None:
        return True
    first = bisect_left(hashes, bounds[0])
    return first < len(hashes) and hashes[first] <= bounds[1]


def _by_source(
    batch: pa.RecordBatch, hashes: list[str], versions: list[str]
) -> Iterator[tuple[SourceKey, pa.RecordBatch]]:
    """Yield the rows of each combination of a hash and a version, each once."""
    of_hash = pc.index_in(batch.column("source_hash"), pa.array(hashes, pa.string()))
    of_version = pc.index_in(batch.column("decoder_version"), pa.array(versions, pa.string()))
    number = pc.add(pc.multiply(of_hash.cast(pa.int64()), len(versions)), of_version)
    if number.null_count:
        batch, number = batch.filter(number.is_valid()), number.drop_null()
    runs = pc.run_end_encode(number)
    if len(pc.unique(runs.values)) < len(runs.values):
        # Sorted by something else first.
        order = pc.sort_indices(number)
        batch, runs = batch.take(order), pc.run_end_encode(number.take(order))
    start = 0
    for value, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        place, version = divmod(value, len(versions))
        yield (hashes[place], versions[version]), batch.slice(start, end - start)
        start = end


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield batches as row groups."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROW_GROUP_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
