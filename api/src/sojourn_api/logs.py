"""Where the service logs to."""

from __future__ import annotations

import logging


def log_to_stderr() -> None:
    """Log from INFO on to the standard error, with time, level and name."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
