"""What the marts are, taken from the dbt manifest: grain, key, and each column's type, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sojourn_snapshot.catalogue import Column, Dataset

MART_LAYER = "marts"
PERIODS = ("start_date", "start_month")


@dataclass(frozen=True)
class MartColumn:
    """One column of a mart, as dbt declares it."""

    name: str
    unit: str | None
    description: str
    nullable: bool

    def published(self, type_name: str) -> Column:
        """Return the column as a snapshot's catalogue has it; ``type_name`` is DuckDB's name of its type."""
        return Column(
            name=self.name, type=type_name, unit=self.unit, description=self.description, nullable=self.nullable
        )


@dataclass(frozen=True)
class Mart:
    """One mart: its grain in words, the columns that identify a row, and its columns in order.

    ``period``: the column, ``start_date`` or ``start_month``, of a mart whose rows follow from the connections of that
    day or month and nothing else; None of the others.
    """

    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[MartColumn, ...]
    period: str | None = None

    def dataset(self, rows: int, types: dict[str, str]) -> Dataset:
        """Return the mart as a snapshot's catalogue has it; ``types`` are those of the published file, by column."""
        return Dataset(
            name=self.name,
            description=self.description,
            grain=self.grain,
            key=self.key,
            rows=rows,
            columns=tuple(column.published(types[column.name]) for column in self.columns),
        )


def _meta(node: dict[str, Any]) -> dict[str, Any]:
    return dict(node.get("config", {}).get("meta") or node.get("meta") or {})


def _is_required(column: dict[str, Any]) -> bool:
    return any(constraint.get("type") == "not_null" for constraint in column.get("constraints") or [])


def mart_nodes(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes of a dbt manifest that are marts."""
    return [
        node for node in manifest["nodes"].values() if node["resource_type"] == "model" and node["schema"] == MART_LAYER
    ]


def marts_in(manifest: dict[str, Any]) -> list[Mart]:
    """Return the marts that a dbt manifest declares, by name.

    Raises
    ------
    ValueError
        If a mart lacks its grain or its key, or has another period than a day or a month.
    """
    marts = []
    for node in mart_nodes(manifest):
        meta = _meta(node)
        if not meta.get("grain") or not meta.get("key"):
            raise ValueError(f"mart {node['name']}: config.meta needs grain and key")
        if meta.get("period") not in (None, *PERIODS):
            raise ValueError(f"mart {node['name']}: config.meta.period is one of {', '.join(PERIODS)}")
        columns = [
            MartColumn(
                name=column["name"],
                unit=_meta(column).get("unit"),
                description=" ".join(column["description"].split()),
                nullable=not (column["name"] in meta["key"] or _is_required(column)),
            )
            for column in node["columns"].values()
        ]
        marts.append(
            Mart(
                name=node["name"],
                description=" ".join(node["description"].split()),
                grain=meta["grain"],
                key=tuple(meta["key"]),
                columns=tuple(columns),
                period=meta.get("period"),
            )
        )
    return sorted(marts, key=lambda mart: mart.name)
