"""The application as one of several workers of `sojourn serve` runs it."""

from __future__ import annotations

import os
import signal
import threading
import time

from fastapi import FastAPI

from sojourn_api.app import create_app
from sojourn_api.logs import log_to_stderr

_SECONDS_BETWEEN_LOOKS = 1.0


def create_worker_app() -> FastAPI:
    """Return the application with the published build open; its settings are those of the environment.

    Raises
    ------
    SnapshotError
        When there is no build to serve.
    """
    log_to_stderr()
    parent = os.getppid()
    threading.Thread(target=_end_with, args=(parent,), name="sojourn-parent-watch", daemon=True).start()
    app = create_app()
    app.state.store.start()
    return app


def _end_with(parent: int) -> None:
    # A parent that is killed cannot stop its workers, which would go on to serve and to hold the port.
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
