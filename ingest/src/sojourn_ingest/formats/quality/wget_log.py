"""Page loads from logs of GNU Wget: a page with its requisites (``wget -p``), and the wall clock time of all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.page_loads import LONGEST_LINE, METRIC, load_time_ms, loads_of_run
from sojourn_ingest.formats.quality.scores import Score

REQUEST = re.compile(rb"--\d{4}-\d\d-\d\d \d\d:\d\d:\d\d--  (\(try:)?")
DEBUG: Final = b"DEBUG output created by Wget"
FAILED = re.compile(rb"ERROR \d{3}|failed: |^wget: unable to resolve|^Giving up|^Read error")
CONNECTED: Final = b"connected."
SAVED_FROM: Final = b") - "
SAVED_TO: Final = b" saved ["
SAVING: Final = b"Saving to: "
TOTAL: Final = b"Total wall clock time: "
DOWNLOADED = re.compile(rb"Downloaded: (\d+) files?,")
TIME = re.compile(rb"(?:(\d+)d ?)?(?:(\d+)h ?)?(?:(\d+)m ?)?(?:(\d+(?:\.\d+)?)s)?")
SECONDS_OF_UNITS: Final = (86_400, 3_600, 60, 1)


def wall_clock_ms(text: bytes) -> float:
    """Return a time as Wget writes it (``0.7s``, ``1m 5s``, ``2h 3m``), in ms.

    Raises
    ------
    ValueError
        If the text is not such a time, or too short for Wget to tell it from 0.
    """
    match = TIME.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError("the total wall clock time cannot be read")
    time = sum(float(value) * unit for value, unit in zip(match.groups(b"0"), SECONDS_OF_UNITS, strict=True))
    if time <= 0:
        raise ValueError("the total wall clock time is less than wget writes")
    return time * 1000


@dataclass
class _Block:
    """What a log has said so far of one load."""

    is_open: bool = False
    has_failed: bool = False
    has_page: bool = False
    time: bytes | None = None


class WgetLog(Format):
    """A log of ``wget -p``, to which several loads may be appended (``-a``), in English."""

    name = "wget_log"
    without_facts = "wget log: no load has a 'Total wall clock time'; load pages with LC_ALL=C wget -p -a FILE URL"
    holds_addresses = False
    version = "wget-log-3"

    def recognises(self, source: Source) -> bool:
        """Return whether the log begins with Wget's first request, or its note of debug output."""
        return any(REQUEST.match(line) or line.startswith(DEBUG) for line in head_lines(source, limit=3))

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one load time per load; a load that failed or has no total is refused and counted."""

        def scores() -> Iterator[Score]:
            try:
                with open_plain(source) as handle:
                    yield from _scores(handle, reading)
            except InputError as error:
                # Damage to the compressed stream: the loads before it stand.
                reading.fault = error

        return loads_of_run(scores(), source, context)


def _scores(handle: BinaryIO, reading: Reading) -> Iterator[Score]:
    number = 0
    block = _Block()
    while line := handle.readline(LONGEST_LINE):
        request = REQUEST.match(line)
        if line.startswith(DEBUG) or (request and block.has_failed and not block.has_page and not request.group(1)):
            # A page that failed has no requisites, so that the next request is another load's.
            if block.is_open:
                _refuse(reading, block)
                number += 1
            block = _Block()
        if request:
            block.is_open = True
        elif not block.has_page and FAILED.search(line):
            block.has_failed = True
        elif line.rstrip().endswith(CONNECTED):
            block.has_failed = False
        elif _is_saved(line):
            block.has_page = True
        elif line.startswith(TOTAL):
            block.time = line.removeprefix(TOTAL).strip()
        elif block.time is not None and (downloaded := DOWNLOADED.match(line)):
            # Not as a number: it may have more digits than Python converts.
            if not downloaded.group(1).strip(b"0"):
                reading.refuse("load: the page did not load (wget downloaded no file)")
            else:
                try:
                    time = load_time_ms(wall_clock_ms(block.time))
                except ValueError as error:
                    reading.refuse(f"load: {error}")
                else:
                    reading.records_read += 1
                    yield Score(METRIC, f"load/{number}", None, time)
            number += 1
            block = _Block()
    if block.is_open:
        _refuse(reading, block)


def _is_saved(line: bytes) -> bool:
    # Not `\) - .* saved \[`, which reads the line once more for each `) - ` of it.
    return SAVED_TO in line.partition(SAVED_FROM)[2] or line.startswith(SAVING)


def _refuse(reading: Reading, block: _Block) -> None:
    if block.has_failed and not block.has_page:
        reading.refuse("load: the page did not load (wget's error)")
    else:
        reading.refuse("load: the log has no total wall clock time of it")
