"""The smallest and the largest value of a world map, which Superset's map has no legend for."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy.engine import Connection

from sojourn_superset.adapter_query import literal, rows_asked, source_of, sql_by_column, where_of
from sojourn_superset.countries import country_names

BETWEEN = " " * 40
"""Between both values below the bar of colours, which is as wide as they are."""


def ends_css(connection: Connection, chart: dict[str, Any], dataset: dict[str, Any], unit: str) -> str:
    """Return the style that writes both ends below a map's bar of colours; empty without a country of the map.

    Only for a map that no filter of its page reaches: the values are those of the build.

    Parameters
    ----------
    chart
        Asset of a chart of type `world_map`, with its metric and conditions.
    dataset
        Asset of its dataset, with all columns.
    unit
        What stands behind each value.
    """
    params, columns = chart["params"], sql_by_column(dataset)
    entity = columns[params["entity"]]
    condition = f"{entity} IN ({', '.join(map(literal, sorted(country_names())))})"
    where = where_of(params.get("adhoc_filters") or [], columns)
    of_countries = (
        f"SELECT {params['metric']['sqlExpression']} AS value FROM {source_of(dataset)} "
        f"{where + ' AND' if where else 'WHERE'} {condition} GROUP BY {entity}"
    )
    ((least, most),) = rows_asked(connection, f"SELECT MIN(value), MAX(value) FROM ({of_countries}) AS of_countries")
    if least is None:
        return ""
    words = f"{least:g} {unit}{BETWEEN}{most:g} {unit}"
    title, content = (json.dumps(text, ensure_ascii=False) for text in (chart["slice_name"], words))
    return f"[data-test-chart-name={title}]::after {{ content: {content}; }}\n"
