"""M-Lab tcp-info files: JSON Lines of INET_DIAG messages, reduced to one row of connection for each connection.

The recorder polls a socket every few milliseconds, so the RTT of a row is of polls of the kernel's smoothed value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.connection.connection_format import (
    TABLE,
    Basis,
    ConnectionFormat,
    ConnectionRows,
    RawConnections,
)
from sojourn_ingest.formats.content.native_decoder import input_error
from sojourn_ingest.formats.content.plain_text import is_plain_json_lines, open_json_lines
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.remote import local_file

WITHOUT_POLLS = "no poll of a connection with a time; the recorder wrote metadata only, or set no times"
BASIS = Basis("m-lab-tcp-info", rtt_basis="smoothed", sample_basis="polls")


def is_tcp_info(source: Source) -> bool:
    """Return whether the first line is a record of the recorder, or the metadata of a connection."""
    return "Timestamp" in source.object and ("RawIDM" in source.object or "Metadata" in source.object)


class TcpInfoReader:
    """Reads the files of one source with one decoder, so that a connection split over files is one row."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self._rows = ConnectionRows(context, reading)
        self._decoder = _native.TcpInfoDecoder()

    def read(self, file: str | BinaryIO) -> Iterator[pa.RecordBatch]:
        """Read one file, and yield the rows of connections that ended meanwhile."""
        try:
            if isinstance(file, str):
                self._decoder.open(file)
            else:
                self._decoder.open_file(file)
        except _native.DecodeError as error:
            raise input_error(error) from error
        while self._decoder.read():
            yield from self._batch(last=False)

    def finish(self, reading: Reading) -> Iterator[pa.RecordBatch]:
        """Yield the remaining rows, and add what the decoder saw to ``reading``."""
        yield from self._batch(last=True)
        summary = self._decoder.summary()
        reading.records_read += summary.records_read
        for reason, count in summary.refused.items():
            reading.refuse(reason, count)
        if summary.fault is not None:
            reading.fault = reading.fault or input_error(summary.fault)

    def _batch(self, *, last: bool) -> Iterator[pa.RecordBatch]:
        batch = self._decoder.take_batch(last=last)
        if batch.num_rows:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield self._rows.complete(RawConnections(BASIS, columns, batch.num_rows))


class TcpInfo(ConnectionFormat):
    """One tcp-info file; several in an archive are read by its own format."""

    name = "tcp_info"
    without_facts = WITHOUT_POLLS

    @property
    def version(self) -> str:
        """Version of the reader."""
        return f"tcp-info-2-{_native.core_version()}"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a record of the recorder."""
        return is_tcp_info(source)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row for each connection; polls that cannot be used are refused by reason."""
        reader = TcpInfoReader(context, reading)
        if is_plain_json_lines(source):
            with local_file(source.path) as (local,):
                for batch in reader.read(local):
                    yield TABLE, batch
        else:
            with open_json_lines(source, reading) as handle:
                for batch in reader.read(handle):
                    yield TABLE, batch
        for batch in reader.finish(reading):
            yield TABLE, batch
