"""Opaque cursors: where a page ended, bound to the build and the query that the page belongs to."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sojourn_api.catalogue import INTEGER_RANGES, ValueKind, fits_decimal, kind_of
from sojourn_api.problems import ProblemError
from sojourn_api.safety.admission import MOST_TARGET_BYTES

_CHECKSUM_BYTES = 8
_PYTHON_TYPES: dict[ValueKind, type] = {
    "real": float,
    "text": str,
    "boolean": bool,
    "timestamp": datetime,
    "date": date,
}
_STRING = rb'"(?:[^"\\]|\\.)*+"'
_VALUE = rb"(?:%b|-?\d{1,39}|true|false|null|\{%b:%b\})" % (_STRING, _STRING, _STRING)
#: What `encode` writes. It is matched as a whole: a search for strings starts again at every quotation mark.
_SHAPE = re.compile(rb"\[%b,%b,\[(?:%b(?:,%b)*+)?\]\]" % (_STRING, _STRING, _VALUE, _VALUE))


def fingerprint(path: str, items: Iterable[tuple[str, str]]) -> str:
    """Return what identifies a query across its pages: its path, and what they have in common of its query string."""
    bound = sorted(items, key=lambda item: item[0])
    return hashlib.sha256(json.dumps([path, bound]).encode()).hexdigest()[:16]


def _pack(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"real": value.hex()}
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case Decimal():
            return {"decimal": str(value)}
    raise TypeError(f"a cursor cannot hold a {type(value).__name__}")


def _unpack(value: Any) -> Any:
    match value:
        case str():
            # Half of a surrogate pair is no text, and DuckDB takes none.
            value.encode()
        case {"real": text}:
            return float.fromhex(text)
        case {"timestamp": text}:
            return datetime.fromisoformat(text)
        case {"date": text}:
            return date.fromisoformat(text)
        case {"decimal": text}:
            return Decimal(text)
    return value


def _suits(value: Any, duckdb_type: str) -> bool:
    kind = kind_of(duckdb_type)
    if value is None:
        return True
    if kind == "integer":
        lowest, highest = INTEGER_RANGES[duckdb_type]
        return type(value) is int and lowest <= value <= highest
    if kind == "decimal":
        return type(value) is Decimal and fits_decimal(value, duckdb_type)
    return kind != "other" and type(value) is _PYTHON_TYPES[kind]


def encode(build_id: str, query: str, values: tuple[Any, ...]) -> str:
    """Return the cursor after the row whose order values are given."""
    packed = [_pack(value) for value in values]
    payload = json.dumps([build_id, query, packed], separators=(",", ":")).encode()
    checksum = hashlib.sha256(payload).digest()[:_CHECKSUM_BYTES]
    return base64.urlsafe_b64encode(checksum + payload).decode().rstrip("=")


def decode(cursor: str, build_id: str, query: str, types: Sequence[str]) -> tuple[Any, ...]:
    """Return the order values of a cursor.

    Raises
    ------
    ProblemError
        410 for a cursor of another build, 422 for one of another query or no cursor of this service.
    """
    malformed = ProblemError("invalid-cursor", "The cursor is damaged; use it as it was received.", parameter="cursor")
    # A cursor is a part of the URL.
    if len(cursor) > MOST_TARGET_BYTES:
        raise malformed
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise malformed from None
    checksum, payload = raw[:_CHECKSUM_BYTES], raw[_CHECKSUM_BYTES:]
    if hashlib.sha256(payload).digest()[:_CHECKSUM_BYTES] != checksum:
        raise malformed
    # The checksum is not secret, so a cursor may be forged: its values are checked like any
    # other input, and reach SQL as typed parameters only. Its shape is checked first, because the
    # parser of JSON follows brackets as deep as they go.
    if not _SHAPE.fullmatch(payload):
        raise malformed
    try:
        cursor_build, cursor_query, packed = json.loads(payload)
        values = tuple(_unpack(value) for value in packed)
    except (ValueError, TypeError, ArithmeticError):
        raise malformed from None
    if cursor_build != build_id:
        raise ProblemError(
            "cursor-expired",
            "Another build has been published since the first page. Start again without a cursor.",
            parameter="cursor",
            build_id=build_id,
        )
    if (
        cursor_query != query
        or len(values) != len(types)
        or not all(_suits(value, type_) for value, type_ in zip(values, types, strict=True))
    ):
        raise ProblemError(
            "invalid-cursor",
            "The cursor belongs to another query: keep every parameter but limit, format and escape.",
            parameter="cursor",
        )
    return values
