"""Page loads: HAR 1.2, objects of curl or of Navigation Timing, or times of curl, one per line.

Addresses, names and contents of pages are never kept: a load is known by its number.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Final

from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.content.plain_text import head_lines, lines_of_json
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.scores import Score, facts_of
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import number
from sojourn_ingest.formats.series.setting import setting_of
from sojourn_ingest.schema.column import LONGEST_LABEL

METRIC: Final = "page_load_time_ms"
LONGEST_LINE: Final = 2**20
LONGEST_LOAD_MS: Final = 86_400_000.0
"""A larger number is a time since 1970, or has another unit."""
#: What HAR 1.2 asks a log to have.
OF_LOG: Final = frozenset(("pages", "entries", "creator", "version"))
NUMBERS_FILE: Final = "page_loads.txt"
SECONDS = re.compile(rb"-?\d{1,9}([.,]\d{1,9})?")


def load_time_ms(value: Any, factor: float = 1.0) -> float:
    """Return a page load time in ms from a number in 1 / ``factor`` ms.

    Raises
    ------
    ValueError
        If it is not a positive number; -1 and 0 are what tools write where a page did not load.
    """
    time = number(value)
    if time is None:
        raise ValueError("no load time")
    if time <= 0:
        raise ValueError("the page did not load (its time is not positive)")
    if time * factor > LONGEST_LOAD_MS:
        raise ValueError("longer than a day: not a load time")
    return time * factor


def loads_of_run(scores: Iterator[Score], source: Source, context: Context) -> Facts:
    """Yield page loads, and where no manifest lies beside them and there is one at all, the run that they are of."""
    has_loads = False
    for facts in facts_of(scores):
        has_loads = True
        yield facts
    if has_loads:
        run = ToolRun("page_loads", "page_load", setting_of("", source.plain_name), application="web")
        yield from run_rows(run, source, context)


class HttpArchive(Format):
    """HAR 1.2, as browsers save it: the time of each page's load event."""

    name = "http_archive"
    without_facts = "HAR without a page that loaded; load the page and save it again"
    holds_addresses = False
    version = "http-archive-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the document is a log."""
        log = source.object.get("log")
        return isinstance(log, dict) and not OF_LOG.isdisjoint(log)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one load time a page; a page that did not load is refused and counted."""
        log = json_document.read_object(source, "HAR", reading).get("log")
        pages = log.get("pages") if isinstance(log, dict) else None
        if not isinstance(pages, list) or not pages:
            raise InputError("no_measurement", "HAR: the log has no pages; load the page and save it again", 0)

        def scores() -> Iterator[Score]:
            earlier: set[tuple[str, str, float]] = set()
            for place, page in enumerate(pages):
                try:
                    time = _time_of_page(page, earlier)
                except ValueError as error:
                    reading.refuse(f"page: {error}")
                    continue
                reading.records_read += 1
                yield Score(METRIC, f"load/{place}", None, time)

        return loads_of_run(scores(), source, context)


def _time_of_page(page: Any, earlier: set[tuple[str, str, float]]) -> float:
    """Return the time of a page in ms; ValueError if it did not load, or is one of the earlier ones once more."""
    timings = page.get("pageTimings") if isinstance(page, dict) else None
    time = load_time_ms(timings.get("onLoad") if isinstance(timings, dict) else None)
    # An id is of one page. In logs that were put together it is not, but then the loads began at other times.
    name, start = (json_document.label(page.get(key))[:LONGEST_LABEL] for key in ("id", "startedDateTime"))
    load = (name, start, time)
    if load in earlier:
        raise ValueError("it repeats an earlier one")
    earlier.add(load)
    return time


class LinesOfLoads(Format):
    """A load per line, of which a line that cannot be read is refused and counted."""

    without_facts = "no line describes a page that loaded; load the page again"
    holds_addresses = False

    @staticmethod
    @abstractmethod
    def time_of_line(line: bytes) -> float:
        """Return the time of a load in ms.

        Raises
        ------
        ValueError
            If the line cannot be read, or the page did not load.
        """

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one load time per line."""

        def scores() -> Iterator[Score]:
            for place, line in enumerate(lines_of_json(source, reading, LONGEST_LINE)):
                try:
                    time = self.time_of_line(line)
                except ValueError as error:
                    reading.refuse(f"load: {error}")
                else:
                    reading.records_read += 1
                    yield Score(METRIC, f"load/{place}", None, time)

        return loads_of_run(scores(), source, context)


class PageLoadLines(LinesOfLoads):
    """One JSON object per line: curl's ``-w '%{json}'``, PerformanceNavigationTiming, or its older form."""

    name = "page_load_lines"
    version = "page-load-lines-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is of a load."""
        first = source.json.value if source.json is not None else None
        load = first[0] if isinstance(first, list) and first else first
        return isinstance(load, dict) and ("time_total" in load or "loadEventEnd" in load)

    @staticmethod
    def time_of_line(line: bytes) -> float:
        """Return the time of a load in ms; ValueError if there is none."""
        return _time_of_line(line)


class PageLoadNumbers(LinesOfLoads):
    """One number per line: seconds, as curl writes ``%{time_total}``. Only its name tells it."""

    name = "page_load_numbers"
    version = "page-load-numbers-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the file is called ``page_loads.txt`` and begins with a number."""
        lines = head_lines(source, limit=1)
        return source.plain_name == NUMBERS_FILE and bool(lines) and SECONDS.fullmatch(lines[0].strip()) is not None

    @staticmethod
    def time_of_line(line: bytes) -> float:
        """Return the time of a load in ms; ValueError if there is none."""
        if SECONDS.fullmatch(line.strip()) is None or not line.endswith(b"\n"):
            raise ValueError("the line is not a whole number of seconds with its fraction")
        # Some locales of curl write a comma.
        return load_time_ms(float(line.strip().replace(b",", b".")), 1000.0)


def _time_of_line(line: bytes) -> float:
    try:
        load = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("the line is not JSON") from error
    if isinstance(load, list) and len(load) == 1:
        # What performance.getEntriesByType("navigation") returns.
        (load,) = load
    if not isinstance(load, dict):
        raise ValueError("the line is not one object")  # noqa: TRY004 - of the input, not of a caller
    if "time_total" in load:
        if load.get("exitcode"):
            raise ValueError("curl failed")
        return load_time_ms(load["time_total"], 1000.0)
    # The older performance.timing counts from 1970, and says when the navigation began.
    end, start = load.get("loadEventEnd"), load.get("navigationStart", load.get("startTime", 0))
    if end == 0:
        raise ValueError("the page did not load (its time is not positive)")
    if isinstance(end, bool) or not isinstance(end, int | float) or not isinstance(start, int | float):
        raise ValueError("no load time")  # noqa: TRY004 - of the input, not of a caller
    return load_time_ms(end - start)
