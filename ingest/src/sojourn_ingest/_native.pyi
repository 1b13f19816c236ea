"""The decoder in Rust: checksums and sniffing, captures, queue logs; Arrow crosses the boundary."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

class DecodeError(Exception):
    """A fault in an input; ``args`` is ``(message, offset)``, the byte offset in the plain content or None."""

class UnrecognisedFormatError(DecodeError):
    """The content is not of the format that was asked for."""

class TruncatedError(DecodeError):
    """The content ends inside a record or header."""

class CorruptRecordError(DecodeError):
    """A record contradicts the format, such as a length no record can have."""

class OverlappingCapturesError(DecodeError):
    """The captures in an archive do not follow one another in time."""

class UnsupportedLinkTypeError(DecodeError):
    """The capture's link type has no decoder."""

class NothingUsableError(DecodeError):
    """Every record of the input was refused."""

class CompressionError(DecodeError):
    """The compressed stream is damaged."""

class ChecksumError(CompressionError):
    """A checksum of the compressed stream does not match, so that any byte of the content may be wrong."""

class ExpandsTooFarError(DecodeError):
    """What is stored stands for more content than is read of so little."""

class UnknownQueueError(DecodeError):
    """The log does not say by which queue packets were dropped."""

class IndistinctPacketsError(DecodeError):
    """Packets of a pair of captures look alike."""

class ImpossibleDelayError(DecodeError):
    """A packet of a pair of captures takes longer than any does."""

class OtherSegmentsError(DecodeError):
    """Segments of TCP differ between the points of a pair of captures."""

class SourceReadError(DecodeError):
    """The operating system refused to read the file."""

class Fingerprint:
    """Identity of a file by its plain content."""

    sha256: str
    plain_bytes: int
    compression: str
    head: bytes
    fault: DecodeError | None

def fingerprint(path: str, head_bytes: int = 65536, head_only: Sequence[bytes] = ()) -> Fingerprint:
    """Hash the plain content of a file, decompressing as needed, in bounded memory and without the GIL.

    Of a content that begins with one of ``head_only``, only the head is read: ``sha256`` is empty, and ``plain_bytes``
    at most one more than those of the head.

    Raises SourceReadError if the file cannot be opened or read. A damaged compressed stream does not
    raise: ``fault`` says what happened, and the hash covers what could be decompressed.
    """

class CaptureSpan:
    """When a capture began and ended (None without a packet), and the link types of its packets, ascending."""

    first_ns: int | None
    last_ns: int | None
    link_types: list[int]

def holds_capture(path: str) -> bool:
    """Return whether a file is a tar or zip archive that has a capture among its files.

    Raises a DecodeError where it cannot be opened.
    """

def capture_span(path: str) -> CaptureSpan:
    """Read the times and link types of a capture; of a damaged one the span ends at the damage.

    Raises a DecodeError where nothing of it can be read.
    """

class Summary:
    """What a finished decoder saw.

    ``refused`` counts records by the names of ``refusal_reasons``; ``fault`` is the first fault, or None when the input
    was whole.
    """

    records_read: int
    refused: dict[str, int]
    fault: DecodeError | None

class CaptureDecoder:
    """Iterator over ``(table, batch)`` of one recording.

    Tables are flow and flow_ecn, their intervals, flow_spin, flow_spin_edge, rtp_stream and packet.

    The recording is one capture file, or several in the order of time: ``path`` and then ``continued``. A flow
    ends after ``idle_ms`` without a packet, and the most silent ones when more than ``open_flows`` are open.
    The table packet is given only where ``packets`` asks for it. ``rtp_hints`` state what is known of UDP flows:
    source address and port, destination address and port, whether it is RTP, and SSRC and payload type or None. A
    declared stream is believed from its first packet on; a flow declared not to be RTP has no stream.

    Batches hold the declared columns without provenance; endpoints are plain addresses in
    ``*_address`` instead of ``*_host_key`` and ``*_prefix_key``. ``server_names`` says how much of the names of servers
    is kept: registrable, full or none. Records before a fault are yielded,
    then the iteration ends and ``summary().fault`` has it. If the link type of a capture has no decoder,
    every packet is refused, and the fault is an UnsupportedLinkTypeError. Construction raises ValueError for a
    number below 1, and a DecodeError where nothing can be read: UnrecognisedFormatError, TruncatedError,
    CorruptRecordError, CompressionError or SourceReadError. A single capture can be ``hashed`` as it is read.
    """

    def __init__(
        self,
        path: str,
        *,
        continued: Sequence[str] = (),
        rtp_hints: Sequence[tuple[str, int, str, int, bool, int | None, int | None]] = (),
        interval_ms: int = 100,
        batch_rows: int = 65536,
        packets: bool = False,
        idle_ms: int = 600_000,
        open_flows: int = 65_536,
        server_names: str = "registrable",
        hashed: bool = False,
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...
    def __next__(self) -> tuple[str, pa.RecordBatch]: ...
    def summary(self) -> Summary:
        """Return what was seen of all files."""

    def content_hash(self) -> str | None:
        """Return the SHA-256 of the plain content, once the iteration has ended; None if it was not ``hashed``.

        Raises SourceReadError if the file cannot be read to its end.
        """

    def file_summaries(self) -> list[Summary]:
        """Return what was seen of each file, in their order."""

class PairDecoder:
    """Iterator over ``(table, batch)`` of two captures of one run, before and after the bottleneck.

    Tables are packet_pair, flow_pair and capture_pair, with plain addresses and without provenance, study and
    run. ``rate_bps`` is the bottleneck's rate, ``burst_bytes`` what it lets pass at once (None: not known). Each
    capture may be continued in several files, in the order of time.
    The captures are read twice, with the first batch. Construction raises as that of CaptureDecoder does.
    """

    def __init__(
        self,
        before: str,
        after: str,
        *,
        rate_bps: int,
        burst_bytes: int | None = None,
        before_continued: Sequence[str] = (),
        after_continued: Sequence[str] = (),
        batch_rows: int = 65536,
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...
    def __next__(self) -> tuple[str, pa.RecordBatch]: ...
    def summary(self) -> Summary: ...

class QueueLogDecoder:
    """Iterator over ``(table, batch)`` of one queue log; tables are queue_packet, queue_interval, queue and queue_log.

    ``form`` is one of ``queue_log_forms``; one that is declared needs ``declaration``, the JSON of its columns and
    units. Construction raises as that of CaptureDecoder does, and ValueError for an unknown form.
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
    """Return the form of a queue log that needs no declaration, from its first bytes; None for other content."""

class LinkType:
    """A link type of captures that has a decoder, under one of its numbers in the registry of tcpdump."""

    number: int
    name: str
    meaning: str

def link_types() -> list[LinkType]:
    """Return the link types that have a decoder, of each link layer first the number that files have today."""

class QueueLogForm:
    """A form of queue log.

    ``run_file`` is the name of such a log in the folder of a run, without the suffix of a compression. One that is
    ``declared`` is not recognised by its content: a description says which of its columns is what.
    """

    name: str
    meaning: str
    run_file: str
    declared: bool

def queue_log_forms() -> list[QueueLogForm]:
    """Return the forms of queue logs; of several logs in the folder of a run, that of the first form counts."""

class RefusalReason:
    """Why a record of a subject is refused.

    ``name`` keys the counts of ``Summary.refused``. It is a format string where it contains the field ``number``, which
    is replaced by what the record contains, as in ``link_type_{number}``.
    """

    subject: str
    name: str
    meaning: str

def refusal_reasons() -> list[RefusalReason]:
    """Return the reasons for refusing a record, by subject."""

class Decoded:
    """A capture format, compression or protocol that is decoded, with the standard."""

    kind: str
    name: str
    meaning: str

def decoded() -> list[Decoded]:
    """Return capture formats, compressions, link encapsulations, protocols and tunnels, by kind."""

def core_version() -> str:
    """Version of the decoder core, which changes whenever decoded facts may change."""

class PrefixTable:
    """Prefixes with their autonomous system and country, for longest-prefix match; the three columns go together.

    Raises ValueError for a text that is not a prefix (``192.0.2.0/24``, or a single address), and for columns that
    differ in length. Of equal prefixes the last one counts.
    """

    def __init__(
        self, prefixes: Sequence[str], asns: Sequence[int | None], countries: Sequence[str | None]
    ) -> None: ...
    def __len__(self) -> int: ...
    def get(self, address: str) -> tuple[int | None, str | None] | None:
        """Return autonomous system and country of the longest prefix around an address."""

class AddressResolver:
    """Resolves columns of addresses under one key and the given tables; of several tables the first decides.

    ``forgotten`` are fingerprints of hosts under ``forget_key`` (see ``forget_fingerprint``): their keys become
    "forgotten".
    """

    def __init__(
        self,
        key: bytes,
        *,
        keep: bool,
        forget_key: bytes,
        forgotten: set[str],
        tables: Sequence[PrefixTable],
    ) -> None: ...
    def resolve(self, offsets: memoryview, data: memoryview, *, names: bool = False) -> tuple[pa.RecordBatch, int]:
        """Return host_key, prefix_key, ip_version, asn and country of each text, and how many are not an address.

        The texts are in two buffers, in the layout of an Arrow string array without nulls and without offset. With
        ``names`` a text that is not an address names a host in another way: a host key is kept, others become one.
        """
    def key_of_name(self, name: str) -> str:
        """Return the host key of a name that is not an address."""
    def forget_fingerprint(self, host: str) -> str:
        """Return the fingerprint under which a host (address or name) is remembered as forgotten."""
    def is_forgotten_name(self, name: str) -> bool:
        """Return whether a name that is not an address belongs to a forgotten host."""

class TcpInfoDecoder:
    """Decoder of M-Lab tcp-info files, one after another; polls of a connection in several files are one row.

    With ``polls`` it gives every poll instead. More than ``open_connections`` open connections: the silent ones
    are given as they are.
    """

    def __init__(self, *, open_connections: int = 262_144, polls: bool = False) -> None: ...
    def open(self, path: str) -> None:
        """Go on with a file, compressed or not. Raises SourceReadError if it cannot be opened."""
    def open_file(self, file: object) -> None:
        """Go on with a binary file object, compressed or not. Raises SourceReadError if it cannot be read."""
    def read(self, lines: int = 65_536) -> bool:
        """Read so many lines on, without the GIL; return whether the file has more."""
    def take_batch(self, *, last: bool = False) -> pa.RecordBatch:
        """Return the connections that have ended (all of them with ``last``), with plain ``client_address``."""
    def summary(self) -> Summary:
        """Return what was seen so far, of all files."""

def rfc3339_ns(offsets: memoryview, data: memoryview) -> pa.RecordBatch:
    """Return the column ``ns`` of times of RFC 3339, nanoseconds since the UTC epoch; null for what is not a time."""

def ndt_connections(content: bytes, version: int) -> tuple[int, list[str], list[dict[str, object]]] | None:
    """Read one result of NDT5 or NDT7, without the GIL.

    Return how many directions it has, for each without a connection the reason, and the others as columns of
    connection with plain ``client_address``; None if the content is not one JSON object in UTF-8.
    """

def ss_socket(line: str) -> dict[str, Any] | None:
    """Return one socket's line of ``ss -H -O -tino`` as columns of tcp_poll, with plain addresses.

    None if it is not such a line, or a value is not of its kind or too large for its column.
    """
