"""What the marts are: grain, key, and each column's type, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn_snapshot.catalogue import Column, Dataset

MART_LAYER = "marts"


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
    only that day or month; None for the others. ``subject``: what the mart is about, the name of its folder.
    """

    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[MartColumn, ...]
    period: str | None = None
    subject: str = ""

    def dataset(self, rows: int, types: dict[str, str]) -> Dataset:
        """Return the mart as a snapshot's catalogue has it; ``types`` are those of the published file, by column."""
        return Dataset(
            name=self.name,
            subject=self.subject,
            description=self.description,
            grain=self.grain,
            key=self.key,
            rows=rows,
            columns=tuple(column.published(types[column.name]) for column in self.columns),
        )
