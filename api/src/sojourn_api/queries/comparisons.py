"""Comparisons of otherwise equal configurations among the runs that a request selects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from sojourn_api.catalogue import identifier
from sojourn_api.formats import OutputColumn
from sojourn_api.problems import ProblemError
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.comparisons import ComparisonRequest
from sojourn_api.requests.value_words import known_baseline
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.comparison.analyses import AnalysisRequest
from sojourn_statistics.comparison.metrics import CONFIGURATION, OF_RUN, selected_runs
from sojourn_statistics.comparison.table import COLUMNS, EQUIVALENCE_COLUMNS, compare_configurations

_DUCKDB_TYPES = {"string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}


def runs_sql(request: ComparisonRequest) -> str:
    """Return the selected runs; a part of the configuration that the build does not know is null."""
    columns, metric, run = request.dataset.by_name, request.metric, request.run
    joined = () if run is None else OF_RUN
    selected = [
        columns[name].sql if name in columns else f"cast(null as varchar) as {identifier(name)}"
        for name in ("run_id", "repetition", *CONFIGURATION, *metric.strata, metric.column)
        if name not in joined
    ]
    where = request.selection.filters.where
    if run is None:
        return f"select {', '.join(selected)} from {request.dataset.sql} {where}"
    return selected_runs(selected, request.dataset.sql, run.sql, where)


def comparisons_output(request: ComparisonRequest) -> tuple[OutputColumn, ...]:
    """Return names, types and units of the result."""
    if request.analysis is not None:
        declared = request.analysis.columns
    else:
        declared = (*COLUMNS, *(() if request.margin is None else EQUIVALENCE_COLUMNS))
    return tuple(OutputColumn(column.name, _DUCKDB_TYPES[str(column.type)], column.unit) for column in declared)


def fetch_comparisons(runner: QueryRunner, snapshot: Snapshot, request: ComparisonRequest, max_rows: int) -> pa.Table:
    """Return one row a comparison, or the rows of the analysis that is asked for.

    Raises
    ------
    ProblemError
        422, when no selected run has the baseline, or there are too many comparisons.
    """
    rows: list[dict[str, Any]] = runner.run(
        snapshot, runs_sql(request), request.selection.filters.parameters
    ).to_pylist()
    request = _with_known_baseline(rows, request)
    if request.analysis is not None:
        analysis = AnalysisRequest(request.metric, request.factor, request.baseline, request.correction, request.level)
        table = request.analysis.table(rows, analysis)
    else:
        if request.factor is None or request.baseline is None:
            raise AssertionError("a comparison by shift has a factor and a baseline")
        table = compare_configurations(
            rows, request.metric, request.factor, request.baseline, request.correction, request.level, request.margin,
            request.effect,
        )  # fmt: skip
    if table.num_rows > max_rows:
        raise ProblemError(
            "result-too-large", f"The result has more than {max_rows} rows. Filter more.", maximum=max_rows
        )
    return table


def _with_known_baseline(rows: list[dict[str, Any]], request: ComparisonRequest) -> ComparisonRequest:
    """Return the request with a baseline that a run has, where it gives a label."""
    if request.factor is None or request.baseline is None:
        return request
    values = sorted({row[request.factor.name] for row in rows} - {None})
    return replace(request, baseline=known_baseline(request.factor.name, request.baseline, values))
