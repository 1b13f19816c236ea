"""The Parquet files of a published mart; those whose rows have not changed come from the previous build.

A mart is one file, ``NAME.parquet``. A mart whose rows each belong to a day or a month of connections is a folder of
that name instead: a file for each month, and for the days of the last month a file each. So a day more costs its own
rows, and no reader has to open more than a month's days beside the months. As the names of the files say when, their
rows in order of the names are those of the mart in order.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest import named_points
from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.lake.storage.folder import flush_content
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import MartFile, has_bytes, read_files, sha256_of
from sojourn_transforms.mart import Mart

ROW_GROUP_ROWS = 122_880
MOST_CODES = 1000
Parts = Mapping[date, str]
"""What identifies the sources of the rows of each day."""
WRITER = (
    f"{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]} duckdb {duckdb.__version__} arrow {pa.__version__}"
)
"""What the bytes of a file follow from beside its rows: this module, and the libraries."""


@dataclass(frozen=True)
class Origin:
    """What the rows of a mart follow from: their content, as a hash, and the definition of the mart.

    With one of them unknown (empty) no file of the mart is taken over.
    """

    content: str = ""
    definition: str = ""


class RepeatedKeyError(ValueError):
    """Two rows of a mart have the same key; the message says which mart and key."""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _month_after(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _day_after(day: date) -> date:
    return date.fromordinal(day.toordinal() + 1)


def _fingerprint(*origins: str) -> str:
    return hashlib.sha256("\0".join((WRITER, *origins)).encode()).hexdigest()


def _fingerprint_of(parts: Parts, days: list[date], definition: str) -> str | None:
    return _fingerprint(definition, *(f"{day} {parts[day]}" for day in days)) if definition else None


def periods(parts: Parts, by_month: bool, definition: str) -> Iterator[tuple[str, date, date, str | None]]:
    """Yield label, first date, end and fingerprint of each file of a mart.

    ``by_month``: the dates of its rows are the firsts of months. ``definition`` is that of the mart; see
    :class:`Origin`.
    """
    days = sorted(parts)
    months = sorted({day.replace(day=1) for day in days})
    for month in months:
        of_month = [day for day in days if day.replace(day=1) == month]
        if by_month or month != months[-1]:
            yield f"{month:%Y-%m}", month, _month_after(month), _fingerprint_of(parts, of_month, definition)
        else:
            for day in of_month:
                yield f"{day}", day, _day_after(day), _fingerprint_of(parts, [day], definition)


class MartFiles:
    """Writes the files of marts below a folder, out of the schema ``schema`` of an open warehouse."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        schema: str,
        folder: Path,
        before: Path | None,
        parts: Parts,
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._folder = folder
        self._before = before
        try:
            self._known = {} if before is None else read_files(before)
        except DamagedSnapshotError:
            # One of an older version, or damaged: nothing of it is taken over, and all is written.
            self._known = {}
        self._parts = parts
        columns = connection.execute(
            "select table_name, column_name, data_type from duckdb_columns()"
            " where database_name = current_database() and schema_name = ?",
            [schema],
        ).fetchall()
        self._types: dict[str, dict[str, str]] = defaultdict(dict)
        for table, column, kind in columns:
            self._types[table][column] = kind

    def write(self, mart: Mart, origin: Origin) -> list[MartFile]:
        """Write, or take over from the previous snapshot, all files of a mart.

        Their names are on the disk once their folder is flushed; what they hold, on return.

        Raises
        ------
        RepeatedKeyError
            If two rows that are written have the same key.
        """
        if mart.period is None or not self._parts:
            columns = " ".join(f"{column.name}" for column in mart.columns)
            fingerprint = _fingerprint(origin.content, columns, " ".join(mart.key)) if origin.content else None
            return [self._file(mart, f"{mart.name}.parquet", "", fingerprint)]
        folder = self._folder / f"{mart.name}.parquet"
        folder.mkdir()
        files = [
            self._file(
                mart,
                f"{mart.name}.parquet/{label}.parquet",
                f"where \"{mart.period}\" >= date '{first}' and \"{mart.period}\" < date '{end}'",
                fingerprint,
            )
            for label, first, end, fingerprint in periods(self._parts, mart.period == "start_month", origin.definition)
        ]
        flush_content(folder)
        return files

    def _file(self, mart: Mart, name: str, condition: str, fingerprint: str | None) -> MartFile:
        earlier = self._known.get(name)
        if (
            earlier is not None
            and fingerprint is not None
            and earlier.fingerprint == fingerprint
            and self._took_over(earlier)
        ):
            return earlier
        return self._written(mart, name, condition, fingerprint)

    def types(self, mart: Mart) -> dict[str, str]:
        """Return DuckDB's names of the types of a mart's columns."""
        return {column.name: self._types[mart.name][column.name] for column in mart.columns}

    def _statement(self, mart: Mart, rest: str) -> str:
        columns = ", ".join(f'"{column.name}"' for column in mart.columns)
        return f'select {columns} from {self._schema}."{mart.name}" {rest}'

    def _key_terms(self, mart: Mart, condition: str) -> list[str]:
        """Return what to sort by: the key, its texts by the place of their value among few others.

        Sorting by numbers takes half the time of sorting by texts, and finding the few values next to none.
        """
        terms = {column: f'"{column}"' for column in mart.key}
        texts = [column for column in mart.key if condition and self._types[mart.name][column] == "VARCHAR"]
        if texts:
            listed = ", ".join(f'list(distinct "{column}") filter (where "{column}" is not null)' for column in texts)
            statement = f'select {listed} from {self._schema}."{mart.name}" {condition}'
            (row,) = self._connection.execute(statement).fetchall()
            for column, values in zip(texts, row, strict=True):
                if values is not None and len(values) <= MOST_CODES:
                    codes = ", ".join(_literal(value) for value in sorted(values))
                    terms[column] = f'list_position([{codes}]::varchar[], "{column}")'
        return list(terms.values())

    def _took_over(self, earlier: MartFile) -> bool:
        assert self._before is not None
        source, target = self._before / earlier.name, self._folder / earlier.name
        if not has_bytes(source, earlier):
            return False
        try:
            os.link(source, target)
        except OSError:
            # Not every file system has hard links.
            shutil.copyfile(source, target)
        return True

    def _written(self, mart: Mart, name: str, condition: str, fingerprint: str | None) -> MartFile:
        order = ", ".join(f"{term} nulls first" for term in self._key_terms(mart, condition))
        result = self._connection.sql(self._statement(mart, f"{condition} order by {order}"))
        reader: pa.RecordBatchReader = result.to_arrow_reader(ROW_GROUP_ROWS)
        rows, path, last = 0, self._folder / name, None
        with parquet_writer(path, reader.schema, compression="zstd") as writer:
            for batch in reader:
                rows += batch.num_rows
                last = _check_key(mart, batch, last)
                writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROW_GROUP_ROWS)
        file = MartFile(name, rows, path.stat().st_size, sha256_of(path), fingerprint)
        named_points.reach("mart.writing", path)
        flush_content(path)
        return file


def _check_key(mart: Mart, batch: pa.RecordBatch, last: pa.RecordBatch | None) -> pa.RecordBatch | None:
    """Refuse rows in order of their key that repeat it; return the last row, for the batch that comes next.

    Without it the order of equal rows, and so the bytes of a file, would be left to chance.
    """
    keys = pa.Table.from_batches([batch]).select(list(mart.key))
    if last is not None:
        keys = pa.concat_tables([pa.Table.from_batches([last]), keys])
    keys = keys.combine_chunks()
    if keys.num_rows > 1:
        above, below = keys.slice(0, keys.num_rows - 1), keys.slice(1)
        same = None
        for column in mart.key:
            one, other = above[column], below[column]
            equal = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(pc.is_null(one), pc.is_null(other)))
            same = equal if same is None else pc.and_(same, equal)
        if pc.any(same).as_py():
            row = keys.slice(pc.index(same, True).as_py(), 1).to_pylist()[0]
            raise RepeatedKeyError(f"{mart.name}: two rows have the key {row}")
    return keys.slice(keys.num_rows - 1).to_batches()[0] if keys.num_rows else last
