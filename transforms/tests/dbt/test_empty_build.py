"""The dbt project builds over a lake that holds nothing yet, and every relation is as its YAML says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner

from sojourn_ingest.lake import Lake
from sojourn_transforms.warehouse import register_lake

LAYERS = ("staging", "intermediate", "marts")


@dataclass
class Built:
    """A warehouse that dbt built, and what dbt says of it."""

    warehouse: Path
    manifest: dict[str, Any]
    statuses: dict[str, str]


@pytest.fixture(scope="module")
def empty(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("empty")
    warehouse = folder / "warehouse.duckdb"
    register_lake(warehouse, Lake(folder / "lake"))
    project = repository / "models"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_WAREHOUSE", str(warehouse))
        try:
            dbtRunner().invoke([
                "--quiet", "--log-path", str(folder / "logs"), "build",
                "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(folder / "target"),
            ])  # fmt: skip
        finally:
            DuckDBConnectionManager.close_all_connections()
    results = json.loads((folder / "target" / "run_results.json").read_text(encoding="utf-8"))["results"]
    return Built(
        warehouse,
        json.loads((folder / "target" / "manifest.json").read_text(encoding="utf-8")),
        {result["unique_id"]: result["status"] for result in results},
    )


def test_an_empty_lake_builds_and_passes_every_test(empty: Built) -> None:
    assert set(empty.statuses.values()) <= {"success", "pass", "no-op"}, {
        name: status for name, status in empty.statuses.items() if status not in ("success", "pass", "no-op")
    }


def test_every_unit_test_of_the_project_ran(empty: Built) -> None:
    ran = {name for name, status in empty.statuses.items() if name.startswith("unit_test.") and status == "pass"}
    assert ran == set(empty.manifest["unit_tests"])
    tested = {test["model"] for test in empty.manifest["unit_tests"].values()}
    # The verdicts, each of which has a definition that an example can hold it to.
    verdicts = {"int_throughput_demand", "int_run_throughput_harm", "run_metric_harm", "run_flow_rate_equality"}
    assert verdicts | {"queuing_delay_histogram", "run_queuing_delay"} <= tested


def test_relations_have_the_columns_their_yaml_declares_in_order(empty: Built) -> None:
    with duckdb.connect(str(empty.warehouse), read_only=True) as connection:
        rows = connection.execute(
            "select table_schema, table_name, column_name from information_schema.columns"
            " where table_schema in ('staging', 'intermediate', 'marts') order by ordinal_position"
        ).fetchall()
    actual: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in rows:
        actual.setdefault((schema, table), []).append(column)
    declared = {
        (node["schema"], node["name"]): list(node["columns"])
        for node in empty.manifest["nodes"].values()
        if node["resource_type"] in ("model", "seed")
    }
    assert actual == declared
    assert {schema for schema, _ in actual} == set(LAYERS)


def test_the_key_of_a_long_table_is_tested_as_strictly_as_that_of_a_short_one(empty: Built) -> None:
    (test,) = [
        node
        for node in empty.manifest["nodes"].values()
        if node["name"].startswith("unique_key_stg_lake__queue_packet_") and node["resource_type"] == "test"
    ]
    assert test["test_metadata"]["kwargs"]["is_long"]
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as warehouse; create schema warehouse.staging")
        connection.execute(
            "create table warehouse.staging.stg_lake__queue_packet as from (values"
            " ('h', 1), ('h', 2), ('k', 1), ('h', 2), ('h', 2), ('k', null), (null, 7)) as t(source_hash, packet_index)"
        )
        found = connection.execute(test["compiled_code"]).fetchall()
    assert sorted(found, key=str) == sorted([("h", 2, 3), ("k", None, 1), (None, 7, 1)], key=str)
