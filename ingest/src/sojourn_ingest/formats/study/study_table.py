"""Tables of a study (CSV), read through its description: runs, what was measured in them, scores, ratings and rates.

Columns are read as text and converted column by column, batch by batch, so that memory stays bounded and a
value that does not fit is refused with its reason instead of stopping the file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sojourn_ingest.formats.content.csv_rows import csv_batches
from sojourn_ingest.formats.content.delimiters import delimiter_of
from sojourn_ingest.formats.content.numbers_in_text import number_of_text
from sojourn_ingest.formats.content.plain_text import first_line, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.scores import wrong_scores
from sojourn_ingest.formats.study.ratings import truth_of_text, wrong_ratings
from sojourn_ingest.formats.study.row_keys import RowKeys
from sojourn_ingest.formats.study.study_description import (
    NUMBERS,
    FieldMapping,
    OutputMapping,
    StudyDescription,
    TableMapping,
    bundled_description_paths,
    parse_description,
    required_columns,
    unit_factor,
)
from sojourn_ingest.schema import Column, table
from sojourn_ingest.schema.shared_columns import LONGEST_RUN_S, SHORTEST_WINDOW_MS
from sojourn_ingest.validation_message import one_line

DURATION = r"^(?:(?P<days>\d{1,9}) days? )?(?P<hours>\d{1,9}):(?P<minutes>\d{1,9}):(?P<seconds>\d{1,9})(?:\.\d+)?$"
NOT_A_NUMBER = ("", "nan", "NaN", "NA", "null", "None")


@dataclass(frozen=True)
class KnownStudy:
    """A study description with the file it came from."""

    description: StudyDescription
    path: Path
    content_hash: str

    @classmethod
    def load(cls, path: Path) -> KnownStudy:
        """Read a description file; raises InputError if it is not one."""
        text = path.read_bytes()
        return cls(parse_description(text), path, hashlib.sha256(text).hexdigest())


@cache
def bundled_studies() -> tuple[KnownStudy, ...]:
    """Return the studies whose descriptions ship with the package; a session asks for them more than once."""
    return tuple(KnownStudy.load(path) for path in bundled_description_paths())


class StudyTable(Format):
    """One table of one known study, recognised by its exact header."""

    holds_addresses = False
    gives_runs = True

    def __init__(self, study: KnownStudy, mapping: TableMapping) -> None:
        self.study = study
        self.mapping = mapping
        self.described_study = study.description.study_id
        self.description = f"study:{self.described_study}"
        self.columns = mapping.header
        self.name = f"study_table:{self.described_study}/{mapping.name}"

    @property
    def version(self) -> str:
        """Version of the reader; the description is part of it, for another mapping gives other facts."""
        return f"study-table-9+{self.study.content_hash[:12]}"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is the table's header."""
        return self._delimiter(source) is not None

    def _delimiter(self, source: Source) -> str | None:
        return delimiter_of(first_line(source), lambda header: header == self.mapping.header)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the rows of every output; rows with a missing or unknown value in a required column are refused."""
        try:
            yield from self._facts(source, reading)
        except InputError as error:
            if reading.records_read == 0:
                raise
            reading.fault = error

    def _facts(self, source: Source, reading: Reading) -> Facts:
        restarts = [_RestartCounter() for _ in self.mapping.outputs]
        first_numbers: dict[str, int] = {}
        tables = {output.table for output in self.mapping.outputs}
        keys = {name: RowKeys(name) for name in tables if name not in NUMBERS}
        line = 1

        with open_plain(source) as handle:
            try:
                reader = csv_batches(
                    handle,
                    reading.refuse,
                    convert_options=pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(self.mapping.header, pa.string()),
                        strings_can_be_null=False,
                    ),
                    delimiter=self._delimiter(source) or ",",
                )
                for batch in reader:
                    reading.records_read += batch.num_rows
                    line += batch.num_rows
                    for output, counter in zip(self.mapping.outputs, restarts, strict=True):
                        rows = self._output(output, batch, counter, reading)
                        if output.table in NUMBERS:
                            first = first_numbers.get(output.table, 0)
                            rows = _numbered(rows, NUMBERS[output.table], first)
                            first_numbers[output.table] = first + rows.num_rows
                        else:
                            rows = keys[output.table].first_of_each(rows, reading)
                        if rows.num_rows:
                            yield output.table, rows
            except pa.ArrowInvalid as error:
                advice = "; convert the table to UTF-8" if "UTF8" in str(error) else ""
                message = f"table is damaged after line {line}: {one_line(error)}{advice}"
                raise InputError("corrupt_record", message) from error

    def _output(
        self, output: OutputMapping, batch: pa.RecordBatch, restarts: _RestartCounter, reading: Reading
    ) -> pa.RecordBatch:
        for name, values in output.only_where.items():
            batch = batch.filter(pc.is_in(batch.column(name), pa.array(values)))
        schema = table(output.table).arrow_schema()
        declared = {column.name: column for column in table(output.table).columns}
        required = required_columns(output.table)
        columns: dict[str, pa.Array] = {}
        keep = pa.repeat(pa.scalar(True), batch.num_rows)
        for name, mapping in output.fields.items():
            column, failed = _column(mapping, batch, declared[name], restarts)
            columns[name] = column
            failures = pc.sum(failed).as_py() or 0
            if failures:
                reading.refuse(f"{output.table}.{name}: not convertible", failures)
                keep = pc.and_(keep, pc.invert(failed))
            if (bounds := declared[name].bounds) is not None:
                outside = pc.fill_null(pc.or_(pc.less(column, bounds[0]), pc.greater(column, bounds[1])), False)
                reading.refuse(
                    f"{output.table}.{name}: not within {bounds[0]:,} to {bounds[1]:,}",
                    pc.sum(outside).as_py() or 0,
                )
                keep = pc.and_(keep, pc.invert(outside))
            if name in required:
                absent = pc.and_(pc.is_null(column), pc.invert(failed))
                reading.refuse(f"{output.table}.{name}: missing", pc.sum(absent).as_py() or 0)
                keep = pc.and_(keep, pc.is_valid(column))
        columns["study_id"] = pa.repeat(pa.scalar(self.study.description.study_id), batch.num_rows)
        if output.table == "run" and "queue_size_bdp" not in columns and columns.keys() >= SIZE_IN_BDP:
            columns["queue_size_bdp"] = _queue_size_bdp(columns)
        if output.table == "qoe_score":
            columns["scored"] = _scored(columns, batch.num_rows)
            # What names nothing has no partner to look for.
            nameless = pc.is_null(columns["scored"])
            reading.refuse("qoe_score: names no run, session or time", pc.sum(pc.and_(nameless, keep)).as_py() or 0)
            keep = pc.and_(keep, pc.invert(nameless))
        if output.table in WRONG_ROWS:
            for reason, wrong in WRONG_ROWS[output.table](columns):
                reading.refuse(f"{output.table}: {reason}", pc.sum(pc.and_(wrong, keep)).as_py() or 0)
                keep = pc.and_(keep, pc.invert(wrong))
        arrays, fields = [], []
        for column in schema:
            if column.name in ("source_hash", "decoder_version"):
                continue
            fields.append(column)
            arrays.append(columns.get(column.name, pa.nulls(batch.num_rows, column.type)).cast(column.type))
        nullable = [pa.field(f.name, f.type) for f in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(nullable)).filter(keep)


def _column(
    mapping: FieldMapping, batch: pa.RecordBatch, declared: Column, restarts: _RestartCounter
) -> tuple[pa.Array, pa.Array]:
    """Return the converted column and, beside it, which values did not convert."""
    wanted = declared.type
    none_failed = pa.repeat(pa.scalar(False), batch.num_rows)
    if mapping.source is None:
        return pa.repeat(pa.scalar(mapping.constant), batch.num_rows).cast(wanted), none_failed
    text = batch.column(mapping.source)
    null = pa.scalar(None, pa.string())
    if mapping.pattern is not None:
        extracted = pc.extract_regex(text, pattern=mapping.pattern.replace("(", "(?P<value>", 1))
        text = pc.struct_field(extracted, "value")
    for name, values in mapping.null_where.items():
        text = pc.if_else(pc.is_in(batch.column(name), pa.array(values)), null, text)
    text = pc.if_else(pc.is_in(text, pa.array([*mapping.null_when, *NOT_A_NUMBER])), null, text)
    present = pc.is_valid(text)
    if mapping.codes is not None:
        places = pc.index_in(text, pa.array(list(mapping.codes), pa.string()))
        text = pc.take(pa.array(list(mapping.codes.values()), pa.string()), places)
    if declared.codes:
        converted = pc.if_else(pc.is_in(text, pa.array(declared.codes)), text, null)
    elif pa.types.is_string(wanted):
        converted = text
    elif pa.types.is_boolean(wanted):
        converted = truth_of_text(text)
    elif mapping.unit == "duration":
        converted = _duration_seconds(text)
    elif mapping.unit == "UTC":
        converted = _instants_ns(text)
    elif mapping.unit == "epoch s":
        # Whole microseconds first: a double holds today's epoch to a quarter of one, not to a nanosecond.
        converted = pc.multiply(number_of_text(text, 1e6, whole=True), 1000)
    else:
        converted = number_of_text(text, unit_factor(mapping.unit, declared), whole=pa.types.is_integer(wanted))
    if pa.types.is_integer(wanted) and pa.types.is_integer(converted.type):
        fits = pc.equal(converted.cast(wanted, safe=False).cast(converted.type), converted)
        converted = pc.if_else(fits, converted, pa.scalar(None, converted.type))
    failed = pc.and_(present, pc.is_null(converted))
    if mapping.counts_restarts:
        converted = restarts.number(converted)
    return converted.cast(wanted), failed


def _instant_ns(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    zoned = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    since_epoch_ns = (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    # Tools write the year 9999 for what has no end.
    return since_epoch_ns if abs(since_epoch_ns) < 2**63 else None


def _instants_ns(text: pa.Array) -> pa.Array:
    """Return instants in ISO 8601 as nanoseconds since 1970, whole microseconds of them; null for other text."""
    return pa.array([_instant_ns(one) for one in text.to_pylist()], pa.int64())


def _duration_seconds(text: pa.Array) -> pa.Array:
    parts = pc.extract_regex(text, pattern=DURATION)

    def seconds(name: str, factor: int) -> pa.Array:
        digits = pc.struct_field(parts, name)
        digits = pc.if_else(pc.equal(digits, ""), "0", digits)
        return pc.multiply(pc.cast(digits, pa.int64()), factor)

    total = pc.add(seconds("days", 86_400), seconds("hours", 3_600))
    return pc.add(total, pc.add(seconds("minutes", 60), seconds("seconds", 1)))


def _numbered(rows: pa.RecordBatch, column: str, first: int) -> pa.RecordBatch:
    """Return rows with their numbers, which go on over a file, whichever of its columns they are from."""
    place = rows.schema.get_field_index(column)
    numbers = pa.array(range(first, first + rows.num_rows), pa.int64())
    return rows.set_column(place, rows.schema.field(place), numbers)


def _scored(columns: dict[str, pa.Array], rows: int) -> pa.Array:
    """Return what each score is of, as one text; null if it names nothing."""

    def named(column: str) -> pa.Array:
        return pc.cast(columns.get(column, pa.nulls(rows)), pa.string())

    span = pc.binary_join_element_wise("time/", named("start_ns"), "-", named("end_ns"), "")
    return pc.coalesce(
        pc.binary_join_element_wise("run/", named("run_id"), ""),
        pc.binary_join_element_wise("session/", named("session_id"), ""),
        span,
    )


SIZE_IN_BDP: Final = {"bandwidth_bps", "rtt_ms", "queue_size_bytes"}
"""Columns from which the size of a queue in bandwidth-delay products follows."""


def _queue_size_bdp(columns: dict[str, pa.Array]) -> pa.Array:
    bandwidth = pc.cast(columns["bandwidth_bps"], pa.float64())
    bdp_bytes = pc.divide(pc.multiply(bandwidth, columns["rtt_ms"]), 8000.0)
    bdp_bytes = pc.if_else(pc.greater(bdp_bytes, 0), bdp_bytes, pa.scalar(None, pa.float64()))
    # Limits are whole bytes, so the quotient is near, not at, the multiple that was meant.
    return pc.round(pc.divide(pc.cast(columns["queue_size_bytes"], pa.float64()), bdp_bytes), ndigits=2)


def _wrong_runs(columns: dict[str, pa.Array]) -> list[tuple[str, pa.Array]]:
    """Return which rows of ``run`` have a time that their other times contradict, by reason."""
    given = [columns[name] for name in ("start_ns", "window_start_ns", "window_end_ns") if name in columns]
    if not given:
        return []
    span_ns = pc.subtract(pc.max_element_wise(*given), pc.min_element_wise(*given))
    reason = f"start and window span more than {LONGEST_RUN_S // 3600} h"
    wrong = [(reason, pc.fill_null(pc.greater(span_ns, LONGEST_RUN_S * 10**9), False))]
    if columns.keys() >= {"window_start_ns", "window_end_ns"}:
        window_ns = pc.subtract(columns["window_end_ns"], columns["window_start_ns"])
        is_short = pc.fill_null(pc.less(window_ns, SHORTEST_WINDOW_MS * 10**6), False)
        wrong.append((f"the window does not end {SHORTEST_WINDOW_MS} ms after its start", is_short))
    return wrong


#: Tables whose rows may have values that contradict each other.
WRONG_ROWS: Final = {
    "run": _wrong_runs, "qoe_score": wrong_scores, "rating": wrong_ratings, "rating_answer": wrong_ratings
}  # fmt: skip


class _RestartCounter:
    """Numbers the runs of a table in which a new run begins where the time does not grow."""

    def __init__(self) -> None:
        self._number = -1
        self._last: int | None = None

    def number(self, seconds: pa.Array) -> pa.Array:
        numbers: list[int | None] = []
        for second in seconds.to_pylist():
            if second is None:
                numbers.append(None)
                continue
            if self._last is None or second <= self._last:
                self._number += 1
            self._last = second
            numbers.append(self._number)
        return pa.array(numbers, pa.int64())


def header_hint(columns: list[str], studies: list[KnownStudy]) -> str | None:
    """Return which known table a header comes close to, for the message about a table that is not recognised."""
    best: tuple[int, str] | None = None
    for study in studies:
        for mapping in study.description.tables:
            shared = len(set(columns) & set(mapping.header))
            if shared >= 2 and (best is None or shared > best[0]):
                best = (
                    shared,
                    f"{study.description.study_id}/{mapping.name} (columns {', '.join(mapping.header)})",
                )
    return None if best is None else best[1]


def tables_of(studies: list[KnownStudy]) -> list[StudyTable]:
    """Return a format for each table of each study."""
    return [StudyTable(study, mapping) for study in studies for mapping in study.description.tables]
