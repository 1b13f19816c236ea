"""The application as `sojourn serve` runs it: limits by its address, alone or as one of several workers."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

from fastapi import FastAPI

from sojourn_api.app import create_app
from sojourn_api.http.head import HeadMiddleware
from sojourn_api.safety.admission import AdmissionMiddleware
from sojourn_api.safety.slow_clients import ConnectionLimits, PiecesMiddleware, connections_that_fit
from sojourn_api.settings import Settings
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.printable import PrintableFormatter

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess


def guarded_app(settings: Settings) -> FastAPI:
    """Return the application with the limits of a service: the Host header of a request must name this machine."""
    keep_pandas_out()
    app = create_app(settings)
    app.add_middleware(HeadMiddleware)
    # Outside everything else, so that what is refused costs nothing more.
    names = (socket.gethostname(), socket.getfqdn(), *settings.api_hosts)
    app.add_middleware(AdmissionMiddleware, client_requests=settings.api_client_requests, names=names)
    app.add_middleware(PiecesMiddleware)
    app.state.connection_limits = ConnectionLimits(
        settings.api_request_seconds, settings.api_stalled_seconds, connections_that_fit(settings.api_connections)
    )
    return app


def create_worker_app() -> FastAPI:
    """Return the application of one of several workers, with the published build open.

    Its settings are those of the environment.

    Raises
    ------
    SnapshotError
        When there is no build to serve.
    """
    log_to_stderr()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="sojourn-parent-watch", daemon=True).start()
    app = guarded_app(Settings())
    app.state.store.start()
    return app


def log_to_stderr() -> None:
    """Log from INFO on to the standard error, with time, level and name."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _end_with(parent: BaseProcess) -> None:
    # A parent that is killed cannot stop its workers, which would go on to serve and to hold the port. The number of
    # the parent's process would not do: one that was killed while this process was starting has left another behind.
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
