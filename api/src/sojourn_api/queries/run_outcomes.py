"""Scores of groups of runs: the median over runs, its exact interval, and its rank at each percentile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Final

import pyarrow as pa

from sojourn_api.formats import OutputColumn
from sojourn_api.problems import ProblemError
from sojourn_api.queries.aggregation import STUDIES
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.replicates import Row, result_table
from sojourn_api.requests.outcomes import REFERENCE
from sojourn_api.requests.rows import pooled_study
from sojourn_api.requests.run_outcomes import RunOutcomeRequest
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.quality.replicated_groups import competition_ranks, replicated_median
from sojourn_statistics.samples.estimate import LEVEL

UNIT: Final = "run"
NO_RUN: Final = "no run has a score that counts"


def run_outcome_output(request: RunOutcomeRequest) -> tuple[OutputColumn, ...]:
    """Return the columns of a result."""
    score = request.score
    value, lower, upper = score.columns
    return (
        *(OutputColumn(column.name, column.type, column.unit) for column in request.group),
        OutputColumn("percentile", "BIGINT", None),
        OutputColumn("replication_unit", "VARCHAR", None),
        OutputColumn("replicates", "BIGINT", None),
        OutputColumn("runs_without_score", "BIGINT", None),
        *([] if pooled_study(request.group, request.dataset) is None else [STUDIES]),
        OutputColumn(value, "DOUBLE", score.unit),
        *([] if score.upper_column is None else [OutputColumn(score.upper_column, "DOUBLE", score.unit)]),
        OutputColumn(lower, "DOUBLE", score.unit),
        OutputColumn(upper, "DOUBLE", score.unit),
        *([] if score.label_column is None else [OutputColumn(score.label_column, "VARCHAR", None)]),
        *(
            [OutputColumn("binding_quantity", "VARCHAR", None), OutputColumn("binding_runs", "BIGINT", None)]
            if score.has_binding
            else []
        ),
        OutputColumn("level_ratio", "DOUBLE", "ratio"),
        OutputColumn("interval_null_reason", "VARCHAR", None),
        OutputColumn("group_rank", "BIGINT", None),
        OutputColumn("group_rank_at_p95", "BIGINT", None),
        OutputColumn("is_rank_changed", "BOOLEAN", None),
    )


def _sql(request: RunOutcomeRequest) -> str:
    keys = ", ".join(column.sql for column in request.group)
    pooled = pooled_study(request.group, request.dataset)
    study = "null::varchar" if pooled is None else pooled.sql
    parts = [
        f"select {keys}, {study} as pooled_study, {place} as point, {point.value} as score, "
        f"{point.upper or point.value} as upper_score, {point.binding} as binding from selected where {point.of}"
        for place, point in enumerate(request.points)
    ]
    order = ", ".join(f"{column.sql} asc nulls last" for column in request.group)
    return f"""
        with selected as (select * from {request.dataset.sql} {request.selection.filters.where}),
        valued as ({" union all ".join(parts)})
        select
            {keys}, point,
            coalesce(list(score::double) filter (where score is not null), []) as scores,
            coalesce(list(upper_score::double) filter (where upper_score is not null), []) as uppers,
            coalesce(list(binding) filter (where score is not null and binding is not null), []) as bindings,
            count(*) filter (where score is null) as without,
            count(distinct pooled_study) as studies
        from valued
        group by {keys}, point
        order by {order}, point
    """


def fetch_run_outcomes(
    runner: QueryRunner, snapshot: Snapshot, request: RunOutcomeRequest, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return one row per group and percentile, and the columns of the result.

    Raises
    ------
    ProblemError
        422, when there are more than `max_rows` rows.
    """
    table = runner.run(snapshot, _sql(request), request.selection.filters.parameters)
    if table.num_rows > max_rows:
        detail = f"The result has more than {max_rows} rows. Filter more or group by fewer columns."
        raise ProblemError("result-too-large", detail, maximum=max_rows)
    names = [column.name for column in request.group]
    rows = [_row(request, group, names) for group in table.to_pylist()]
    _rank(request, rows, names)
    shown = [row for row in rows if request.percentiles is None or row["percentile"] in request.percentiles]
    output = run_outcome_output(request)
    return result_table(table, names, shown, output), output


def _row(request: RunOutcomeRequest, group: Row, names: Sequence[str]) -> Row:
    score = request.score
    value, lower, upper = score.columns
    scores, uppers = group["scores"], group["uppers"]
    of_lower = replicated_median(scores, UNIT) if scores else None
    of_upper = replicated_median(uppers, UNIT) if uppers else None
    key = {name: group[name] for name in names}
    row: Row = {
        **key,
        "percentile": request.points[group["point"]].percentile,
        "replication_unit": UNIT,
        "replicates": len(scores),
        "runs_without_score": group["without"],
        STUDIES.name: group[STUDIES.name],
        value: None if of_lower is None else of_lower.median,
        lower: None if of_lower is None else of_lower.lower,
        upper: None if of_upper is None else of_upper.upper,
        "level_ratio": None if of_lower is None or of_lower.lower is None else LEVEL,
        "interval_null_reason": NO_RUN if of_lower is None else of_lower.null_reason,
    }
    if score.has_binding:
        counted: list[tuple[str, int]] = sorted(
            Counter(group["bindings"]).items(), key=lambda item: (-item[1], item[0])
        )
        row["binding_quantity"], row["binding_runs"] = counted[0] if counted else (None, None)
    if score.upper_column is not None:
        row[score.upper_column] = median(uppers) if uppers else None
    if score.label_column is not None and score.label is not None:
        row[score.label_column] = None if row[value] is None else score.label(row[value], key)
    return row


def _rank(request: RunOutcomeRequest, rows: Sequence[Row], names: Sequence[str]) -> None:
    """Add the rank of each group among those of the same roles, basis and percentile, the best first."""
    value = request.score.columns[0]
    sign = -1 if request.score.is_higher_better else 1
    among: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        among.setdefault((row["percentile"], *(row[name] for name in request.score.always)), []).append(row)
    for together in among.values():
        ranks = competition_ranks([None if row[value] is None else sign * row[value] for row in together])
        for row, rank in zip(together, ranks, strict=True):
            row["group_rank"] = rank
    at_p95 = {
        tuple(row[name] for name in names): row["group_rank"] for row in rows if row["percentile"] == int(REFERENCE)
    }
    for row in rows:
        reference = at_p95.get(tuple(row[name] for name in names))
        row["group_rank_at_p95"] = reference
        both_ranked = row["group_rank"] is not None and reference is not None
        row["is_rank_changed"] = row["group_rank"] != reference if both_ranked else None
