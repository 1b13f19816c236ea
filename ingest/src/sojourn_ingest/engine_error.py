"""What goes wrong with an engine that another package brings."""

from sojourn_ingest.operator_error import OperatorError


class EngineError(OperatorError, RuntimeError):
    """An engine cannot be used or has failed; the message says what to do."""
