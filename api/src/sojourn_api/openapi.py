"""What the OpenAPI document says beyond the signatures: filters, whole requests as examples, and shared problems.

Each example is a request by name. A parameter's value in it has that name among the parameter's examples, so
that the values under one name make one request, which a test sends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from sojourn_api.formats import MEDIA_TYPES
from sojourn_api.problems import Problem, documented
from sojourn_api.requests.filters import DESCRIPTION

Examples = Mapping[str, Mapping[str, str]]
"""Requests by name: each a value for every parameter that it gives, of the path or the query; others are filters."""

FILTERS: dict[str, Any] = {
    "name": "filters",
    "in": "query",
    "required": False,
    "description": DESCRIPTION,
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}
WITH_FILTERS: dict[str, Any] = {"parameters": [FILTERS]}
"""The ``openapi_extra`` of an endpoint whose query string may have filters."""

LINKS: dict[str, dict[str, Any]] = {
    "datasets": {"FirstDataset": {"operationId": "dataset", "parameters": {"name": "$response.body#/datasets/0/name"}}},
    "dataset": {"RowsOfDataset": {"operationId": "rows", "parameters": {"name": "$response.body#/name"}}},
    "rows": {
        "NextPage": {
            "operationId": "rows",
            "parameters": {"name": "$request.path.name", "cursor": "$response.body#/next_cursor"},
            "description": "The next page, with the other parameters of this one; none if next_cursor is null",
        }
    },
}
"""Of an operation, those that follow from its response."""

OF_EVERY_REQUEST = (
    "body-not-allowed",
    "target-too-long",
    "unknown-host",
    "too-many-requests",
    "rate-exceeded",
    "too-many-headers",
)
"""Problems by which any request may be refused before it is looked at."""


@dataclass(frozen=True)
class Shown:
    """What the document shows of an endpoint: whole requests, and a response in JSON."""

    requests: Examples
    answer: Mapping[str, Any]


def operation_id(route: APIRoute) -> str:
    """Return the name of an endpoint, by which generators of clients call their functions: that of its function."""
    return route.name


class DocumentedApp(FastAPI):
    """An application whose OpenAPI document has the examples of its endpoints."""

    examples: Mapping[str, Shown]

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["schemas"][Problem.__name__] = Problem.model_json_schema()
            for methods in document["paths"].values():
                of_all = {str(status): answer for status, answer in documented(*OF_EVERY_REQUEST).items()}
                operation = methods["get"]
                operation["responses"].update(of_all)
                if operation["operationId"] in LINKS:
                    operation["responses"]["200"]["links"] = LINKS[operation["operationId"]]
            for path, shown in self.examples.items():
                operation = document["paths"][path]["get"]
                _show(operation["parameters"], shown.requests)
                # Here, because FastAPI drops members that are null, which a schema may demand.
                operation["responses"]["200"]["content"][MEDIA_TYPES["json"]]["example"] = dict(shown.answer)
        assert self.openapi_schema is not None
        return self.openapi_schema


def written(document: Mapping[str, Any]) -> str:
    """Return a document as the text of a file whose changes can be read line by line."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _show(parameters: list[dict[str, Any]], requests: Examples) -> None:
    declared = {parameter["name"] for parameter in parameters}
    for parameter in parameters:
        shown: dict[str, Any] = {}
        for title, values in requests.items():
            filters = {name: value for name, value in values.items() if name not in declared}
            value = filters if parameter["name"] == FILTERS["name"] else values.get(parameter["name"])
            if value:
                shown[title] = {"value": value}
        if shown:
            parameter["examples"] = shown
