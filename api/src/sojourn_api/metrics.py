"""Metrics of the service in the Prometheus text format."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn_api.queries.execution import QueryRunner

UNMATCHED = "unmatched"


class Metrics:
    """The metrics of one app, in a registry of its own so that two apps in a process do not add up."""

    def __init__(self, runner: QueryRunner) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sojourn_http_requests",
            "Responses by route and status",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.kept = Counter(
            "sojourn_http_kept_responses", "Responses sent from memory, without a query", registry=self.registry
        )
        self.seconds = Histogram(
            "sojourn_http_request_seconds",
            "Time from the request to the end of its response",
            ["route"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self.registry,
        )
        self.build = Gauge("sojourn_build_info", "1 for the build being served", ["build_id"], registry=self.registry)
        self.stale = Gauge(
            "sojourn_build_stale", "1 while the published build cannot be opened", registry=self.registry
        )
        running = Gauge("sojourn_queries_running", "Queries running now", registry=self.registry)
        running.set_function(lambda: runner.running)


class MetricsMiddleware:
    """ASGI middleware that counts and times every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # what the client gets when nothing was sent before an exception
        started = time.perf_counter()

        async def watching_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watching_send)
        finally:
            # The route's pattern, not the path: paths are chosen by clients and would be labels without end.
            route = getattr(scope.get("route"), "path", UNMATCHED)
            self._metrics.requests.labels(scope["method"], route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
