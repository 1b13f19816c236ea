"""How ``sojourn sql`` writes rows."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
