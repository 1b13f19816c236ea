"""The reader of qlog files: series of each connection, and the RTT of each connection."""

from __future__ import annotations

from sojourn_ingest.formats.connection.connection_format import (
    TABLE as CONNECTION,
)
from sojourn_ingest.formats.connection.connection_format import (
    Basis,
    ConnectionFormat,
    ConnectionRows,
    RawConnections,
    columns_of,
)
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.formats.series.qlog.connections import Connections
from sojourn_ingest.formats.series.qlog.records import events_of, is_qlog
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import SeriesRows
from sojourn_ingest.formats.series.setting import setting_of
from sojourn_ingest.host_names import HostNames


class Qlog(ConnectionFormat):
    """One qlog file of any draft, as a document or a sequence."""

    name = "qlog"
    without_facts = "qlog file without metrics, losses or spin bits; log the events of recovery too"
    version = "qlog-7"
    basis = Basis("qlog", rtt_basis="raw", sample_basis="rtt_samples")

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with a version or a schema of qlog."""
        return is_qlog(source)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the series as events come, then the run and the connections; memory grows with connections only.

        Of a damaged file, what came before the damage is kept.

        Raises
        ------
        InputError
            ``corrupt_record`` where nothing can be read.
        """
        rows = SeriesRows(reading)
        connections = Connections(rows, reading)
        title = None
        for place, trace, event in events_of(source, reading):
            title = title or trace.header.get("title")
            yield from connections.take(place, trace, event)
        yield from rows.finish()
        hosts = HostNames(context.pseudonymiser)
        title = hosts.replaced_in_title(title) if isinstance(title, str) else ""
        setting = setting_of(title, source.plain_name)
        raw = [connection.row(place) for place, connection in enumerate(connections.by_trace_and_group.values())]
        starts = [row["start_ns"] for row in raw if isinstance(row["start_ns"], int)]
        yield from run_rows(ToolRun("qlog", "qlog", setting, start_ns=min(starts, default=None)), source, context)
        # A vantage point without an RTT sample, such as an observer's, has no connection.
        measured = [row for row in raw if row["rtt_samples"]]
        reading.refuse("connection_without_rtt", len(raw) - len(measured))
        if measured:
            columns = columns_of([row | self.basis.constants() | {"dataset": row["dataset"]} for row in measured])
            yield CONNECTION, ConnectionRows(context, reading).complete(RawConnections(None, columns, len(measured)))
