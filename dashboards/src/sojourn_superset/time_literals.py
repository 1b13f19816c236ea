"""Ends of a chart's time range, spelled so that SQLite, which compares them as texts, keeps to the range."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import types

TEXTS = (types.String, types.Date, types.DateTime)
NUMBERS = (types.Integer, types.Numeric)


EPOCHS = {"epoch_s": timedelta(seconds=1), "epoch_ms": timedelta(milliseconds=1)}
STEPS = [timedelta(seconds=seconds) for seconds in (1, 60, 3600)] + [timedelta(days) for days in (1, 28, 31, 365, 366)]
"""What leads from a time to the next one that a format has."""


def time_literal(time: datetime, pattern: str | None = None, *, is_number: bool = False) -> str:
    """Return the SQL of a time: in the format that an author gives a column, or else as SQLite's functions give it.

    In a format without hours, it is the next day: no earlier one is at or after the time. Without a format, midnight is
    the date alone, which sorts before every time of its day and equals a date of the API.
    """
    if pattern in EPOCHS:
        # Rounded up; Superset takes the time for one of the server's zone.
        return str(-((datetime(1970, 1, 1) - time) // EPOCHS[pattern]))
    if pattern is None:
        return f"'{time.isoformat(' ').removesuffix(' 00:00:00')}'"
    later = (time + step for step in (timedelta(0), *STEPS))
    text = next((text for text in (each.strftime(pattern) for each in later) if _is_after(text, pattern, time)), None)
    text = text or time.strftime(pattern)
    return text if is_number and text.isdigit() else "'{}'".format(text.replace("'", "''"))


def _is_after(text: str, pattern: str, time: datetime) -> bool:
    try:
        return datetime.strptime(text, pattern).replace(tzinfo=None) >= time
    except ValueError:
        # It has a part of which Python makes no time.
        return False


def spell_times() -> None:
    """Have Superset spell times so for columns of dates and texts, and for those whose type it does not know.

    A virtual dataset says no type for a column whose first value is null.
    """
    from superset.db_engine_specs.shillelagh import ShillelaghEngineSpec
    from superset.models.helpers import ExploreMixin

    spelled = ExploreMixin.dttm_sql_literal

    def convert_dttm(engine: Any, target_type: str, dttm: datetime, db_extra: Any = None) -> str | None:
        return time_literal(dttm) if isinstance(engine.get_sqla_column_type(target_type), TEXTS) else None

    def dttm_sql_literal(dataset: Any, dttm: datetime, col: Any) -> str:
        engine, pattern = dataset.db_engine_spec, col.python_date_format
        if engine is not ShillelaghEngineSpec or (col.type and not pattern):
            return str(spelled(dataset, dttm, col))
        is_number = isinstance(engine.get_sqla_column_type(col.type), NUMBERS)
        return time_literal(dttm, pattern or None, is_number=is_number)

    ShillelaghEngineSpec.convert_dttm = classmethod(convert_dttm)
    ExploreMixin.dttm_sql_literal = dttm_sql_literal
