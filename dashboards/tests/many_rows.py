"""A server of the API's contract over tables of many rows, which SQLite holds, filters, groups and counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from statistics import median
from typing import Any

from contract_server import Contract

SIGNS = {"ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Median:
    """SQLite's aggregate MEDIAN, for the comparison."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def step(self, value: float | None) -> None:
        """Take a value."""
        if value is not None:
            self.values.append(value)

    def finalize(self) -> float | None:
        """Return the median."""
        return float(median(self.values)) if self.values else None


class ManyRows(Contract):
    """A server of tables with many rows; `rows_sent` counts what it answered with."""

    def __init__(self, name: str, columns: dict[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        super().__init__()
        self.held = sqlite3.connect(":memory:", check_same_thread=False)
        self.held.create_aggregate("MEDIAN", 1, Median)  # type: ignore[arg-type]
        self.hold(name, columns, rows)

    def hold(self, name: str, columns: dict[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Serve one more table."""
        self.add(name, columns, list(columns)[:2], [])
        self.held.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        self.held.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)

    def rows(self, name: str, query: list[tuple[str, str]]) -> Any:
        """Return the groups; a question for rows as they are is answered with all of them."""
        parameters = dict(query)
        group = [column for column in parameters.pop("group", "").split(",") if column]
        aggregates = [part.split(":") for part in parameters.pop("aggregate", "").split(",") if ":" in part]
        is_grouped = bool(group or dict(query).get("aggregate"))
        assert parameters.pop("excluded", "include") == "include"
        columns = list(self.tables[name]["columns"])
        select = [column for column in parameters.get("select", "").split(",") if column]
        size, start = int(parameters.pop("limit")), int(parameters.pop("cursor", 0))
        conditions, values = ["1"], []
        for parameter in set(parameters) - {"select", "order", "unknown_values"}:
            column, _, operator = parameter.removesuffix("__eq").partition("__")
            if operator == "null":
                conditions.append(f"{column} IS {'NOT ' if parameters[parameter] == 'false' else ''}NULL")
                continue
            if operator:
                conditions.append(f"{column} {SIGNS[operator]} ?")
                values.append(parameters[parameter])
                continue
            among = [value for key, value in query if key == parameter]
            conditions.append(f"{column} IN ({', '.join('?' * len(among))})")
            values += among
        named = {f"{function}_{column}": f"{function}({column})" for function, column in aggregates}
        chosen = dict.fromkeys(group) | {"n": "COUNT(*)"} | named if is_grouped else dict.fromkeys(select or columns)
        sql = f"SELECT {', '.join(f'{value or key} AS {key}' for key, value in chosen.items())} FROM {name}"
        sql += f" WHERE {' AND '.join(conditions)}" + (f" GROUP BY {', '.join(group)}" if group else "")
        rows = self.held.execute(f"{sql} LIMIT {size + 1} OFFSET {start}", values).fetchall()
        page = [dict(zip(chosen, row, strict=True)) for row in rows[:size]]
        self.rows_sent += len(page)
        following = str(start + size) if len(rows) > size else None
        return {"build_id": self.build_id, "rows": page, "row_count": len(page), "next_cursor": following}
