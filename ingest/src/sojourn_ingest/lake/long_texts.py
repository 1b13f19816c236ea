"""Texts of inputs that are longer than any identifier, label or description: no row has one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.input_error import InputError
from sojourn_ingest.schema import table

#: Rows that stand alone: one of them is left out. Of other tables the rows belong together, so the source is refused.
TABLES_OF_INDEPENDENT_ROWS = frozenset(
    ("series", "connection", "passive_rtt", "tcp_poll", "tool_score", "rating", "rating_answer", "qoe_score")
)


def without_long_texts(name: str, rows: pa.RecordBatch, refused: Counter[str]) -> pa.RecordBatch:
    """Return rows of a table without those that have a longer text than the column may; count these by reason.

    Raises
    ------
    InputError
        ``too_long``, which names the column, where the rows of the table belong together.
    """
    for column in table(name).columns:
        if not pa.types.is_string(column.type):
            continue
        wrong = _longer_than(rows.column(column.name), column.longest)
        if wrong is None:
            continue
        reason = f"{column.name}: longer than {column.longest} characters"
        if name not in TABLES_OF_INDEPENDENT_ROWS:
            raise too_long(reason)
        refused[reason] += pc.sum(wrong).as_py()
        rows = rows.filter(pc.invert(wrong))
    return rows


def too_long(reason: str) -> InputError:
    """Return the error of a source that has no row without such a text."""
    return InputError("too_long", f"{reason}; shorten it")


def _longer_than(texts: pa.Array, most: int) -> pa.Array | None:
    """Return which texts have more characters; None if there are none."""
    if pa.types.is_dictionary(texts.type):
        wrong = _longer_than(texts.dictionary, most)
        return None if wrong is None else pc.fill_null(pc.take(wrong, texts.indices), False)
    # Bytes are as many as characters, or more, and known without reading the texts.
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= most:
        return None
    wrong = pc.fill_null(pc.greater(pc.utf8_length(texts), most), False)
    return wrong if pc.any(wrong).as_py() else None
