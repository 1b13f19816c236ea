"""The datasets' columns, remembered for one drawing of a dashboard.

shillelagh makes a virtual table of its own for every query, so a dashboard would otherwise ask for the same columns
once for each chart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from sojourn_client import ApiError, Client, Dataset
from sojourn_superset.security import api_url

CATALOGUE_SECONDS = 10.0
"""How long a dataset's columns are remembered: one drawing of a dashboard, not the life of a build."""

_catalogue: dict[tuple[str, str], tuple[float, Dataset]] = {}
_catalogue_lock = threading.Lock()


def remembered_dataset(client: Client, name: str) -> Dataset:
    """Return the catalogue entry, asking the API at most once in CATALOGUE_SECONDS; raises ApiError."""
    key = (client.url, name)
    now = time.monotonic()
    with _catalogue_lock:
        if (cached := _catalogue.get(key)) and now - cached[0] < CATALOGUE_SECONDS:
            return cached[1]
    entry = client.dataset(name)
    with _catalogue_lock:
        _catalogue[key] = (now, entry)
    return entry


def types_of(name: str) -> Mapping[str, str] | None:
    """Return the type of each column of a dataset, or None if the API tells of none of this name."""
    try:
        with Client(api_url()) as client:
            return {column.name: column.type.upper() for column in remembered_dataset(client, name).columns}
    except ApiError:
        # Whoever reads the table is told.
        return None


def forget_catalogue() -> None:
    """Ask the API again for every dataset."""
    with _catalogue_lock:
        _catalogue.clear()
