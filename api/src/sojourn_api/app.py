"""Builds the FastAPI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.middleware.gzip import GZipMiddleware

from sojourn_api import __version__, problems
from sojourn_api.http.compression import MINIMUM_BYTES, ZstdMiddleware
from sojourn_api.http.kept_responses import KeptResponses, KeptResponsesMiddleware
from sojourn_api.metrics import Metrics, MetricsMiddleware
from sojourn_api.openapi import DocumentedApp, operation_id
from sojourn_api.problems import ProblemError, problem_response
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.result_cache import ResultCache
from sojourn_api.routers import comparisons, datasets, distributions, findings, metric_lists, outcomes, rows, service
from sojourn_api.safety import documentation_page
from sojourn_api.safety.answer_memory import AnswerMemory
from sojourn_api.safety.authentication import KeyMiddleware
from sojourn_api.settings import Settings, answer_bytes_that_fit
from sojourn_api.snapshot import Snapshot, SnapshotError, SnapshotStore, duckdbs_bound

DESCRIPTION = """\
Study aggregates of queuing delay, flow-rate fairness, harm and quality of experience.

* Names carry units (`_ms`, `_us`, `_bytes`, `_bps`, `_ratio`); `/v1/datasets` describes every column.
* Every result is of one immutable build, named in `build_id` and `X-Sojourn-Build`; aggregates carry their `n`.
* Errors are RFC 9457 problem details. An unknown query parameter is refused.
"""


def _on_snapshot_error(request: Request, error: Exception) -> Response:
    # The error names folders of the server; its log has them, the client need not.
    detail = "No build is published, or the published one cannot be opened; the service's log has the cause."
    return problem_response(request, ProblemError("no-snapshot", detail, headers={"Retry-After": "5"}))


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    settings : Settings, optional
        Read from the environment unless given.
    """
    chosen = settings or Settings()
    store = SnapshotStore(chosen.snapshots_folder, lambda folder: Snapshot.open(folder, chosen))
    runner = QueryRunner(chosen.api_query_seconds, chosen.api_concurrent_queries)
    measured = Metrics(runner)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        limits = getattr(app.state, "connection_limits", None)
        # By the state of the lifespan they reach the server's connections.
        yield {} if limits is None else {"connection_limits": limits}
        store.close()

    app = DocumentedApp(
        title="Sojourn",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
        # FastAPI's own page loads scripts of another host.
        docs_url=None,
        generate_unique_id_function=operation_id,
    )
    app.examples = {
        "/v1/datasets/{name}/rows": rows.SHOWN,
        "/v1/findings": findings.SHOWN,
        "/v1/distributions/{metric}": distributions.SHOWN,
        "/v1/outcomes/{metric}": outcomes.SHOWN,
        "/v1/comparisons/{metric}": comparisons.SHOWN,
    }
    app.state.settings = chosen
    app.state.store = store
    app.state.runner = runner
    app.state.metrics = measured
    app.state.comparisons = ResultCache()
    answer_bytes = chosen.api_answer_bytes or answer_bytes_that_fit(duckdbs_bound())
    app.state.answers = AnswerMemory(answer_bytes, chosen.api_query_seconds)
    # Threads of its own, so that a service busy with long queries still answers that it is alive.
    app.state.health_threads = CapacityLimiter(2)
    problems.install(app)
    app.add_exception_handler(SnapshotError, _on_snapshot_error)
    # From the outside in: metrics, keys, kept responses, gzip, zstd. A response that zstd has compressed passes gzip
    # unchanged, and is kept compressed.
    app.add_middleware(ZstdMiddleware)
    app.add_middleware(GZipMiddleware, minimum_size=MINIMUM_BYTES, compresslevel=5)
    kept = app.state.kept = KeptResponses(chosen.api_kept_bytes)
    app.add_middleware(
        KeptResponsesMiddleware,
        store=store,
        kept=kept,
        on_kept=measured.kept.inc,
    )
    app.add_middleware(KeyMiddleware, keys=chosen.keys)
    app.add_middleware(MetricsMiddleware, metrics=measured)
    app.include_router(documentation_page.router)
    for module in (service, datasets, metric_lists, rows, findings, distributions, outcomes, comparisons):
        app.include_router(module.router)
    return app
