"""What is served: studies, the build and its datasets."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from sojourn_api.catalogue import Dataset
from sojourn_api.formats import as_table
from sojourn_api.json_rows import rows_of
from sojourn_api.problems import documented
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.paging import fetch_page
from sojourn_api.queries.rows import rows_relation
from sojourn_api.requests.query_string import refuse_parameters
from sojourn_api.requests.rows import all_rows
from sojourn_api.responses import document
from sojourn_api.safety.authentication import reading_key, require_key, require_whole_key
from sojourn_api.snapshot import SnapshotStore

router = APIRouter(prefix="/v1", tags=["catalogue"], dependencies=[Depends(require_key), Depends(refuse_parameters)])


FIRST_ROWS = 3
"""Rows that the entry of a dataset shows."""


class Studies(BaseModel):
    """The studies of the build, one row each of the dataset `study`."""

    build_id: str
    studies: list[dict[str, Any]]


class KeptBuild(BaseModel):
    """A build on the disk of the service, and when it was written (UTC)."""

    build_id: str
    written_at: str


class Build(BaseModel):
    """The build being served: its inputs with content hash and outcome, when it was published, and what is kept."""

    model_config = ConfigDict(extra="allow")

    build_id: str
    published_at: str
    kept: list[KeptBuild]


class Datasets(BaseModel):
    """The datasets of the build."""

    build_id: str
    datasets: list[Dataset]


class OneDataset(Dataset):
    """A dataset with its first rows by its key, and the build it is of."""

    build_id: str
    first_rows: list[dict[str, Any]]


_PROBLEMS = documented("unauthorized", "forbidden", "unknown-parameter", "no-snapshot")


@router.get("/studies", summary="Studies", response_model=Studies, responses=_PROBLEMS)
def studies(request: Request) -> Response:
    """Return each study: title, citation, licence, number of runs."""
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        dataset = snapshot.catalogue.dataset("study")

        def body() -> dict[str, Any]:
            rows_request = all_rows(dataset, reading_key(request))
            page = fetch_page(runner, snapshot, rows_relation(rows_request), rows_request.limit, None)
            return {"build_id": snapshot.build_id, "studies": rows_of(as_table(page.rows))}

        return document(request, snapshot.build_id, body)


@router.get(
    "/builds",
    summary="The build being served",
    response_model=Build,
    responses=_PROBLEMS,
    dependencies=[Depends(require_whole_key)],
)
def builds(request: Request) -> Response:
    """Return the build being served, its inputs, and when it was published."""
    store: SnapshotStore = request.app.state.store
    with store.acquire() as served:
        body = {**served.snapshot.build, "published_at": served.published_at, "kept": store.kept_builds()}
        return document(request, served.snapshot.build_id, lambda: body, served.published_at)


@router.get("/datasets", summary="Datasets", response_model=Datasets, responses=_PROBLEMS)
def datasets(request: Request) -> Response:
    """Return every dataset that the key may read: grain, key, rows; type, unit and description of each column."""
    store: SnapshotStore = request.app.state.store
    with store.acquire() as served:
        snapshot, key = served.snapshot, reading_key(request)

        def body() -> dict[str, Any]:
            shown = [dataset.model_dump() for dataset in snapshot.catalogue.datasets if key.reads(dataset.name)]
            return {"build_id": snapshot.build_id, "datasets": shown}

        return document(request, snapshot.build_id, body)


@router.get(
    "/datasets/{name}",
    summary="One dataset",
    response_model=OneDataset,
    responses=documented(
        "unauthorized",
        "forbidden",
        "unknown-dataset",
        "unknown-parameter",
        "no-snapshot",
        "busy",
        "query-timeout",
        "query-memory",
    ),
)
def dataset(request: Request, name: str) -> Response:
    """Return the catalogue entry of a dataset, with its first rows."""
    store: SnapshotStore = request.app.state.store
    runner: QueryRunner = request.app.state.runner
    with store.acquire() as served:
        snapshot = served.snapshot
        entry = snapshot.catalogue.dataset(name)
        key = reading_key(request)
        key.permit(name)

        def body() -> dict[str, Any]:
            page = fetch_page(runner, snapshot, rows_relation(all_rows(entry, key)), FIRST_ROWS, None)
            return {
                "build_id": snapshot.build_id,
                **entry.model_dump(),
                "first_rows": rows_of(as_table(page.rows)),
            }

        return document(request, snapshot.build_id, body)
