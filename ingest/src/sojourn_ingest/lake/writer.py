"""Streaming Parquet writer of one source's facts."""

from __future__ import annotations

import base64
import uuid
from collections import Counter
from collections.abc import Collection
from functools import cache
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest import named_points
from sojourn_ingest.forgotten import FORGOTTEN
from sojourn_ingest.hosts_in_text import FORGOTTEN_IN_TEXT
from sojourn_ingest.lake.commit import DataFile
from sojourn_ingest.lake.long_texts import without_long_texts
from sojourn_ingest.lake.parquet_files import give_up
from sojourn_ingest.lake.purge import (
    FLOW,
    FLOW_KEY,
    belongs_to_flow,
    naming_columns,
    of_flows,
    of_hosts,
    rewrite_without,
)
from sojourn_ingest.lake.storage import Storage, open_storage
from sojourn_ingest.schema import table

ROW_GROUP_ROWS = 122_880  # DuckDB's own row group size, so that one thread reads one group
#: Rows of a wide table wait for their group in memory, and are there once more while it is written.
ROW_GROUP_BYTES = 32 * 2**20
#: A compressor is made for each column: for a few rows it takes longer than all else, and saves nothing.
SMALL_BYTES = 16 * 2**10
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def _constant(value: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int32()).fill_null(0), pa.array([value], pa.string()))


def _of_type(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    return array.dictionary_encode() if pa.types.is_dictionary(wanted) else array.cast(wanted)


def _with_own_texts(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose dictionaries hold no text but theirs: a file lists the whole dictionary, unused texts too."""
    arrays = [
        array.dictionary_decode().dictionary_encode() if pa.types.is_dictionary(array.type) else array
        for array in rows.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


@cache
def _note_of(name: str) -> dict[str, str]:
    """Return the note by which Arrow's readers find the schema that is declared of a table.

    It replaces the one that the writer would make from the schema of what it is given: there texts may be
    dictionaries.
    """
    return {"ARROW:schema": base64.b64encode(table(name).arrow_schema().serialize().to_pybytes()).decode()}


class FactWriter:
    """Writes batches of several tables, one Parquet file each, under names no reader looks at until committed.

    Rows that name one of the ``forgotten`` hosts are not written, nor what belongs to flows of theirs;
    ``forgotten_rows`` counts them. Use as a context manager; on an exception everything written is removed. No two
    writers give a file the same name, so one never writes over what a reader still looks at, nor over what another
    attempt at the same source writes at the same time.
    """

    def __init__(
        self,
        lake: Path | Storage,
        source_hash: str,
        decoder_version: str,
        forgotten: Collection[str] = (),
    ) -> None:
        self._storage = open_storage(lake) if isinstance(lake, Path) else lake
        self._own = uuid.uuid4().hex[:12]
        self._source_hash = source_hash
        self._decoder_version = decoder_version
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._pending: dict[str, list[pa.RecordBatch]] = {}
        self._pending_rows: dict[str, int] = {}
        self._pending_bytes: dict[str, int] = {}
        self._paths: dict[str, Path] = {}
        self._objects: dict[str, str] = {}
        self._rows: dict[str, int] = {}
        self._finished: tuple[DataFile, ...] | None = None
        self._forgotten = frozenset({FORGOTTEN, FORGOTTEN_IN_TEXT, *forgotten})
        self._forgotten_flows: set[int] = set()
        self.forgotten_rows = 0
        #: Rows that were left out for a text, by reason.
        self.refused_texts: Counter[str] = Counter()

    def __enter__(self) -> FactWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._finished is None:
            for writer in self._writers.values():
                give_up(writer)
            for name, path in self._paths.items():
                self._storage.discard(self._objects[name], path)

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Append ``batch``, which lacks only the provenance columns, to table ``name``.

        Raises
        ------
        ValueError
            If the batch does not have exactly the declared columns, in any order.
        InputError
            ``too_long`` for a text that no row may have, see :mod:`sojourn_ingest.lake.long_texts`.
        """
        if batch.num_rows == 0:
            return
        complete = without_long_texts(name, self._complete(name, batch), self.refused_texts)
        rows = self._without_forgotten(name, complete)
        if rows.num_rows == 0:
            return
        self._pending.setdefault(name, []).append(rows)
        self._pending_rows[name] = self._pending_rows.get(name, 0) + rows.num_rows
        self._pending_bytes[name] = self._pending_bytes.get(name, 0) + rows.nbytes
        if self._pending_rows[name] >= ROW_GROUP_ROWS or self._pending_bytes[name] >= ROW_GROUP_BYTES:
            self._flush(name)

    def _complete(self, name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = table(name).arrow_schema()
        constants = {"source_hash": self._source_hash, "decoder_version": self._decoder_version}
        given = set(batch.schema.names)
        wanted = set(schema.names) - set(constants)
        if given != wanted:
            raise ValueError(
                f"table {name}: a reader gave columns {sorted(given - wanted)} too many, "
                f"{sorted(wanted - given)} too few"
            )
        arrays = []
        for column in schema:
            if column.name in constants:
                arrays.append(_constant(constants[column.name], batch.num_rows))
            elif pa.types.is_string(column.type) and batch.column(column.name).type == DICTIONARY:
                arrays.append(batch.column(column.name))
            else:
                arrays.append(batch.column(column.name).cast(column.type))
            if not column.nullable and arrays[-1].null_count:
                raise ValueError(f"table {name}: a reader gave null in column {column.name}, which never is")
        # Texts that come as dictionaries are written as such: the writer need not look each of them up.
        fields = [column.with_type(array.type) for column, array in zip(schema, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _without_forgotten(self, name: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        if not naming_columns(name):
            return rows
        selected = of_hosts(name, self._forgotten)(rows)
        count = pc.sum(selected).as_py() or 0
        if not count:
            return rows
        self.forgotten_rows += count
        if name == FLOW:
            self._forgotten_flows.update(rows.column(FLOW_KEY).filter(selected).to_pylist())
        return _with_own_texts(rows.filter(pc.invert(selected)))

    def _remove_what_belonged_to_forgotten_flows(self) -> None:
        # A flow is given when it ends, after what belongs to it, so that is only known now.
        for name, path in list(self._paths.items()):
            if not (self._forgotten_flows and belongs_to_flow(name)):
                continue
            target = path.with_suffix(".rewritten")
            rows = rewrite_without(path, target, of_flows(self._forgotten_flows))
            self.forgotten_rows += self._rows[name] - rows
            self._rows[name] = rows
            if rows:
                target.replace(path)
            else:
                self._storage.discard(self._objects.pop(name), self._paths.pop(name))

    def _flush(self, name: str, *, last: bool = False) -> None:
        pending = self._pending.pop(name)
        if name not in self._writers:
            self._objects[name] = f"data/{name}/{self._source_hash[:24]}-{self._file_tag()}-{self._own}.parquet"
            self._paths[name] = self._storage.draft(self._objects[name])
            schema = table(name).arrow_schema()
            self._schemas[name] = pending[0].schema
            self._writers[name] = pq.ParquetWriter(
                self._paths[name],
                self._schemas[name],
                store_schema=False,
                compression="zstd" if self._pending_bytes[name] > SMALL_BYTES else "none",
                # Times and counters hardly repeat: to look for a dictionary of them costs time, and bytes where it ends
                # in none. They grow steadily, so that their differences are small.
                use_dictionary=[column.name for column in schema if pa.types.is_string(column.type)],
                column_encoding={
                    column.name: "DELTA_BINARY_PACKED" for column in schema if pa.types.is_integer(column.type)
                },
            )
            self._writers[name].add_key_value_metadata(_note_of(name))
        schema = self._schemas[name]
        batches = [
            pa.RecordBatch.from_arrays(
                [_of_type(array, wanted) for array, wanted in zip(batch.columns, schema.types, strict=True)],
                schema=schema,
            )
            for batch in pending
        ]
        rows = pa.Table.from_batches(batches, schema=schema).unify_dictionaries()
        whole = rows.num_rows - rows.num_rows % ROW_GROUP_ROWS
        if whole and not last:
            # What is left over begins the next group.
            self._pending[name] = rows.slice(whole).to_batches()
            rows = rows.slice(0, whole)
        self._rows[name] = self._rows.get(name, 0) + rows.num_rows
        left = self._pending.get(name, [])
        self._pending_rows[name] = sum(batch.num_rows for batch in left)
        self._pending_bytes[name] = sum(batch.nbytes for batch in left)
        named_points.reach("facts.writing", self._paths[name])
        self._writers[name].write_table(rows, row_group_size=ROW_GROUP_ROWS)

    def _file_tag(self) -> str:
        return "".join(c if c.isalnum() or c in ".-" else "_" for c in self._decoder_version)

    def finish(self) -> tuple[DataFile, ...]:
        """Close and flush every file to disk, and return them for the commit."""
        for name in list(self._pending):
            self._flush(name, last=True)
        for writer in self._writers.values():
            writer.close()
        self._remove_what_belonged_to_forgotten_flows()
        # The commit must never reach the disk before what it promises.
        kept = {name: self._storage.keep(self._objects[name], path) for name, path in self._paths.items()}
        self._finished = tuple(
            DataFile.of(name, self._objects[name], self._rows[name], of) for name, of in sorted(kept.items())
        )
        named_points.reach("facts.written")
        return self._finished
