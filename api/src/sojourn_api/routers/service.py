"""The index, the health and the metrics of the service."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from sojourn_api import __version__
from sojourn_api.formats import MEDIA_TYPES
from sojourn_api.json_rows import json_bytes
from sojourn_api.metrics import Metrics
from sojourn_api.problems import documented
from sojourn_api.requests.query_string import refuse_parameters
from sojourn_api.safety.authentication import require_key, require_whole_key
from sojourn_api.snapshot import SnapshotError, SnapshotStore

router = APIRouter(tags=["service"], dependencies=[Depends(refuse_parameters)])


class Index(BaseModel):
    """What there is, and where."""

    service: str
    version: str
    links: dict[str, str]


class HealthReport(BaseModel):
    """Whether and what the service serves."""

    status: Annotated[str, Field(description="`ok`, or `stale` while the published build cannot be opened")]
    build_id: str


@router.get("/", summary="Index", response_model=Index, responses=documented("unknown-parameter"))
def index() -> Response:
    """Return the paths of the service's endpoints."""
    links = {
        "studies": "/v1/studies",
        "builds": "/v1/builds",
        "datasets": "/v1/datasets",
        "dataset": "/v1/datasets/{name}",
        "rows": "/v1/datasets/{name}/rows",
        "metrics of distributions": "/v1/distributions",
        "distribution": "/v1/distributions/{metric}",
        "metrics of outcomes": "/v1/outcomes",
        "outcome": "/v1/outcomes/{metric}",
        "metrics of comparisons": "/v1/comparisons",
        "comparison": "/v1/comparisons/{metric}",
        "findings": "/v1/findings",
        "health": "/healthz",
        "metrics": "/metrics",
        "documentation": "/docs",
        "openapi": "/openapi.json",
    }
    body = {"service": "sojourn", "version": __version__, "links": links}
    return Response(json_bytes(body), media_type=MEDIA_TYPES["json"])


@router.get(
    "/healthz",
    summary="Health",
    response_model=HealthReport,
    responses=documented("no-snapshot", "unknown-parameter"),
)
async def health(request: Request) -> Response:
    """Return `ok` and the build being served; 503 when no build can be served."""
    store: SnapshotStore = request.app.state.store
    state = await to_thread.run_sync(store.health, limiter=request.app.state.health_threads)
    body = {"status": "stale" if state.fault else "ok", "build_id": state.build_id}
    return Response(json_bytes(body), headers={"Cache-Control": "no-store"}, media_type=MEDIA_TYPES["json"])


@router.get(
    "/metrics",
    summary="Metrics",
    dependencies=[Depends(require_key), Depends(require_whole_key)],
    responses={
        200: {"description": "Prometheus text format", "content": {"text/plain": {}}},
        **documented("unauthorized", "forbidden", "unknown-parameter"),
    },
)
def metrics(request: Request) -> Response:
    """Return request counts and times, the build being served and the queries running."""
    measured: Metrics = request.app.state.metrics
    store: SnapshotStore = request.app.state.store
    try:
        health = store.health()
    except SnapshotError:
        health = None
    return Response(measured.text(health), headers={"Cache-Control": "no-store", "Content-Type": CONTENT_TYPE_LATEST})
