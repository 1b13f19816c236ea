"""Streaming Parquet writer of one source's facts."""

from __future__ import annotations

import base64
import secrets
import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
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
from sojourn_ingest.lake.parquet_files import give_up, put_in_place_of
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


@dataclass
class _Pending:
    """Rows of one table that wait for their row group."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size_bytes += batch.nbytes

    @property
    def fills_a_group(self) -> bool:
        return self.rows >= ROW_GROUP_ROWS or self.size_bytes >= ROW_GROUP_BYTES


@dataclass
class _TableFile:
    """The file of one table, named ``name`` in the lake."""

    name: str
    path: Path
    writer: pq.ParquetWriter
    #: Of the rows as they are written: texts may be dictionaries.
    schema: pa.Schema
    rows: int = 0


class FactWriter:
    """Writes batches of several tables, one Parquet file each, under names no reader looks at until committed.

    Without a ``source_hash``, which is known when all is read, the files have a random one until :meth:`finish`.

    Rows that name one of the ``forgotten`` hosts are not written, nor what belongs to flows of theirs;
    ``forgotten_rows`` counts them. Use as a context manager; on an exception everything written is removed. No two
    writers give a file the same name, so one never writes over what a reader still looks at, nor over what another
    attempt at the same source writes at the same time.
    """

    def __init__(
        self,
        lake: Path | Storage,
        source_hash: str | None,
        decoder_version: str,
        forgotten: Collection[str] = (),
    ) -> None:
        self._storage = open_storage(lake) if isinstance(lake, Path) else lake
        self._own = uuid.uuid4().hex[:12]
        self._is_provisional = source_hash is None
        self._source_hash = secrets.token_hex(32) if source_hash is None else source_hash
        self._decoder_version = decoder_version
        # Both by table.
        self._pending: dict[str, _Pending] = {}
        self._files: dict[str, _TableFile] = {}
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
            for file in self._files.values():
                give_up(file.writer)
            for file in self._files.values():
                self._storage.discard(file.name, file.path)

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
        pending = self._pending.setdefault(name, _Pending())
        pending.add(rows)
        if pending.fills_a_group:
            self._flush(name)

    def _complete(self, name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = table(name).arrow_schema()
        constants = {"source_hash": self._source_hash, "decoder_version": self._decoder_version}
        names = set(batch.schema.names)
        wanted = set(schema.names) - set(constants)
        if names != wanted:
            raise ValueError(
                f"table {name}: a reader gave columns {sorted(names - wanted)} too many, "
                f"{sorted(wanted - names)} too few"
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
        for table_name, file in list(self._files.items()):
            if not (self._forgotten_flows and belongs_to_flow(table_name)):
                continue
            target = file.path.with_suffix(".rewritten")
            rows = rewrite_without(file.path, target, of_flows(self._forgotten_flows))
            self.forgotten_rows += file.rows - rows
            file.rows = rows
            if rows:
                target.replace(file.path)
            else:
                self._storage.discard(file.name, file.path)
                del self._files[table_name]

    def _name_of(self, table_name: str) -> str:
        return f"data/{table_name}/{self._source_hash[:24]}-{self._file_tag()}-{self._own}.parquet"

    def _begin(self, table_name: str, pending: _Pending) -> _TableFile:
        name = self._name_of(table_name)
        path = self._storage.draft(name)
        declared, schema = table(table_name).arrow_schema(), pending.batches[0].schema
        writer = pq.ParquetWriter(
            path,
            schema,
            store_schema=False,
            # The hash of the source is as it is, so that it can be put in the place of a provisional one.
            compression={
                column.name: "none" if column.name == "source_hash" or pending.size_bytes <= SMALL_BYTES else "zstd"
                for column in declared
            },
            # Times and counters hardly repeat: to look for a dictionary of them costs time, and bytes where it ends
            # in none. They grow steadily, so that their differences are small.
            use_dictionary=[column.name for column in declared if pa.types.is_string(column.type)],
            column_encoding={
                column.name: "DELTA_BINARY_PACKED" for column in declared if pa.types.is_integer(column.type)
            },
        )
        writer.add_key_value_metadata(_note_of(table_name))
        return _TableFile(name, path, writer, schema)

    def _flush(self, table_name: str, *, last: bool = False) -> None:
        pending = self._pending.pop(table_name)
        if table_name not in self._files:
            self._files[table_name] = self._begin(table_name, pending)
        file = self._files[table_name]
        batches = [
            pa.RecordBatch.from_arrays(
                [_of_type(array, wanted) for array, wanted in zip(batch.columns, file.schema.types, strict=True)],
                schema=file.schema,
            )
            for batch in pending.batches
        ]
        rows = pa.Table.from_batches(batches, schema=file.schema).unify_dictionaries()
        whole = rows.num_rows - rows.num_rows % ROW_GROUP_ROWS
        if whole and not last:
            # What is left over begins the next group.
            left = self._pending[table_name] = _Pending()
            for batch in rows.slice(whole).to_batches():
                left.add(batch)
            rows = rows.slice(0, whole)
        file.rows += rows.num_rows
        named_points.reach("facts.writing", file.path)
        file.writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)

    def _file_tag(self) -> str:
        return "".join(c if c.isalnum() or c in ".-" else "_" for c in self._decoder_version)

    def _take_source_hash(self, source_hash: str | None) -> None:
        """Put the hash of the source in the place of the provisional one."""
        if source_hash is None:
            raise ValueError("the hash of the source is not known")
        provisional, self._source_hash = self._source_hash, source_hash
        for table_name, file in self._files.items():
            named_points.reach("facts.writing", file.path)
            put_in_place_of(file.path, provisional, source_hash)
            name = self._name_of(table_name)
            file.name, file.path = name, file.path.rename(self._storage.draft(name))

    def finish(self, source_hash: str | None = None) -> tuple[DataFile, ...]:
        """Close and flush every file to disk, and return them for the commit.

        Raises
        ------
        ValueError
            If the writer began without a ``source_hash``, and there is none now.
        """
        for name in list(self._pending):
            self._flush(name, last=True)
        for file in self._files.values():
            file.writer.close()
        if self._is_provisional:
            self._take_source_hash(source_hash)
        self._remove_what_belonged_to_forgotten_flows()
        # The commit must never reach the disk before what it promises.
        kept = {table_name: self._storage.keep(file.name, file.path) for table_name, file in self._files.items()}
        self._finished = tuple(
            DataFile.of(table_name, file.name, file.rows, kept[table_name])
            for table_name, file in sorted(self._files.items(), key=lambda item: item[0])
        )
        named_points.reach("facts.written")
        return self._finished
