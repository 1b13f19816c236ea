"""The ``sojourn`` command; each package of the project adds its own sub-commands."""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import IO, Annotated, Any

import typer
from click import Context, UsageError
from click.exceptions import NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup

from sojourn_ingest import __version__
from sojourn_ingest.operator_error import OperatorError
from sojourn_process.printable import PrintableFormatter, printable

COMMAND_GROUP = "sojourn.commands"


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"sojourn {__version__}")
        raise typer.Exit


class _WrongUsageError(UsageError):
    """What is wrong with an argument, which may be a file's name; it is printable, and begins as other errors do."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the usage, and the error in one line."""
        del file
        if self.ctx is not None:
            hint = f"Try '{self.ctx.command_path} --help' for help."
            typer.echo(f"{self.ctx.get_usage()}\n{hint}\n", err=True, color=self.ctx.color)
        typer.echo(f"error: {printable(self.format_message())}", err=True)


class _Command(TyperCommand):
    """A command whose errors in arguments all know of which command they are, and so show its usage."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the arguments into the context."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            # Click leaves it out of an option without its values.
            error.ctx = error.ctx or ctx
            raise


class _Commands(TyperGroup):
    """The commands, whose errors in arguments begin alike."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any
    ) -> Context:
        """Return the context of the options before a command."""
        with _wrong_usage():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Context) -> Any:
        """Run the command that was given."""
        with _wrong_usage():
            return super().invoke(ctx)


@contextmanager
def _wrong_usage() -> Iterator[None]:
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except UsageError as error:
        text = error.format_message()
        # Of a mistyped command, Typer has put the nearest into the message, and Click adds it once more.
        text = error.message if text.count("Did you mean") > 1 else text
        raise _WrongUsageError(text, error.ctx) from error


class _Log(PrintableFormatter):
    """Formats a record as the messages of a command: `warning: …`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return f"{record.levelname.lower()}: {super().format(record)}"


def application() -> typer.Typer:
    """Return the command line application with the sub-commands of every installed package."""
    app = typer.Typer(
        name="sojourn",
        cls=_Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="How long do packets wait, who gets the bandwidth, who is harmed, and does anyone notice?\n\n"
        "sojourn look shows the content of files on one page. "
        "The usual order is sojourn ingest (files into the lake), sojourn build "
        "(lake into marts, published as a snapshot), sojourn serve (the snapshot over HTTP) or sojourn publish "
        "(the snapshot as a folder for a static host).",
        # Typer's boxes take as much CPU time as all else that a help or an error in an argument needs.
        rich_markup_mode=None,
    )

    @app.callback()
    def main_options(
        version: Annotated[
            bool,
            typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop."),
        ] = False,
    ) -> None:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Log())
        logging.basicConfig(level=logging.WARNING, handlers=[handler])

    # The order in which people use them.
    commands = ("look", "run", "ingest", "build", "watch", "report", "serve", "publish", "merge", "forget")
    order = {name: place for place, name in enumerate(commands)}
    for entry in sorted(entry_points(group=COMMAND_GROUP), key=lambda e: (order.get(e.name, len(order)), e.name)):
        entry.load()(app)
    _use_command_class(app)
    return app


def _use_command_class(app: typer.Typer) -> None:
    for command in app.registered_commands:
        command.cls = _Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _use_command_class(group.typer_instance)


FULL_DISK = "No space left on device; free some space and run the same command again (committed files are kept)"
#: What the system says of a write that it refuses.
FAILED_WRITE = re.compile(
    r'(?:file \\?"([^"\\]+)\\?": )?'
    "(No space left on device|Disk quota exceeded|File too large|Input/output error|Read-only file system)"
)


def text_of(error: Exception) -> str:
    """Return what went wrong, and where; of a full disk and of a file in the way of a folder, what to do."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Of a copy, the second name is what was written.
        where = error.filename2 or error.filename
        where = f"{where}: " if where else ""
        return f"{where}{FULL_DISK}"
    if isinstance(error, OSError) and error.filename and error.strerror:
        what = (
            "a file with this name exists; give another name" if isinstance(error, FileExistsError) else error.strerror
        )
        return f"{error.filename}: {what}"
    return str(error)


def text_of_failed_write(error: BaseException | None) -> str | None:
    """Return what to do if a library could not write a file; None if the error is of another kind.

    DuckDB names it only in the text of one of many exceptions, and when it closes its file it raises others.
    """
    while error is not None:
        said = FAILED_WRITE.search(str(error))
        if said:
            again = "correct that and run the same command again (committed files are kept)"
            return (f"{said[1]}: " if said[1] else "") + (
                FULL_DISK if FULL_DISK.startswith(said[2]) else f"{said[2]}; {again}"
            )
        error = error.__cause__ or error.__context__
    return None


#: Extra of the distribution by the module that the rest of it needs; whoever only ingests and looks installs none.
EXTRA_OF = {
    "fastapi": "serve",
    "httptools": "serve",
    "httpx": "client",
    "obstore": "object-store",
    "prometheus_client": "serve",
    "pydantic_settings": "serve",
    "pyspark": "spark",
    "scipy": "build",
    "starlette": "serve",
    "statsmodels": "build",
    "uvicorn": "serve",
}


def main() -> None:
    """Run the command line; what its user can correct ends in one line."""
    # Before NumPy is imported: matrices are small here, and each further thread of OpenBLAS spins until it sleeps.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Also as `python -m`, with which a command starts others.
        application()(prog_name="sojourn")
    except (OperatorError, OSError) as error:
        print(f"error: {printable(text_of(error))}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(f"error: {error.name} is not installed: pip install 'sojourn[{extra}]'", file=sys.stderr)
        sys.exit(1)
    except MemoryError:
        text = (
            "not enough memory; run the same command again with fewer --workers or more memory (committed "
            "files are kept)"
        )
        print(f"error: {text}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        of_failed_write = text_of_failed_write(error)
        if of_failed_write is None:
            raise
        print(f"error: {printable(of_failed_write)}", file=sys.stderr)
        sys.exit(1)
