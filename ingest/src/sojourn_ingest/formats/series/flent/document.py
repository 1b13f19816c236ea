"""A flent data file as one form, whatever its version.

What changed between versions is undone as flent itself does it (flent/resultset.py, ``unserialise_compat``): version 1
keeps raw values in the series' metadata or not at all; before version 4 raw values are as the tool gave them, so
that a request-response rate stands where a time in ms is meant, seconds where ms are, and counters since the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.series.series_rows import LAST_EPOCH_S, number

LAST_VERSION = 4
#: Keys without which a file of a later version cannot be read.
NEEDED = frozenset(("metadata", "raw_values", "results"))
TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)(Z?)$")
QUARTER_HOUR_S = 900
#: Name of a congestion control, as kernels have them.
CONTROL = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,15}$")
#: Those of Linux that a test may name in its series, beside words such as those of traffic classes.
ALGORITHMS = frozenset({
    "bbr", "bbr2", "bbr3", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "newreno",
    "prague", "reno", "scalable", "vegas", "veno", "westwood", "yeah",
})  # fmt: skip
#: Parts of a series' name, of which flent gives two or three: looking for raw values takes the square of their number.
MOST_PARTS = 16
#: Raw values, each counted for each series of its flow, which is looked for in all of them.
MOST_LOOKED_AT = 50_000_000
SINCE_LAST_POLL = ("dropped", "ecn_mark")


@dataclass(frozen=True)
class RawValue:
    """One raw value: time (s, UTC epoch), value, and the length (s) of the interval that it is of."""

    time_s: float
    value: float
    duration_s: float | None


class FlentDocument:
    """A parsed data file.

    Raises
    ------
    InputError
        ``corrupt_record`` where it is no data file, ``unsupported_version`` where it is a newer one.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        version = content.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InputError("corrupt_record", "flent data file: version is missing; expected a whole number")
        if version > LAST_VERSION and not content.keys() >= NEEDED:
            message = f"flent data file of version {version}, which lacks keys that versions 1 to {LAST_VERSION} have"
            raise InputError("unsupported_version", message)
        self.version = version
        self.metadata = _mapping(content.get("metadata"))
        self.results: dict[str, list[Any]] = {
            name: values for name, values in _mapping(content.get("results")).items() if isinstance(values, list)
        }
        grid = content.get("x_values")
        self.grid_s = [number(value) for value in grid] if isinstance(grid, list) else []
        self._series_meta = _mapping(self.metadata.get("SERIES_META"))
        raw = _mapping(content.get("raw_values"))
        if version == 1:
            raw = {name: meta.get("RAW_VALUES") for name, meta in self._series_meta.items() if isinstance(meta, dict)}
        self.raw: dict[str, list[dict[str, Any]]] = {
            name: [value for value in values if isinstance(value, dict)]
            for name, values in raw.items()
            if isinstance(values, list)
        }
        bases = (self.raw_key(series)[0] for series in self.results)
        if sum(len(self.raw[base]) for base in bases if base is not None) > MOST_LOOKED_AT:
            raise InputError("too_large", "flent data file: more series and raw values than a test has; split it")
        self.start_s = self._start_s()

    @property
    def test_name(self) -> str:
        """Name of the test, such as rrul."""
        name = self.metadata.get("NAME")
        return name if isinstance(name, str) and name else "flent"

    def text(self, key: str) -> str:
        """Return a text of the metadata; empty where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def meta_of(self, series: str) -> dict[str, Any]:
        """Return the metadata of one series."""
        return _mapping(self._series_meta.get(series))

    def congestion_control_of(self, series: str) -> str | None:
        """Return the congestion control of a series' flow, as netperf reported it, or as the series is called."""
        name = self.meta_of(series).get("CONG_CONTROL")
        if isinstance(name, str) and CONTROL.match(name):
            return name.lower()
        words = re.split(r"[ :]+", series.lower())
        named = ALGORITHMS.intersection(words[words.index("tcp") :]) if "tcp" in words else frozenset()
        return next(iter(named)) if len(named) == 1 else None

    def is_measured(self, series: str) -> bool:
        """Return whether a series has raw values; others were computed by flent."""
        base, key = self.raw_key(series)
        return base is not None and any(_at(value, key) is not None for value in self.raw[base])

    def is_summed_up_on_grid(self, series: str) -> bool:
        """Return whether flent sums a series up over its grid, where it has no raw values by that name."""
        return not self.is_measured(series) or not self.raw.get(series, True)

    def raw_key(self, series: str) -> tuple[str | None, list[str]]:
        """Return which raw values a series is of, and the path of its value in each.

        flent keeps an empty list under the names of some series whose values stand in those of their flow.
        """
        if self.raw.get(series):
            return series, ["val"]
        parts = series.split("::")
        if len(parts) > MOST_PARTS:
            parts = [series]
        for place in range(len(parts) - 1, 0, -1):
            base = "::".join(parts[:place])
            if self.raw.get(base):
                return base, parts[place:]
        return (series, ["val"]) if series in self.raw else (None, [])

    def raw_values(self, series: str) -> Iterator[RawValue | None]:
        """Yield the raw values of a series as flent's version 4 has them; None for one that is not a number."""
        base, path = self.raw_key(series)
        if base is None:
            return
        last: float | None = None
        for raw in self.raw[base]:
            at_path = _at(raw, path)
            if at_path is None:
                continue
            value, time, duration = number(at_path), number(raw.get("t")), number(raw.get("dur"))
            if value is None or time is None or not 0 <= time < LAST_EPOCH_S:
                yield None
                continue
            if self.version < LAST_VERSION:
                if path == ["val"] and "UDP" in base and duration is not None:
                    # A rate of transactions, which is none where it is 0.
                    converted = number(1000.0 / value) if value > 0 else None
                elif base == "HTTP latency":
                    converted = number(value * 1000.0)
                elif path[-1] in SINCE_LAST_POLL:
                    converted, last = 0.0 if last is None else value - last, value
                else:
                    converted = value
                if converted is None:
                    yield None
                    continue
                value = converted
            yield RawValue(time, value, duration)

    def _start_s(self) -> float | None:
        """Return the start of the test, UTC epoch; older files give it in the local time of an unknown zone."""
        times = [
            time
            for values in self.raw.values()
            for value in values
            if (time := number(value.get("t"))) is not None and 0 <= time < LAST_EPOCH_S
        ]
        first = min(times, default=None)
        match = TIME.match(self.text("T0")) or TIME.match(self.text("TIME"))
        try:
            named = None if match is None else datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
        except ValueError:
            named = None
        if match is None or named is None or named < 0:
            return first
        if match[2]:
            return named
        if first is None:
            return None
        # Zones differ by quarters of an hour.
        return named - round((named - first) / QUARTER_HOUR_S) * QUARTER_HOUR_S


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
