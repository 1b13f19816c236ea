"""``sojourn run``: files into the lake, the lake into marts, and the marts over HTTP, in one command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

#: A wheel has the sample beside this package; a checkout has it in the folder of the project.
_PLACES_OF_SAMPLE = (Path(__file__).parents[1] / "sample" / "runs", Path(__file__).parents[3] / "sample" / "runs")


def register(app: typer.Typer) -> None:
    """Add ``run`` to the command line."""
    app.command("run", short_help="Ingest, build and serve; the bundled sample if no path is given.")(run)


def sample_runs() -> Path:
    """Return the folder of the bundled sample.

    Raises
    ------
    typer.BadParameter
        If this installation has none.
    """
    found = next((place for place in _PLACES_OF_SAMPLE if place.is_dir()), None)
    if found is None:
        raise typer.BadParameter("this installation has no sample; give files or folders", param_hint="PATH")
    return found


def run(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH…", help="Files, or folders that are read to the bottom. Default: the sample."),
    ] = None,
    var: Annotated[
        Path | None, typer.Option(help="Folder of everything generated. Default: $SOJOURN_VAR or ./var.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes a free one.")] = 8000,
) -> None:
    """Ingest, build and serve: the same as the three commands one after another.

    Without a path the bundled sample is read: runs of real Linux queue disciplines. What was ingested or built before
    is not done again.

    For example:

      sojourn run

      sojourn run ~/captures --var ~/sojourn
    """
    missing = next((path for path in sources or () if not path.exists()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such file or folder", param_hint="PATH")
    chosen = var or Path(os.environ.get("SOJOURN_VAR") or "var")
    environment = {**os.environ, "SOJOURN_VAR": str(chosen.expanduser().resolve())}
    # Processes of their own, so that each gives its memory back before the next begins.
    command = [sys.executable, "-m", "sojourn_ingest.cli"]
    for step in (["ingest", *map(str, sources or [sample_runs()])], ["build"]):
        done = subprocess.run([*command, *step], env=environment, check=False)
        if done.returncode:
            raise typer.Exit(done.returncode)
    os.execve(sys.executable, [*command, "serve", "--host", host, "--port", str(port)], environment)  # noqa: S606
