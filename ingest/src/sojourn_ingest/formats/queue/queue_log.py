"""Queue logs that need no declaration, decoded in Rust: queue_packet, queue_interval, queue, queue_log."""

from __future__ import annotations

from functools import lru_cache

from sojourn_ingest import _native
from sojourn_ingest.formats.content.native_decoder import facts, input_error
from sojourn_ingest.formats.content.plain_text import local_text
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source

#: Forms of queue logs as the decoder declares them: name, whether they need a description, and their file in a run.
QUEUE_LOG_FORMS = tuple(_native.queue_log_forms())

_form_of = lru_cache(maxsize=64)(_native.queue_log_form)


def queue_log_version() -> str:
    """Return the version of every reader of queue logs: they share the decoder."""
    return f"queue-log-{_native.core_version()}"


class QueueLog(Format):
    """Events of packets at queues, in one of the forms that probes write.

    ``form`` is the name of one of ``_native.queue_log_forms`` that is not declared.
    """

    holds_addresses = True

    def __init__(self, form: str) -> None:
        self.form = form
        self.name = f"{form}_queue_log"

    @property
    def version(self) -> str:
        """Version of the reader."""
        return queue_log_version()

    def recognises(self, source: Source) -> bool:
        """Return whether the first lines or records are events of this form."""
        return _form_of(source.head) == self.form

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per packet, per interval, per queue, and one for the log."""
        with local_text(source) as local:
            try:
                decoder = _native.QueueLogDecoder(local, form=self.form)
            except _native.DecodeError as error:
                raise input_error(error) from error
            yield from facts(decoder, context, reading)
