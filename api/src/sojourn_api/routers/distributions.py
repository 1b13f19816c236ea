"""Distributions of a metric over any grouping of runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.distribution_metrics import METRICS
from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.problems import PROBLEMS_OF_METRICS, documented
from sojourn_api.queries.distributions import fetch_distribution
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.replicates import fetch_replicated
from sojourn_api.requests.distributions import DistributionMetric, DistributionParameters, distribution_request
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.responses import Result, ResultDocument, documented_formats, result
from sojourn_api.safety.authentication import require_key
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

_REQUESTS: Examples = {
    "quantiles by role and queue discipline": {
        "metric": "queuing_delay",
        "group": "role,aqm",
        "quantiles": "0.5,0.95",
        "format": "json",
    },
    "shares above thresholds": {
        "metric": "queuing_delay",
        "group": "aqm",
        "statistic": "thresholds",
        "thresholds_ms": "100,500",
        "excluded": "include",
        "unknown_values": "refuse",
        "escape": "formulas",
    },
    "quantiles with intervals over runs": {
        "metric": "queuing_delay",
        "group": "aqm",
        "quantiles": "0.5,0.95",
        "over": "run",
        "role": "app",
    },
    "cumulative distribution of the application": {
        "metric": "queuing_delay",
        "group": "aqm",
        "statistic": "cdf",
        "bins_per_octave": "8",
        "role": "app",
    },
}
_ANSWER = {
    "build_id": "0f3a5c7e9b1d2f46",
    "metric": "queuing_delay",
    "statistic": "quantiles",
    "dataset": "queuing_delay_histogram",
    "excluded": "leave_out",
    "columns": [{"name": "queuing_delay_ms", "type": "DOUBLE", "unit": "ms"}],
    "rows": [
        {
            "aqm": "codel",
            "delay_basis": "queue_sojourn",
            "n": 812345,
            "runs": 12,
            "studies": 1,
            "quantile_ratio": 0.95,
            "queuing_delay_ms": 21.0555,
            "queuing_delay_bin_lower_ms": 20.992,
            "queuing_delay_bin_upper_ms": 21.247,
        }
    ],
    "row_count": 1,
    "next_cursor": None,
}
SHOWN = Shown(_REQUESTS, _ANSWER)


@router.get(
    "/distributions/{metric}",
    summary="Distribution of a metric",
    response_model=ResultDocument,
    responses={
        **documented_formats("The statistic of each group, one row per point; never truncated"),
        **documented(*PROBLEMS_OF_METRICS),
    },
    openapi_extra=WITH_FILTERS,
)
def distribution(
    request: Request, metric: DistributionMetric, parameters: Annotated[DistributionParameters, Query()]
) -> Response:
    """Return quantiles, CDF, PDF of the logarithm or threshold shares, with `n`: packets, connections or hosts.

    Histogram counts are added up over the group, so every packet, connection or host has the same weight. Bins are at
    most 1/64 of their lower edge wide: each quantile is within 1 %, and the edges of its bin are given. With `over` a
    value is the median over the runs, days or months of the group, or that of its hosts, with its 95 % interval.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        requested = distribution_request(
            METRICS[metric], snapshot.catalogue, parameters, RequestContext.of(request, snapshot)
        )

        def fetch() -> Result:
            fetched = fetch_distribution if requested.over is None else fetch_replicated
            table, output = fetched(runner, snapshot, requested, settings.api_max_rows)
            envelope = {
                "build_id": snapshot.build_id,
                "metric": requested.metric.name,
                "statistic": requested.statistic.name,
                "dataset": requested.dataset.name,
                "excluded": requested.selection.excluded,
            }
            return Result(table, output, envelope)

        return result(request, snapshot.build_id, requested.selection, fetch)
