"""What the readers of connections have in common: from a source's columns to rows of ``connection``.

How to use the counts: ``rtt_samples`` counts RTT samples only where ``sample_basis`` says so. A filter such as "at
least ten samples" is meaningful only there: ten polls of a smoothed RTT may all show the same sample.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.enrichment.enrichment import RAW_COLUMNS, ClientLookup
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source
from sojourn_ingest.formats.series.bounds import EARLIEST_NS, LATEST_NS, LONGEST_DELAY_US
from sojourn_ingest.schema import table

TABLE = "connection"
PROVENANCE = ("source_hash", "decoder_version")
SCHEMA = pa.schema([column for column in table(TABLE).arrow_schema() if column.name not in PROVENANCE])
RTT_COLUMNS = ("rtt_min_us", "rtt_avg_us", "rtt_max_us", "kernel_min_rtt_us")
NOT_NEGATIVE = (
    *RTT_COLUMNS,
    *("duration_ms", "asn", "rtt_samples", "sent_bytes", "acked_bytes", "received_bytes", "retransmitted_packets"),
)
TYPES = {field.name: field.type for field in SCHEMA} | dict.fromkeys(RAW_COLUMNS, pa.string())


def connection_numbers(first: int, rows: int) -> pa.Array:
    """Return so many numbers from ``first`` on."""
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), rows), start=first - 1)


class ConnectionFormat(Format):
    """A format whose facts are enriched: they depend on prefix lists and rules, and so does their version."""

    holds_addresses = True
    is_enriched = True


@dataclass(frozen=True)
class Basis:
    """What is the same for every connection of a source."""

    dataset: str
    rtt_basis: str
    sample_basis: str
    synthetic: bool = False

    def constants(self) -> dict[str, object]:
        """Return the columns."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class RawConnections:
    """Connections as a reader found them: the columns that the source has, and of the client the raw ones.

    The raw ones are ``client_address`` or ``client_host``, and ``client_name``. Without a basis the columns hold it.
    """

    basis: Basis | None
    columns: Mapping[str, pa.Array]
    rows: int


Convert = Callable[[Mapping[str, pa.Array]], dict[str, pa.Array]]


@dataclass(frozen=True)
class RawRows:
    """A few connections that a reader put together one by one, as the columns of :class:`RawConnections`.

    Every row has the same columns. With ``convert`` they are those of the source, as text, and it returns those of
    :class:`RawConnections`. One row takes it as long as thousands, so it is called once for many small sources.
    """

    basis: Basis
    rows: list[dict[str, object]]
    convert: Convert | None = None


def columns_of(rows: list[dict[str, object]], convert: Convert | None = None) -> dict[str, pa.Array]:
    """Return rows that all have the same columns, as these, and what they are converted to."""
    if not rows:
        return {}
    columns = {name: _array([row[name] for row in rows], TYPES.get(name, pa.string())) for name in rows[0]}
    return columns if convert is None else columns | convert(columns)


def _array(values: list[object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # JSON may name half of a surrogate pair, which is no character and cannot be stored.
        encodable = [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in values]
        return pa.array(encodable, kind)


#: What a source of connections holds: connections, and facts of other tables.
RawFacts = RawConnections | RawRows | tuple[str, pa.RecordBatch]


class MemberFormat(ConnectionFormat):
    """A format of which a source may be small, so that what many of them hold is completed together."""

    @abstractmethod
    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield what one source holds; faults are as with :meth:`Format.read`."""

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the facts of one source; a row that cannot be one is refused with its reason."""
        rows = ConnectionRows(context, reading)
        for raw in self.raw_facts(source, reading):
            yield raw if isinstance(raw, tuple) else (TABLE, rows.complete(raw))


class ConnectionRows:
    """Completes a source's batches: clients are looked up and become pseudonyms, rows are checked."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self._reading = reading
        self._lookup = ClientLookup(context.enrichment, context.pseudonymiser)

    def complete(self, raw: RawConnections | RawRows) -> pa.RecordBatch:
        """Return rows of ``connection`` without provenance; what cannot be one is refused by reason."""
        if isinstance(raw, RawRows):
            raw = RawConnections(raw.basis, columns_of(raw.rows, raw.convert), len(raw.rows))
        rows = raw.rows
        columns = {name: column for name, column in raw.columns.items() if name not in RAW_COLUMNS}
        client, malformed = self._lookup.columns(dict(raw.columns), rows)
        columns |= client
        for name, value in (raw.basis.constants() if raw.basis is not None else {}).items():
            columns.setdefault(name, pa.repeat(pa.scalar(value), rows))
        for name in RTT_COLUMNS:
            if name in columns:
                # An RTT of zero means that there was no sample.
                values = columns[name]
                columns[name] = pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)
        arrays = [columns.get(field.name, pa.nulls(rows, field.type)).cast(field.type) for field in SCHEMA]
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema([pa.field(f.name, f.type) for f in SCHEMA]))
        everything = pa.repeat(pa.scalar(True), rows)
        keep = self._refuse(everything, malformed, "client_address: not an address")
        starts = batch.column("start_ns")
        no_date = pc.or_(pc.less(starts, EARLIEST_NS), pc.greater_equal(starts, LATEST_NS))
        keep = self._refuse(keep, pc.fill_null(no_date, False), "start_ns: implausible date (clock not set)")
        for name in NOT_NEGATIVE:
            wrong = pc.fill_null(pc.less(batch.column(name), 0), False)
            keep = self._refuse(keep, wrong, f"{name}: negative")
        for name in RTT_COLUMNS:
            # Such as a value that is not set (2^32 - 1), or one in another unit.
            wrong = pc.fill_null(pc.greater(batch.column(name), LONGEST_DELAY_US), False)
            keep = self._refuse(keep, wrong, f"{name}: longer than an hour")
        for field in SCHEMA:
            if not field.nullable:
                keep = self._refuse(keep, pc.is_null(batch.column(field.name)), f"{field.name}: missing")
        crossed = pc.greater(batch.column("rtt_min_us"), batch.column("rtt_max_us"))
        keep = self._refuse(keep, pc.fill_null(crossed, False), "rtt_min_us above rtt_max_us")
        return batch.filter(keep)

    def _refuse(self, keep: pa.Array, wrong: pa.Array, reason: str) -> pa.Array:
        # A row counts under its first fault only, so that refused and kept rows add up to those read.
        self._reading.refuse(reason, pc.sum(pc.and_(keep, wrong)).as_py() or 0)
        return pc.and_(keep, pc.invert(wrong))
