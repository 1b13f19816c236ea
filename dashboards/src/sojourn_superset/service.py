"""What the API says of itself, as tables: the builds that it keeps, and how its endpoints responded.

`service_build` is `GET /v1/builds`, and `service_request` is `GET /metrics` by endpoint. Neither is a dataset of a
build, so the catalogue does not have them; `sojourn_superset.adapter` serves them beside the datasets.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sojourn_client import ApiError, Client, Column, Dataset

BUILD = Dataset(
    name="service_build",
    description="The build that is served, with what it was made from, and earlier ones that are kept.",
    grain="one build",
    key=("build_id",),
    rows=0,
    columns=(
        Column("build_id", "VARCHAR", nullable=False),
        Column(
            "published_at", "VARCHAR", description="When it was published, an earlier one: when it was written. UTC."
        ),
        Column("age_s", "DOUBLE", "s", "Time since it was published."),
        Column("is_served", "BOOLEAN", description="The build that the service uses."),
        Column("engine", "VARCHAR", description="duckdb or spark."),
        Column("sojourn_version", "VARCHAR"),
        Column("models", "BIGINT", description="Tables that the build computed."),
        Column(
            "tests_passed", "BIGINT", description="Tests of the tables' content that passed before it was published."
        ),
        Column("sources", "BIGINT", description="Sources that it was built from."),
        Column("studies", "BIGINT"),
    ),
)
REQUEST = Dataset(
    name="service_request",
    description="Requests to each API endpoint since the service started, and how long their responses took.",
    grain="one endpoint",
    key=("route",),
    rows=0,
    columns=(
        Column("route", "VARCHAR", nullable=False),
        Column("requests", "BIGINT", description="Responses since the API started."),
        Column("refused", "BIGINT", description="Of these, responses with a status of 400 to 499."),
        Column("failed", "BIGINT", description="Of these, responses with a status of 500 or more."),
        Column("mean_ms", "DOUBLE", "ms", "Mean time from the request to the end of its response."),
        Column(
            "p95_at_most_ms",
            "DOUBLE",
            "ms",
            "Upper bound of at least 95 % of the times; null if it is above all bounds.",
        ),
    ),
)
SAMPLE = re.compile(r"(?P<name>sojourn_[a-z_]+)\{(?P<labels>.*)\} (?P<value>[0-9.e+-]+)")
"""A line with labels of the text format of Prometheus."""

LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def builds(client: Client) -> list[dict[str, Any]]:
    """Return a row for each build that the API keeps, of which it tells most about the served one; raises ApiError."""
    build = client.build()
    said = build.document
    tests = said.get("dbt") or {}
    unknown = dict.fromkeys((column.name for column in BUILD.columns), None)
    served = {
        **unknown,
        "build_id": build.build_id,
        "published_at": build.published_at,
        "age_s": _age_s(build.published_at),
        "is_served": True,
        "engine": said.get("engine"),
        "sojourn_version": said.get("sojourn_version"),
        "models": tests.get("models"),
        "tests_passed": tests.get("tests_passed"),
        "sources": len(said.get("inputs") or ()),
        "studies": len(said.get("studies") or ()),
    }
    earlier = [
        {
            **unknown,
            "build_id": each["build_id"],
            "published_at": each["written_at"],
            "age_s": _age_s(each["written_at"]),
            "is_served": False,
        }
        for each in said.get("kept", ())
        if each["build_id"] != build.build_id
    ]
    return [served, *earlier]


def _age_s(time: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()


def requests(client: Client) -> list[dict[str, Any]]:
    """Return a row for each endpoint that got requests; raises ApiError."""
    return requests_of(client.text("/metrics"))


def requests_of(text: str) -> list[dict[str, Any]]:
    """Return a row for each endpoint in a text of metrics.

    Raises
    ------
    ApiError
        If the text has no metric of requests.
    """
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"requests": 0, "refused": 0, "failed": 0})
    seconds: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in text.splitlines():
        sample = SAMPLE.fullmatch(line)
        if sample is None:
            continue
        labels, value = dict(LABEL.findall(sample["labels"])), float(sample["value"])
        match sample["name"]:
            case "sojourn_http_requests_total":
                count = counts[labels["route"]]
                count["requests"] += int(value)
                status = int(labels["status"])
                count["refused"] += int(value) if 400 <= status < 500 else 0
                count["failed"] += int(value) if status >= 500 else 0
            case "sojourn_http_request_seconds_sum":
                seconds[labels["route"]] = value
            case "sojourn_http_request_seconds_bucket":
                buckets[labels["route"]].append((float(labels["le"]), value))
    if not counts:
        raise ApiError("/metrics of the Sojourn API has no sojourn_http_requests_total; expected one for each endpoint")
    return [
        {
            "route": route,
            **count,
            "mean_ms": 1000 * seconds[route] / measured if (measured := _measured(buckets[route])) else None,
            "p95_at_most_ms": _bound_ms(buckets[route], 0.95),
        }
        for route, count in sorted(counts.items())
    ]


def _measured(buckets: list[tuple[float, float]]) -> float:
    return max((count for _, count in buckets), default=0.0)


def _bound_ms(buckets: list[tuple[float, float]], share: float) -> float | None:
    """Return the smallest bound of a bucket with at least this share of all below it, in ms; null for +Inf."""
    needed = share * _measured(buckets)
    bound = min((bound for bound, count in buckets if count >= needed > 0), default=float("inf"))
    return 1000 * bound if bound < float("inf") else None


TABLES: dict[str, tuple[Dataset, Callable[[Client], list[dict[str, Any]]]]] = {
    BUILD.name: (BUILD, builds),
    REQUEST.name: (REQUEST, requests),
}
"""Name to columns, and to what reads the rows."""
