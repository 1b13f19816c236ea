"""Histograms held in memory, one per cell, so that any grouping of them is answered by adding up.

A dataset of histograms has one row per bin; most of its columns are the same for all bins of a cell, that is of one
combination of them. Filters and groups use only these columns. So they use a small table with one row per cell,
in the database of the snapshot, and bins and counts to arrays outside it: a query chooses and groups some ten
thousand cells instead of ten million rows, and what it has chosen is added up in Rust.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn_api.catalogue import Catalogue, Column, Dataset, identifier
from sojourn_api.distribution_metrics import HISTOGRAM_COLUMNS
from sojourn_statistics.histogram.histogram_set import HistogramSet

logger = logging.getLogger(__name__)

BYTES_A_ROW = 6
"""Two of the bin and four of the count; a count above 2^32 - 1 makes the dataset's counts eight."""
_SCHEMA = "cells"
_GATHERED = f"{_SCHEMA}.gathered"


@dataclass(frozen=True)
class Cells:
    """The cells of a dataset: a table of their columns with `cell`, the number of the histogram, and the histograms.

    Columns of `constant` are the same in all cells, and need not be part of a group's key.
    """

    sql: str
    histograms: HistogramSet
    constant: frozenset[str]


def load_cells(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Catalogue,
    counts: Mapping[str, str],
    fewest_rows: int,
    most_bytes: int,
    threads: int,
) -> dict[str, Cells]:
    """Return the cells of the datasets of histograms, smallest first, for as long as they fit.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        The database of the snapshot, which gets one table a dataset.
    catalogue : Catalogue
    counts : mapping of str to str
        The column of counts of each dataset of histograms.
    fewest_rows : int
        A dataset of fewer is omitted: reading its file takes some milliseconds.
    most_bytes : int
        Memory that all histograms may take together. Datasets that would exceed it are omitted.
    threads : int
        How many threads may add up the histograms of one request.
    """
    held: dict[str, Cells] = {}
    connection.execute(f"create schema {_SCHEMA}")
    wanted = [each for each in catalogue.datasets if each.name in counts and each.rows >= fewest_rows]
    for dataset in sorted(wanted, key=lambda one: one.rows):
        most_bytes -= BYTES_A_ROW * dataset.rows
        if most_bytes < 0:
            break
        try:
            held[dataset.name] = _cells_of(connection, dataset, counts[dataset.name], threads)
        except (duckdb.OutOfMemoryException, duckdb.ConversionException, MemoryError, ValueError) as error:
            # The dataset is read from its file by each request then, which is slower and needs less memory.
            logger.warning("%s is not held in memory: %s", dataset.name, error)
    return held


def _cells_of(connection: duckdb.DuckDBPyConnection, dataset: Dataset, count: str, threads: int) -> Cells:
    columns = [column for column in dataset.columns if column.name not in HISTOGRAM_COLUMNS]
    keys, counted = ", ".join(column.sql for column in columns), f"{identifier(count)} > 0"
    try:
        # In the order of the columns, because neighbours are often in one group, and are then adjacent in memory.
        connection.execute(f"""
            create table {_GATHERED} as
                select cast(row_number() over () - 1 as uinteger) as cell, *
                from (select distinct {keys} from {dataset.sql} where {counted} order by {keys})
        """)
        constant = _constant(connection, columns)
        varying = [column.sql for column in columns if column.name not in constant]
        same = " and ".join(f"one.{key} is not distinct from {_GATHERED}.{key}" for key in varying) or "true"
        counts = _in_fewest_bits(connection, dataset, count)
        rows = connection.sql(f"""
            select cell, cast(bin_index as usmallint) as bin_index, {counts} as counted
            from {dataset.sql} as one inner join {_GATHERED} on {same} where {counted}
        """).to_arrow_table()
        coded = ", ".join(_coded(connection, dataset, column) for column in columns)
        table = f"{_SCHEMA}.{dataset.sql}"
        connection.execute(f"create table {table} as select cell, {coded} from {_GATHERED} order by cell")
    finally:
        connection.execute(f"drop table if exists {_GATHERED}")
    return Cells(table, _histograms_of(rows, threads), constant)


def _in_fewest_bits(connection: duckdb.DuckDBPyConnection, dataset: Dataset, count: str) -> str:
    (most,) = connection.sql(f"select max({identifier(count)}) from {dataset.sql}").fetchall()[0]
    return f"cast({identifier(count)} as {'ubigint' if (most or 0) >= 2**32 else 'uinteger'})"


def _histograms_of(rows: pa.Table, threads: int) -> HistogramSet:
    """Return the histograms of rows with `cell`, `bin_index` and `counted`, each cell of which has a row."""
    cells, bins, counts = (rows.column(name).to_numpy() for name in ("cell", "bin_index", "counted"))
    if np.any(cells[1:] < cells[:-1]):
        order = np.argsort(cells, kind="stable")
        cells, bins, counts = cells[order], bins[order], counts[order]
    number = int(cells[-1]) + 1 if cells.size else 0
    return HistogramSet(np.searchsorted(cells, np.arange(number + 1, dtype=cells.dtype)), bins, counts, threads)


def _coded(connection: duckdb.DuckDBPyConnection, dataset: Dataset, column: Column) -> str:
    """Return the column as an expression: text as a code, in alphabetic order, by which it groups three times faster.

    Comparisons with text, and its order, are those of the text.
    """
    values = f"select distinct {column.sql} from {_GATHERED} where {column.sql} is not null"
    if column.kind != "text" or not connection.sql(f"{values} limit 1").fetchall():
        return column.sql
    code = f"{_SCHEMA}.{identifier(f'{column.name} of {dataset.name}')}"
    connection.execute(f"create type {code} as enum ({values} order by {column.sql})")
    return f"cast({column.sql} as {code}) as {column.sql}"


def _constant(connection: duckdb.DuckDBPyConnection, columns: list[Column]) -> frozenset[str]:
    distinct = [f"count(distinct {c.sql}) + cast(count({c.sql}) < count(*) as integer)" for c in columns]
    (counts,) = connection.sql(f"select {', '.join(distinct)} from {_GATHERED}").fetchall()
    return frozenset(column.name for column, values in zip(columns, counts, strict=True) if values <= 1)


def histogram_list(bins: str, counts: str) -> str:
    """Return the SQL aggregate that `histograms_in` reads: each bin with its count, in any order."""
    return f"list(struct_pack(bin_index := {bins}, counted := {counts}))"


def histograms_in(lists: pa.ChunkedArray, threads: int) -> HistogramSet:
    """Return the histograms of a column of `histogram_list`, one per row."""
    offsets, entries = list_values(lists)
    bins, counts = entries.field("bin_index").to_numpy(), entries.field("counted").to_numpy()
    return HistogramSet(offsets, bins, counts, threads)


def list_values(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.uint64], pa.Array]:
    """Return where each list of a column starts in its values, and the values of all lists in turn."""
    lists = column.combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.uint64)
    return offsets - offsets[0], lists.flatten()
