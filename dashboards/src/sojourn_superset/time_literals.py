"""Ends of a chart's time range, spelled as the API spells a date or a time: SQLite compares them as texts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import types


def time_literal(target_type: str, time: datetime) -> str | None:
    """Return the SQL of a time for a column of this type, or None if Superset is to go by the column's own format.

    Midnight is the date alone, which sorts before every time of its day and at the date itself.
    """
    from superset.db_engine_specs.shillelagh import ShillelaghEngineSpec

    if not isinstance(
        ShillelaghEngineSpec.get_sqla_column_type(target_type), types.String | types.Date | types.DateTime
    ):
        return None
    spelled = time.isoformat()
    return f"'{spelled.removesuffix('T00:00:00')}'"


def spell_times() -> None:
    """Have Superset's engine of the API spell times so; it leaves out the `T`, and gives a date a time."""
    from superset.db_engine_specs.shillelagh import ShillelaghEngineSpec

    def convert_dttm(_: Any, target_type: str, dttm: datetime, db_extra: dict[str, Any] | None = None) -> str | None:
        return time_literal(target_type, dttm)

    ShillelaghEngineSpec.convert_dttm = classmethod(convert_dttm)
