"""Every column that a dataset or a chart reads is one of the mart: its SQL is compiled over empty tables."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from typing import Any

import asset_files
import pytest

from sojourn_superset import service
from sojourn_superset.settings import REPOSITORY

DATASETS = asset_files.BY_UUID
CHARTS = {chart["slice_name"]: chart for chart in asset_files.CHARTS.values()}


class AnyAggregate:
    """An aggregate of which only the name matters."""

    def step(self, *_: object) -> None:
        """Take a row."""

    def finalize(self) -> None:
        """Return nothing."""


def compiled(marts: sqlite3.Connection, sql: str) -> None:
    """Compile a query; a function that SQLite lacks is one of the adapter, and is known by its name alone."""
    while True:
        try:
            marts.execute(f"explain {sql}").fetchall()
            return
        except sqlite3.OperationalError as error:
            unknown = re.match(r"no such function: (\w+)", str(error))
            if unknown is None:
                raise
            marts.create_aggregate(unknown[1], -1, AnyAggregate)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def marts() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    printed = subprocess.run(
        [REPOSITORY / ".venv/bin/python", "-m", "sojourn_transforms.dbt.documentation", "--columns"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name, columns in json.loads(printed).items():
        connection.execute(f'create table if not exists "{name}" ({", ".join(columns)})')
    for served in (service.BUILD, service.REQUEST):
        connection.execute(f"create table {served.name} ({', '.join(column.name for column in served.columns)})")
    yield connection
    connection.close()


def source(dataset: dict[str, Any]) -> str:
    """Return the mart of a dataset, with its calculated columns."""
    calculated = "".join(
        f', {column["expression"]} as "{column["column_name"]}"'
        for column in dataset["columns"]
        if column.get("expression")
    )
    return f'select *{calculated} from "{dataset["table_name"]}"'


@pytest.mark.parametrize("uuid", DATASETS, ids=[dataset["table_name"] for dataset in DATASETS.values()])
def test_a_dataset_reads_columns_that_are_there(marts: sqlite3.Connection, uuid: str) -> None:
    compiled(marts, source(DATASETS[uuid]))


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_reads_columns_that_are_there(marts: sqlite3.Connection, name: str) -> None:
    chart = CHARTS[name]
    params = chart["params"]
    parts: list[Any] = []
    for key in ("metrics", "metric", "percent_metrics", "groupby", "all_columns", "columns", "x_axis"):
        parts += params[key] if isinstance(params.get(key), list) else [params.get(key)]
    named = [part for part in parts if isinstance(part, str) and part != "count"]
    named += [each["subject"] for each in params.get("adhoc_filters", []) if each.get("expressionType") == "SIMPLE"]
    used = [part["sqlExpression"] for part in parts if isinstance(part, dict) and part.get("sqlExpression")]
    used += [f"each.[{column}]" for column in named]
    of = source(DATASETS[chart["dataset_uuid"]])
    for expression in used:
        compiled(marts, f"select {expression} from ({of}) as each")
