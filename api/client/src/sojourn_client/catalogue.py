"""The catalogue of the build being served, as the API describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column of a dataset; `type` is DuckDB's name."""

    name: str
    type: str
    unit: str | None = None
    description: str | None = None
    nullable: bool = True


@dataclass(frozen=True)
class Dataset:
    """One dataset: what one row is, what identifies it, how many there are, and its columns."""

    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    rows: int
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Build:
    """The build that is served: its id, the time when it was published (ISO 8601), and all that the API says of it."""

    build_id: str
    published_at: str
    document: Mapping[str, Any]


def build_from(document: Mapping[str, Any]) -> Build:
    """Return a build as ``/v1/builds`` describes it."""
    return Build(str(document["build_id"]), str(document["published_at"]), document)


def dataset_from(entry: Mapping[str, Any]) -> Dataset:
    """Return a dataset as ``/v1/datasets`` describes it; what this version does not know is omitted."""
    return Dataset(
        name=entry["name"],
        description=entry.get("description") or "",
        grain=entry.get("grain") or "",
        key=tuple(entry.get("key") or ()),
        rows=int(entry.get("rows") or 0),
        columns=tuple(
            Column(
                name=column["name"],
                type=column["type"],
                unit=column.get("unit"),
                description=column.get("description"),
                nullable=column.get("nullable", True),
            )
            for column in entry["columns"]
        ),
    )
