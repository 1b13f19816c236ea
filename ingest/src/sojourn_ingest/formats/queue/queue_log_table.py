"""Queue logs as JSON Lines or CSV whose columns and units a description file declares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from sojourn_ingest import _native
from sojourn_ingest.formats.content.delimiters import delimiter_of
from sojourn_ingest.formats.content.description_file import Name, describes, parse_as, text_of
from sojourn_ingest.formats.content.native_decoder import facts, input_error
from sojourn_ingest.formats.content.plain_text import first_line, local_text
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.queue.queue_log import queue_log_version

MARKER = "sojourn_queue_log: 1"

TIME_UNITS = ("s", "ms", "us", "ns")
BYTE_UNITS = ("bytes", "kB", "KiB")
TIMES = ("time", "sojourn")
FIELDS = (
    *TIMES, "packet_bytes", "queue_packets", "queue_bytes", "network_namespace", "interface_index", "interface_name",
    "handle", "ethertype", "protocol", "source_address", "source_port", "destination_address", "destination_port",
    "ip_id", "transport_word", "drop_kind", "drop_reason", "drop_location", "flow_label", "lost_events", "ecn_ce",
)  # fmt: skip


class EventNames(BaseModel, extra="forbid"):
    """The column with the kind of event, and the words for each kind."""

    column: str
    enqueue: list[str] = Field(min_length=1)
    dequeue: list[str] = Field(min_length=1)
    drop: list[str] = []
    lost: list[str] = []


class QueueField(BaseModel, extra="forbid"):
    """How one field of an event comes from one column."""

    source: str = Field(alias="from")
    unit: str | None = None


class QueueLogDescription(BaseModel, extra="forbid"):
    """Which column of a queue log is what.

    ``packet`` names the columns that together identify a packet in the queue; ``drops`` says whether the log has an
    event for each packet dropped out of the queue, or leaves that to be found out.
    """

    sojourn_queue_log: Literal[1]
    name: Name
    form: Literal["json_lines", "csv"]
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    clock: Literal["monotonic", "utc"]
    drops: Literal["logged", "not_logged"]
    event: EventNames
    packet: list[str] = Field(min_length=1)
    fields: dict[str, QueueField]

    @model_validator(mode="after")
    def _check(self) -> QueueLogDescription:
        unknown = sorted(set(self.fields) - set(FIELDS))
        if unknown:
            raise ValueError(f"no field {', '.join(unknown)} to map to; expected one of {', '.join(FIELDS)}")
        if "time" not in self.fields:
            raise ValueError("time needs a mapping")
        for name, mapping in self.fields.items():
            if name in TIMES:
                if mapping.unit not in TIME_UNITS:
                    raise ValueError(f"{name}: unit {mapping.unit!r} is not one of {', '.join(TIME_UNITS)}")
            elif name.endswith("_bytes"):
                if mapping.unit not in (None, *BYTE_UNITS):
                    raise ValueError(f"{name}: unit {mapping.unit!r} is not one of {', '.join(BYTE_UNITS)}")
            elif mapping.unit is not None:
                raise ValueError(f"{name} has no unit")
        if not self.delimiter.isascii():
            raise ValueError("the delimiter is one ASCII character")
        return self

    @property
    def columns_needed(self) -> set[str]:
        """The columns that every event has."""
        return {self.event.column, self.fields["time"].source, *self.packet}

    @property
    def columns_used(self) -> set[str]:
        """Every column that is named."""
        return self.columns_needed | {mapping.source for mapping in self.fields.values()}

    def for_decoder(self) -> str:
        """Return the declaration as the decoder takes it."""
        return json.dumps(
            {
                "form": self.form,
                "delimiter": self.delimiter,
                "clock": self.clock,
                "drops_logged": self.drops == "logged",
                "event": self.event.model_dump(),
                "packet": self.packet,
                "fields": {
                    name: {"column": mapping.source} | ({} if mapping.unit is None else {"unit": mapping.unit})
                    for name, mapping in self.fields.items()
                },
            },
            sort_keys=True,
        )


def parse_queue_log_description(text: bytes) -> QueueLogDescription:
    """Return the description in ``text``.

    Raises
    ------
    InputError
        If it is not valid YAML, or not a description of a queue log.
    """
    return parse_as(QueueLogDescription, text, "queue log description")


@cache
def bundled_queue_log_descriptions() -> tuple[QueueLogDescription, ...]:
    """Return the descriptions that ship with the package."""
    folder = resources.files("sojourn_ingest") / "queue_logs"
    paths = sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".yaml"))
    return tuple(parse_queue_log_description(path.read_bytes()) for path in paths)


class QueueLogDescriptionFile(Format):
    """A description next to the queue logs it describes; it gives no facts of its own."""

    name = "queue_log_description"
    holds_addresses = False
    may_give_none = True
    version = "queue-log-description-1"

    def recognises(self, source: Source) -> bool:
        """Return whether the content carries the marker line."""
        return describes(source, MARKER)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Check the description."""
        described = parse_queue_log_description(text_of(source))
        reading.records_read = 1
        reading.subject = f"queue_log:{described.name}"
        yield from ()


class QueueLogTable(Format):
    """A queue log of one description."""

    holds_addresses = True

    def __init__(self, description: QueueLogDescription) -> None:
        self._description = description
        self._declaration = description.for_decoder()
        self.name = f"queue_log_table:{description.name}"
        self.description = f"queue_log:{description.name}"
        self.columns = description.columns_used if description.form == "csv" else description.columns_needed

    @property
    def version(self) -> str:
        """Version of the reader; another description makes other facts."""
        fingerprint = hashlib.sha256(self._declaration.encode()).hexdigest()[:8]
        return f"{queue_log_version()}+description-{fingerprint}"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line has the columns: of CSV all that are named, of JSON those of every event."""
        if self._description.form == "csv":
            return self._delimiter(source) is not None
        return self._description.columns_needed <= set(source.object)

    def _delimiter(self, source: Source) -> str | None:
        used = self._description.columns_used
        return delimiter_of(
            first_line(source), lambda names: used <= {name.strip() for name in names}, self._description.delimiter
        )

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per packet, per interval, per queue, and one for the log."""
        described, is_table = self._description, self._description.form == "csv"
        if is_table:
            described = described.model_copy(update={"delimiter": self._delimiter(source) or described.delimiter})
        with local_text(source, None if is_table else reading) as local:
            try:
                decoder = _native.QueueLogDecoder(local, form="table", declaration=described.for_decoder())
            except _native.DecodeError as error:
                raise input_error(error) from error
            yield from facts(decoder, context, reading)
        if reading.records_read == 0:
            # A table without any line of an event is not a queue log, even if its first line looked like one.
            raise reading.fault or InputError("unrecognised_format", f"{self.name}: no line is an event", 0)


def queue_log_tables(described: Iterable[QueueLogDescription]) -> Sequence[Format]:
    """Return a format for each description, those given first; one of a bundled name replaces the bundled one."""
    own: dict[str, Any] = {description.name: description for description in described}
    bundled = [one for one in bundled_queue_log_descriptions() if one.name not in own]
    return [QueueLogTable(description) for description in (*own.values(), *bundled)]
