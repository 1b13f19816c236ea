"""Errors as RFC 9457 problem details: one shape for every status, and nothing of the inside shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """What all problems of one type share."""

    status: int
    title: str


KINDS: dict[str, Kind] = {
    "invalid-request": Kind(400, "The request is not valid HTTP"),
    "unauthorized": Kind(401, "An API key is needed"),
    "forbidden": Kind(403, "The key has no access to this"),
    "not-found": Kind(404, "No endpoint has this path"),
    "unknown-dataset": Kind(404, "There is no such dataset"),
    "unknown-metric": Kind(404, "There is no such metric"),
    "method-not-allowed": Kind(405, "The method is not allowed here"),
    "not-acceptable": Kind(406, "None of the accepted media types is served"),
    "too-many-requests": Kind(429, "The client has too many requests in progress"),
    "rate-exceeded": Kind(429, "The key has used up its requests"),
    "too-many-headers": Kind(431, "The request has too many headers, or too long ones"),
    "target-too-long": Kind(414, "The URL is too long"),
    "body-not-allowed": Kind(413, "The request has a body"),
    "unknown-host": Kind(421, "The request is meant for another host"),
    "slow-request": Kind(408, "The request took too long to arrive"),
    "cursor-expired": Kind(410, "The cursor belongs to a build that is no longer served"),
    "unknown-parameter": Kind(422, "A query parameter is not known"),
    "unknown-value": Kind(422, "A filter has a value that no row has"),
    "invalid-parameter": Kind(422, "A query parameter has a value that is not allowed"),
    "invalid-cursor": Kind(422, "The cursor does not belong to this query"),
    "result-too-large": Kind(422, "The result has more rows than a response may have"),
    "result-out-of-range": Kind(422, "A result does not fit its type"),
    "internal-error": Kind(500, "The service failed"),
    "no-snapshot": Kind(503, "No build can be served"),
    "busy": Kind(503, "Too many queries are running"),
    "query-timeout": Kind(503, "The query took too long"),
    "query-memory": Kind(503, "The query needed too much memory"),
}


PROBLEMS_OF_METRICS = (
    "unauthorized",
    "forbidden",
    "unknown-metric",
    "unknown-dataset",
    "not-acceptable",
    "unknown-parameter",
    "unknown-value",
    "invalid-parameter",
    "result-too-large",
    "no-snapshot",
    "busy",
    "query-timeout",
    "query-memory",
)
"""Problems of the endpoints that compute something of a metric, for `documented`."""


class Problem(BaseModel):
    """The body of every error response (RFC 9457); further members depend on the type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:sojourn:problem:unknown-parameter"])
    title: str = Field(examples=["A query parameter is not known"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["'bandwith_bps' is not a parameter of this endpoint"])
    instance: str = Field(examples=["/v1/datasets/run_harm/rows"])


class ProblemError(Exception):
    """A request that ends in a problem.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    detail : str
        What is wrong with this request, for a person to read.
    headers : mapping, optional
        Further response headers.
    **members
        Extension members of the problem, such as ``parameter`` and ``allowed``.
    """

    def __init__(self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members


def invalid_parameter(name: str, detail: str, **members: Any) -> ProblemError:
    """Return the problem of a parameter whose value is refused."""
    return ProblemError("invalid-parameter", f"{name}: {detail}", parameter=name, **members)


def quoted(value: str) -> str:
    """Return a value of the request for use in a detail, without echoing a long input."""
    return repr(value if len(value) <= 80 else value[:80] + "…")


def _response(request: Request, type_: str, kind: Kind, error: ProblemError) -> Response:
    body = {
        "type": type_,
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        "instance": request.url.path,
        **error.members,
    }
    assert len(body) == 5 + len(error.members), "an extension member has the name of a standard one"
    headers = {"Cache-Control": "no-store", **error.headers}
    return Response(to_json(body), status_code=kind.status, headers=headers, media_type=MEDIA_TYPE)


def problem_response(request: Request, error: ProblemError) -> Response:
    """Return the response of a problem."""
    return _response(request, f"urn:sojourn:problem:{error.kind}", KINDS[error.kind], error)


def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(request, error)


def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not allowed here; the service is read with GET"
        return problem_response(request, ProblemError("method-not-allowed", detail, headers=headers))
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = f"{quoted(request.url.path)} is not an endpoint of this service; / lists the endpoints"
        return problem_response(request, ProblemError("not-found", detail, headers=headers))
    # Any other status comes from the web framework; it has no type of ours, which RFC 9457 writes as about:blank.
    kind = Kind(error.status_code, HTTPStatus(error.status_code).phrase)
    return _response(request, "about:blank", kind, ProblemError("", str(error.detail), headers=headers))


def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    return problem_response(request, invalid_parameter(name, str(first["msg"])))


def _on_any_error(request: Request, error: Exception) -> Response:
    # Starlette raises the error again after this response, so the server's log has the trace and the client
    # has not.
    return problem_response(request, ProblemError("internal-error", "The service's log has the cause."))


def install(app: FastAPI) -> None:
    """Make every error of the app a problem."""
    app.add_exception_handler(ProblemError, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(Exception, _on_any_error)


def documented(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of an endpoint that may end in these kinds of problem.

    They refer to the schema of `Problem`, which `sojourn_api.openapi` adds to the document.
    """
    responses: dict[int | str, dict[str, Any]] = {}
    for name in kinds:
        kind = KINDS[name]
        earlier = responses.get(kind.status)
        description = f"{earlier['description']}; {name}" if earlier else name
        responses[kind.status] = {
            "description": description,
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}},
        }
    return responses
