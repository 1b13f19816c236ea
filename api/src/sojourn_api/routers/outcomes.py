"""Scores of quality of outcome over any grouping of runs or connections."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.problems import PROBLEMS_OF_METRICS, documented
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.outcomes import fetch_outcomes
from sojourn_api.queries.run_outcomes import fetch_run_outcomes
from sojourn_api.requests.distributions import DistributionRequest
from sojourn_api.requests.outcomes import OutcomeMetric, OutcomeParameters, outcome_request
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.requests.run_outcomes import RunOutcomeRequest, run_outcome_request
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
            "aim_null_reason": "the delay of packets alone does not give points: run_aim and "
            "configuration_aim also have jitter, loss and rate",
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
        **documented_formats("One row per group and percentile; never truncated"),
        **documented(*PROBLEMS_OF_METRICS),
    },
    openapi_extra=WITH_FILTERS,
)
def outcome(request: Request, metric: OutcomeMetric, parameters: Annotated[OutcomeParameters, Query()]) -> Response:
    """Return scores of a percentile of delay or RTT of each group, with interval, `replicates` and ranks.

    The percentile is taken for each run, day or month, and the score is that of the median over them, so the interval
    is over repetitions, not over packets or connections. `is_rank_changed` compares with the rank at the 95th
    percentile.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        context = RequestContext.of(request, snapshot)
        computed: RunOutcomeRequest | DistributionRequest
        if metric in RUN_SCORES:
            computed = of_runs = run_outcome_request(metric, snapshot.catalogue, parameters, context)
            fetched = partial(fetch_run_outcomes, runner, snapshot, of_runs, settings.api_max_rows)
        else:
            of_groups = outcome_request(metric, snapshot.catalogue, parameters, context)
            computed = of_groups.replicated
            fetched = partial(fetch_outcomes, runner, snapshot, of_groups, settings.api_max_rows)

        def fetch() -> Result:
            table, output = fetched()
            envelope = {
                "build_id": snapshot.build_id,
                "metric": metric,
                "dataset": computed.dataset.name,
                "excluded": computed.selection.excluded,
            }
            return Result(table, output, envelope)

        return result(request, snapshot.build_id, computed.selection, fetch)
