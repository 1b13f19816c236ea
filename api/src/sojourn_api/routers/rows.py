"""Rows of a dataset, plain or aggregated."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sojourn_api.formats import expected_bytes
from sojourn_api.openapi import WITH_FILTERS, Examples, Shown
from sojourn_api.problems import documented
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.paging import fetch_page
from sojourn_api.queries.rows import rows_relation
from sojourn_api.requests import cursors
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.requests.rows import RowsParameters, rows_request
from sojourn_api.responses import Result, ResultDocument, documented_formats, result
from sojourn_api.safety.authentication import require_key
from sojourn_api.settings import Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

_REQUESTS: Examples = {
    "runs with the most harm": {
        "name": "run_harm",
        "select": "run_id,role,harm_ratio",
        "order": "-harm_ratio,run_id",
        "limit": "10",
        "sample": "0.9",
        "seed": "1",
        "aqm": "codel",
        "bandwidth_bps__ge": "1000000",
    },
    "median harm by queue discipline": {
        "name": "run_harm",
        "group": "aqm,congestion_control",
        "aggregate": "median:harm_ratio,q95:harm_ratio",
        "excluded": "include",
        "unknown_values": "refuse",
        "escape": "formulas",
        "format": "json",
    },
}
_ANSWER = {
    "build_id": "0f3a5c7e9b1d2f46",
    "dataset": "run_harm",
    "excluded": "leave_out",
    "columns": [
        {"name": "aqm", "type": "VARCHAR", "unit": None},
        {"name": "n", "type": "BIGINT", "unit": "rows"},
        {"name": "studies", "type": "BIGINT", "unit": "studies"},
        {"name": "median_harm_ratio", "type": "DOUBLE", "unit": "ratio"},
        {"name": "median_harm_ratio_n", "type": "BIGINT", "unit": "rows"},
    ],
    "rows": [{"aqm": "fq_codel", "n": 120, "studies": 1, "median_harm_ratio": 0.031, "median_harm_ratio_n": 118}],
    "row_count": 1,
    "next_cursor": None,
}
SHOWN = Shown(_REQUESTS, _ANSWER)
PROBLEMS = documented(
    "unauthorized",
    "forbidden",
    "unknown-dataset",
    "not-acceptable",
    "cursor-expired",
    "unknown-parameter",
    "unknown-value",
    "invalid-parameter",
    "invalid-cursor",
    "result-out-of-range",
    "no-snapshot",
    "busy",
    "query-timeout",
    "query-memory",
)
"""Problems of the endpoints of rows."""


@router.get(
    "/datasets/{name}/rows",
    summary="Rows of a dataset",
    response_model=ResultDocument,
    responses={
        **documented_formats("A page of rows, in a total order"),
        **PROBLEMS,
    },
    openapi_extra=WITH_FILTERS,
)
def rows(request: Request, name: str, parameters: Annotated[RowsParameters, Query()]) -> Response:
    """Return rows of a dataset, or with `group` or `aggregate` one row per group with its `n`."""
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        parsed = rows_request(
            snapshot.catalogue.dataset(name), parameters, RequestContext.of(request, snapshot), settings
        )
        relation = rows_relation(parsed)
        query = cursors.fingerprint(request.url.path, parsed.pages_of)
        after = (
            None
            if parsed.cursor is None
            else cursors.decode(parsed.cursor, snapshot.build_id, query, [term.type for term in relation.order])
        )

        def fetch() -> Result:
            page = fetch_page(runner, snapshot, relation, parsed.limit, after)
            following = page.next_values and cursors.encode(snapshot.build_id, query, page.next_values)
            envelope = {
                "build_id": snapshot.build_id,
                "dataset": parsed.dataset.name,
                "excluded": parsed.selection.excluded,
            }
            return Result(page.rows, relation.columns, envelope, following or None)

        expected = expected_bytes(parsed.selection.format, min(parsed.limit, parsed.dataset.rows), relation.columns)
        return result(request, snapshot.build_id, parsed.selection, fetch, expected)
