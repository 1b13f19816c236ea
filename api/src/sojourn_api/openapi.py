"""What the OpenAPI document says beyond the signatures: filters, and whole requests as examples.

Each example is a request by name. A parameter's value in it stands under that name among the parameter's examples, so
that the values under one name make one request, which a test sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

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
"""The ``openapi_extra`` of an address whose query string may have filters."""


class DocumentedApp(FastAPI):
    """An application whose OpenAPI document has the examples of its addresses."""

    examples: Mapping[str, Examples]

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path, requests in self.examples.items():
                _show(document["paths"][path]["get"]["parameters"], requests)
        assert self.openapi_schema is not None
        return self.openapi_schema


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
