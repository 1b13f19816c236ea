"""The command ``sojourn serve``."""

from __future__ import annotations

import math
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn_process.printable import printable

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from sojourn_api.settings import Settings

_WORKER = "sojourn_api.worker:create_worker_app"

# One line a paragraph: the help is wrapped to the width of the terminal.
_HELP = "\n\n".join(
    [
        "Serve the published build over HTTP.",
        "When `sojourn build` publishes a new build, the service switches to it without a restart. Running requests "
        "keep using the old one.",
        "For example:",
        "  sojourn serve --port 8080",
        "While it runs, try:",
        "curl http://127.0.0.1:8000/v1/studies",
        "curl 'http://127.0.0.1:8000/v1/datasets/run_harm/rows?role=app&limit=5'",
        "curl 'http://127.0.0.1:8000/v1/distributions/queuing_delay?group=study_id'",
        "Every endpoint is documented at http://127.0.0.1:8000/docs and in docs/api.md. Limits and API keys are set by "
        "environment variables: SOJOURN_API_MAX_ROWS, SOJOURN_API_QUERY_SECONDS, SOJOURN_API_MEMORY, SOJOURN_API_KEYS.",
    ]
)


def _fail(message: str) -> typer.Exit:
    typer.echo(f"error: {printable(message)}", err=True)
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
    """Bind before anything is loaded, so that a port in use is reported at once and in one line."""
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
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all IPv4 addresses.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 selects a free one.")] = 8000,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the published builds.", show_default="SOJOURN_SNAPSHOTS, or SOJOURN_VAR/snapshots"
        ),
    ] = None,
    var: Annotated[
        Path | None,
        typer.Option(
            help="Folder of all generated files. Default: $SOJOURN_VAR or ./var.",
        ),
    ] = None,
    processes: Annotated[
        int,
        typer.Option(min=1, help="Number of workers; each holds the build and its cached responses in memory."),
    ] = 1,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Host name of the service, besides IP addresses, localhost and this machine's name; may be repeated. "
            "Requests for other names are refused.",
            show_default="SOJOURN_API_HOSTS",
        ),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    without_keys: Annotated[
        bool,
        typer.Option(
            "--without-keys",
            help="Allow other machines to connect without API keys. Anyone who can reach the port can read "
            "every dataset.",
        ),
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="PEM file of the certificate and its chain; serves HTTPS.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of the certificate's private key.")] = None,
) -> None:
    """Serve the published build; see the help text."""
    if var is not None and snapshots is not None:
        raise typer.BadParameter("both name the builds; give only one", param_hint="--var or --snapshots")
    if (tls_certificate is None) != (tls_key is None):
        raise typer.BadParameter("give both", param_hint="--tls-certificate or --tls-key")
    # Imported here, because every `sojourn` command loads this module and importing the web stack takes a second.
    import uvicorn

    from sojourn_api.safety.admission import is_loopback
    from sojourn_api.safety.slow_clients import BoundedProtocol
    from sojourn_api.snapshot import SnapshotError
    from sojourn_api.worker import guarded_app, log_to_stderr

    settings = _settings(snapshots if var is None else var / "snapshots")
    settings = settings.model_copy(update={"api_hosts": (*settings.api_hosts, *(allow_host or ()))})
    _check_certificate(tls_certificate, tls_key)
    open_beyond = not is_loopback(host) and not settings.api_keys
    if open_beyond and not without_keys:
        raise _fail(
            f"{host} can be reached from other machines, but no key is set; set SOJOURN_API_KEYS, or give "
            "--without-keys"
        )
    # Before the build is opened, because the log says if another one has to be served.
    log_to_stderr()
    app: FastAPI | str
    try:
        if processes == 1:
            app = guarded_app(settings)
            build_id = app.state.store.start().build_id
        else:
            app, build_id = _WORKER, _checked_build(settings)
    except SnapshotError as error:
        raise _fail(str(error)) from None
    listener = _listening_socket(host, port)
    bound_port = listener.getsockname()[1]
    # Whoever stops the service waits at most for what a query may take.
    seconds = math.ceil(settings.api_query_seconds) + 1
    config = uvicorn.Config(
        app,
        factory=processes > 1,
        http=BoundedProtocol,
        workers=processes,
        log_config=None,
        access_log=access_log,
        server_header=False,
        headers=[("x-content-type-options", "nosniff")],
        ssl_certfile=tls_certificate,
        ssl_keyfile=tls_key,
        timeout_graceful_shutdown=seconds,
        timeout_worker_healthcheck=seconds,
    )
    if open_beyond:
        typer.echo(
            f"warning: --without-keys: anyone who can reach {host} can read every dataset without a key", err=True
        )
    scheme = "http" if tls_certificate is None else "https"
    shown_host = f"[{host}]" if ":" in host else host
    typer.echo(f"Serving build {build_id} on {scheme}://{shown_host}:{bound_port} (documentation: /docs)")
    if processes == 1:
        uvicorn.Server(config).run(sockets=[listener])
    else:
        _run_workers(config, listener, settings)


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if certificate is None:
        return
    # Imported here, because every `sojourn` command loads this module.
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise _fail(f"--tls-certificate or --tls-key cannot be used: {error.strerror or error}") from None


def _checked_build(settings: Settings) -> str:
    """Return the build that workers will serve, which they can open."""
    from sojourn_api.snapshot import Snapshot, open_first

    opened = open_first(settings.snapshots_folder, lambda folder: Snapshot.open(folder, settings))
    opened.snapshot.close()
    return opened.pointer.build_id


def _run_workers(config: uvicorn.Config, listener: socket.socket, settings: Settings) -> None:
    """Serve with several processes, which take connections from one socket and follow one CURRENT each."""
    from uvicorn.supervisors import Multiprocess

    from sojourn_api.settings import answer_bytes_that_fit, memory_that_fits
    from sojourn_api.snapshot import duckdbs_bound
    from sojourn_process.own_folder import own_folder

    os.environ["SOJOURN_SNAPSHOTS"] = str(settings.snapshots_folder)
    if settings.api_memory is None:
        os.environ["SOJOURN_API_MEMORY"] = memory_that_fits(duckdbs_bound(), config.workers)
    if settings.api_answer_bytes is None:
        os.environ["SOJOURN_API_ANSWER_BYTES"] = str(answer_bytes_that_fit(duckdbs_bound(), config.workers))
    os.environ["SOJOURN_API_HOSTS"] = ",".join(settings.api_hosts)
    # Workers count in mapped files: on a full disk the kernel would end them. In memory there is room for these.
    memory = Path("/dev/shm")  # noqa: S108 - a name of its own is made there
    with own_folder("sojourn-metrics-", memory if os.access(memory, os.W_OK) else None) as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        Multiprocess(config, sockets=[listener]).run()


def register(app: typer.Typer) -> None:
    """Add ``serve`` to the command line."""
    app.command("serve", help=_HELP, short_help="Serve the published build over HTTP.")(serve)
