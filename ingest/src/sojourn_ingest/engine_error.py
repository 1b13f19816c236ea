"""What goes wrong with an engine that another package brings."""


class EngineError(RuntimeError):
    """An engine cannot be used or has failed; the message says what to do."""
