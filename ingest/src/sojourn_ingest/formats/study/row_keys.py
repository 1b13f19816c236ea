"""Rows of a study's table by the keys of the lake: of rows with the same key, the first counts."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from sojourn_ingest.formats.interface import InputError, Reading
from sojourn_ingest.schema import table

#: Rows of a table whose keys are remembered, about 100 bytes each.
MOST_KEYS: Final = 5_000_000
#: Columns of keys that all rows of a file share.
SHARED: Final = ("source_hash", "study_id")


class RowKeys:
    """The rows of one table of the lake that a file has given so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = [column for column in table(name).key if column not in SHARED]
        self._rows: dict[int, int] = {}

    def first_of_each(self, rows: pa.RecordBatch, reading: Reading) -> pa.RecordBatch:
        """Return the rows without those whose key came before.

        A row that is the same in all columns says nothing new; another one contradicts the first, and is refused.

        Raises
        ------
        InputError
            ``too_large`` if there are too many rows; those before stand.
        """
        keys = zip(*(rows.column(name).to_pylist() for name in self.key), strict=True)
        wholes = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        firsts = []
        for key, whole in zip(map(hash, keys), map(hash, wholes), strict=True):
            is_first = key not in self._rows
            firsts.append(is_first)
            if self._rows.setdefault(key, whole) != whole:
                reading.refuse(f"{self.name}: another row has the same {', '.join(self.key)}")
        if len(self._rows) > MOST_KEYS:
            raise InputError("too_large", f"more than {MOST_KEYS:,} rows of {self.name} in one file; split it")
        return rows.filter(pa.array(firsts, pa.bool_()))
