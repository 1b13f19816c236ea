"""Superset's web server: waitress, which takes a request whole before one of its threads works on it.

A server whose threads read from connections themselves stands still as soon as as many clients as it has threads send
a byte now and then. Here such a client costs a connection, and no thread.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterable
from logging.handlers import WatchedFileHandler
from pathlib import Path
from types import FrameType
from typing import Any

from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer, create_server
from waitress.task import ErrorTask

CONNECTIONS = 1_000
"""Most connections at a time; a further one waits to be accepted. Each takes a file handle."""
IDLE_S = 60
"""A connection on which nothing has come or gone for so long is closed."""
LARGEST_REQUEST_BYTES = 16 * 2**20
"""A larger request is refused: forms, filters and imported assets are smaller."""
NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
"""Browsers take an answer for what its header says, and not for what its beginning looks like."""
ACCESS = logging.getLogger("sojourn_superset.access")

Start = Callable[..., Any]
Application = Callable[[dict[str, Any], Start], Iterable[bytes]]


class _Refusal(ErrorTask):  # type: ignore[misc] # waitress has no types
    """What the server itself answers, such as to a request that is none."""

    def execute(self) -> None:
        self.response_headers.append(NO_SNIFFING)
        super().execute()


class _Channel(HTTPChannel):  # type: ignore[misc] # the same
    error_task_class = _Refusal


def without_sniffing(application: Application) -> Application:
    """Return the application with `NO_SNIFFING` in each answer."""

    def answered(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            others = [header for header in headers if header[0].lower() != NO_SNIFFING[0].lower()]
            return start_response(status, [*others, NO_SNIFFING], *rest)

        return application(environ, start)

    return answered


def with_access_log(application: Application) -> Application:
    """Return the application with one line in the log `sojourn_superset.access` for each answer: method, path, status.

    The query of an address is left out: it may hold what someone filters by.
    """

    def answered(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        def start(status: str, *rest: Any) -> Any:
            client, method, path = (environ.get(key) for key in ("REMOTE_ADDR", "REQUEST_METHOD", "PATH_INFO"))
            ACCESS.info("%s %s %r %s", client, method, path, status.partition(" ")[0])
            return start_response(status, *rest)

        return application(environ, start)

    return answered


def log_to(folder: Path) -> None:
    """Write answers to `access.log`, and what the server says to `server.log`, in a folder.

    Raises
    ------
    OSError
        If the files cannot be written.
    """
    for logger, name in ((ACCESS, "access.log"), (logging.getLogger("waitress"), "server.log")):
        handler = WatchedFileHandler(folder / name, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False


def listen(application: Application, host: str, port: int, threads: int) -> Any:
    """Return a server that listens.

    Raises
    ------
    OSError
        If the address cannot be listened on.
    ValueError
        If it is none.
    """
    TcpWSGIServer.channel_class = _Channel
    return create_server(
        without_sniffing(with_access_log(application)),
        host=host,
        port=port,
        threads=threads,
        connection_limit=CONNECTIONS,
        channel_timeout=IDLE_S,
        cleanup_interval=IDLE_S // 4,
        max_request_body_size=LARGEST_REQUEST_BYTES,
        # Beyond 1,024 file handles `select` cannot look.
        asyncore_use_poll=True,
        # Superset's own setting says whether a proxy is trusted (ENABLE_PROXY_FIX).
        clear_untrusted_proxy_headers=False,
        ident="Superset",
    )


def serve(server: Any) -> None:
    """Answer until SIGTERM or SIGINT."""

    def stop(number: int, frame: FrameType | None) -> None:
        sys.exit(0)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    try:
        server.run()
    finally:
        server.close()
