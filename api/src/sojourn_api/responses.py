"""Responses of the data endpoints: the headers they share, and 304 where nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from sojourn_api.formats import MEDIA_TYPES, FewRows, OutputColumn, encode, needed_bytes
from sojourn_api.http.compression import accepted_coding
from sojourn_api.http.conditional import etag, has_already
from sojourn_api.json_rows import json_bytes
from sojourn_api.requests.selection import Selection
from sojourn_api.safety.answer_memory import AnswerMemory, HeldResponse
from sojourn_api.safety.authentication import reading_key


@dataclass(frozen=True)
class Result:
    """Rows of a response, and where the next page of them starts."""

    rows: pa.Table | FewRows
    columns: tuple[OutputColumn, ...]
    envelope: dict[str, Any]
    next_cursor: str | None = None


def _etag(request: Request, *parts: str) -> str:
    scope = reading_key(request).scope
    return etag(request.url.path, request.query_params.multi_items(), *parts, *([scope] if scope else []))


def _has_already(request: Request, tag: str) -> bool:
    return has_already(request.headers.get("if-none-match", ""), tag)


def _shared_headers(request: Request, build_id: str, tag: str) -> dict[str, str]:
    guarded = bool(request.app.state.settings.api_keys)
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache" if guarded else "no-cache",
        "Vary": "Accept, Authorization, X-API-Key" if guarded else "Accept",
        "X-Sojourn-Build": build_id,
    }


def document(request: Request, build_id: str, body: Callable[[], Any], *parts: str) -> Response:
    """Return a JSON document, or 304. `parts` is what it depends on beside the build and the URL."""
    tag = _etag(request, build_id, *parts)
    headers = _shared_headers(request, build_id, tag)
    if _has_already(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(json_bytes(body()), headers=headers, media_type=MEDIA_TYPES["json"])


def result(
    request: Request, build_id: str, selection: Selection, fetch: Callable[[], Result], expected_bytes: int = 0
) -> Response:
    """Return a result in the format of a selection, or 304 without running its query.

    Parameters
    ----------
    request : Request
    build_id : str
    selection : Selection
    fetch : callable
        Runs the query.
    expected_bytes : int
        About what the result and its text take, if that is known before it is fetched.

    Raises
    ------
    ProblemError
        503 if there is no memory for it.
    """
    format_name = selection.format
    tag = _etag(request, build_id, format_name)
    headers = _shared_headers(request, build_id, tag)
    if _has_already(request, tag):
        return Response(status_code=304, headers=headers)
    answers: AnswerMemory = request.app.state.answers
    held = answers.hold(expected_bytes)
    try:
        fetched = fetch()
        held.change_to(needed_bytes(format_name, fetched.rows))
        _add_next(request, fetched, headers)
        content = encode(
            format_name,
            fetched.rows,
            fetched.columns,
            fetched.envelope,
            fetched.next_cursor,
            escapes_formulas=selection.escapes_formulas,
        )
        # A second time while it is compressed.
        held.change_to(len(content) * (1 if accepted_coding(request.headers) == "identity" else 2))
        return HeldResponse(content, held, headers, MEDIA_TYPES[format_name])
    except BaseException:
        held.release()
        raise


def _add_next(request: Request, fetched: Result, headers: dict[str, str]) -> None:
    if fetched.next_cursor:
        items = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        following = urlencode([*items, ("cursor", fetched.next_cursor)])
        headers["X-Sojourn-Next-Cursor"] = fetched.next_cursor
        headers["Link"] = f'<?{following}>; rel="next"'


class ResultColumn(BaseModel):
    """A column of a result."""

    name: str
    type: str = Field(description="DuckDB's name for the type", examples=["DOUBLE"])
    unit: str | None


class ResultDocument(BaseModel):
    """A result in JSON: what it is of, its columns, and its rows with a member per column."""

    model_config = ConfigDict(extra="allow")

    build_id: str
    dataset: str
    excluded: str = Field(description="What was done with excluded runs: `leave_out` or `include`")
    columns: list[ResultColumn]
    rows: list[dict[str, Any]]
    row_count: int
    next_cursor: str | None = Field(description="The cursor of the next page; null if there is none")


def documented_formats(description: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a result in all its formats."""
    content: dict[str, Any] = {media_type: {} for media_type in MEDIA_TYPES.values()}
    text = {"schema": {"type": "string"}}
    headers = {
        "ETag": {"description": "For If-None-Match: 304 while the result is the same", **text},
        "Link": {"description": 'The next page, rel="next"', **text},
        "X-Sojourn-Build": {"description": "The build that the response was computed from", **text},
        "X-Sojourn-Next-Cursor": {"description": "Cursor of the next page, when there is one", **text},
    }
    return {
        200: {"description": description, "content": content, "headers": headers},
        304: {"description": "The result that the client has (If-None-Match) is current"},
    }
