"""A column of a table that statistics make, declared once for the mart, the API and the documentation."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class TableColumn:
    """A column: its name, Arrow type, unit (None without one), meaning, and whether it can be null."""

    name: str
    type: pa.DataType
    unit: str | None
    description: str
    nullable: bool = True
