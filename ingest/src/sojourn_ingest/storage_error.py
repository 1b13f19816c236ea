"""What cannot be reached where a lake or sources are."""

from __future__ import annotations

from sojourn_ingest.operator_error import OperatorError


class StorageError(OperatorError, RuntimeError):
    """A storage cannot be used; the message says what to do."""
