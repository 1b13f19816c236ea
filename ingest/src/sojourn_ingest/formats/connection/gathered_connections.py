"""Connections of many small sources, completed together: looking up one row costs as much as looking up thousands."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sojourn_ingest.formats.connection.connection_format import (
    ConnectionRows,
    Convert,
    RawConnections,
    RawRows,
    columns_of,
)
from sojourn_ingest.formats.interface import Context, Reading

#: Rows, and bytes of them, that wait before they are completed: enough that the cost of a batch is small beside theirs.
BATCH_ROWS = 16_384
BATCH_BYTES = 8 * 2**20


class GatheredConnections:
    """Keeps connections until there are enough for a batch, and gives them in the order in which they came.

    Connections of different kinds (of other columns, or of columns of another basis) are in different batches.
    """

    def __init__(self, context: Context, reading: Reading) -> None:
        self._rows = ConnectionRows(context, reading)
        self._kind: object = None
        self._single: list[dict[str, object]] = []
        self._convert: Convert | None = None
        self._parts: list[RawConnections] = []
        self._waiting = 0
        self._waiting_bytes = 0

    def add(self, raw: RawConnections | RawRows) -> Iterator[pa.RecordBatch]:
        """Take connections, and yield the batches that are now complete."""
        if not raw.rows:
            return
        kind = _kind(raw)
        if kind != self._kind:
            yield from self.finish()
            self._kind = kind
        if isinstance(raw, RawRows):
            constants = raw.basis.constants()
            self._convert = raw.convert
            self._single += [row | constants for row in raw.rows]
            self._waiting += len(raw.rows)
            self._waiting_bytes += sum(len(value) for row in raw.rows for value in row.values() if type(value) is str)
        else:
            self._parts.append(raw)
            self._waiting += raw.rows
            self._waiting_bytes += sum(column.nbytes for column in raw.columns.values())
        if self._waiting >= BATCH_ROWS or self._waiting_bytes >= BATCH_BYTES:
            yield from self.finish()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield what still waits."""
        single, parts, waiting = self._single, self._parts, self._waiting
        self._single, self._parts, self._waiting, self._waiting_bytes = [], [], 0, 0
        if single:
            yield self._rows.complete(RawConnections(None, columns_of(single, self._convert), waiting))
        elif parts:
            columns = {name: pa.concat_arrays([part.columns[name] for part in parts]) for name in parts[0].columns}
            yield self._rows.complete(RawConnections(parts[0].basis, columns, waiting))


def _kind(raw: RawConnections | RawRows) -> object:
    if isinstance(raw, RawRows):
        return raw.convert, tuple(raw.rows[0])
    return raw.basis, tuple((name, column.type) for name, column in raw.columns.items())
