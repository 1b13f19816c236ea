"""The lake's tables, each column declared once: name, type, unit, meaning, source."""

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.tables import TABLES, table

__all__ = ["TABLES", "Column", "Table", "table"]
