"""Captures in several files, such as a ring buffer leaves them: decoded as one, so that flows go on over the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn_ingest import _native
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.content.native_decoder import facts, input_error, read_summary
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source


class CaptureRecording(Capture):
    """The files of one recording, in the order of time."""

    name = "capture_recording"

    def __init__(self, parts: Sequence[Path], like: Capture) -> None:
        super().__init__(packets=like.packets, rtp_hints=like.rtp_hints)
        self.parts = tuple(parts)
        #: What was read of each part; empty until then.
        self.part_readings: list[Reading] = []

    @staticmethod
    def path_of(parts: Sequence[Path]) -> Path:
        """Return the name of a recording in outcomes: that of its first file, in the folder where it lies."""
        return parts[0].with_name(f"{parts[0].name}+continued")

    def recognises(self, source: Source) -> bool:
        """Return False: a recording is found by its files' names or a manifest, never by a content."""
        return False

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals, RTP streams, and packets where asked for."""
        first, *continued = (str(path) for path in self.parts)
        try:
            decoder = _native.CaptureDecoder(
                first, continued=continued, packets=self.packets, rtp_hints=self.native_hints()
            )
        except _native.DecodeError as error:
            raise input_error(error) from error
        yield from facts(decoder, context, reading)
        self.part_readings = [read_summary(summary) for summary in decoder.file_summaries()]
        for path, part in zip(self.parts, self.part_readings, strict=True):
            if part.fault is not None:
                # The offset is in that file; the recording has none.
                reading.fault = type(part.fault)(part.fault.reason, f"{path.name}: {part.fault.message}")
                break
        if reading.records_read == 0 and reading.fault is not None:
            raise reading.fault
