"""Results of irtt as JSON (``irtt client -o``), ``json_format`` 1: round trips, lost ones, variation of both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sojourn_ingest.formats.content.json_document import label, read_object
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number
from sojourn_ingest.formats.series.setting import setting_of

FILE = "irtt result"
FORMAT = 1
FLOW = "irtt"
LARGEST_NS = 2**63
#: What irtt states of all round trips.
STATED = ("min", "mean", "median", "max")
#: Way of irtt's names, and the way of the data, the client being the customer.
WAYS = {"send": "uplink", "receive": "downlink"}


class Irtt(Format):
    """One result of irtt's client."""

    name = "irtt"
    without_facts = "irtt result without a round trip; the test ended before its first packet"
    holds_addresses = False
    version = "irtt-7"

    def recognises(self, source: Source) -> bool:
        """Return whether the document states irtt's versions."""
        versions = source.object.get("version")
        return isinstance(versions, dict) and "irtt" in versions

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and its series.

        The clocks of both ends may differ, so one-way delays are given above their smallest (RFC 5481, section 4.2).

        Raises
        ------
        InputError
            ``unsupported_version`` for another format without what is read of this one.
        """
        document = read_object(source, FILE, reading)
        versions = document.get("version")
        stated = versions.get("json_format") if isinstance(versions, dict) else None
        trips = document.get("round_trips")
        if stated != FORMAT and not isinstance(trips, list):
            raise InputError("unsupported_version", f"irtt result with a json_format other than {FORMAT}")
        rows = SeriesRows(reading)
        samples: list[Sample] = []
        one_way: dict[str, list[Sample]] = {way: [] for way in WAYS}
        first_ns: int | None = None
        for trip in trips if isinstance(trips, list) else ():
            reading.records_read += 1
            sent_ns = _count(_at(trip, "timestamps", "client", "send", "wall"))
            is_lost = label(_at(trip, "lost")).startswith("true")
            rtt_ns = number(_at(trip, "delay", "rtt"))
            if not is_lost and rtt_ns is None:
                reading.refuse("round trip without its time")
                continue
            first_ns = sent_ns if first_ns is None else first_ns
            since_s = None if sent_ns is None or first_ns is None else (sent_ns - first_ns) / 1e9
            samples.append(Sample(None if is_lost or rtt_ns is None else rtt_ns / 1e6, sent_ns, since_s))
            for way, delays in one_way.items():
                stated_ns = _at(trip, "delay", way)
                delay_ns = number(stated_ns)
                if delay_ns is None:
                    # A lost trip has none, and neither has a server without time stamps.
                    reading.refuse(f"{way} delay: not a number", int(stated_ns is not None))
                else:
                    delays.append(Sample(delay_ns / 1e6, sent_ns, since_s))
        yield from rows.add(rows.begin(SeriesKind("rtt", "rtt_ms", "samples", FLOW, "probe")), samples)
        for way, delays in one_way.items():
            kind = SeriesKind(f"{way}_delay", "delay_variation_ms", "samples", FLOW, "probe", WAYS[way])
            smallest = min((sample.value for sample in delays if sample.value is not None), default=0.0)
            if delays:
                yield from rows.add(rows.begin(kind), _above(delays, smallest))
        for name in STATED:
            value = number(_at(document, "stats", "rtt", name))
            if value is not None:
                kind = SeriesKind(f"stats rtt {name}", "rtt_ms", "total", FLOW, "probe")
                yield from rows.add(rows.begin(kind), [Sample(value / 1e6)])
        yield from rows.finish()
        setting = setting_of("", source.plain_name)
        run = ToolRun("irtt", "irtt", setting, start_ns=first_ns)
        yield from run_rows(run, source, context)


def _above(samples: list[Sample], smallest: float) -> Iterator[Sample]:
    for sample in samples:
        if sample.value is not None:
            yield Sample(sample.value - smallest, sample.time_ns, sample.time_s)


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < LARGEST_NS else None
