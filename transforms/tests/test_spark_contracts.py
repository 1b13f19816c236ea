"""On Spark, every model has the columns of its contract, and every mart can be analysed: without data, in a minute."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from sojourn_ingest.paths import Paths
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.spark.engine import SHORT_LIVED_JAVA
from sojourn_transforms.spark.lake_views import register_lake
from sojourn_transforms.spark.session import SparkSettings, spark_session

pytestmark = pytest.mark.integration


def test_models_have_the_columns_of_their_contracts(tmp_path: Path, repository: Path) -> None:
    statements = {
        each.name: each for each in compiled_project(repository / "models", "spark").statements if each.kind != "test"
    }
    order = TopologicalSorter({name: each.after & statements.keys() for name, each in statements.items()})
    paths = Paths(tmp_path)
    differing = {}
    settings = SparkSettings("local[1]", {"spark.driver.defaultJavaOptions": SHORT_LIVED_JAVA})
    with spark_session(paths, settings) as session:
        register_lake(session, paths.open_lake(), tmp_path / "little")
        for layer in {each.relation.partition(".")[0] for each in statements.values()}:
            session.sql(f"create database if not exists {layer}")
        for name in order.static_order():
            statement = statements[name]
            types = dict(statement.columns)
            if statement.kind != "seed":
                types = {one.name: one.dataType.simpleString() for one in session.sql(statement.sql).schema}
            if statement.kind == "model" and statement.columns and types != dict(statement.columns):
                differing[name] = sorted(set(types.items()) ^ set(statement.columns.items()))
            columns = ", ".join(f"`{column}` {kind}" for column, kind in types.items())
            session.sql(f"create table {statement.relation} ({columns}) using parquet")
    assert not differing
    assert len(statements) > 300
