"""Statistics that Firefox's page about:webrtc copies: a report, or the history of reports that it has kept.

A report has a list for each type of statistics (dictionary RTCStatsReportInternal of Firefox's RTCStatsReport.webidl).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from sojourn_ingest.formats.call.stream_rows import StreamRows
from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source

NAMES: Final = "about:webrtc"
#: Lists of the reports of streams; all others hold addresses or labels, or nothing that is kept.
LISTS: Final = {
    "inboundRtpStreamStats": "inbound-rtp",
    "outboundRtpStreamStats": "outbound-rtp",
    "remoteInboundRtpStreamStats": "remote-inbound-rtp",
}
FIREFOX_KEYS: Final = ("bandwidthEstimations", "codecStats", "iceCandidatePairStats", "inboundRtpStreamStats")
SAVED_PAGE = re.compile(rb'\s*<div id="content".{0,65536}?about-webrtc-', re.DOTALL)

SAVED_PAGE_MESSAGE: Final = (
    "page saved from Firefox's about:webrtc, which shows one moment of a call as text; use its button "
    '"Copy Report History" and give the copied text'
)


class AboutWebRtc(Format):
    """What Firefox's page copies, of one peer connection at one or several polls."""

    name = "about_webrtc"
    without_facts = "about:webrtc: no poll with a time; copy the reports during a call"
    holds_addresses = False
    version = "about-webrtc-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the document has lists of Firefox's statistics, or is the saved page."""
        if SAVED_PAGE.match(source.head) is not None:
            return True
        document = source.object
        reports = document.get("reports")
        listed = [document, *(reports if isinstance(reports, list) else ())]
        polls = [poll for poll in listed if isinstance(poll, dict)]
        is_of_firefox = isinstance(reports, list) or "sdpHistories" in document or "pcid" in document
        return is_of_firefox and any(isinstance(poll.get(name), list) for poll in polls for name in FIREFOX_KEYS)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the streams of each poll, in order of time.

        Raises
        ------
        InputError
            ``unsupported_version`` if it is the saved page; if the document is damaged or has no report of a stream.
        """
        if SAVED_PAGE.match(source.head) is not None:
            raise InputError("unsupported_version", SAVED_PAGE_MESSAGE, 0)
        content = json_document.read_object(source, NAMES, reading)
        reports = content.get("reports", [content])
        if not isinstance(reports, list):
            raise InputError("corrupt_record", f"{NAMES}: its reports are not a list; copy them again", 0)
        return self._rows(reports, reading)

    @staticmethod
    def _rows(reports: list[Any], reading: Reading) -> Facts:
        rows = StreamRows(reading)
        for report in reports:
            if not isinstance(report, dict):
                reading.refuse("poll: it is not an object")
                continue
            # The name of a peer connection has the address of the page in it: only its place is kept.
            name = json_document.label(report.get("pcid"))
            yield from rows.take(name, report.get("timestamp"), _streams(report), whole=True)
        yield from rows.finish()


def _streams(report: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, kind in LISTS.items():
        statistics = report.get(name)
        for number, each in enumerate(statistics if isinstance(statistics, list) else ()):
            if isinstance(each, dict):
                yield json_document.label(each.get("id", f"{name}/{number}")), {**each, "type": kind}
