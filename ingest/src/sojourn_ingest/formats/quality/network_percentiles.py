"""Percentiles of throughput, latency and loss of many tests, as the Internet Quality Barometer's caches have them."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import pyarrow as pa

from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source
from sojourn_ingest.formats.quality.scores import PROVENANCE
from sojourn_ingest.formats.series.series_rows import number
from sojourn_ingest.schema import table

PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")
#: Of all quantities of a document.
MOST_PERCENTILES: Final = 10_000
WHAT: Final = "percentiles of tests"
#: Largest value of each quantity; none is negative.
LARGEST: Final = {
    "download_throughput_mbps": math.inf,
    "upload_throughput_mbps": math.inf,
    "latency_ms": math.inf,
    "packet_loss": 1.0,
}
#: The tests that a quantity is measured in: latency and loss are those of downloads.
TESTS_OF: Final = {"upload_throughput_mbps": "uploads"}


class NetworkPercentiles(Format):
    """One document with counts of tests, and percentiles by quantity; high percentiles are the good end of each."""

    name = "network_percentiles"
    without_facts = "percentiles of tests without one of a known quantity"
    holds_addresses = False
    version = "network-percentiles-3"

    def recognises(self, source: Source) -> bool:
        """Return whether the document has counts of tests and one of the quantities."""
        counts, metrics = source.object.get("sample_counts"), source.object.get("metrics")
        return isinstance(counts, dict) and isinstance(metrics, dict) and not metrics.keys().isdisjoint(LARGEST)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per quantity and percentile; a value that cannot be one is refused and counted."""
        content = json_document.read_object(source, WHAT, reading)
        metrics, counts = content.get("metrics"), content.get("sample_counts")
        rows: list[tuple[str, float, float, int | None]] = []
        given: set[tuple[str, float]] = set()
        for metric, values in (metrics if isinstance(metrics, dict) else {}).items():
            if metric not in LARGEST or not isinstance(values, dict):
                reading.refuse("metric: not one that is known")
                continue
            tests = json_document.count(
                counts.get(TESTS_OF.get(metric, "downloads")) if isinstance(counts, dict) else None
            )
            for name, value in values.items():
                match = PERCENTILE.fullmatch(name)
                if len(rows) == MOST_PERCENTILES:
                    reading.refuse(f"percentile: more than {MOST_PERCENTILES:,} of a document")
                    continue
                if match is None or not _is_value(metric, value):
                    reading.refuse("percentile: not a number on the quantity's scale")
                    continue
                key = metric, float(match[1])
                if key in given:
                    reading.refuse("percentile: another member of the quantity is the same percentile")
                    continue
                given.add(key)
                reading.records_read += 1
                rows.append((*key, float(value), tests))
        if not rows:
            return
        declared = [field for field in table("network_percentile").arrow_schema() if field.name not in PROVENANCE]
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), declared, strict=True)]
        yield "network_percentile", pa.RecordBatch.from_arrays(arrays, schema=pa.schema(declared))


def _is_value(metric: str, value: Any) -> bool:
    stated = number(value)
    return stated is not None and 0 <= stated <= LARGEST[metric]
