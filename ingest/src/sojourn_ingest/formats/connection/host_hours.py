"""Passive RTT by host and hour, added up while samples stream by, with the circuit, site and plan of the host."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.enrichment.enrichment import ClientLookup
from sojourn_ingest.formats.interface import Context, Facts, Reading
from sojourn_ingest.schema import table

TABLE = "passive_rtt"
HOUR_NS = 3_600 * 10**9
#: Sums of hosts that are kept; of more, all are given, and a later sample of a host begins another row of its hour.
OPEN_SUMS = 65_536
BATCH_ROWS = 16_384
#: Of a host or prefix in an hour: a billion samples of 100 ms. Models add up thousands of them.
LARGEST_SUM_NS = 10**17
MOST_SAMPLES = 2**40
PROVENANCE = ("source_hash", "decoder_version")
SCHEMA = pa.schema([column for column in table(TABLE).arrow_schema() if column.name not in PROVENANCE])


class HostHours:
    """Adds up RTT samples by data set, host and hour; memory is bounded, and rows of the same host and hour add up."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self._reading = reading
        self._lookup = ClientLookup(context.enrichment, context.pseudonymiser)
        self._open: dict[tuple[str, bool, str, int], list[int]] = {}
        self._rows = 0

    @property
    def is_full(self) -> bool:
        """Whether sums should be given before more are kept."""
        return len(self._open) > OPEN_SUMS

    def add(self, key: tuple[str, bool, str, int], samples: int, sum_ns: int, minimum_ns: int, maximum_ns: int) -> bool:
        """Add samples of ``key``: data set, whether synthetic, address of the host, number of the hour since 1970.

        Returns whether they were added; if not, they are counted as refused.
        """
        sums = self._open.get(key)
        held_samples, held_ns = (sums[0], sums[1]) if sums else (0, 0)
        if held_samples + samples > MOST_SAMPLES or held_ns + sum_ns > LARGEST_SUM_NS:
            self._reading.refuse("sum_of_hour_too_large")
            return False
        if sums is None:
            self._open[key] = [samples, sum_ns, minimum_ns, maximum_ns]
            return True
        sums[0] += samples
        sums[1] += sum_ns
        if minimum_ns < sums[2]:
            sums[2] = minimum_ns
        if maximum_ns > sums[3]:
            sums[3] = maximum_ns
        return True

    def batches(self) -> Facts:
        """Yield all sums as rows of ``passive_rtt``, and begin again."""
        ready, self._open = list(self._open.items()), {}
        for place in range(0, len(ready), BATCH_ROWS):
            yield TABLE, self._batch(ready[place : place + BATCH_ROWS])

    def _batch(self, items: list[tuple[tuple[str, bool, str, int], list[int]]]) -> pa.RecordBatch:
        rows = len(items)
        addresses = pa.array([key[2] for key, _ in items], pa.string())
        client, malformed = self._lookup.columns({"client_address": addresses}, rows)
        # A prefix of several hosts has no circuit: the look-up would find that of its first address.
        single = pa.array([None if "prefix" in key[0] else key[2] for key, _ in items], pa.string())
        columns = client | self._lookup.circuits(single)
        columns |= {
            "row_number": pa.array(range(self._rows, self._rows + rows), pa.int64()),
            "dataset": pa.array([key[0] for key, _ in items], pa.string()),
            "synthetic": pa.array([key[1] for key, _ in items], pa.bool_()),
            "hour_start_ns": pa.array([key[3] * HOUR_NS for key, _ in items], pa.int64()),
            "rtt_samples": pa.array([sums[0] for _, sums in items], pa.int64()),
            "rtt_sum_us": pa.array([max(sums[0], round(sums[1] / 1000)) for _, sums in items], pa.int64()),
            # Below half a microsecond a minimum would read as none.
            "rtt_min_us": pa.array([max(1, round(sums[2] / 1000)) for _, sums in items], pa.int64()),
            "rtt_max_us": pa.array([max(1, round(sums[3] / 1000)) for _, sums in items], pa.int64()),
        }
        self._rows += rows
        batch = pa.RecordBatch.from_arrays([columns[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA)
        # The reader of connections counts these records as refused; here they are left out once more.
        return batch.filter(pc.invert(malformed))
