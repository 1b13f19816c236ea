"""Rows of a dataset, plain or aggregated."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sojourn_api import cursors
from sojourn_api.authentication import require_key
from sojourn_api.exclusion import INCLUDE, LEAVE_OUT, excluded_runs
from sojourn_api.exclusion import PARAMETER as EXCLUDED
from sojourn_api.filters import DESCRIPTION as FILTERS
from sojourn_api.filters import parse_filters
from sojourn_api.formats import MEDIA_TYPES, negotiate
from sojourn_api.parameters import integer, openapi_parameters, single, text, whole_number
from sojourn_api.problems import documented, invalid_parameter
from sojourn_api.queries.aggregation import AGGREGATES, aggregation_relation
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.paging import fetch_page
from sojourn_api.queries.rows import rows_relation
from sojourn_api.responses import Result, documented_formats, query_items, result
from sojourn_api.settings import DEFAULT_PAGE_ROWS, Settings
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["data"], dependencies=[Depends(require_key)])

FORMAT = text("format", "Format of the response; without it, Accept decides.", "json", *MEDIA_TYPES)
PARAMETERS = (
    text("select", "Columns to return, comma-separated; all without it.", "run_id,role,harm_ratio"),
    text(
        "order",
        "Columns to order by, comma-separated; `-` before a name is descending, nulls come last. "
        "The key is added at the end, so that the order is total.",
        "-harm_ratio,run_id",
    ),
    whole_number(
        "limit",
        f"Rows of a page, {DEFAULT_PAGE_ROWS} without it; the maximum is SOJOURN_API_MAX_ROWS.",
        DEFAULT_PAGE_ROWS,
        1,
    ),
    text("cursor", "`next_cursor` of the page before; all other parameters but limit and format as there.", ""),
    FORMAT,
    text("group", "Columns to group by, comma-separated.", "aqm,congestion_control"),
    text(
        "aggregate",
        f"Comma-separated `function:column` with a function of {', '.join(AGGREGATES)}; or `count`, the rows "
        "of the group, which every row has as `n` anyway.",
        "median:harm_ratio,q95:harm_ratio",
    ),
    EXCLUDED,
)
_NAMES = tuple(parameter.name for parameter in PARAMETERS)

_EXAMPLE = {
    "build_id": "0f3a5c7e9b1d2f46",
    "dataset": "run_harm",
    "excluded": "leave_out",
    "columns": [
        {"name": "aqm", "type": "VARCHAR", "unit": None},
        {"name": "n", "type": "BIGINT", "unit": "rows"},
        {"name": "median_harm_ratio", "type": "DOUBLE", "unit": "ratio"},
        {"name": "median_harm_ratio_n", "type": "BIGINT", "unit": "rows"},
    ],
    "rows": [{"aqm": "fq_codel", "n": 120, "median_harm_ratio": 0.031, "median_harm_ratio_n": 118}],
    "row_count": 1,
    "next_cursor": None,
}


@router.get(
    "/datasets/{name}/rows",
    summary="Rows of a dataset",
    responses={
        **documented_formats(_EXAMPLE, "A page of rows, in a total order"),
        **documented(
            "unauthorized",
            "unknown-dataset",
            "not-acceptable",
            "cursor-expired",
            "unknown-parameter",
            "invalid-parameter",
            "invalid-cursor",
            "result-out-of-range",
            "no-snapshot",
            "busy",
            "query-timeout",
            "query-memory",
        ),
    },
    openapi_extra=openapi_parameters(PARAMETERS, FILTERS),
)
def rows(request: Request, name: str) -> Response:
    """Return rows of a dataset, or with `group` or `aggregate` one row a group with its `n`."""
    settings: Settings = request.app.state.settings
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    items = query_items(request)
    with store.acquire() as served:
        snapshot = served.snapshot
        dataset = snapshot.catalogue.dataset(name)
        filters = parse_filters(items, dataset.by_name, _NAMES)
        format_name = negotiate(items, request.headers.get("accept"))
        aggregated = any(key in ("group", "aggregate") for key, _ in items)
        if aggregated and single(items, "select") is not None:
            raise invalid_parameter("select", "does not go with group or aggregate, which name the columns")
        filters, treatment = excluded_runs(items, dataset.by_name, filters, LEAVE_OUT if aggregated else INCLUDE)
        relation = (aggregation_relation if aggregated else rows_relation)(dataset, items, filters)
        limit = integer(items, "limit", 1, settings.api_max_rows) or settings.default_rows
        query = cursors.fingerprint(request.url.path, items)
        cursor = single(items, "cursor")
        after = (
            None
            if cursor is None
            else cursors.decode(cursor, snapshot.build_id, query, [term.type for term in relation.order])
        )

        def fetch() -> Result:
            page = fetch_page(runner, snapshot, relation, limit, after)
            following = page.next_values and cursors.encode(snapshot.build_id, query, page.next_values)
            envelope = {"build_id": snapshot.build_id, "dataset": dataset.name, "excluded": treatment}
            return Result(page.table, relation.columns, envelope, following or None)

        return result(request, snapshot.build_id, format_name, fetch)
