"""What dbt says of the project: its unit tests pass, tables are as their YAML says, and the same if dbt builds them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_transforms.comparing_builds import Relation, compare_relations
from sojourn_transforms.dbt.columns import read_dictionary
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import lake_contents_of, run_statements
from sojourn_transforms.running.statements import Statement
from sojourn_transforms.warehouse import open_warehouse, register_lake

pytestmark = pytest.mark.integration
BIN = Path(sys.executable).parent
LAYERS = ("staging", "intermediate", "marts")
RUN = "1000k_rtt50_codel_bbr_video_appfirst_rep1"


def ingested(folder: Path, sample: Path) -> Paths:
    paths = Paths(folder / "var")
    subprocess.run([BIN / "sojourn", "ingest", sample / RUN, "--var", paths.var], check=True, capture_output=True)
    return paths


def run(paths: Paths, project: Path, marts: Sequence[str]) -> list[Statement]:
    """Build marts with all that they need by the runner, and return those of them that are tables."""
    compiled = compiled_project(project, "duckdb").of(marts)
    lake = paths.open_lake()
    with open_warehouse(paths.warehouse, None) as connection:
        contents = lake_contents_of(lake, TABLES)
        register_lake(connection, lake, contents)
        run_statements(DuckDbTables(connection, project), compiled.statements, contents, lambda _: None)
    return [each for each in compiled.statements if each.kind == "model" and each.storage != "view"]


def dbt(paths: Paths, project: Path, command: Sequence[str | Path], *arguments: str) -> None:
    environment = {**os.environ, "SOJOURN_VAR": str(paths.var), "SOJOURN_MODELS": str(project)}
    done = subprocess.run(
        [*command, *arguments, "--exclude", "tag:history"],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def assert_equal_tables(paths: Paths, statements: Sequence[Statement], theirs: str) -> None:
    """Compare tables with what dbt left, of which ``theirs`` selects the rows of ``{layer}`` and ``{name}``."""
    keys = {}
    relations = []
    with duckdb.connect() as connection:
        connection.execute(f"attach '{paths.warehouse}' as ours (read_only)")
        for each in statements:
            columns = connection.execute(f"select * from ours.{each.relation} limit 0").description or ()
            keys[each.name] = tuple(name for name, *_ in columns)
    for each in statements:
        ours = paths.warehouse.with_name(f"ours-{each.name}.parquet")
        with duckdb.connect(str(paths.warehouse), read_only=True) as connection:
            connection.sql(f"select * from {each.relation}").write_parquet(str(ours))
        select = theirs.format(layer=each.relation.partition(".")[0], name=each.name)
        relations.append(Relation(each.name, f"select * from '{ours}'", select, keys[each.name]))
    compared = compare_relations(relations)
    assert compared.differences == []
    assert sum(compared.rows.values()) > 100


def copied(paths: Paths, statements: Sequence[Statement]) -> str:
    """Copy the tables that dbt made with DuckDB to files, and return the statement that selects one."""
    with duckdb.connect(str(paths.warehouse.with_name("dbt.duckdb")), read_only=True) as connection:
        for each in statements:
            file = paths.warehouse.with_name(f"{each.relation}.parquet")
            connection.sql(f"select * from {each.relation}").write_parquet(str(file))
    return f"select * from '{paths.warehouse.parent}/{{layer}}.{{name}}.parquet'"


@dataclass
class UnitTests:
    """The project as dbt describes it, and the status of each of its unit tests."""

    manifest: dict[str, Any]
    statuses: dict[str, str]


@pytest.fixture(scope="module")
def unit_tests(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> UnitTests:
    """Return what dbt says of the unit tests, for which it reads the columns of their inputs in the warehouse."""
    folder, project = tmp_path_factory.mktemp("unit"), repository / "models"
    paths, target = Paths(folder / "var"), folder / "target"
    run(paths, project, [mart.name for mart in compiled_project(project, "duckdb").marts])
    with duckdb.connect(str(paths.warehouse.with_name("dbt.duckdb"))) as connection:
        connection.execute(f"attach '{paths.warehouse}' as ours (read_only)")
        for layer in LAYERS:
            connection.execute(f"create schema {layer}")
        relations = connection.execute(
            "select table_schema || '.' || table_name from information_schema.tables"
            f" where table_catalog = 'ours' and table_schema in {LAYERS}"
        ).fetchall()
        for (relation,) in relations:
            connection.execute(f"create table {relation} as from ours.{relation} limit 0")
    arguments = ["--target-path", str(target), "--log-path", str(folder / "logs")]
    dbt(paths, project, [BIN / "dbt", "test", "--select", "test_type:unit"], *arguments)
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    return UnitTests(
        json.loads((target / "manifest.json").read_text(encoding="utf-8")),
        {result["unique_id"]: result["status"] for result in results},
    )


def test_every_unit_test_of_the_project_passes(unit_tests: UnitTests) -> None:
    passed = {name for name, status in unit_tests.statuses.items() if status == "pass"}
    assert passed == set(unit_tests.manifest["unit_tests"])
    tested = {test["model"] for test in unit_tests.manifest["unit_tests"].values()}
    # The verdicts, each of which has a definition that an example can hold it to.
    verdicts = {"int_throughput_demand", "int_run_throughput_harm", "run_metric_harm", "run_flow_rate_equality"}
    assert verdicts | {"queuing_delay_histogram", "run_queuing_delay"} <= tested


def columns_of(node: dict[str, Any], groups: dict[str, list[str]]) -> list[str]:
    """Return the columns that a model declares: after the key those of its group, which columns.yml describes."""
    meta = node["config"].get("meta", {})
    if "group" not in meta:
        return list(node["columns"])
    group = [each for each in groups[meta["group"]] if each not in meta.get("without", ())]
    return list(dict.fromkeys([*meta["key"], *group, *node["columns"]]))


@pytest.mark.long
def test_every_table_is_the_same_by_dbt_with_the_columns_that_its_yaml_declares(
    tmp_path: Path, repository: Path, sample: Path
) -> None:
    paths, project = ingested(tmp_path, sample), repository / "models"
    tables = run(paths, project, [mart.name for mart in compiled_project(project, "duckdb").marts])
    # Data tests are the runner's.
    target = ["--target-path", str(tmp_path / "target"), "--log-path", str(tmp_path / "logs")]
    dbt(paths, project, [BIN / "dbt", "build", "--exclude-resource-type", "test", "unit_test"], *target)
    assert len(tables) > 250
    with duckdb.connect(str(paths.warehouse.with_name("dbt.duckdb")), read_only=True) as connection:
        rows = connection.execute(
            "select table_schema, table_name, column_name from information_schema.columns"
            " where table_schema in ('staging', 'intermediate', 'marts') order by ordinal_position"
        ).fetchall()
    actual: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in rows:
        actual.setdefault((schema, table), []).append(column)
    manifest = json.loads((tmp_path / "target" / "manifest.json").read_text(encoding="utf-8"))
    groups = read_dictionary(project).groups
    declared = {
        (node["schema"], node["alias"]): columns_of(node, groups)
        for node in manifest["nodes"].values()
        if node["resource_type"] in ("model", "seed")
    }
    assert actual == declared
    assert_equal_tables(paths, tables, copied(paths, tables))


def test_the_key_of_a_long_table_is_tested_as_strictly_as_that_of_a_short_one(repository: Path) -> None:
    (test,) = [
        each
        for each in compiled_project(repository / "models", "duckdb").statements
        if each.name.startswith("unique_key_stg_lake__queue_packet_")
    ]
    assert "repeated_hashes" in test.sql
    with duckdb.connect() as connection:
        connection.execute("create schema staging")
        connection.execute(
            "create table staging.stg_lake__queue_packet as from (values"
            " ('h', 1), ('h', 2), ('k', 1), ('h', 2), ('h', 2), ('k', null), (null, 7)) as t(source_hash, packet_index)"
        )
        rows = connection.execute(test.sql).fetchall()
    assert sorted(rows, key=str) == sorted([("h", 2, 3), ("k", None, 1), (None, 7, 1)], key=str)


@pytest.mark.long
def test_every_mart_is_the_same_by_dbt_on_spark(tmp_path: Path, repository: Path, sample: Path) -> None:
    paths, project = ingested(tmp_path, sample), repository / "models"
    tables = run(paths, project, [mart.name for mart in compiled_project(project, "duckdb").marts])
    dbt(paths, project, [sys.executable, "-m", "sojourn_transforms.dbt", "build"])
    # Staging of long tables is part of the statements there, and hashes differ between engines.
    marts = [each for each in tables if each.layer == "marts"]
    (warehouse,) = paths.spark.rglob("marts.db")
    assert_equal_tables(paths, marts, f"select * from '{warehouse.parent}/{{layer}}.db/{{name}}/*.parquet'")
