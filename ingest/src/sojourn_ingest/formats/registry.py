"""All formats, in the order in which they are asked whether a content is theirs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sojourn_ingest.enrichment.circuit_table import looks_like_circuits
from sojourn_ingest.formats.call.about_webrtc import AboutWebRtc
from sojourn_ingest.formats.call.numbered_dump import NumberedRtcStatsDump
from sojourn_ingest.formats.call.statistics_lines import GetStatsLines, RtcStatsDump
from sojourn_ingest.formats.call.webrtc_internals import WebRtcInternals
from sojourn_ingest.formats.capture.capture import Capture
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.connection.archive import ConnectionArchive
from sojourn_ingest.formats.connection.connection_format import MemberFormat
from sojourn_ingest.formats.connection.connection_mapping import MARKER as CONNECTIONS
from sojourn_ingest.formats.connection.connection_mapping import ConnectionDescriptionFile, KnownConnections
from sojourn_ingest.formats.connection.connection_table import connection_tables_of
from sojourn_ingest.formats.connection.ndt import Ndt5, Ndt7
from sojourn_ingest.formats.connection.pping import PassiveRtt
from sojourn_ingest.formats.connection.ss_polls import SsPolls
from sojourn_ingest.formats.connection.ss_text import SsText
from sojourn_ingest.formats.connection.synthetic_connections import SyntheticConnections
from sojourn_ingest.formats.connection.tcp_info import TcpInfo
from sojourn_ingest.formats.connection.web100 import SideStream
from sojourn_ingest.formats.content.description_file import SUFFIXES, head_of, is_marked
from sojourn_ingest.formats.content.json_outline import JsonStart, whole_value
from sojourn_ingest.formats.content.plain_text import head_lines, open_json
from sojourn_ingest.formats.content.unread_contents import unread_content
from sojourn_ingest.formats.description_places import DescriptionPlaces
from sojourn_ingest.formats.interface import Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.frame_documents import FrameDocument
from sojourn_ingest.formats.quality.frame_lines import FfmpegFrameLog, VmafCsv, VmafXml
from sojourn_ingest.formats.quality.lighthouse import Lighthouse
from sojourn_ingest.formats.quality.network_percentiles import NetworkPercentiles
from sojourn_ingest.formats.quality.page_loads import HttpArchive, PageLoadLines, PageLoadNumbers
from sojourn_ingest.formats.quality.wget_log import WgetLog
from sojourn_ingest.formats.queue.queue_log import QUEUE_LOG_FORMS, QueueLog
from sojourn_ingest.formats.queue.queue_log_table import MARKER as QUEUE_LOG
from sojourn_ingest.formats.queue.queue_log_table import (
    QueueLogDescription,
    QueueLogDescriptionFile,
    parse_queue_log_description,
    queue_log_tables,
)
from sojourn_ingest.formats.queue.tc_polls import TcPolls
from sojourn_ingest.formats.run.run_manifest import RunManifest
from sojourn_ingest.formats.series.crusader import Crusader
from sojourn_ingest.formats.series.flent.data_file import Flent
from sojourn_ingest.formats.series.iperf2 import Iperf2
from sojourn_ingest.formats.series.iperf3 import Iperf3
from sojourn_ingest.formats.series.irtt import Irtt
from sojourn_ingest.formats.series.ping import Fping, Ping
from sojourn_ingest.formats.series.qlog.log_file import Qlog
from sojourn_ingest.formats.series.speed_test import SpeedTest
from sojourn_ingest.formats.series.streaming import StreamedSegments
from sojourn_ingest.formats.series.texts_for_people import what_people_wrote
from sojourn_ingest.formats.study.study_description import MARKER as STUDY
from sojourn_ingest.formats.study.study_description import StudyDescriptionFile
from sojourn_ingest.formats.study.study_table import KnownStudy, bundled_studies, header_hint, tables_of

CAPTURE_SUFFIXES = (".pcap", ".pcapng", ".cap", ".dmp")
#: Why a text is refused of which nothing more can be said.
UNKNOWN_TEXT = "text of no known format"


def is_description(path: Path) -> bool:
    """Return whether a file describes a study, connections or a queue log, by its name and a marker line."""
    if path.suffix not in SUFFIXES:
        return False
    head = head_of(path)
    return any(is_marked(head, marker) for marker in (STUDY, CONNECTIONS, QUEUE_LOG))


class Registry:
    """The formats of one ingest: the fixed ones, and the tables of which a description is at hand."""

    def __init__(
        self, described: Iterable[Path] = (), *, packets: bool = False, server_names: ServerNames = "registrable"
    ) -> None:
        self.studies = list(bundled_studies())
        own = {study.description.study_id: study for study in self.studies}
        queue_logs: list[QueueLogDescription] = []
        connections: dict[str, KnownConnections] = {}
        self._places = DescriptionPlaces()
        for path in described:
            head = head_of(path)
            if is_marked(head, QUEUE_LOG):
                queue_logs.append(parse_queue_log_description(path.read_bytes()))
                self._places.add(f"queue_log:{queue_logs[-1].name}", path)
                continue
            if is_marked(head, CONNECTIONS):
                data_set = KnownConnections.load(path)
                connections[data_set.description.dataset] = data_set
                self._places.add(f"connections:{data_set.description.dataset}", path)
                continue
            # A description with the data has precedence over the bundled one of the same study.
            study = KnownStudy.load(path)
            own[study.description.study_id] = study
            self._places.add(f"study:{study.description.study_id}", path)
        self.studies = list(own.values())
        self._connection_tables = tables = connection_tables_of(list(connections.values()))
        members: Sequence[MemberFormat] = (Ndt7(), Ndt5(), SideStream(), Flent(), *tables)
        self.formats: Sequence[Format] = (
            Capture(packets=packets, server_names=server_names),
            RunManifest(),
            StudyDescriptionFile(),
            SsPolls(),
            TcPolls(),
            *(QueueLog(form.name) for form in QUEUE_LOG_FORMS if not form.declared),
            QueueLogDescriptionFile(),
            *queue_log_tables(queue_logs),
            SsText(),
            SyntheticConnections(),
            TcpInfo(),
            Iperf3(),
            Iperf2(),
            Irtt(),
            Ping(),
            Fping(),
            Qlog(),
            Crusader(),
            PassiveRtt(),
            SpeedTest(),
            StreamedSegments(),
            FfmpegFrameLog(),
            VmafXml(),
            VmafCsv(),
            FrameDocument(),
            HttpArchive(),
            PageLoadLines(),
            PageLoadNumbers(),
            WgetLog(),
            Lighthouse(),
            NetworkPercentiles(),
            RtcStatsDump(),
            NumberedRtcStatsDump(),
            GetStatsLines(),
            WebRtcInternals(),
            AboutWebRtc(),
            ConnectionDescriptionFile(),
            ConnectionArchive(members, self._places),
            *members,
            *tables_of(self.studies),
        )

    def study(self, study_id: str) -> KnownStudy | None:
        """Return the description of one study, if it is at hand."""
        return next((study for study in self.studies if study.description.study_id == study_id), None)

    def named(self, name: str | None) -> Format | None:
        """Return the format of a name, as commits have it; None if this ingest does not have it."""
        return next((one for one in self.formats if one.name == name), None)

    def recognise(self, source: Source) -> Format:
        """Return the format of a content.

        Raises
        ------
        InputError
            ``empty`` or ``unrecognised_format``, with what the content looks like.
        """
        if source.plain_bytes == 0:
            raise InputError("empty", "file is empty; nothing to read", 0)
        chosen = None
        if source.json is not None and source.json.lines_before:
            # What the text before JSON tells comes first: it may be a format of its own.
            chosen = self._recognising(source.without_json())
        chosen = chosen or self._recognising(source)
        if chosen is None and source.json is not None and source.json.is_cut and source.stream is None:
            # The keys that tell the format may stand behind the head.
            with open_json(source, Reading()) as handle:
                source.look_through(whole_value(handle))
            chosen = self._recognising(source)
        if chosen is not None:
            return chosen
        raise InputError("unrecognised_format", self._describe(source), 0)

    def _recognising(self, source: Source) -> Format | None:
        return self._places.nearest(source, self.formats)

    def may_be_described_anew(self, name: str | None) -> bool:
        """Return whether a table that was read as a format of this name may be one of another description by now."""
        read = self.named(name)
        return read is not None and read.description is not None and self._places.has_another(read.description)

    def _recognising_first(self, source: Source) -> Format | None:
        """Return the format of the first element of a list."""
        first = source.json.value if source.json is not None else None
        if not isinstance(first, list) or not first or not isinstance(first[0], dict):
            return None
        return self._recognising(replace(source, _json=JsonStart(first[0])))

    def _describe(self, source: Source) -> str:
        unread = unread_content(source.head)
        if unread is not None:
            return unread
        printable = _looks_like_text(source.head)
        if source.plain_name.lower().endswith(CAPTURE_SUFFIXES):
            kind = "text" if printable else f"bytes {source.head[:4].hex()}"
            return f"named like a capture, but begins with {kind} and not with a magic number of pcap or pcapng"
        of_list = self._recognising_first(source)
        if of_list is not None:
            return f"a list of results of {of_list.name}; put each result into a separate file"
        # A table close to a described one is the user's own, even if a tool has columns of the same names.
        hint = (self._table_hint(source) if printable else None) or what_people_wrote(source)
        if hint is not None:
            return hint
        if not printable:
            # Parted in pairs, they would look like a hardware address.
            return f"not a known format; begins with bytes {source.head[:8].hex()}"
        return UNKNOWN_TEXT

    def _table_hint(self, source: Source) -> str | None:
        """Return which known table a content comes close to, and what to do."""
        if looks_like_circuits(source.head, source.object):
            return "LibreQoS' list of circuits or network, a lookup file; use sojourn ingest --circuits FILE.csv PATH"
        lines = head_lines(source, limit=1)
        try:
            header = next(csv.reader([lines[0].decode("utf-8", errors="replace")]), []) if lines else []
        except csv.Error:  # no header of a table, such as a line with a carriage return in it
            header = []
        hint = header_hint(header, self.studies)
        if hint is not None:
            return f"a table like {hint}, but its header differs; describe it in a study description ({STUDY})"
        for table in self._connection_tables:
            missing = sorted(table.mapping.columns_used - set(header))
            if len(missing) < len(table.mapping.columns_used) - 1:
                lacks = f"lacks {', '.join(missing)}" if missing else "has others too; list them under header"
                return f"a table like {table.name}, but it {lacks}; adapt its description"
        return None


def _looks_like_text(head: bytes) -> bool:
    sample = head[:1024]
    return b"\0" not in sample and sum(byte < 9 or 13 < byte < 32 for byte in sample) <= len(sample) // 50
