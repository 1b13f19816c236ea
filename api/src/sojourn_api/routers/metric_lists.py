"""The metrics of distributions, outcomes and comparisons, and which of them the build has."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from sojourn_api import distribution_metrics
from sojourn_api.problems import documented
from sojourn_api.requests.outcomes import SCORED
from sojourn_api.requests.query_string import refuse_parameters
from sojourn_api.requests.run_scores import RUN_SCORES
from sojourn_api.responses import document
from sojourn_api.safety.authentication import reading_key, require_key
from sojourn_api.share_metrics import SHARE_METRICS
from sojourn_api.snapshot import SnapshotStore
from sojourn_statistics.comparison.metrics import FACTORS, METRICS

router = APIRouter(prefix="/v1", tags=["catalogue"], dependencies=[Depends(require_key), Depends(refuse_parameters)])


class ListedMetric(BaseModel):
    """A metric of an endpoint."""

    name: str
    description: str
    unit: str | None
    datasets: tuple[str, ...] = Field(
        description="Those that are in the build and readable with the key; without one, the metric is not served"
    )
    always: tuple[str, ...] = Field(description="Columns that are part of every group: rows are not pooled over them")
    replication_units: tuple[str, ...] = Field(
        default=(), description="Units over which intervals are computed, the finest first"
    )
    factors: tuple[str, ...] = Field(default=(), description="Factors of comparisons; empty for other metrics")


class MetricList(BaseModel):
    """The metrics of an endpoint."""

    build_id: str
    metrics: list[ListedMetric]


_PROBLEMS = documented("unauthorized", "unknown-parameter", "no-snapshot")


def _distribution(metric: distribution_metrics.Metric) -> ListedMetric:
    return ListedMetric(
        name=metric.name,
        description=metric.description,
        unit="ms",
        datasets=(*metric.datasets, *metric.otherwise),
        always=metric.always,
        replication_units=tuple(unit for unit, _ in metric.replicates),
    )


DISTRIBUTIONS = tuple(_distribution(metric) for metric in distribution_metrics.METRICS.values())
OUTCOMES = (
    *(_distribution(distribution_metrics.METRICS[name]) for name in SCORED),
    *(
        ListedMetric(
            name=score.name,
            description=score.description,
            unit=score.unit,
            datasets=(score.dataset,),
            always=score.always,
            replication_units=("run",),
        )
        for score in RUN_SCORES.values()
    ),
)
COMPARISONS = (
    *(
        ListedMetric(
            name=metric.name,
            description=metric.description,
            unit=metric.unit,
            datasets=(metric.dataset,),
            always=metric.strata,
            replication_units=("run",),
            factors=tuple(FACTORS),
        )
        for metric in METRICS.values()
    ),
    *(
        ListedMetric(
            name=share.name,
            description=share.description,
            unit="ratio",
            datasets=(share.dataset,),
            always=share.strata,
            replication_units=(share.replication_unit,),
            factors=share.factors,
        )
        for share in SHARE_METRICS.values()
    ),
)


def _listed(request: Request, metrics: Iterable[ListedMetric]) -> Response:
    store: SnapshotStore = request.app.state.store
    key = reading_key(request)
    with store.acquire() as served:
        snapshot = served.snapshot
        readable = {dataset.name for dataset in snapshot.catalogue.datasets if key.reads(dataset.name)}
        body = {
            "build_id": snapshot.build_id,
            "metrics": [
                {**metric.model_dump(), "datasets": [name for name in metric.datasets if name in readable]}
                for metric in metrics
            ],
        }
        return document(request, snapshot.build_id, lambda: body)


@router.get("/distributions", summary="Metrics of distributions", response_model=MetricList, responses=_PROBLEMS)
def distribution_metric_list(request: Request) -> Response:
    """Return the metrics that have distributions."""
    return _listed(request, DISTRIBUTIONS)


@router.get("/outcomes", summary="Metrics of outcomes", response_model=MetricList, responses=_PROBLEMS)
def outcome_metric_list(request: Request) -> Response:
    """Return the metrics of quality of outcome."""
    return _listed(request, OUTCOMES)


@router.get("/comparisons", summary="Metrics of comparisons", response_model=MetricList, responses=_PROBLEMS)
def comparison_metric_list(request: Request) -> Response:
    """Return the metrics that are compared between configurations, or between shares in the wild."""
    return _listed(request, COMPARISONS)
