"""Comparisons of otherwise equal configurations, with intervals and corrected tests."""

from __future__ import annotations

import pyarrow as pa
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sojourn_api.authentication import require_key
from sojourn_api.exclusion import LEAVE_OUT, excluded_runs
from sojourn_api.exclusion import PARAMETER as EXCLUDED
from sojourn_api.filters import DESCRIPTION as FILTERS
from sojourn_api.filters import parse_filters
from sojourn_api.formats import negotiate
from sojourn_api.parameters import openapi_parameters, text
from sojourn_api.problems import documented
from sojourn_api.queries.comparisons import (
    LEVELS,
    ComparisonQuery,
    ResultCache,
    comparison_query,
    fetch_comparisons,
    metric_of,
)
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.share_comparisons import (
    SHARE_FACTORS,
    SHARE_METRICS,
    ShareMetric,
    ShareQuery,
    fetch_shares,
    share_query,
)
from sojourn_api.responses import Result, documented_formats, query_items, result
from sojourn_api.routers.rows import FORMAT
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore
from sojourn_statistics.comparison.metrics import FACTORS
from sojourn_statistics.significance.multiplicity import CORRECTIONS

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

PARAMETERS = (
    text("factor", "What configurations are compared by; needed.", "aqm", *FACTORS, *SHARE_FACTORS),
    text("baseline", "The value of the factor that others are compared with; needed.", "tail-drop"),
    text("correction", "Correction of p-values for many tests; `holm` without it.", "holm", *CORRECTIONS),
    text("level", "Confidence of the intervals; 0.95 without it.", "0.95", *LEVELS),
    text("margin", "Smallest difference that matters, in the metric's unit: adds a test of equivalence.", "5"),
    text("threshold_ms", "Queuing delay in ms that shares are of, needed with a share metric.", "500"),
    FORMAT,
    EXCLUDED,
)
_NAMES = tuple(parameter.name for parameter in PARAMETERS)

_EXAMPLE = {
    "build_id": "0f3a5c7e9b1d2f46",
    "metric": "queuing_delay_mean",
    "dataset": "run_queuing_delay",
    "factor": "aqm",
    "baseline": "tail-drop",
    "excluded": "leave_out",
    "columns": [{"name": "effect", "type": "DOUBLE", "unit": None}],
    "rows": [
        {
            "treatment": "codel",
            "baseline_queue_label": "tail-drop 10 BDP",
            "treatment_n": 16,
            "baseline_n": 37,
            "effect": -48.61,
            "effect_lower": -48.95,
            "effect_upper": -48.32,
            "p_corrected": 2.3e-11,
            "verdict": "lower by 48.61 ms [48.32, 48.95]",
        }
    ],
    "row_count": 1,
    "next_cursor": None,
}


@router.get(
    "/comparisons/{metric}",
    summary="Comparisons of configurations",
    responses={
        **documented_formats(_EXAMPLE, "One row a comparison of two configurations; never cut short"),
        **documented(
            "unauthorized",
            "unknown-metric",
            "unknown-dataset",
            "not-acceptable",
            "unknown-parameter",
            "invalid-parameter",
            "result-too-large",
            "no-snapshot",
            "busy",
            "query-timeout",
            "query-memory",
        ),
    },
    openapi_extra=openapi_parameters(PARAMETERS, FILTERS),
)
def comparison(request: Request, metric: str) -> Response:
    """Return effect, interval, test, corrected p-value and a plain verdict for each two configurations.

    Two configurations are compared when they are equal in everything but the factor. The unit of replication
    is the run, or the pair of runs that match by repetition; with one run each there is no interval and no
    p-value, and the row says so. Shares of connections in the wild are compared between clusters: autonomous systems
    or hosts.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    cache: ResultCache = request.app.state.comparisons
    items = query_items(request)
    chosen = SHARE_METRICS.get(metric) or metric_of(metric)
    with store.acquire() as served:
        snapshot = served.snapshot
        dataset = snapshot.catalogue.dataset(chosen.dataset)
        filters = parse_filters(items, dataset.by_name, _NAMES)
        format_name = negotiate(items, request.headers.get("accept"))
        filters, treatment = excluded_runs(items, dataset.by_name, filters, LEAVE_OUT)
        query: ShareQuery | ComparisonQuery
        if isinstance(chosen, ShareMetric):
            query = share_query(chosen, dataset, items, filters)
        else:
            query = comparison_query(chosen, dataset, items, filters)

        def compute() -> pa.Table:
            if isinstance(query, ShareQuery):
                return fetch_shares(runner, snapshot, query, settings.api_max_rows)
            return fetch_comparisons(runner, snapshot, query, settings.api_max_rows)

        def fetch() -> Result:
            # The queries of two formats are one result.
            key = (chosen.name, tuple((name, value) for name, value in items if name != "format"))
            table = cache.get(snapshot.build_id, key, compute)
            envelope = {
                "build_id": snapshot.build_id,
                "metric": chosen.name,
                "dataset": dataset.name,
                "factor": query.factor if isinstance(query, ShareQuery) else query.factor.name,
                "baseline": query.baseline,
                "excluded": treatment,
            }
            return Result(table, query.output, envelope)

        return result(request, snapshot.build_id, format_name, fetch)
