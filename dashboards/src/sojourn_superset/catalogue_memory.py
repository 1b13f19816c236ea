"""The datasets' columns, remembered for one drawing of a dashboard.

shillelagh makes a virtual table of its own for every query, so a dashboard would otherwise ask for the same columns
once for each chart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from http import HTTPStatus

from sojourn_client import ApiError, Client, Dataset
from sojourn_superset.security import api_url

CATALOGUE_SECONDS = 10.0
"""How long a dataset's columns are remembered: one drawing of a dashboard, not the life of a build."""

TIMEOUT_S = 10.0
"""How long the columns are waited for before a statement."""

_catalogue: dict[tuple[str, str], tuple[float, Dataset]] = {}
_catalogue_lock = threading.Lock()


def remembered_dataset(client: Client, name: str) -> Dataset:
    """Return the catalogue entry, asking the API at most once in CATALOGUE_SECONDS; raises ApiError."""
    if dataset := _remembered(client.url, name):
        return dataset
    entry = client.dataset(name)
    with _catalogue_lock:
        _catalogue[client.url, name] = (time.monotonic(), entry)
    return entry


def _remembered(url: str, name: str) -> Dataset | None:
    with _catalogue_lock:
        since, dataset = _catalogue.get((url, name), (0.0, None))
    return dataset if time.monotonic() - since < CATALOGUE_SECONDS else None


def types_of(name: str) -> Mapping[str, str] | None:
    """Return the type of each column of a dataset, or None if the API has none of this name; raises ApiError."""
    dataset = _remembered(api_url(), name)
    if dataset is None:
        try:
            # A client takes 30 ms to make.
            with Client(api_url(), timeout_s=TIMEOUT_S) as client:
                dataset = remembered_dataset(client, name)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
    return {column.name: column.type.upper() for column in dataset.columns}


def forget_catalogue() -> None:
    """Ask the API again for every dataset."""
    with _catalogue_lock:
        _catalogue.clear()
