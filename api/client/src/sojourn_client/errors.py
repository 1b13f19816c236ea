"""What goes wrong between a client and the service."""

from __future__ import annotations


class ApiError(RuntimeError):
    """The API could not be reached, refused, or did not answer in full.

    The message has the API's own words where it gave any; `status` is the HTTP status, None without an answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class BuildChangedError(ApiError):
    """Another build was published between two pages of one answer."""
