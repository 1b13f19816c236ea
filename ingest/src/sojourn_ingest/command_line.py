"""Options that several commands share, and the confirmation before facts are removed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from sojourn_ingest.disk_space import IGNORE_OPTION, IGNORE_VARIABLE
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.paths import Paths

VarOption = Annotated[Path | None, typer.Option(help="Folder of all generated files. Default: $SOJOURN_VAR or ./var.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, without doing it.")]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do not ask for confirmation. Required if there is no terminal.")
]
IgnoreDiskOption = Annotated[
    bool,
    typer.Option(
        IGNORE_OPTION, envvar=IGNORE_VARIABLE, help="Start even if the estimated output does not fit on the disk."
    ),
]


class OneOf(click.Choice[str]):
    """One of a closed set with too many values for a usage: the help of the option lists them, and it has a metavar."""

    def __init__(self, choices: Iterable[str]) -> None:
        super().__init__(tuple(choices), case_sensitive=False)

    @property
    def listed(self) -> str:
        """The sentence of the help that lists the values."""
        return f"One of: {', '.join(self.choices)}."

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return the values there are, in one line."""
        del param, ctx
        return self.listed

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return what is wrong with a value: the nearest one if it is a typing error, otherwise those there are."""
        del ctx
        nearest = get_close_matches(str(value).lower(), self.choices, n=1)
        return f"there is no {value!r}. " + (f"Did you mean {nearest[0]!r}?" if nearest else self.listed)


def no_installation(folder: Path) -> str:
    """Return what is wrong with a folder that was given for one of everything generated, and what to give."""
    if not folder.is_dir():
        return "no such folder"
    if (folder / "commits").is_dir():
        return f"this is a lake; give its parent folder, {folder.absolute().parent}"
    return "it contains no lake; give the folder that `sojourn ingest --var` filled"


class NoLakeError(OperatorError):
    """There is no lake where one has to be."""


def require_lake(paths: Paths) -> None:
    """Raise NoLakeError if there is no lake, because a mistyped --var is not an empty lake.

    One at a URI is not looked for.
    """
    if paths.lake_uri is None and not paths.lake.is_dir():
        raise NoLakeError(f"{paths.var}: {no_installation(paths.var)}")


def require_modules(*names: str) -> None:
    """Raise ModuleNotFoundError if a module is not installed; the command line names the extra that has it.

    For commands that read files before they need it.
    """
    for name in names:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def require_spark_for(master: str | None, conf: list[str] | None, engine: str) -> None:
    """Raise typer.BadParameter if Spark's options are given to another engine, which would ignore them."""
    if engine != "spark" and (master is not None or conf):
        raise typer.BadParameter("applies only with --engine spark", param_hint="--master or --spark-conf")


class UnconfirmedError(OperatorError):
    """Facts would go, and nobody said that they may."""


def confirmed(yes: bool, dry_run: bool) -> bool:
    """Return whether to remove what the command has just listed; on a terminal the user is asked.

    Raises
    ------
    UnconfirmedError
        If there is neither --yes nor --dry-run, and no terminal.
    typer.Abort
        If the user leaves the question with Ctrl-C.
    """
    if dry_run:
        typer.echo("nothing was changed: --dry-run")
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UnconfirmedError("nothing was changed; give --yes to do it, or --dry-run to see only what would be done")
    return typer.confirm("Do it?", err=True)
