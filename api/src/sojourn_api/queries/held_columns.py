"""Columns of small datasets as arrays in memory, so that a filter compares numbers and a group is a number.

A query of a few thousand rows costs DuckDB a millisecond, most of it before the first row is read. Over these arrays it
costs a tenth of that. A column is read when the first request uses it.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn_api.catalogue import Column, Dataset
from sojourn_api.requests.filters import IN, IS_NOT_NULL, IS_NULL, Condition

#: From here on DuckDB, which reads in blocks and with several threads, is not slower.
MOST_ROWS = 100_000
MOST_BYTES = 64 * 2**20
#: The same as in `np.array`, or smaller: values of these types are held without a loss.
_NUMBERS = {"INTEGER": np.int64, "BIGINT": np.int64, "UBIGINT": np.uint64, "DOUBLE": np.float64}

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class HeldColumn:
    """A column: for numbers their values, for text and booleans their places among the distinct values.

    Parameters
    ----------
    column : Column
    numbers : ndarray or None
        Values, with 0 where one is null; None for text and booleans.
    present : ndarray of bool or None
        False where the value is null; None if no value is null.
    coded : tuple, optional
        Of text and booleans: the place of each row's value among the distinct values, which follow in ascending order.
        The place of null is behind the last of them.
    """

    column: Column
    numbers: npt.NDArray[Any] | None
    present: Mask | None
    coded: tuple[Codes, tuple[Any, ...]] | None = None

    @cached_property
    def places(self) -> tuple[Codes, tuple[Any, ...]]:
        """The place of each row's value among the distinct values, and these in ascending order, without null."""
        if self.coded is not None:
            return self.coded
        assert self.numbers is not None
        known = self.numbers if self.present is None else self.numbers[self.present]
        distinct, found = np.unique(known, return_inverse=True)
        codes = np.full(len(self.numbers), len(distinct), np.int32)
        codes[slice(None) if self.present is None else self.present] = found
        return codes, tuple(distinct.tolist())

    @property
    def bytes(self) -> int:
        """Memory of the arrays; codes of numbers, which few requests need, are counted as if they were there."""
        rows = len(self.coded[0] if self.coded is not None else self.numbers)  # type: ignore[arg-type]
        words = sum(len(str(value)) + 64 for value in self.coded[1]) if self.coded is not None else 0
        return 16 * rows + words

    def rows_that_meet(self, condition: Condition) -> Mask:
        """Return which rows meet a condition; a comparison never matches a null, as in SQL."""
        if condition.operator in (IS_NULL, IS_NOT_NULL):
            null = self._null
            return null if condition.operator == IS_NULL else ~null
        if self.numbers is None:
            return self._words_that_meet(condition)[self.places[0]]
        found: Mask
        value = condition.values[0]
        match condition.operator:
            case "in":
                found = np.logical_or.reduce([self.numbers == each for each in condition.values])
            case "<>":
                found = self.numbers != value
            case "<":
                found = self.numbers < value
            case "<=":
                found = self.numbers <= value
            case ">":
                found = self.numbers > value
            case ">=":
                found = self.numbers >= value
            case operator:
                raise ValueError(f"no operator {operator!r}")
        return found if self.present is None else found & self.present

    @property
    def _null(self) -> Mask:
        if self.present is not None:
            return ~self.present
        return np.zeros(len(self.places[0]), bool)

    def _words_that_meet(self, condition: Condition) -> Mask:
        """Return of each place whether its value meets a comparison; the last place is that of null."""
        words = self.places[1]
        met = np.zeros(len(words) + 1, bool)
        if condition.operator in (IN, "<>"):
            for value in condition.values:
                place = bisect_left(words, value)
                if place < len(words) and words[place] == value:
                    met[place] = True
            if condition.operator == "<>":
                met = ~met
        else:
            find = bisect_left if condition.operator in ("<", ">=") else bisect_right
            place = find(words, condition.values[0])
            met[slice(place) if condition.operator in ("<", "<=") else slice(place, None)] = True
        met[-1] = False
        return met


class HeldColumns:
    """The columns that requests have used so far, of the datasets of a build that are small.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        The database of the snapshot.
    datasets : collection of str
        Those that are tables in memory; no column of another is held.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, datasets: Collection[str] = ()) -> None:
        self._connection = connection
        self._datasets = frozenset(datasets)
        self._lock = threading.Lock()
        self._columns: dict[tuple[str, str], HeldColumn | None] = {}
        self._bytes = 0

    def column(self, dataset: Dataset, column: Column) -> HeldColumn | None:
        """Return a column, or None if it is not held: its type, its size or one of its values does not allow it."""
        if dataset.name not in self._datasets or dataset.rows > MOST_ROWS:
            return None
        key = dataset.name, column.name
        with self._lock:
            if key not in self._columns:
                held = self._read(dataset, column)
                if held is not None and self._bytes + held.bytes > MOST_BYTES:
                    held = None
                self._bytes += 0 if held is None else held.bytes
                self._columns[key] = held
            return self._columns[key]

    def _read(self, dataset: Dataset, column: Column) -> HeldColumn | None:
        if column.type not in _NUMBERS and column.kind not in ("text", "boolean"):
            return None
        cursor = self._connection.cursor()
        try:
            values = cursor.sql(f"select {column.sql} from {dataset.sql}").to_arrow_table().column(0)
        finally:
            cursor.close()
        return held_column(column, pa.chunked_array(values.chunks, values.type))


def held_column(column: Column, values: pa.ChunkedArray) -> HeldColumn | None:
    """Return a column as arrays, or None if a value is not finite or a negative zero.

    DuckDB has rules of its own for these in comparisons, groups and sums; such a column is left to it.
    """
    present = None if values.null_count == 0 else values.is_valid().to_numpy()
    if column.type in _NUMBERS:
        numbers = values.fill_null(0).to_numpy().astype(_NUMBERS[column.type], copy=False)
        if column.kind == "real":
            negative_zero = (numbers == 0) & np.signbit(numbers)
            if not np.isfinite(numbers).all() or negative_zero.any():
                return None
        return HeldColumn(column, numbers, present)
    places = values.combine_chunks().dictionary_encode()
    if isinstance(places, pa.ChunkedArray):  # of no rows
        places = pa.array([], values.type).dictionary_encode()
    words = places.dictionary.to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    new_place = np.empty(len(words) + 1, np.int32)
    new_place[order] = np.arange(len(words), dtype=np.int32)
    new_place[-1] = len(words)
    codes = new_place[places.indices.fill_null(len(words)).to_numpy()]
    return HeldColumn(column, None, present, (codes, tuple(words[place] for place in order)))
