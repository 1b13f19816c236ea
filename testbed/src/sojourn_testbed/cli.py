"""``sojourn testbed``: from a plan to repeated, recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.yaml", help="The plan.", exists=True, dir_okay=False)]
Repetitions = Annotated[
    int | None, typer.Option(min=1, help="Repetitions of each cell, instead of the number in the plan.")
]
Image = Annotated[
    Path | None, typer.Option(help="Folder of the guest's image.  [default: ~/.cache/sojourn/testbed-image]")
]


def register(app: typer.Typer) -> None:
    """Add ``testbed`` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Compare queues by repeated runs over real Linux queue disciplines.")
    group.command("run", short_help="Run a plan, or continue it.")(run)
    group.command("plan", short_help="Show what a plan would run.")(show)
    group.command("status", short_help="Show the progress of a study.")(status)
    app.add_typer(group, name="testbed", short_help="Compare queues by repeated runs.")


def show(plan_file: PlanFile, repetitions: Repetitions = None, image: Image = None) -> None:
    """Show what a plan would run, in which order, how long it takes, and how much disk space it needs.

    Nothing is run and nothing is written.

    For example:

      sojourn testbed plan cake.yaml --repetitions 7
    """
    from sojourn_testbed.commands import show_plan

    show_plan(plan_file, repetitions, image)


def run(
    plan_file: PlanFile,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.  [default: the plan's study]")] = None,
    backend: Annotated[
        Literal["qemu", "netns"],
        typer.Option(help="qemu: in a guest with a virtual clock, no root needed; netns: on this machine, as root."),
    ] = "qemu",
    repetitions: Repetitions = None,
    image: Image = None,
    compression: Annotated[
        Literal["gzip", "xz", "none"], typer.Option(help="Compression of captures and logs.")
    ] = "gzip",
    guests: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Number of guests in parallel (qemu); each needs one core and 2.5 GiB of memory."
        ),
    ] = 1,
) -> None:
    """Run a plan: each cell is repeated, in random order within blocks, checked, and kept for `sojourn ingest`.

    After a kill, the same command continues. A run whose captures, queue log and counters disagree is tried again. If
    they still disagree, it is kept but excluded from aggregates, with the reason.

    For example:

      sojourn testbed plan cake.yaml

      sojourn testbed run cake.yaml --out cake && make run DATA=$PWD/cake
    """
    from sojourn_testbed.commands import run_plan

    run_plan(plan_file, out, backend, repetitions, image, compression, guests)


def status(
    folder: Annotated[Path, typer.Argument(help="Folder of the results.", exists=True, file_okay=False)],
) -> None:
    """Show the progress of a study, and which runs failed and why.

    For example:

      sojourn testbed status cake
    """
    from sojourn_testbed.commands import show_status

    show_status(folder)
