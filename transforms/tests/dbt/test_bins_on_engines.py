"""DuckDB, Spark SQL and NumPy put a delay into the same bin, and give that bin the same edges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import numpy as np
import pytest

from sojourn_ingest.paths import Paths
from sojourn_statistics.histogram import log_linear
from sojourn_transforms.spark.engine import SHORT_LIVED_JAVA
from sojourn_transforms.spark.session import SparkSettings, spark_session

pytestmark = pytest.mark.integration
MACROS = ("integer_arithmetic.sql", "log_linear_bin.sql")
EDGES_US = sorted({max(0, 2**power + step) for power in range(41) for step in (-1, 0, 1)} | {log_linear.MAXIMUM_US})


class Macros:
    """The project's macros, as dbt's adapter of one engine chooses among them."""

    def __init__(self, project: Path, engine: str) -> None:
        self.engine = engine
        text = "".join((project / "macros" / name).read_text(encoding="utf-8") for name in MACROS)
        template = jinja2.Environment(autoescape=False).from_string(text)
        self.module: Any = template.make_module({"adapter": self})

    def dispatch(self, name: str, package: str) -> Callable[..., str]:
        assert package == "sojourn"
        macro: Callable[..., str] = getattr(self.module, f"{self.engine}__{name}", None) or getattr(
            self.module, f"default__{name}"
        )
        return macro

    def query(self) -> str:
        """Return SQL that gives value, bin, and the bin's edges for each row of `edges`."""
        return (
            f"select value_us, bin_index, {self.module.bin_lower_us('bin_index')} as lower_us, "
            f"{self.module.bin_upper_us('bin_index')} as upper_us "
            f"from (select value_us, {self.module.log_linear_bin('value_us')} as bin_index from edges) as binned"
        )


def test_every_power_of_two_and_its_neighbours_fall_into_one_bin_everywhere(tmp_path: Path, repository: Path) -> None:
    assert len(EDGES_US) > 115
    indexes = log_linear.bin_index(np.array(EDGES_US))
    edges = log_linear.bin_lower_us(indexes), log_linear.bin_upper_us(indexes)
    expected = list(zip(EDGES_US, indexes.tolist(), *(edge.tolist() for edge in edges), strict=True))
    assert all(lower <= value < upper for value, _, lower, upper in expected)

    rows = ", ".join(f"(cast({value} as bigint))" for value in EDGES_US)
    table = f"with edges as (select * from (values {rows}) as listed (value_us)) "
    models = repository / "models"
    with duckdb.connect() as connection:
        assert sorted(connection.execute(table + Macros(models, "duckdb").query()).fetchall()) == expected
    settings = SparkSettings("local[1]", {"spark.driver.defaultJavaOptions": SHORT_LIVED_JAVA})
    with spark_session(Paths(tmp_path), settings) as session:
        assert sorted(tuple(row) for row in session.sql(table + Macros(models, "spark").query()).collect()) == expected
