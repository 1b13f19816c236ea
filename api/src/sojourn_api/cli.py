"""The command ``sojourn serve``."""

from __future__ import annotations

import importlib
import logging
import math
import socket
import ssl
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sojourn_api.settings import Settings

# One line a paragraph: the help is wrapped to the width of the terminal.
_HELP = "\n\n".join(
    [
        "Serve the published build over HTTP.",
        "The build that CURRENT names is served read-only. When `sojourn build` publishes another, requests from then "
        "on are answered from it, and those under way end on the old one: no restart.",
        "Try, while it runs:",
        "curl http://127.0.0.1:8000/v1/studies",
        "curl 'http://127.0.0.1:8000/v1/datasets/run_harm/rows?group=aqm&aggregate=median:harm_ratio'",
        "curl 'http://127.0.0.1:8000/v1/distributions/queuing_delay?group=role,aqm&format=csv'",
        "Every address is documented at http://127.0.0.1:8000/docs and in docs/api.md. Limits and API keys are set by "
        "environment variables: SOJOURN_API_MAX_ROWS, SOJOURN_API_QUERY_SECONDS, SOJOURN_API_MEMORY, SOJOURN_API_KEYS.",
    ]
)


#: When the service has long answered whoever waits for it to be ready.
WARM_AFTER_S = 3.0


def _load_statistics() -> None:
    for name in ("scipy.stats", "statsmodels.api", "statsmodels.stats.multitest", "statsmodels.stats.weightstats"):
        importlib.import_module(name)


def _fail(message: str) -> typer.Exit:
    typer.echo(f"sojourn serve: {message}", err=True)
    return typer.Exit(1)


def _settings(snapshots: Path | None) -> Settings:
    from pydantic import ValidationError

    from sojourn_api.settings import Settings

    try:
        return Settings() if snapshots is None else Settings(snapshots=snapshots)
    except ValidationError as error:
        first = error.errors()[0]
        name = "SOJOURN_" + "_".join(str(part) for part in first["loc"]).upper()
        raise _fail(f"{name}: {first['msg']}") from None


def _listening_socket(host: str, port: int) -> socket.socket:
    """Bind before anything is loaded, so that an address in use is reported at once and in one line."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _fail(f"cannot listen on {host}: {error.strerror or error}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise _fail(f"cannot listen on {host} port {port}: {error.strerror} (choose another with --port)") from None
    return listener


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every IPv4 one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes a free one.")] = 8000,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the published builds.", show_default="SOJOURN_SNAPSHOTS, or SOJOURN_VAR/snapshots"
        ),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    open_to_all: Annotated[
        bool,
        typer.Option("--open", help="Let everyone read who reaches an address beyond this machine, without a key."),
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="PEM file of the certificate and those that signed it; serves HTTPS.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of the certificate's private key.")] = None,
) -> None:
    """Serve the published build; see the help text."""
    # Imported here, because every `sojourn` command loads this module and importing the web stack takes a second.
    try:
        import uvicorn

        from sojourn_api.app import create_app
    except ModuleNotFoundError as error:
        raise _fail(f"{error.name} is not installed; install sojourn with its extra serve: sojourn[serve]") from None
    from sojourn_api.arrow_alone import keep_pandas_out
    from sojourn_api.safety.admission import AdmissionMiddleware, is_loopback
    from sojourn_api.snapshot import SnapshotError, SnapshotStore

    if (tls_certificate is None) != (tls_key is None):
        raise _fail("give --tls-certificate and --tls-key together")
    keep_pandas_out()
    settings = _settings(snapshots)
    local = is_loopback(host)
    if not local and not settings.api_keys and not open_to_all:
        raise _fail(f"{host} is reached from other machines and no key is set; set SOJOURN_API_KEYS, or give --open")
    app = create_app(settings)
    # Outside everything else, so that what is refused costs nothing more.
    names = None if local else (socket.gethostname(), socket.getfqdn(), *settings.api_hosts)
    app.add_middleware(AdmissionMiddleware, client_requests=settings.api_client_requests, names=names)
    store: SnapshotStore = app.state.store
    try:
        pointer = store.start()
    except SnapshotError as error:
        raise _fail(str(error)) from None
    listener = _listening_socket(host, port)
    bound_port = listener.getsockname()[1]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=access_log,
        server_header=False,
        ssl_certfile=tls_certificate,
        ssl_keyfile=tls_key,
        # Whoever stops the service waits at most for what a query may take.
        timeout_graceful_shutdown=math.ceil(settings.api_query_seconds) + 1,
    )
    try:
        # Reads the certificate, so that a wrong one is reported in one line.
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise _fail(f"--tls-certificate or --tls-key cannot be used: {error.strerror or error}") from None
    if not local and not settings.api_keys:
        typer.echo(f"warning: --open: everyone who reaches {host} reads every dataset without a key", err=True)
    scheme = "http" if tls_certificate is None else "https"
    shown_host = f"[{host}]" if ":" in host else host
    # The first comparison needs these, which take a second to load; the first answers do not wait for them.
    warming = threading.Timer(WARM_AFTER_S, _load_statistics)
    warming.daemon = True
    warming.start()
    typer.echo(f"Serving build {pointer.build_id} on {scheme}://{shown_host}:{bound_port} (documentation: /docs)")
    uvicorn.Server(config).run(sockets=[listener])


def register(app: typer.Typer) -> None:
    """Add ``serve`` to the command line."""
    app.command("serve", help=_HELP, short_help="Serve the published build over HTTP.")(serve)
