"""Rows of a CSV through Arrow, also of one in which some lines are not UTF-8.

Arrow hands a row with too many or too few columns to a function of Python as text. If it is not UTF-8, that fails
before the function is called: the row is not counted, Arrow gives the whole table up, and a traceback is printed. So
bytes that are not UTF-8 are replaced before Arrow sees them, and a value in which one was replaced is refused as Arrow
refuses a value that is not UTF-8.

A quote that is opened and not closed makes a value of the lines behind it, and Arrow takes it as one. So lines are
counted, and those that became part of a value are refused.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

DECIMAL_COMMA = r"^(\s*[+-]?\d+),(\d+(?:[eE][+-]?\d+)?\s*)$"
#: A noncharacter of Unicode, which no text interchanges: where a byte was that is not UTF-8.
MARK = "\ufdd0"
#: What Arrow says of a value that goes on in its next block.
OUT_OF_SYNC = "out of sync"
_MARKING = "sojourn_ingest.marking"


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return MARK, error.end


codecs.register_error(_MARKING, _mark)


class MarkedText:
    """A stream of bytes as UTF-8: what is not is replaced by `MARK`, and the rest is as it was.

    Damage ends it with the last whole line before, because Arrow would drop the rows that it has not given yet.

    Parameters
    ----------
    stream : binary file
        Is not closed by this object.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._begun = b""  # the first bytes of a line whose others have not been read
        self._ready = b""
        self.closed = False
        #: Whether anything read so far was replaced.
        self.replaced = False
        #: What ended it before its end.
        self.damage: Exception | None = None
        #: Lines that have been read; those that are empty do not count.
        self.lines = 0
        self._is_within_line = False

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, and none only at the end: Arrow has no room for more."""
        if not self._ready:
            self._fill(size)
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def close(self) -> None:
        """Do nothing more than to say so: the stream belongs to whoever opened it."""
        self.closed = True

    def _fill(self, size: int) -> None:
        self._read_lines(size)
        # Arrow passes over a byte order mark.
        content = self._ready if self.lines else self._ready.removeprefix(codecs.BOM_UTF8)
        if content:
            self.lines += lines_in(content) - (self._is_within_line and content[:1] not in (b"\n", b"\r"))
            self._is_within_line = content[-1:] not in (b"\n", b"\r")

    def _read_lines(self, size: int) -> None:
        while not self._ready and self.damage is None:
            try:
                block = self._stream.read(max(size - len(self._begun), 1))
            except Exception as error:  # noqa: BLE001 - `csv_batches` raises it
                self.damage = error
                return
            content = self._begun + block
            if not content:
                return
            # A line longer than a block is passed on in pieces: Arrow refuses it.
            end = content.rfind(b"\n") + 1 or content.rfind(b"\r") + 1
            whole = content[:end] if block and (end or len(content) < size) else content
            used = len(whole)
            if whole.isascii():
                self._ready = whole
            else:
                at_end = not block
                try:
                    _, used = codecs.utf_8_decode(whole, "strict", at_end)
                    self._ready = whole[:used]
                except UnicodeDecodeError:
                    text, used = codecs.utf_8_decode(whole, _MARKING, at_end)
                    self._ready = text.encode()
                    self.replaced = True
            self._begun = content[used:]


def lines_in(content: bytes) -> int:
    """Return how many lines a content has, without those that are empty."""
    codes = np.frombuffer(content, np.uint8)
    is_end = (codes == ord("\n")) | (codes == ord("\r"))
    begins = ~is_end[1:] & is_end[:-1]
    return int(np.count_nonzero(begins)) + int(len(codes) > 0 and not is_end[0])


def csv_batches(
    stream: BinaryIO,
    refuse: Callable[[str, int], None],
    *,
    read_options: pa_csv.ReadOptions | None = None,
    convert_options: pa_csv.ConvertOptions,
    **parse_options: Any,
) -> Iterator[pa.RecordBatch]:
    """Yield a table batch by batch, without rows that have another number of columns than the first.

    Parameters
    ----------
    stream : binary file
    refuse : callable
        Called with ``wrong_number_of_columns`` and 1 for each row that is left out, and at the end with
        ``line_within_a_value`` and the number of lines behind a quote that is closed below, or not at all.
    read_options, convert_options
        As `pyarrow.csv.open_csv` takes them.
    **parse_options
        What `pyarrow.csv.ParseOptions` takes.

    Raises
    ------
    pyarrow.ArrowInvalid
        If the table is damaged, or a value of a column of text is not UTF-8.
    Exception
        After the rows before it, what reading the stream raises.
    """
    # The header is one, if it is not given.
    rows = 0 if read_options is not None and read_options.column_names else 1

    def count_and_skip(_: pa_csv.InvalidRow) -> str:
        nonlocal rows
        rows += 1
        refuse("wrong_number_of_columns", 1)
        return "skip"

    text = MarkedText(stream)
    try:
        reader = pa_csv.open_csv(
            text,
            read_options=read_options,
            parse_options=pa_csv.ParseOptions(invalid_row_handler=count_and_skip, **parse_options),
            convert_options=convert_options,
        )
        for batch in reader:
            rows += batch.num_rows
            # Arrow reads some blocks ahead of the batch, so this may look at a few batches more than it must.
            if text.replaced:
                _refuse_marked(batch)
            yield _with_decimal_points(batch) if parse_options.get("delimiter") == ";" else batch
        if parse_options.get("quote_char") is not False and text.lines > rows:
            refuse("line_within_a_value", text.lines - rows)
    except pa.ArrowInvalid as error:
        if OUT_OF_SYNC in str(error):
            raise pa.ArrowInvalid("a quote is not closed, or a value has line breaks") from error
        # What is damaged before its first row is not empty.
        if text.damage is None or "Empty CSV file" not in str(error):
            raise
    if text.damage is not None:
        raise text.damage


def _with_decimal_points(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of a table in which a semicolon separates, and so a comma is the decimal sign."""
    arrays = [
        pc.replace_substring_regex(column, DECIMAL_COMMA, r"\1.\2") if pa.types.is_string(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _refuse_marked(batch: pa.RecordBatch) -> None:
    for number, column in enumerate(batch.columns):
        if pa.types.is_string(column.type) and pc.any(pc.match_substring(column, MARK)).as_py():
            raise pa.ArrowInvalid(f"In CSV column #{number}: CSV conversion error to string: invalid UTF8 data")
