"""Comparisons of otherwise equal configurations, with intervals and corrected tests."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.problems import PROBLEMS_OF_METRICS, documented
from sojourn_api.queries.comparisons import comparisons_output, fetch_comparisons
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.result_cache import ResultCache
from sojourn_api.queries.share_comparisons import fetch_shares, shares_output
from sojourn_api.requests.comparisons import (
    ComparedMetric,
    ComparisonParameters,
    ComparisonRequest,
    ShareRequest,
    comparison_request,
)
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.responses import Result, ResultDocument, documented_formats, result
from sojourn_api.safety.authentication import require_key
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

_REQUESTS: Examples = {
    "harm against tail-drop": {
        "metric": "harm",
        "factor": "aqm",
        "baseline": "tail-drop",
        "correction": "holm",
        "level": "0.95",
        "excluded": "leave_out",
        "unknown_values": "refuse",
        "escape": "formulas",
        "format": "json",
        "role": "app",
    },
    "equivalence of congestion controls": {
        "metric": "harm",
        "factor": "congestion_control",
        "baseline": "cubic",
        "margin": "0.1",
        "correction": "benjamini_hochberg",
        "level": "0.9",
    },
    "how many times the harm is": {
        "metric": "harm",
        "factor": "aqm",
        "baseline": "tail-drop",
        "effect": "ratio",
    },
    "two modes": {"metric": "harm", "analysis": "modes"},
    "all disciplines at once": {"metric": "harm", "factor": "aqm", "analysis": "groups"},
    "delayed connections by access technology": {
        "metric": "connection_delay_share",
        "factor": "access_technology",
        "baseline": "adsl",
        "threshold_ms": "100",
    },
}
_ANSWER = {
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
SHOWN = Shown(_REQUESTS, _ANSWER)


def _factor_name(comparison_of: ComparisonRequest | ShareRequest) -> str | None:
    if isinstance(comparison_of, ShareRequest):
        return comparison_of.factor
    return None if comparison_of.factor is None else comparison_of.factor.name


@router.get(
    "/comparisons/{metric}",
    summary="Comparisons of configurations",
    response_model=ResultDocument,
    responses={
        **documented_formats("One row per comparison of two configurations; never truncated"),
        **documented(*PROBLEMS_OF_METRICS),
    },
    openapi_extra=WITH_FILTERS,
)
def comparison(
    request: Request, metric: ComparedMetric, parameters: Annotated[ComparisonParameters, Query()]
) -> Response:
    """Return effect, interval, test, corrected p-value and a plain verdict for each pair of configurations.

    Two configurations are compared when they are equal in everything but the factor. The unit of replication
    is the run, or the pair of runs that match by repetition; with one run each there is no interval and no
    p-value, and the row has the reason. Shares of connections in the wild are compared between clusters: autonomous
    systems or hosts.

    `analysis` asks for more than the shift: `quantiles` for the difference of each decile, `distributions` for
    Kolmogorov-Smirnov and Brunner-Munzel, `groups` for Kruskal-Wallis over all values of the factor with Dunn for
    each pair, `modes` for the dip test and a mixture of two components of each configuration.
    """
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    cache: ResultCache = request.app.state.comparisons
    with store.acquire() as served:
        snapshot = served.snapshot
        parsed = comparison_request(metric, snapshot.catalogue, parameters, RequestContext.of(request, snapshot))
        output = shares_output(parsed.metric) if isinstance(parsed, ShareRequest) else comparisons_output(parsed)

        def compute() -> pa.Table:
            if isinstance(parsed, ShareRequest):
                return fetch_shares(runner, snapshot, parsed, settings.api_max_rows)
            return fetch_comparisons(runner, snapshot, parsed, settings.api_max_rows)

        def fetch() -> Result:
            table = cache.get(snapshot.build_id, parsed.selection.key, compute)
            envelope = {
                "build_id": snapshot.build_id,
                "metric": parsed.metric.name,
                "dataset": parsed.dataset.name,
                "factor": _factor_name(parsed),
                "baseline": parsed.baseline,
                "excluded": parsed.selection.excluded,
            }
            return Result(table, output, envelope)

        return result(request, snapshot.build_id, parsed.selection, fetch)
