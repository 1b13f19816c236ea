"""How large an answer of Superset is as JSON, and that none is larger than a browser can show.

An answer exists twice before it is sent, as a text and as its bytes, beside the rows that it is made of. It repeats the
label of each column in every row, and writes an emoji as twelve characters.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import simplejson
from flask import g, has_request_context
from superset.exceptions import QueryObjectValidationError
from werkzeug.exceptions import BadRequest

LARGEST_JSON_BYTES = 128 * 2**20
"""Largest answer, whatever it is to."""
LARGEST_ANSWER_BYTES = 128 * 2**20
"""Largest answer to a question of a chart, estimated from its row limits and labels, and from its rows."""
BYTES_OF_A_VALUE = 16
"""What a value counts for that is not a text."""
BYTES_OF_AN_ANNOTATION = 1_000
"""What an annotation counts for beside its texts, before it is read."""
PUNCTUATION_BYTES = 4
"""Quotes of a text or brackets of a list, and what is between it and the next."""
LISTS_OF_LABELS = 3
"""How often an answer has its labels beside those in its rows."""
LONGEST_ESCAPE = 12
"""Most characters of JSON for a byte or character, such as an emoji."""


def text_bytes(value: str | bytes) -> int:
    """Return the size of a text as JSON."""
    if isinstance(value, bytes):
        return LONGEST_ESCAPE * len(value)
    if value.isascii() and value.isprintable():
        return len(value) + value.count('"') + value.count("\\")
    return len(json.dumps(value))


def label_bytes(label: Any) -> int:
    """Return the size of a label as JSON; of several levels, all of them."""
    return sum(text_bytes(str(part)) for part in (label if isinstance(label, tuple) else (label,)))


def texts_bytes(rows: Any) -> int:
    """Return the size of all texts in the rows of a data frame."""
    return sum(
        text_bytes(value)
        for place, kind in enumerate(rows.dtypes)
        if kind.hasobject
        for value in rows.iloc[:, place]
        if isinstance(value, str | bytes)
    )


def rows_bytes(rows: Any) -> int:
    """Return the size of the rows of a data frame as JSON."""
    labels = sum(label_bytes(label) + BYTES_OF_A_VALUE for label in rows.columns)
    index = sum(map(label_bytes, rows.index)) if rows.index.dtype.hasobject else 0
    return (len(rows) + LISTS_OF_LABELS) * labels + index + texts_bytes(rows)


def add_to_answer(size: int) -> None:
    """Go on if what the queries of a request answer, of which this is a part, is not too large together.

    Raises
    ------
    QueryObjectValidationError
        If it is.
    """
    if has_request_context():
        size = g.answer_bytes = g.get("answer_bytes", 0) + size
    _refuse_large(size)


def _refuse_large(size: int) -> None:
    if size > LARGEST_ANSWER_BYTES:
        raise QueryObjectValidationError(
            f"the answer would have {size / 2**20:,.0f} MiB, more than {LARGEST_ANSWER_BYTES // 2**20}; filter, or "
            "choose fewer columns"
        )


def json_bytes(value: Any, most: int) -> int:
    """Return the size of a value as JSON, or, if that is more than ``most``, some number above it."""
    size = 0
    keys: dict[str, int] = {}
    waiting = [value]
    while waiting and size <= most:
        value = waiting.pop()
        if isinstance(value, str | bytes):
            size += text_bytes(value) + PUNCTUATION_BYTES
        elif isinstance(value, Mapping):
            size += PUNCTUATION_BYTES
            for key in value:
                if key not in keys:
                    keys[key] = text_bytes(str(key)) + PUNCTUATION_BYTES
                size += keys[key]
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            size += PUNCTUATION_BYTES
            waiting.extend(value)
        else:
            size += BYTES_OF_A_VALUE
    return size


def bound_answers(app: Any) -> None:
    """Have Superset write no answer of more than `LARGEST_JSON_BYTES`."""
    # Superset's own modules can be imported only now that it is configured.
    from superset.errors import ErrorLevel, SupersetError, SupersetErrorType
    from superset.exceptions import SupersetErrorException
    from superset.utils import json as superset_json

    class AnswerTooLargeError(SupersetErrorException, BadRequest):  # type: ignore[misc] # Superset has no types
        """As a bad request, it is shown also where Flask-AppBuilder makes a fatal error of any other."""

        def __init__(self) -> None:
            message = f"the answer has more than {LARGEST_JSON_BYTES // 2**20} MiB; select fewer rows or columns"
            error = SupersetError(message, SupersetErrorType.RESULT_TOO_LARGE_ERROR, ErrorLevel.ERROR)
            SupersetErrorException.__init__(self, error, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            BadRequest.__init__(self, message)

    def bounded(write: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(write)
        def within_bounds(value: Any, *arguments: Any, **named: Any) -> str:
            if json_bytes(value, LARGEST_JSON_BYTES) > LARGEST_JSON_BYTES:
                raise AnswerTooLargeError
            return write(value, *arguments, **named)

        return within_bounds

    def write_finite(value: Any, **named: Any) -> str:
        """Write what Flask would, with null for a number that is none in JSON, as Superset does elsewhere."""
        provider = app.json
        options = {"default": provider.default, "ensure_ascii": provider.ensure_ascii, "sort_keys": provider.sort_keys}
        return str(
            simplejson.dumps(
                value, ignore_nan=True, use_decimal=False, namedtuple_as_object=False, **{**options, **named}
            )
        )

    superset_json.dumps = bounded(superset_json.dumps)
    app.json.dumps = bounded(write_finite)


def count_annotations() -> None:
    """Have annotations count as part of the answer to a chart's question."""
    # Superset's own modules can be imported only now that it is configured.
    from superset.common.query_context_processor import QueryContextProcessor

    read_layers = QueryContextProcessor.get_native_annotation_data

    def read_if_small(query: Any) -> Any:
        layers = [layer["value"] for layer in query.annotation_layers if layer["sourceType"] == "NATIVE"]
        _refuse_large(_layers_bytes(layers))
        return read_layers(query)

    QueryContextProcessor.get_native_annotation_data = staticmethod(counted(read_if_small))
    of_charts = QueryContextProcessor.get_viz_annotation_data
    QueryContextProcessor.get_viz_annotation_data = staticmethod(counted(of_charts))


def _layers_bytes(layers: Sequence[int]) -> int:
    """Return the size of the annotations of layers, which Superset reads as a whole."""
    from sqlalchemy import LargeBinary, cast, func
    from superset import db
    from superset.models.annotations import Annotation

    texts = (Annotation.short_descr, Annotation.long_descr, Annotation.json_metadata)
    size = BYTES_OF_AN_ANNOTATION + sum(func.coalesce(func.length(cast(text, LargeBinary)), 0) for text in texts)
    of_layer = db.session.query(Annotation.layer_id, func.sum(size)).filter(Annotation.layer_id.in_(layers))
    # A chart may name a layer many times, each time by another name.
    return sum(total * layers.count(layer) for layer, total in of_layer.group_by(Annotation.layer_id))


def counted(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result counts as part of the answer."""

    @functools.wraps(read)
    def within_bounds(*arguments: Any) -> Any:
        part = read(*arguments)
        add_to_answer(json_bytes(part, LARGEST_ANSWER_BYTES))
        return part

    return within_bounds
