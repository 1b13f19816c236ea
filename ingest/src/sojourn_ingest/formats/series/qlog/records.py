"""The records of a qlog file, as a stream: the traces that it declares, and their events in the file's order.

A file is one JSON document (``application/qlog+json``, all drafts), a sequence of JSON texts
(``application/qlog+json-seq``, RFC 7464), or lines of JSON (drafts 01 and 02). A document is read twice, because what a
trace says of its clock may follow its events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import ijson
from ijson.common import ObjectBuilder

from sojourn_ingest.formats.content.nesting import BoundedNesting
from sojourn_ingest.formats.content.plain_text import open_json, open_json_lines, open_plain
from sojourn_ingest.formats.interface import InputError, Reading, Source

FILE = "qlog file"
SEPARATOR = b"\x1e"
SCHEMA = re.compile(r"urn:ietf:params:qlog:file[:#-](?:contained|sequential)")
SEQUENTIAL = re.compile(r"qlog:file[:#-]sequential|^(?:NDJSON|JSON-SEQ)$|qlog\+json-seq")
#: A record of a sequence, and all that a document says of its traces, are smaller than this.
LARGEST_RECORD_BYTES = 16 * 2**20
MOST_HEADER_TOKENS = 1_000_000
CHARACTERS_OF_A_TOKEN = 16
MOST_TRACES = 65_536
BLOCK_BYTES = 2**18
#: What a trace of any draft has beside its vantage point.
TRACE_KEYS = frozenset(("events", "event_fields", "common_fields", "event_schemas"))
EVENTS = "traces.item.events.item"
STARTS = ("start_map", "start_array")
ENDS = ("end_map", "end_array")
#: What damage makes the parser raise: a number beyond 64 bits is an OverflowError. Its texts quote the content.
DAMAGE = (ijson.JSONError, UnicodeDecodeError, OverflowError, RecursionError)


@dataclass
class Trace:
    """What a trace says of itself, with how many events it holds; a sequence is one trace."""

    header: dict[str, Any] = field(default_factory=dict)
    events: int = 0


def is_qlog(source: Source) -> bool:
    """Return whether a content begins with an object that has qlog's version or schema, or traces of its drafts."""
    document = source.object
    if isinstance(document.get("qlog_version"), str) or SCHEMA.search(str(document.get("file_schema"))):
        return True
    traces = document.get("traces")
    first = traces[0] if isinstance(traces, list) and traces else document.get("trace")
    return isinstance(first, dict) and "vantage_point" in first and not TRACE_KEYS.isdisjoint(first)


def events_of(source: Source, reading: Reading) -> Iterator[tuple[int, Trace, Any]]:
    """Yield the number of a trace, the trace, and each of its events; damage goes into ``reading.fault``.

    Raises
    ------
    InputError
        ``corrupt_record`` where not even the declaration of a trace can be read.
    """
    yield from _of_sequence(source, reading) if _is_sequence(source) else _of_document(source, reading)


def _is_sequence(source: Source) -> bool:
    if source.head.lstrip().startswith(SEPARATOR):
        return True
    document = source.object
    stated = (document.get(name) for name in ("file_schema", "qlog_format", "serialization_format"))
    is_stated = any(isinstance(one, str) and SEQUENTIAL.search(one) is not None for one in stated)
    return is_stated and "traces" not in document


# ---------------------------------------------------------------- one document


def _of_document(source: Source, reading: Reading) -> Iterator[tuple[int, Trace, Any]]:
    traces: list[Trace] = []
    with open_json(source, reading) as handle:
        try:
            nested = BoundedNesting(handle, is_in_elements=True)
            tokens = ijson.basic_parse(nested, buf_size=BLOCK_BYTES, use_float=True)
            _read_headers(tokens, traces, nested.begin_element)
        except DAMAGE:
            reading.fault = InputError("corrupt_record", f"{FILE}: JSON is damaged or cut; copy the file again")
        except InputError as error:
            # The compressed stream is damaged, or an event is too large.
            reading.fault = error
    if not traces:
        raise reading.fault or InputError("no_measurement", f"{FILE} without a trace")
    place, left = 0, traces[0].events
    with open_json(source, reading) as handle:
        try:
            nested = BoundedNesting(handle, is_in_elements=True)
            for event in ijson.items(nested, EVENTS, buf_size=BLOCK_BYTES, use_float=True):
                nested.begin_element()
                while left == 0 and place + 1 < len(traces):
                    place += 1
                    left = traces[place].events
                left -= 1
                yield place, traces[place], event
        except (*DAMAGE, InputError):
            # The first reading has noted the same.
            if reading.fault is None:
                raise


def _read_headers(tokens: Iterable[tuple[str, Any]], traces: list[Trace], begin_element: Callable[[], None]) -> None:
    """Fill the list of traces from the tokens of a document, without keeping their events; tell where one begins.

    Raises
    ------
    InputError
        ``too_large`` where the traces are more, or say more, than any file's.
    """
    keys: list[str | None] = []
    builder: ObjectBuilder | None = None
    kept = inside = built = 0
    for kind, value in tokens:
        starts, ends = kind in STARTS, kind in ENDS
        if inside:
            if inside == 1 and not ends:
                begin_element()
                traces[-1].events += 1
            inside += starts - ends
            continue
        if builder is not None:
            builder.event(kind, value)
            built += starts - ends
            kept += 1 + (len(value) // CHARACTERS_OF_A_TOKEN if isinstance(value, str) else 0)
            if kept > MOST_HEADER_TOKENS:
                raise InputError("too_large", f"{FILE}: the headers of its traces are too large")
            if built == 0 and kind != "map_key":
                traces[-1].header[str(keys[-1])] = builder.value
                builder = None
            continue
        if kind == "map_key":
            keys[-1] = value
            continue
        path = keys
        if not ends and len(path) == 3 and path[0] == "traces" and path[1] is None:
            if path[2] == "events" and kind == "start_array":
                inside = 1
            else:
                builder = ObjectBuilder()
                builder.event(kind, value)
                built = int(starts)
                if built == 0:
                    traces[-1].header[str(path[2])] = value
                    builder = None
            continue
        if starts:
            if len(path) == 2 and path[0] == "traces" and path[1] is None:
                traces.append(Trace())
                if len(traces) > MOST_TRACES:
                    raise InputError("too_large", f"{FILE}: more than {MOST_TRACES} traces")
            keys.append(None)
        elif ends:
            keys.pop()


# ---------------------------------------------------------------- a sequence


def _of_sequence(source: Source, reading: Reading) -> Iterator[tuple[int, Trace, Any]]:
    trace: Trace | None = None
    offset = 0
    try:
        with open_plain(source) if SEPARATOR in source.head[:64] else open_json_lines(source, reading) as handle:
            for record in _records(handle, SEPARATOR if SEPARATOR in source.head[:64] else b"\n"):
                text = record.strip(b"\x1e\r\n\t ")
                content = _parsed(text)
                if text and trace is None:
                    trace = _declared(content)
                elif text and not isinstance(content, dict):
                    reading.refuse("malformed_record")
                    message = f"{FILE}: record at byte {offset} is not a JSON object; copy the file again"
                    reading.fault = reading.fault or InputError("corrupt_record", message, offset)
                elif text and trace is not None:
                    trace.events += 1
                    yield 0, trace, content
                offset += len(record)
    except InputError as error:
        # Damage to the compressed stream, or a record without an end: the events before it are kept.
        if trace is None:
            raise
        error.offset = offset
        reading.fault = error


def _declared(content: Any) -> Trace:
    """Return the trace that the first record of a sequence declares."""
    if not isinstance(content, dict):
        raise InputError("corrupt_record", f"{FILE}: its first record is damaged; copy the file again")
    declared = content.get("trace")
    trace = Trace(declared if isinstance(declared, dict) else {})
    trace.header.setdefault("title", content.get("title"))
    return trace


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _records(handle: BinaryIO, separator: bytes) -> Iterator[bytes]:
    rest = b""
    while block := handle.read(BLOCK_BYTES):
        *whole, rest = (rest + block).split(separator)
        for record in whole:
            yield record + separator
        if len(rest) > LARGEST_RECORD_BYTES:
            raise InputError("corrupt_record", f"{FILE}: a record is too long; copy the file again")
    if rest:
        yield rest
