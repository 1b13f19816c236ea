"""What goes wrong between a client and the service."""

from __future__ import annotations


class ApiError(RuntimeError):
    """The API could not be reached, refused the request, or sent an incomplete response.

    The message has the API's own words where it gave any; `status` is the HTTP status, None without a response.
    `kind` is the name of the problem, such as ``unknown-value``, where the API gave one (docs/api.md).
    """

    def __init__(self, message: str, status: int | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class BuildChangedError(ApiError):
    """Another build was published between two pages of one result."""
