"""The time of qlog's events, which each draft states in another way.

Drafts 00 and 01: columns ``time``, ``relative_time`` or ``delta_time``, and ``reference_time`` in ``time_units``. From
draft 02 on: ``time_format`` is absolute, relative or delta, later ``relative_to_epoch`` or
``relative_to_previous_event``, with a ``reference_time`` that may be a time of RFC 3339, or an object (draft 10).
"""

from __future__ import annotations

from typing import Any

from sojourn_ingest.formats.series.series_rows import number
from sojourn_ingest.text_columns import rfc3339_ns_of

NS_PER_MS = 1_000_000
UNITS_PER_MS = {"ms": 1.0, "us": 1000.0, "ns": 1_000_000.0}
#: 1973 in ms. Some converters give a reference time in s, whatever the unit is.
EARLIEST_MS = 1e11
LATEST_MS = 2**33 * 1000.0
#: Times of events, after the first one.
LONGEST_MS = 1e11


def number_in(value: Any) -> float | None:
    """Return a number, also one written as a text, as drafts before 02 have them; None for anything else."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    return number(value)


class Clock:
    """The clock of one trace: its unit, and where it begins in UTC, if that is known."""

    def __init__(self, header: dict[str, Any]) -> None:
        common, configuration = _object(header.get("common_fields")), _object(header.get("configuration"))
        units = configuration.get("time_units") or common.get("time_units") or header.get("time_units")
        #: A unit that is not known makes no time of the trace one.
        self.has_known_unit = units is None or str(units).lower() in UNITS_PER_MS
        self.per_ms = UNITS_PER_MS.get(str(units).lower(), 1.0)
        reference = common.get("reference_time", header.get("reference_time"))
        self._offset_ms = (number_in(configuration.get("time_offset")) or 0.0) / self.per_ms
        self._format = str(common.get("time_format") or "").lower()
        self._previous_ms = 0.0
        self._first_ms: float | None = None
        #: UTC of the time 0, and of the first event, where only that is known.
        self._epoch_ms, self._wall_ms = self._origin(reference)

    def _origin(self, reference: Any) -> tuple[float | None, float | None]:
        if isinstance(reference, dict):
            return _utc_ms(reference.get("epoch")), _utc_ms(reference.get("wall_clock_time"))
        stated = number_in(reference)
        if stated is None and isinstance(reference, str):
            return _utc_ms(reference), None
        if stated is None or stated <= 0:
            return None, None
        ms = stated / self.per_ms
        ms = stated * 1000 if ms < EARLIEST_MS else ms
        return (ms if EARLIEST_MS <= ms < LATEST_MS else None), None

    def time_ms(self, event: dict[str, Any]) -> float | None:
        """Return the time of an event on the trace's clock; None where it states none. Events come in order."""
        name = next((key for key in ("time", "relative_time", "delta_time") if key in event), None)
        if name is None:
            return None
        stated = number_in(event[name])
        if stated is None:
            return None
        ms = stated / self.per_ms
        own = event.get("time_format")
        form = own.lower() if isinstance(own, str) else self._format
        if name == "delta_time" or (name == "time" and form in ("delta", "relative_to_previous_event")):
            ms += self._previous_ms
        elif name == "time" and ms >= EARLIEST_MS and form in ("", "absolute"):
            # An absolute time, from which the trace's begins.
            self._epoch_ms = 0.0 if self._epoch_ms is None else self._epoch_ms
            ms -= self._epoch_ms
        elif name == "time" and form == "absolute" and self._epoch_ms is not None:
            ms -= self._epoch_ms
        self._previous_ms = ms
        self._first_ms = ms if self._first_ms is None else self._first_ms
        return ms

    def utc_ns(self, ms: float) -> int | None:
        """Return a time of this clock as nanoseconds of the UTC epoch; None where the file does not relate both."""
        if self._epoch_ms is not None:
            utc_ms = self._epoch_ms + self._offset_ms + ms
        elif self._wall_ms is not None and self._first_ms is not None:
            utc_ms = self._wall_ms + ms - self._first_ms
        else:
            return None
        # Whole microseconds first: a double holds today's epoch to a quarter of one.
        return round(utc_ms * 1000) * 1000 if EARLIEST_MS <= utc_ms < LATEST_MS else None

    def since_s(self, ms: float) -> float | None:
        """Return a time of this clock in seconds after the trace's first event."""
        since_ms = ms - (self._first_ms or 0.0)
        return since_ms / 1000 if abs(since_ms) < LONGEST_MS else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _utc_ms(value: Any) -> float | None:
    if isinstance(value, str):
        ns = rfc3339_ns_of(value)
        return None if ns is None else ns / NS_PER_MS
    stated = number_in(value)
    return stated if stated is not None and 0 <= stated < LATEST_MS else None
