"""``sojourn run``: files into the lake, the lake into marts, and the marts over HTTP, in one command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from sojourn_ingest.command_line import VarOption, require_modules

#: A wheel has the sample beside this package; a checkout has it in the folder of the project.
_PLACES_OF_SAMPLE = (Path(__file__).parents[1] / "sample", Path(__file__).parents[3] / "sample")
_PARTS_OF_SAMPLE = ("runs", "marks", "connections", "percentiles", "tma23/data")


def register(app: typer.Typer) -> None:
    """Add ``run`` to the command line."""
    app.command("run", short_help="Ingest, build and serve; the bundled sample if no path is given.")(run)


def sample() -> tuple[Path, list[Path]]:
    """Return the folder of the bundled sample, which its README describes, and those of its parts.

    Raises
    ------
    typer.BadParameter
        If this installation has none.
    """
    for place in _PLACES_OF_SAMPLE:
        folders = [place / part for part in _PARTS_OF_SAMPLE if (place / part).is_dir()]
        if folders:
            return place, folders
    raise typer.BadParameter("this installation has no sample; give files or folders", param_hint="PATH")


def ingest_arguments(sources: Sequence[str] | None) -> list[str]:
    """Return the ingest of some sources, or of the sample, whose paths are recorded without a folder of the machine."""
    if sources:
        return ["ingest", *sources]
    place, parts = sample()
    return ["ingest", "--root", str(place), *map(str, parts)]


def run_step(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command and return its exit status; 128 and the signal's number if a signal ended it or this process.

    SIGTERM and SIGHUP are passed on to the command, so that ending `sojourn run` leaves no process behind. An
    interrupt from the keyboard reaches the command by itself, and its end is waited for.
    """
    signals: list[int] = []
    step: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _: FrameType | None) -> None:
        signals.append(number)
        if step is not None:
            step.send_signal(number)

    # Before the command starts, so that there is no moment in which a signal ends this process alone.
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        step = subprocess.Popen(command, env=environment)
        for number in signals:
            step.send_signal(number)
        try:
            status = step.wait()
        except KeyboardInterrupt:
            status = step.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status < 0:
        return 128 - status
    return 128 + signals[0] if signals else status


def run(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH…", help="Files, folders or URIs, as in sojourn ingest. Default: the sample."),
    ] = None,
    var: VarOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 selects a free one.")] = 8000,
) -> None:
    """Ingest, build and serve, like the three commands one after another.

    Without a path it uses the bundled sample: runs with real Linux queue disciplines, with and without ECN, a few
    connections measured by M-Lab, and M-Lab's percentiles of speed tests by country. Steps that are up to date are
    skipped.

    For example:

      sojourn run

      sojourn run ~/captures --var ~/sojourn
    """
    from sojourn_ingest.remote.path import as_path, is_remote

    require_modules("scipy", "uvicorn")
    paths = map(as_path, sources or ())
    missing = next((path for path in paths if not is_remote(path) and not path.exists()), None)
    if missing is not None:
        raise typer.BadParameter(f"{missing}: no such file or folder", param_hint="PATH")
    chosen = var or Path(os.environ.get("SOJOURN_VAR") or "var")
    environment = {**os.environ, "SOJOURN_VAR": str(chosen.expanduser().resolve())}
    # Processes of their own, so that each gives its memory back before the next begins.
    command = [sys.executable, "-m", "sojourn_ingest.cli"]
    for step in (ingest_arguments(sources), ["build"]):
        status = run_step([*command, *step], environment)
        if status:
            raise typer.Exit(status)
    os.execve(sys.executable, [*command, "serve", "--host", host, "--port", str(port)], environment)  # noqa: S606
