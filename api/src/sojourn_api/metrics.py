"""Metrics of the service in the Prometheus text format."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn_api.queries.execution import QueryRunner
from sojourn_api.snapshot import Health

UNMATCHED = "unmatched"


class Metrics:
    """The metrics of one app, in a registry of its own so that two apps in a process do not add up.

    Where several workers serve, PROMETHEUS_MULTIPROC_DIR names the folder through which their counts are added up:
    any of them answers for all. `sojourn serve` sets it.
    """

    def __init__(self, runner: QueryRunner) -> None:
        self._runner = runner
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "sojourn_http_requests",
            "Responses by route and status",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.kept = Counter(
            "sojourn_http_kept_responses", "Responses sent from memory, without a query", registry=self._registry
        )
        self.seconds = Histogram(
            "sojourn_http_request_seconds",
            "Time from the request to the end of its response",
            ["route"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self._registry,
        )

    def text(self, health: Health | None) -> bytes:
        """Return all metrics in the Prometheus text format.

        Parameters
        ----------
        health : Health or None
            Of the build being served; None when there is none.
        """
        shown = CollectorRegistry()
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            MultiProcessCollector(shown)  # type: ignore[no-untyped-call]
        else:
            shown.register(self._registry)
        shown.register(_State(health, self._runner.running))
        return generate_latest(shown)


class _State(Collector):
    """What is the case now, in the worker that handles the request."""

    def __init__(self, health: Health | None, running: int) -> None:
        self._health = health
        self._running = running

    def collect(self) -> Iterator[Metric]:
        """Return the samples."""
        build = GaugeMetricFamily("sojourn_build_info", "1 for the build being served", labels=["build_id"])
        if self._health:
            build.add_metric([self._health.build_id], 1)
        yield build
        # No build is a state to report (no build_info sample, stale 1), not a reason to report nothing.
        stale = self._health is None or self._health.fault is not None
        yield GaugeMetricFamily("sojourn_build_stale", "1 while the published build cannot be opened", value=stale)
        yield GaugeMetricFamily("sojourn_queries_running", "Queries running now", value=self._running)


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
