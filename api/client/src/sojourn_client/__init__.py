"""Reads the HTTP API of Sojourn: a result is complete and from one build, or an error is raised.

>>> from sojourn_client import Client
>>> api = Client("http://127.0.0.1:8000")
>>> harm = api.rows("run_harm", role="app", aqm=["codel", "fq_codel"], select=["run_id", "harm_ratio"])
>>> harm.attrs["units"]["harm_ratio"]
'ratio'

It knows the service by HTTP only. `Client.records` and the catalogue need only httpx, `Client.rows`,
`Client.distribution` and `Client.comparisons`, which give data frames, the extra ``pandas``; the same methods of
`Client.polars` the extra ``polars``, and those of `Client.arrow` the extra ``arrow``.
"""

from sojourn_client.answers import Answers
from sojourn_client.catalogue import Build, Column, Dataset
from sojourn_client.client import Client
from sojourn_client.connection import DEFAULT_URL
from sojourn_client.errors import ApiError, BuildChangedError
from sojourn_client.parameters import Value

__all__ = [
    "DEFAULT_URL",
    "Answers",
    "ApiError",
    "Build",
    "BuildChangedError",
    "Client",
    "Column",
    "Dataset",
    "Value",
]
