"""From a tool's values to rows of ``series``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.interface import InputError, Reading
from sojourn_ingest.formats.series.bounds import CLOCK_NOT_SET, LARGEST, date_of, refusal_of
from sojourn_ingest.schema import table
from sojourn_ingest.schema.column import LONGEST_LABEL
from sojourn_ingest.schema.series_tables import SERIES_METRICS

TABLE = "series"
PROVENANCE = ("source_hash", "decoder_version")
SCHEMA = pa.schema([field for field in table(TABLE).arrow_schema() if field.name not in PROVENANCE])
BATCH_ROWS = 65_536
#: Series of a file: each is remembered to its end.
MOST_SERIES = 2_000_000
#: Memory of their names.
MOST_NAME_BYTES = 2**29
#: The largest epoch, in s, whose nanoseconds fit 63 bits.
LAST_EPOCH_S = 2**33
#: 136 years: of a test that began at a date, the nanoseconds of its end fit 63 bits.
LONGEST_TEST_S = 2**32


@dataclass(frozen=True)
class SeriesKind:
    """What all values of one series share; the columns of ``series`` of the same names say what they mean."""

    name: str
    metric: str
    sample_basis: str
    flow: str | None = None
    role: str | None = None
    direction: str | None = None
    #: Only of the metric ``other``: the unit as the tool names it.
    tool_unit: str | None = None

    @property
    def unit(self) -> str | None:
        """Unit of the values."""
        return self.tool_unit if self.metric == "other" else SERIES_METRICS[self.metric] or None


@dataclass(frozen=True, slots=True)
class Sample:
    """One value, in the metric's unit. ``time_ns`` is of the UTC epoch, ``time_s`` after the start of the test."""

    value: float | None
    time_ns: int | None = None
    time_s: float | None = None
    duration_s: float | None = None


class SeriesRows:
    """Collects rows of ``series`` and gives them away in batches of bounded size.

    A value that the metric cannot have is refused and counted in ``reading``. A value of a clock that was never set has
    no date; that is counted once.
    """

    def __init__(self, reading: Reading, batch_rows: int = BATCH_ROWS) -> None:
        self._reading = reading
        self._batch_rows = batch_rows
        self._kinds: list[SeriesKind] = []
        self._name_bytes = 0
        self._counts: list[int] = []
        self._series: list[int] = []
        self._numbers: list[int] = []
        self._samples: list[Sample] = []
        #: How many values were added so far, without those that were refused.
        self.samples = 0

    def begin(self, kind: SeriesKind) -> int:
        """Return the number of a new series.

        Raises
        ------
        InputError
            ``too_large``, if there are too many; those before stand.
        """
        if len(self._kinds) >= MOST_SERIES or self._name_bytes > MOST_NAME_BYTES:
            text = f"more than {MOST_SERIES:,} series in one file, or their names are too long; split the file"
            raise InputError("too_large", text)
        # Each of its rows has them. One that is too long stays so, and the rows are refused.
        texts = {name: getattr(kind, name) for name in ("name", "flow", "tool_unit")}
        cut = {name: text[: LONGEST_LABEL + 1] for name, text in texts.items() if text and len(text) > LONGEST_LABEL}
        self._kinds.append(replace(kind, **cut) if cut else kind)
        # Python keeps a text with an emoji in four bytes a character.
        self._name_bytes += sum(
            min(len(text), LONGEST_LABEL + 1) * (1 if text.isascii() else 4) for text in texts.values() if text
        )
        self._counts.append(0)
        return len(self._kinds) - 1

    def add(self, series_number: int, samples: Iterable[Sample]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Add values to a series that has begun, and yield what has become full."""
        metric = self._kinds[series_number].metric
        for sample in samples:
            reason = None if sample.value is None else refusal_of(metric, sample.value)
            if reason is not None:
                self._reading.refuse(reason)
                continue
            if sample.time_ns is not None and date_of(sample.time_ns) is None:
                sample = replace(sample, time_ns=None)
                self._reading.refuse_once(CLOCK_NOT_SET)
            if sample.time_s is not None and not abs(sample.time_s) < LONGEST_TEST_S:
                sample = replace(sample, time_s=None)
                self._reading.refuse_once(CLOCK_NOT_SET)
            self._series.append(series_number)
            self._numbers.append(self._counts[series_number])
            self._counts[series_number] += 1
            self.samples += 1
            self._samples.append(sample)
            if len(self._samples) >= self._batch_rows:
                yield from self.finish()

    def finish(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield what is left."""
        if not self._samples:
            return
        series = pa.array(self._series, pa.int32())
        encoded = series.dictionary_encode()
        used = encoded.dictionary.to_pylist()
        columns: dict[str, pa.Array] = {
            "series_number": series,
            "sample_number": pa.array(self._numbers, pa.int64()),
            "time_ns": pa.array([sample.time_ns for sample in self._samples], pa.int64()),
            "time_s": pa.array([sample.time_s for sample in self._samples], pa.float64()),
            "duration_s": pa.array([_length_s(sample.duration_s) for sample in self._samples], pa.float64()),
            "value": pa.array([sample.value for sample in self._samples], pa.float64()),
        }
        for column, attribute in (
            ("series_name", "name"),
            ("flow_name", "flow"),
            ("role", "role"),
            ("direction", "direction"),
            ("metric", "metric"),
            ("unit", "unit"),
            ("sample_basis", "sample_basis"),
        ):
            of_series = pa.array([getattr(self._kinds[number], attribute) for number in used], pa.string())
            columns[column] = of_series.take(encoded.indices)
        self._series, self._numbers, self._samples = [], [], []
        yield TABLE, pa.RecordBatch.from_arrays([columns[field.name] for field in SCHEMA], schema=SCHEMA)


def _length_s(duration_s: float | None) -> float | None:
    """Return a length that intervals have; None for what cannot be one."""
    return duration_s if duration_s is not None and 0 < duration_s < LAST_EPOCH_S else None


def number(value: Any) -> float | None:
    """Return a JSON number as a double; None for anything else, and for what is larger than any measurement."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    # Comparisons first: NaN fails them.
    return converted if abs(converted) < LARGEST else None


def epoch_ns(value: Any) -> int | None:
    """Return a time in seconds of the UTC epoch as nanoseconds; None for what is not one."""
    seconds = number(value)
    if seconds is None or not 0 <= seconds < LAST_EPOCH_S:
        return None
    # Whole microseconds first: a double holds today's epoch to a quarter of a microsecond, not to a nanosecond.
    return round(seconds * 1_000_000) * 1000


def scaled(value: float | None, factor: float) -> float | None:
    """Return a value in another unit, a factor of 1 or more away; None where the product is larger than any."""
    if value is None or factor == 1:
        return value
    product = value * factor
    if not abs(product) < LARGEST:
        return None
    # 2.07 Mbit/s are 2 070 000 bit/s, and not the double beside.
    whole = float(round(product))
    return whole if whole / factor == value else product


def total(value: float | None, end_s: float | None = None) -> Sequence[Sample]:
    """Return the one value of a series that sums up a whole test; nothing where there is none."""
    return () if value is None else (Sample(value, duration_s=end_s),)
