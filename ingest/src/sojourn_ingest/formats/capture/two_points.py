"""The packets of two captures without a manifest, matched as those of a run's pair are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.content.native_decoder import input_error

#: No bottleneck is known, so none delays a packet by sending it: at this rate serialisation takes 0 ns.
_NO_SERIALISATION_BPS = 2**62
#: What is told of a packet. Addresses are as the captures have them: what is shown of them is up to the caller.
COLUMNS = (
    "fate",
    "before_ns",
    "queuing_delay_ns",
    "packet_bytes",
    "ip_identification",
    "transport_word",
    "source_address",
    "destination_address",
)


class TwoPoints:
    """Packets that went from one capture point to the other, in the order of the first capture.

    Each recording is in one file or several, in the order of time. Iterate :meth:`packets` to its end, then read
    :attr:`totals`.

    Raises
    ------
    InputError
        If either recording cannot be decoded at all.
    """

    def __init__(self, first: Sequence[Path], second: Sequence[Path]) -> None:
        self.totals: dict[str, Any] = {}
        """The row of ``capture_pair`` without its run: packets of each capture, packets of both on the way back, the
        minimum time from point to point in ns, and the clocks (offset in ns, drift in ppm)."""
        try:
            self._decoder = _native.PairDecoder(
                str(first[0]),
                str(second[0]),
                rate_bps=_NO_SERIALISATION_BPS,
                before_continued=[str(path) for path in first[1:]],
                after_continued=[str(path) for path in second[1:]],
            )
        except _native.DecodeError as error:
            raise input_error(error) from error

    def packets(self) -> Iterator[pa.RecordBatch]:
        """Yield batches with :data:`COLUMNS`.

        ``before_ns`` is by the first point's clock, ``queuing_delay_ns`` what the packet took above the minimum. The
        time to send a packet over the bottleneck is part of it, because its rate is not known.
        """
        for table, batch in self._decoder:
            if table == "packet_pair":
                yield batch.select(list(COLUMNS))
            elif table == "capture_pair":
                (self.totals,) = batch.to_pylist()
