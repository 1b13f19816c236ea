"""Ends of a chart's time range, spelled so that SQLite, which compares them as texts, keeps to the range."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import types

TEXTS = (types.String, types.Date, types.DateTime)


def time_literal(time: datetime) -> str:
    """Return the SQL of a time, as SQLite's functions give it.

    Midnight is the date alone, which sorts before every time of its day and equals a date of the API.
    """
    return f"'{time.isoformat(' ').removesuffix(' 00:00:00')}'"


def spell_times() -> None:
    """Have Superset spell times so for columns of dates and texts, and for those whose type it does not know.

    A virtual dataset says no type for a column whose first value is null. The format that an author gives a column
    goes before.
    """
    from superset.db_engine_specs.shillelagh import ShillelaghEngineSpec
    from superset.models.helpers import ExploreMixin

    spelled = ExploreMixin.dttm_sql_literal

    def convert_dttm(engine: Any, target_type: str, dttm: datetime, db_extra: Any = None) -> str | None:
        return time_literal(dttm) if isinstance(engine.get_sqla_column_type(target_type), TEXTS) else None

    def dttm_sql_literal(dataset: Any, dttm: datetime, col: Any) -> str:
        if dataset.db_engine_spec is not ShillelaghEngineSpec or (col.type and not col.python_date_format):
            return str(spelled(dataset, dttm, col))
        if not col.python_date_format:
            return time_literal(dttm)
        # Without a type, Superset goes by the format.
        name, pattern = col.column_name, col.python_date_format
        return str(spelled(dataset, dttm, SimpleNamespace(type=None, column_name=name, python_date_format=pattern)))

    ShillelaghEngineSpec.convert_dttm = classmethod(convert_dttm)
    ExploreMixin.dttm_sql_literal = dttm_sql_literal
