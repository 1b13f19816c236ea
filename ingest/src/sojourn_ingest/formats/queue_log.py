"""Queue logs as text of a bpftrace probe: queue_event, queue_log."""

from __future__ import annotations

import re

from sojourn_ingest import _native
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.formats.native_decoder import facts, input_error
from sojourn_ingest.formats.plain_text import head_lines

# event, monotonic time, skb address, length, queue length in packets and in bytes, namespace, interface, protocol
EVENT_LINE = re.compile(rb"[EDX] \d+ [0-9a-f]{4,16} \d+ \d+ \d+ \d+ \d+ \d+ ")


class BpftraceQueueLog:
    """One line per enqueue, dequeue and drop, as the project's bpftrace probe prints them."""

    name = "bpftrace_queue_log"
    holds_addresses = True

    @property
    def version(self) -> str:
        """Version of the reader."""
        return f"queue-log-{_native.core_version()}"

    def recognises(self, source: Source) -> bool:
        """Return whether one of the first lines is an event line."""
        return any(EVENT_LINE.match(line) for line in head_lines(source))

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per packet, and one for the log."""
        try:
            decoder = _native.QueueLogDecoder(str(source.path))
        except _native.DecodeError as error:
            raise input_error(error) from error
        yield from facts(decoder, context, reading)
