"""Distributions of a metric over any grouping of runs."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sojourn_api.authentication import require_key
from sojourn_api.exclusion import LEAVE_OUT, excluded_runs
from sojourn_api.exclusion import PARAMETER as EXCLUDED
from sojourn_api.filters import DESCRIPTION as FILTERS
from sojourn_api.filters import parse_filters
from sojourn_api.formats import negotiate
from sojourn_api.histogram_metrics import metric_of
from sojourn_api.parameters import openapi_parameters, text
from sojourn_api.problems import documented
from sojourn_api.queries.distribution_points import STATISTICS
from sojourn_api.queries.distributions import (
    BINS_PER_OCTAVE,
    DEFAULT_QUANTILES,
    dataset_for,
    dimensions,
    distribution_query,
    fetch_distribution,
)
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.responses import Result, documented_formats, query_items, result
from sojourn_api.routers.rows import FORMAT
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

PARAMETERS = (
    text("group", "Columns to group by, comma-separated; the basis of measurement is always one.", "role,aqm"),
    text("statistic", "What to tell of each distribution; `quantiles` without it.", "cdf", *STATISTICS),
    text(
        "quantiles",
        f"Decimals from 0 to 1; {', '.join(map(str, DEFAULT_QUANTILES))} without it.",
        "0.5,0.95",
    ),
    text("thresholds_ms", "Thresholds in ms, needed with `statistic=thresholds`.", "100,500"),
    text(
        "bins_per_octave",
        "Bins per doubling of the delay, for `cdf` and `pdf`; 64 without it.",
        "8",
        *BINS_PER_OCTAVE,
    ),
    FORMAT,
    EXCLUDED,
)
_NAMES = tuple(parameter.name for parameter in PARAMETERS)

_EXAMPLE = {
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
            "quantile_ratio": 0.95,
            "queuing_delay_ms": 21.0555,
            "queuing_delay_lower_ms": 20.992,
            "queuing_delay_upper_ms": 21.247,
        }
    ],
    "row_count": 1,
    "next_cursor": None,
}


@router.get(
    "/distributions/{metric}",
    summary="Distribution of a metric",
    responses={
        **documented_formats(_EXAMPLE, "The statistic of each group, one row a point; never cut short"),
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
def distribution(request: Request, metric: str) -> Response:
    """Return quantiles, CDF, PDF of the logarithm or threshold shares, with `n`: packets, connections or hosts.

    Histogram counts are added up over the group, so every packet, connection or host weighs the same. Bins are at
    most 1/64 of their lower edge wide: each quantile is within 1 %, and the edges of its bin are given.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    items = query_items(request)
    chosen = metric_of(metric)
    with store.acquire() as served:
        snapshot = served.snapshot
        dataset = dataset_for(chosen, snapshot.catalogue, items, _NAMES)
        columns = dimensions(dataset)
        filters = parse_filters(items, columns, _NAMES)
        format_name = negotiate(items, request.headers.get("accept"))
        filters, treatment = excluded_runs(items, columns, filters, LEAVE_OUT)
        query = distribution_query(chosen, dataset, items, filters)

        def fetch() -> Result:
            table, output = fetch_distribution(runner, snapshot, query, settings.api_max_rows)
            envelope = {
                "build_id": snapshot.build_id,
                "metric": chosen.name,
                "statistic": query.statistic.name,
                "dataset": dataset.name,
                "excluded": treatment,
            }
            return Result(table, output, envelope)

        return result(request, snapshot.build_id, format_name, fetch)
