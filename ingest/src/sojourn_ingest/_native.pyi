"""The decoder in Rust: checksums and sniffing, captures, queue logs; Arrow crosses the boundary."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

class DecodeError(Exception):
    """A fault in an input; ``args`` is ``(message, offset)``, the byte offset in the plain content or None."""

class UnrecognisedFormatError(DecodeError):
    """The content is not of the format that was asked for."""

class TruncatedError(DecodeError):
    """The content ends inside a record or header."""

class CorruptRecordError(DecodeError):
    """A record contradicts the format, such as a length no record can have."""

class UnsupportedLinkTypeError(DecodeError):
    """The capture's link type has no decoder."""

class CompressionError(DecodeError):
    """The compressed stream is damaged."""

class SourceReadError(DecodeError):
    """The operating system refused to read the file."""

class Fingerprint:
    """Identity of a file by its plain content."""

    sha256: str
    plain_bytes: int
    compression: str
    head: bytes
    fault: DecodeError | None

def fingerprint(path: str, head_bytes: int = 65536) -> Fingerprint:
    """Hash the plain content of a file, decompressing as needed, in bounded memory and without the GIL.

    Raises SourceReadError if the file cannot be opened or read. A damaged compressed stream does not
    raise: ``fault`` says what happened, and the hash covers what could be decompressed.
    """

class Summary:
    """What a finished decoder saw. ``fault`` is the first fault, or None when the input was whole."""

    records_read: int
    refused: dict[str, int]
    fault: DecodeError | None

class CaptureDecoder:
    """Iterator over ``(table, batch)`` of one recording; tables are flow, flow_interval, rtp_stream and packet.

    The recording is one capture file, or several in the order of time: ``path`` and then ``continued``. A flow
    ends after ``idle_ms`` without a packet, and the most silent ones when more than ``open_flows`` are open.
    The table packet is given only where ``packets`` asks for it.

    Batches hold the declared columns without provenance; endpoints are plain addresses in
    ``*_address`` instead of ``*_host_key`` and ``*_prefix_key``. Records before a fault are yielded,
    then the iteration ends and ``summary().fault`` tells of it. Of a capture whose link type has no decoder
    every packet is refused, and the fault is an UnsupportedLinkTypeError. Construction raises ValueError for a
    number below 1, and a DecodeError where nothing can be read: UnrecognisedFormatError, TruncatedError,
    CorruptRecordError, CompressionError or SourceReadError.
    """

    def __init__(
        self,
        path: str,
        *,
        continued: Sequence[str] = (),
        interval_ms: int = 100,
        batch_rows: int = 65536,
        packets: bool = False,
        idle_ms: int = 600_000,
        open_flows: int = 65_536,
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...
    def __next__(self) -> tuple[str, pa.RecordBatch]: ...
    def summary(self) -> Summary: ...

class PairDecoder:
    """Iterator over ``(table, batch)`` of two captures of one run, before and after the bottleneck.

    Tables are packet_pair, flow_pair and capture_pair, with plain addresses and without provenance, study and
    run. ``rate_bps`` is the bottleneck's rate. Construction raises as that of CaptureDecoder does.
    """

    def __init__(self, before: str, after: str, *, rate_bps: int, batch_rows: int = 65536) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...
    def __next__(self) -> tuple[str, pa.RecordBatch]: ...
    def summary(self) -> Summary: ...

class QueueLogDecoder:
    """Iterator over ``(table, batch)`` of one queue log; tables are queue_event, queue_interval, queue and queue_log.

    ``form`` is bpftrace, qmon or perf, or table with ``declaration``, the JSON of its columns and units.
    Construction raises as that of CaptureDecoder does, and ValueError for an unknown form.
    """

    def __init__(
        self,
        path: str,
        *,
        form: str,
        declaration: str | None = None,
        batch_rows: int = 65536,
        interval_ms: int = 100,
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...
    def __next__(self) -> tuple[str, pa.RecordBatch]: ...
    def summary(self) -> Summary: ...

def queue_log_form(head: bytes) -> str | None:
    """Return the form of a queue log by its first bytes, of those that need no declaration; None if it is none."""

def core_version() -> str:
    """Version of the decoder core, which changes whenever decoded facts may change."""
