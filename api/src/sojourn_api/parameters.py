"""The query string of a request: every parameter is known, and each is documented where it is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from sojourn_api.problems import ProblemError, invalid_parameter, quoted

Items = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Parameter:
    """A query parameter that is not a filter."""

    name: str
    description: str
    example: Any
    schema: Mapping[str, Any]

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI parameter object."""
        return {
            "name": self.name,
            "in": "query",
            "required": False,
            "description": self.description,
            "schema": dict(self.schema),
            "example": self.example,
        }


def text(name: str, description: str, example: str, *allowed: str) -> Parameter:
    """Return a parameter of text, or of one of the words `allowed`."""
    schema: dict[str, Any] = {"type": "string"}
    if allowed:
        schema["enum"] = list(allowed)
    return Parameter(name, description, example, schema)


def whole_number(name: str, description: str, example: int, minimum: int) -> Parameter:
    """Return a parameter of a whole number."""
    return Parameter(name, description, example, {"type": "integer", "minimum": minimum})


def openapi_parameters(parameters: Iterable[Parameter], filters: str) -> dict[str, Any]:
    """Return the ``openapi_extra`` of an endpoint: its parameters, and its filters as free-form ones."""
    free_form = {
        "name": "filters",
        "in": "query",
        "required": False,
        "description": filters,
        "style": "form",
        "explode": True,
        "schema": {"type": "object", "additionalProperties": {"type": "string"}},
        "example": {"aqm": "fq_codel", "bandwidth_bps__ge": "1000000"},
    }
    return {"parameters": [*(parameter.openapi() for parameter in parameters), free_form]}


def single(items: Items, name: str) -> str | None:
    """Return the value of a parameter that may be given once, or None."""
    values = [value for key, value in items if key == name]
    if len(values) > 1:
        raise invalid_parameter(name, f"given {len(values)} times; give it once")
    return values[0] if values else None


def comma_list(items: Items, name: str) -> tuple[str, ...] | None:
    """Return the values of a comma-separated parameter, without repeats, or None when it is not given."""
    value = single(items, name)
    if value is None:
        return None
    parts = tuple(part.strip() for part in value.split(","))
    if not all(parts):
        raise invalid_parameter(name, "an empty name in the comma-separated list")
    if len(set(parts)) != len(parts):
        raise invalid_parameter(name, "a name occurs twice in the list")
    return parts


def one_of(items: Items, name: str, allowed: Sequence[str]) -> str | None:
    """Return the value of a parameter that must be one of `allowed`, or None when it is not given."""
    value = single(items, name)
    if value is not None and value not in allowed:
        raise invalid_parameter(name, f"{quoted(value)} is not allowed", allowed=list(allowed))
    return value


def integer(items: Items, name: str, minimum: int, maximum: int) -> int | None:
    """Return the value of a whole-number parameter within limits, or None when it is not given."""
    value = single(items, name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and minimum <= int(value) <= maximum):
        raise invalid_parameter(
            name, f"{quoted(value)} is not a whole number from {minimum} to {maximum}", maximum=maximum
        )
    return int(value)


def unknown_parameter(name: str, allowed: Sequence[str], **members: Any) -> ProblemError:
    """Return the problem of a parameter that is not known."""
    return ProblemError(
        "unknown-parameter",
        f"{quoted(name)} is not a parameter of this address",
        parameter=name[:200],
        allowed=list(allowed),
        **members,
    )


def refuse_parameters(request: Request) -> None:
    """Refuse any query parameter: a dependency of the endpoints that take none."""
    for name, _ in request.query_params.multi_items():
        raise unknown_parameter(name, [])
