"""The numbers of a page for machines: the same figures and tables as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sojourn_transforms.look.content import Evidence, Figure, Page, Table
from sojourn_transforms.look.texts import plain


def json_of(page: Page) -> str:
    """Return the page's figures and tables with unit, n and interval; a missing value is null."""
    document = {
        "title": plain(page.title),
        "sojourn_version": page.version,
        "command": plain(page.command),
        "sections": [
            {
                "key": section.key,
                "title": section.title,
                "lead": plain(section.lead),
                "points": [plain(text) for text in section.points],
                "figures": [_figure(item) for item in section.items if isinstance(item, Figure)],
                "tables": [_table(item) for item in section.items if isinstance(item, Table)],
                "absent": [plain(text) for text in section.absent],
            }
            for section in page.sections
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False)


def _evidence(evidence: Evidence) -> dict[str, str]:
    return {"unit": evidence.unit, "n": plain(evidence.n), "interval": plain(evidence.interval)}


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "key": figure.key,
        "title": plain(figure.title),
        **_evidence(figure.evidence),
        "note": plain(figure.note),
        "data": [_row(row) for row in figure.data],
    }


def _table(table: Table) -> dict[str, Any]:
    columns = [*table.columns, *table.more]
    names = [column.name for column in columns]
    return {
        "key": table.key,
        "title": plain(table.title),
        **_evidence(table.evidence),
        "note": plain(table.note),
        "left_off": plain(table.left_off),
        "columns": [{"name": column.name, "heading": column.heading, "unit": column.unit} for column in columns],
        "rows": [_row({name: row.get(name) for name in names}) for row in table.rows],
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return plain(str(value))
