"""Scores of quality of outcome over any grouping of runs or connections."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.problems import documented
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.outcomes import fetch_outcomes
from sojourn_api.queries.run_outcomes import fetch_run_outcomes
from sojourn_api.requests.outcomes import OutcomeMetric, OutcomeParameters, outcome_request
from sojourn_api.requests.query_string import Asked
from sojourn_api.requests.run_outcomes import run_outcome_request
from sojourn_api.requests.run_scores import RUN_SCORES
from sojourn_api.responses import Result, ResultDocument, documented_formats, result
from sojourn_api.safety.authentication import require_key
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

_REQUESTS: Examples = {
    "grades of disciplines by run": {
        "metric": "queuing_delay",
        "group": "aqm,congestion_control",
        "percentiles": "50,95",
        "excluded": "leave_out",
        "unknown_values": "refuse",
        "escape": "formulas",
        "format": "json",
        "role": "app",
    },
    "every percentile of both roles": {"metric": "queuing_delay", "group": "role,aqm", "percentiles": "95"},
}
_ANSWER = {
    "build_id": "0f3a5c7e9b1d2f46",
    "metric": "queuing_delay",
    "dataset": "queuing_delay_histogram",
    "excluded": "leave_out",
    "columns": [{"name": "queuing_delay_ms", "type": "DOUBLE", "unit": "ms"}],
    "rows": [
        {
            "aqm": "codel",
            "delay_basis": "queue_sojourn",
            "percentile": 95,
            "replication_unit": "run",
            "replicates": 7,
            "n": 812345,
            "studies": 1,
            "queuing_delay_ms": 21.06,
            "queuing_delay_lower_ms": 19.8,
            "queuing_delay_upper_ms": 22.4,
            "bufferbloat_grade": "A",
            "aim_null_reason": "the delay of packets alone has no points: run_aim and configuration_aim have jitter, "
            "loss and rate too",
            "level_ratio": 0.95,
            "interval_null_reason": None,
            "group_rank": 2,
            "group_rank_at_p95": 2,
            "is_rank_changed": False,
        }
    ],
    "row_count": 1,
    "next_cursor": None,
}
SHOWN = Shown(_REQUESTS, _ANSWER)


@router.get(
    "/outcomes/{metric}",
    summary="Quality of outcome of groups",
    response_model=ResultDocument,
    responses={
        **documented_formats("One row a group and percentile; never cut short"),
        **documented(
            "unauthorized",
            "forbidden",
            "unknown-metric",
            "unknown-dataset",
            "not-acceptable",
            "unknown-parameter",
            "unknown-value",
            "invalid-parameter",
            "result-too-large",
            "no-snapshot",
            "busy",
            "query-timeout",
            "query-memory",
        ),
    },
    openapi_extra=WITH_FILTERS,
)
def outcome(request: Request, metric: OutcomeMetric, parameters: Annotated[OutcomeParameters, Query()]) -> Response:
    """Return scores of a percentile of delay or RTT of each group, with interval, `replicates` and ranks.

    The percentile is that of each run, day or month; the score is of the median over them, so that repetitions and
    not packets or connections make the interval. `is_rank_changed` compares with the rank at the 95th percentile.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        if metric in RUN_SCORES:
            of_runs = run_outcome_request(metric, snapshot.catalogue, parameters, Asked.of(request, snapshot))

            def fetch_of_runs() -> Result:
                table, output = fetch_run_outcomes(runner, snapshot, of_runs, settings.api_max_rows)
                envelope = {
                    "build_id": snapshot.build_id,
                    "metric": metric,
                    "dataset": of_runs.dataset.name,
                    "excluded": of_runs.selection.excluded,
                }
                return Result(table, output, envelope)

            return result(request, snapshot.build_id, of_runs.selection, fetch_of_runs)
        requested = outcome_request(metric, snapshot.catalogue, parameters, Asked.of(request, snapshot))

        def fetch() -> Result:
            table, output = fetch_outcomes(runner, snapshot, requested, settings.api_max_rows)
            envelope = {
                "build_id": snapshot.build_id,
                "metric": requested.replicated.metric.name,
                "dataset": requested.replicated.dataset.name,
                "excluded": requested.replicated.selection.excluded,
            }
            return Result(table, output, envelope)

        return result(request, snapshot.build_id, requested.replicated.selection, fetch)
