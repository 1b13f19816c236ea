"""The standard comparisons as Spark tasks: one group is one metric of one study."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn_statistics.comparison.metrics import CONFIGURATION, METRICS, OF_RUN, ComparisonMetric
from sojourn_statistics.comparison.table import schema
from sojourn_transforms.comparison_mart import STANDARD, compare_with_study_baselines
from sojourn_transforms.mart import MART_LAYER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STRATA = 2
"""Most columns that distinguish kinds of one metric; metrics with fewer leave the rest empty."""


def _runs(session: SparkSession, metric: ComparisonMetric) -> DataFrame:
    strata = [*metric.strata, *([None] * (STRATA - len(metric.strata)))]
    columns = [
        f"'{metric.name}' as metric_name",
        "run_id",
        "repetition",
        *CONFIGURATION,
        *(f"{'cast(null as string)' if column is None else column} as stratum_{i}" for i, column in enumerate(strata)),
        f"cast({metric.column} as double) as value",
    ]
    described = session.table(f"{MART_LAYER}.run").select("study_id", "run_id", *OF_RUN)
    counted = session.table(f"{MART_LAYER}.{metric.dataset}").where("exclusion_reason is null")
    return counted.join(described, ["study_id", "run_id"], "left").selectExpr(*columns)


def _compare(group: pa.Table) -> pa.Table:
    metric = METRICS[group.column("metric_name")[0].as_py()]
    renamed = {f"stratum_{place}": name for place, name in enumerate(metric.strata)} | {"value": metric.column}
    names = [renamed.get(name, name) for name in group.schema.names]
    # The same rows in the same order as on one machine, independently of the order after the shuffle.
    rows = group.rename_columns(names).to_pylist()
    tables: Iterable[pa.Table] = (
        compare_with_study_baselines(rows, metric, factor, order) for factor, order in STANDARD
    )
    return pa.concat_tables(tables)


def standard_comparisons(session: SparkSession) -> DataFrame:
    """Return what :func:`sojourn_transforms.comparison_mart.standard_comparisons` does, computed group by group.

    A correction for multiple tests spans one metric by one factor in one study, so a group needs no other.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    runs = reduce(lambda left, right: left.unionByName(right), (_runs(session, metric) for metric in METRICS.values()))
    return runs.groupBy("metric_name", "study_id").applyInArrow(_compare, from_arrow_schema(schema()))
