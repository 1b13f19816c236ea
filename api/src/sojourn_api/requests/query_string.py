"""The texts of a query string as values: lists, whole numbers, words of a fixed list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import Request
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.safety.authentication import reading_key
from sojourn_api.safety.keys import OPEN, Key
from sojourn_api.suggestions import did_you_mean, meant_or_expected

if TYPE_CHECKING:
    from sojourn_api.catalogue import Column, Dataset
    from sojourn_api.requests.value_words import ColumnValues

Items = tuple[tuple[str, str], ...]
ValuesOf = Callable[["Dataset", "Column"], "ColumnValues | None"]
"""Returns the distinct values of a column, or None where they are too many."""


class WithValues(Protocol):
    """A snapshot, of which requests know only that columns have values."""

    def values_of(self, query: Any, dataset: Dataset, column: Column, studies: Any) -> ColumnValues | None:
        """Return the distinct values of a column in rows of some studies, or None where they are too many."""


@dataclass(frozen=True)
class RequestContext:
    """A request as it came in: its path, its query string in order, its Accept header, and who asks.

    Without `values_of`, values of filters are not compared with those of rows.
    """

    path: str
    items: Items
    accept: str | None
    key: Key = OPEN
    values_of: ValuesOf | None = None

    @classmethod
    def of(cls, request: Request, snapshot: WithValues) -> RequestContext:
        """Return what a request asks of a snapshot."""
        key, runner = reading_key(request), request.app.state.runner
        return cls(
            request.url.path,
            tuple(request.query_params.multi_items()),
            request.headers.get("accept"),
            key,
            lambda dataset, column: snapshot.values_of(partial(runner.run, snapshot), dataset, column, key.studies),
        )

    @property
    def names(self) -> frozenset[str]:
        """The names in the query string."""
        return frozenset(name for name, _ in self.items)

    def without(self, *names: str) -> Items:
        """Return the query string without some parameters."""
        return tuple(item for item in self.items if item[0] not in names)

    def refuse_repeated(self, names: Collection[str]) -> None:
        """Refuse parameters that are given more than once and are not filters."""
        for name, times in Counter(name for name, _ in self.items if name in names).items():
            if times > 1:
                raise invalid_parameter(name, f"given {times} times; give it once")


@dataclass(frozen=True)
class OneOf:
    """Marks a text in a signature as one of `allowed`: refused otherwise, and an enumeration in OpenAPI.

    Where `checked` is false the refusal is left to the code that knows which of them a metric has.
    """

    allowed: tuple[str, ...]
    checked: bool = True

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if not self.checked:
            return schema
        return core_schema.with_info_after_validator_function(self._checked, schema)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self.allowed)}

    def _checked(self, value: str | None, info: core_schema.ValidationInfo) -> str | None:
        if value is not None and value not in self.allowed:
            name = str(info.field_name)
            raise invalid_parameter(
                name,
                f"{quoted(value)} is not allowed{meant_or_expected(value, self.allowed)}",
                allowed=list(self.allowed),
            )
        return value


@dataclass(frozen=True)
class MetricName(OneOf):
    """Marks the metric of an endpoint: an unknown one is not found, with a hint where one is known to be asked for."""

    hints: tuple[tuple[str, str], ...] = ()

    def _checked(self, value: str | None, info: core_schema.ValidationInfo) -> str | None:
        if value is not None and value not in self.allowed:
            hint = dict(self.hints).get(value)
            detail = f"{quoted(value)} is not a metric" + (f": {hint}" if hint else did_you_mean(value, self.allowed))
            raise ProblemError("unknown-metric", detail, metric=value[:200], known=sorted(self.allowed))
        return value


def comma_list(name: str, value: str | None) -> tuple[str, ...] | None:
    """Return the values of a comma-separated parameter, without repeats, or None when it is not given."""
    if value is None:
        return None
    parts = tuple(part.strip() for part in value.split(","))
    if not all(parts):
        raise invalid_parameter(name, "an empty name in the comma-separated list")
    if len(set(parts)) != len(parts):
        raise invalid_parameter(name, "a name occurs twice in the list")
    return parts


def whole_number(name: str, value: str | None, minimum: int, maximum: int) -> int | None:
    """Return the value of a whole-number parameter within limits, or None when it is not given."""
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
        f"{quoted(name)} is not a parameter of this endpoint{did_you_mean(name, allowed)}",
        parameter=name[:200],
        allowed=list(allowed),
        **members,
    )


async def refuse_parameters(request: Request) -> None:
    """Refuse any query parameter: a dependency of the endpoints that take none.

    It is of the event loop, because a change of threads costs more than what it does.
    """
    for name, _ in request.query_params.multi_items():
        raise unknown_parameter(name, [])
