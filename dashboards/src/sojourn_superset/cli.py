"""The command `sojourn-superset`: prepare, import-assets, add-viewer, serve."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

import typer

from sojourn_client import DEFAULT_URL, ApiError, Client
from sojourn_superset import assets, instance, settings
from sojourn_superset.asset_error import AssetError
from sojourn_superset.security import API_URL_VARIABLE, weakness_of_password

app = typer.Typer(
    help="Superset for Sojourn: prepare it, load the dashboard, serve it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

API_OPTION = typer.Option("--api", envvar="SOJOURN_API_URL", help="Where the Sojourn API answers.")
STARTED = time.monotonic()


@app.command()
def prepare(
    api: Annotated[
        str | None,
        typer.Option("--api", help="Import the dashboard too, from this API: one start of Superset instead of two."),
    ] = None,
) -> None:
    """Bring Superset's own database up to date and set the admin's login. If this is already done, it takes seconds.

    Needs SUPERSET_SECRET_KEY, SUPERSET_ADMIN_USER and SUPERSET_ADMIN_PASSWORD in the environment.
    """
    chosen = settings.load()
    # before the slow part, so that a missing API is known in a second
    rendered = _render(api) if api else None
    instance.prepare(chosen, say)
    if rendered is not None:
        _load(chosen, *rendered)


@app.command()
def import_assets(
    api: Annotated[str, API_OPTION] = DEFAULT_URL,
    force: Annotated[bool, typer.Option(help="Import although nothing changed.")] = False,
) -> None:
    """Import the dashboards from the YAML files, replacing those of the last import.

    A chart without rows in the served build becomes a note that says which data to supply. Only what this
    command imported is replaced or removed; dashboards made by hand stay.
    """
    chosen = settings.load()
    _load(chosen, *_render(api), force=force)


@app.command()
def add_viewer(
    name: Annotated[str, typer.Argument(help="Name to log in with.")],
) -> None:
    """Create a viewer, who can read dashboards but not use SQL Lab or edit.

    The password is SUPERSET_VIEWER_PASSWORD in the environment.

    Run it after `prepare`; run it again to set another password.
    """
    chosen = settings.load()
    password = os.environ.get("SUPERSET_VIEWER_PASSWORD") or ""
    weak = weakness_of_password(password, name)
    if weak:
        raise settings.SettingError(f"SUPERSET_VIEWER_PASSWORD {weak}")
    if not chosen.database.is_file():
        raise settings.SettingError(f"no {chosen.database}; run `sojourn-superset prepare` first")
    instance.add_viewer(chosen, name, password, say)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8088,
    threads: Annotated[int, typer.Option(help="Number of requests answered at a time.", min=1)] = 8,
) -> None:
    """Serve Superset until SIGTERM or Ctrl-C; logs go to the `superset/logs` folder of SOJOURN_VAR."""
    chosen = settings.load()
    if not chosen.database.is_file():
        raise settings.SettingError(f"no {chosen.database}; run `sojourn-superset prepare` first")
    instance.keep_private(chosen)
    chosen.logs.mkdir(parents=True, exist_ok=True)
    os.environ["SUPERSET_CONFIG_PATH"] = str(chosen.config)
    say(f"Superset: serving on http://{host}:{port} (logs in {chosen.logs})")
    # The address comes from whoever runs this, never from Superset's database, which dashboards' authors may edit.
    if not os.environ.get(API_URL_VARIABLE) and chosen.api_url.is_file():
        os.environ[API_URL_VARIABLE] = chosen.api_url.read_text(encoding="utf-8").strip()
    # Superset reads its configuration as it is imported.
    from superset.app import create_app

    from sojourn_superset import turns, web_server

    # One process with threads: the work is waiting for the API, and each further process costs 300 MB.
    try:
        web_server.log_to(chosen.logs)
    except OSError as error:
        raise settings.SettingError(f"cannot write logs: {error}") from error
    application = create_app()
    try:
        server = web_server.listen(
            application,
            host,
            port,
            threads,
            whose=turns.by_user(application),
            # As in superset_config.py.
            is_behind_proxy=os.environ.get("SOJOURN_SUPERSET_TLS") == "1",
        )
    except (OSError, ValueError) as error:
        raise settings.SettingError(f"cannot listen on {host}:{port}: {error}") from error
    web_server.serve(server)


def say(message: str) -> None:
    """Print one line of progress with the seconds since the start."""
    typer.echo(f"[{time.monotonic() - STARTED:5.1f} s] {message}", err=True)


def _load(chosen: settings.Settings, contents: dict[str, str], api: str, force: bool = False) -> None:
    instance.load_assets(chosen, contents, api, say, force=force)
    chosen.api_url.write_text(f"{api}\n", encoding="utf-8")


def _render(api: str) -> tuple[dict[str, str], str]:
    """Return the assets as they fit the build that is served, and the URL of the API."""
    with Client(api, unknown_values="allow") as client:
        os.environ[API_URL_VARIABLE] = client.url
        build = client.health()
        bundle = assets.render(settings.ASSETS, client)
    say(f"API {client.url} serves build {build}")
    for title in bundle.without_data:
        say(f"no data in this build for the chart “{title}”: a note takes its place")
    return bundle.contents, client.url


def main() -> None:
    """Run the command; expected failures are one line, not a traceback."""
    try:
        app()
    except (settings.SettingError, ApiError, AssetError) as error:
        typer.echo(f"sojourn-superset: {error}", err=True)
        sys.exit(1)
