"""Two captures of one run, before and after the bottleneck: capture_pair, flow_pair, packet_pair.

A pair is a fact of two sources, so no file's reader can give it: the session pairs the captures next
to a run's manifest once all three were tried, under a hash over both contents, the rate and the burst.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.content.native_decoder import facts, input_error
from sojourn_ingest.formats.interface import Context, Facts, InputError, Pair, Reading, Source
from sojourn_ingest.remote import local_file


@dataclass(frozen=True)
class CapturePair(Pair):
    """The two captures of one run, each in one file or several; rate and burst of the bottleneck between them."""

    study_id: str
    run_id: str
    before: tuple[Path, ...]
    after: tuple[Path, ...]
    rate_bps: int
    #: What the bottleneck lets pass at once, such as a token bucket does; None where it is not known.
    burst_bytes: int | None
    before_hash: str
    after_hash: str

    name = "capture_pair"
    unknown_name = "before+after"
    holds_addresses = True

    @property
    def version(self) -> str:
        """Version of the reader."""
        return f"capture-pair-{_native.core_version()}"

    @property
    def path(self) -> Path:
        """Name of the pair in outcomes."""
        return self.path_of(self.before, self.after)

    @staticmethod
    def path_of(before: tuple[Path, ...], after: tuple[Path, ...]) -> Path:
        """Return the name in outcomes of a pair of captures: the first file of each, in their folder."""
        return before[0].with_name(f"{before[0].name}+{after[0].name}")

    @property
    def files(self) -> tuple[Path, ...]:
        """The files before the bottleneck, then those after it."""
        return (*self.before, *self.after)

    @property
    def content_hash(self) -> str:
        """Identity of the pair's facts."""
        text = f"capture pair\0{self.study_id}\0{self.run_id}\0{self.before_hash}\0{self.after_hash}\0{self.rate_bps}"
        if self.burst_bytes is not None:
            text += f"\0{self.burst_bytes}"
        return hashlib.sha256(text.encode()).hexdigest()

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the packets, the flows and the pair."""
        with local_file(*self.before) as before, local_file(*self.after) as after:
            try:
                decoder = _native.PairDecoder(
                    before[0],
                    after[0],
                    rate_bps=self.rate_bps,
                    burst_bytes=self.burst_bytes,
                    before_continued=before[1:],
                    after_continued=after[1:],
                )
            except _native.DecodeError as error:
                raise input_error(error) from error
            for table, batch in facts(decoder, context, reading):
                yield table, self._with_run(batch) if table == "capture_pair" else batch
        if reading.records_read == 0:
            raise reading.fault or InputError("empty", "neither capture holds a packet that can be decoded")

    def _with_run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in ("study_id", "run_id", "before_hash", "after_hash"):
            batch = batch.append_column(name, pa.repeat(pa.scalar(getattr(self, name)), batch.num_rows))
        return batch
