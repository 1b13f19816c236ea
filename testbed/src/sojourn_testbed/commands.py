"""What the commands of ``sojourn testbed`` do with their options."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sojourn_process.printable import counted, markup, printable
from sojourn_testbed.backend.backend import BackendError
from sojourn_testbed.backend.netns import NetnsBackend
from sojourn_testbed.backend.qemu import QemuBackend
from sojourn_testbed.cells import Cell, blocks, cells
from sojourn_testbed.execution import RECORD, execute
from sojourn_testbed.execution import Progress as Step
from sojourn_testbed.ledger import Ledger
from sojourn_testbed.plan import Plan, PlanError, load_plan
from sojourn_testbed.run_folder import Compression
from sojourn_testbed.size import COMPRESSED_SHARE, expected_raw_bytes


def _image(path: Path | None) -> Path:
    named = os.environ.get("SOJOURN_TESTBED_IMAGE")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return path or (Path(named) if named else cache / "sojourn" / "testbed-image")


def _loaded(path: Path) -> Plan:
    try:
        return load_plan(path)
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="PLAN.yaml") from error


def show_plan(plan_file: Path, repetitions: int | None, image: Path | None) -> None:
    """Print the runs of a plan in their order, with the time and space that they take."""
    plan = _loaded(plan_file)
    ordered = blocks(plan, repetitions)
    varied, same = _columns(cells(plan))
    table = Table(*varied, "name of the cell", box=None)
    for cell, *shown in zip(cells(plan), *varied.values(), strict=True):
        table.add_row(*map(markup, (*shown, cell.label)))
    console = Console()
    console.print(table)
    if same:
        console.print(markup(f"in every cell: {'; '.join(f'{name}: {value}' for name, value in same.items())}"))
    runs = sum(map(len, ordered))
    estimate = QemuBackend(_image(image)).estimate(plan, ordered)
    seconds = plan.timing.end_s + plan.timing.drain_s
    compressed = sum(expected_raw_bytes(plan, run) for block in ordered for run in block) * COMPRESSED_SHARE
    console.print(
        f"{counted(runs, 'run')} in {counted(len(ordered), 'block')} of {len(ordered[0])}, each of {seconds:g} s; "
        f"about {_duration(estimate.seconds)} ({estimate.basis}) and {compressed / 1e6:,.0f} MB"
    )


def _columns(crossed: Sequence[Cell]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return what differs between cells, a value a cell, and what is the same in all of them."""
    columns: dict[str, list[str]] = {
        "direction": [str(cell.direction) for cell in crossed],
        "rate (Mbit/s)": [f"{cell.rate_mbps:g}" for cell in crossed],
        "RTT (ms)": [f"{cell.rtt_ms:g}" for cell in crossed],
        "queue": [cell.queue.label for cell in crossed],
        "against": [_against(cell) for cell in crossed],
        "application": [cell.application or "-" for cell in crossed],
        "first": [cell.start_order for cell in crossed],
        "ECN": [cell.ecn for cell in crossed],
        "programme": [cell.programme or "-" for cell in crossed],
    }
    varied = {name: values for name, values in columns.items() if len(set(values)) > 1}
    return varied, {name: values[0] for name, values in columns.items() if name not in varied and values[0] != "-"}


def _against(cell: Cell) -> str:
    if cell.has_background:
        return f"{cell.workload} {cell.congested}"
    return cell.rival or cell.congestion_control or "-"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def run_plan(
    plan_file: Path,
    out: Path | None,
    backend: Literal["qemu", "netns"],
    repetitions: int | None,
    image: Path | None,
    compression: Compression,
    guests: int,
) -> None:
    """Carry out a plan, or go on with it.

    Raises
    ------
    typer.BadParameter
        If the plan has no sense.
    typer.Exit
        With status 1 if the guest or the machine cannot carry it out.
    """
    plan = _loaded(plan_file)
    folder = (out or Path(plan.study)).resolve()
    if guests > 1 and backend == "netns":
        raise typer.BadParameter(
            "only one run at a time is possible in the namespaces of one machine", param_hint="--guests"
        )
    chosen = QemuBackend(_image(image)) if backend == "qemu" else NetnsBackend(_image(image))
    try:
        chosen.check(plan)
        with _progress_bar() as bar:
            total = sum(map(len, blocks(plan, repetitions)))
            task = bar.add_task("runs", total=total, completed=len(Ledger(folder).kept()))

            def tell(step: Step) -> None:
                bar.update(task, completed=step.done)
                if step.complaints:
                    bar.console.print(markup(f"{step.run_id}: {'; '.join(step.complaints)}"))

            made_with = dict(chosen.versions())
            execute(plan, repetitions or plan.repetitions, chosen, folder, tell, compression, made_with, guests)
    except (BackendError, PlanError) as error:
        typer.echo(f"error: {printable(error)}", err=True)
        raise typer.Exit(1) from error
    typer.echo(printable(f"results in {folder}; next: sojourn ingest {folder} && sojourn build"))


def _progress_bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))


def show_status(folder: Path) -> None:
    """Print how many runs are kept, and why attempts failed."""
    if not (folder / RECORD).is_file():
        raise typer.BadParameter(f"{folder} holds no study of the testbed", param_hint="FOLDER")
    ledger = Ledger(folder)
    attempts = ledger.attempts()
    failed = sum(one.status == "failed" for one in attempts)
    typer.echo(f"{counted(len(ledger.kept()), 'run')} kept, {counted(failed, 'attempt')} failed")
    for one in attempts:
        if one.complaints:
            typer.echo(printable(f"{one.status} {one.run_id}: {'; '.join(one.complaints)}"))
