"""What ``sojourn publish`` and ``sojourn verify`` do with their options, and what they say."""

from __future__ import annotations

import csv
import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

import typer

from sojourn_api.publication.declaration import Choice, Publication
from sojourn_api.publication.errors import PublicationError
from sojourn_api.publication.permalinks import Answer
from sojourn_api.publication.rebuilding import rebuild
from sojourn_api.publication.verifying import (
    OpenedPublication,
    answer_of_snapshot,
    check,
    differing_files,
    differing_rows,
    recompute,
)
from sojourn_api.publication.writing import Order, check_target, declare, publish
from sojourn_process.own_folder import own_folder
from sojourn_process.printable import printable

SHOWN = 12


def _fail(message: str) -> NoReturn:
    typer.echo(f"error: {printable(message)}", err=True)
    raise typer.Exit(1)


def run_publish(
    out: Path,
    snapshots: Path,
    datasets: tuple[str, ...] | None,
    studies: tuple[str, ...] | None,
    texts: dict[str, Any],
    dry_run: bool,
) -> None:
    """Publish, or with ``dry_run`` say what would be published.

    Raises
    ------
    typer.Exit
        With status 1 if it cannot be published.
    """
    order = Order(snapshots, Choice(datasets, studies), **texts)
    target = out.expanduser().absolute()
    try:
        if dry_run:
            check_target(target)
            _tell(declare(order, None), target, "would write")
            return
        publication = publish(order, target, lambda step: typer.echo(printable(step), err=True))
    except PublicationError as error:
        _fail(str(error))
    _tell(publication, target, "wrote")


def _tell(publication: Publication, out: Path, verb: str) -> None:
    bound = " at most" if publication.choice.studies is not None and verb != "wrote" else ""
    for one in publication.datasets:
        typer.echo(f"{one.dataset.rows:>12,} rows {one.bytes:>14,} bytes{bound}  {one.name}")
    for name, reason in publication.left_out.items():
        typer.echo(f"left out: {name}: {reason}")
    for study in publication.studies:
        typer.echo(printable(f"study {study.study_id}: licence {study.licence or 'not stated'}"))
    paths = sorted(one.path for one in publication.inputs if one.path)
    if paths:
        typer.echo(f"published paths of inputs: {len(paths):,}, such as {printable(paths[0])}")
    typer.echo(
        f"{verb} build {publication.build_id} to {printable(out)}: {len(publication.datasets)} datasets, "
        f"{publication.rows:,} rows, {publication.bytes:,} bytes of Parquet{bound}, and documents"
    )


def run_verify(out: Path, permalink: str | None, inputs: Path | None, var: Path | None, ingest_options: str) -> None:
    """Check a publication, one of its figures, or either of them against its inputs.

    Raises
    ------
    typer.Exit
        With status 1 if anything differs or cannot be checked.
    """
    try:
        if permalink is None:
            _check(out)
        elif inputs is None:
            _, answer = recompute(out, permalink)
            _print_rows(answer)
        if inputs is not None:
            if var is not None:
                _compare(out, permalink, inputs, var, ingest_options)
            else:
                with own_folder("sojourn-verify-") as folder:
                    _compare(out, permalink, inputs, folder / "var", ingest_options)
    except PublicationError as error:
        _fail(str(error))


def _check(out: Path) -> None:
    checked = check(out)
    for fault in checked.faults[:SHOWN]:
        typer.echo(printable(fault))
    if checked.faults:
        _fail(
            f"{out} differs in {len(checked.faults):,} places from what was published; fetch the folder "
            "again, or publish again"
        )
    of_build = (
        "the documents give its id"
        if checked.build_id_checked
        else "they are a selection of the build, so its id is not checked"
    )
    typer.echo(
        f"build {checked.build_id}: all documents and Parquet files ({checked.files:,}) are as published; {of_build}; "
        f"figures that follow from the data: {checked.figures:,}"
    )


def _compare(out: Path, permalink: str | None, inputs: Path, var: Path, ingest_options: str) -> None:
    if (var / "lake").exists():
        raise PublicationError(f"{var} has a lake already; give a new folder with --rebuild-in")
    published = None if permalink is None else recompute(out, permalink)
    snapshot = rebuild(out, inputs, var, shlex.split(ingest_options))
    if published is not None:
        link, answer = published
        again = answer_of_snapshot(snapshot, link)
        lines = differing_rows(answer, again)
        for line in lines[:SHOWN]:
            typer.echo(printable(line))
        if lines:
            _fail(f"{link}: the inputs give values that differ from the published ones")
        _print_rows(again)
        typer.echo(
            f"the inputs reproduce what was published, in {len(again.rows):,} row{'' if len(again.rows) == 1 else 's'}",
            err=True,
        )
        return
    build_id = OpenedPublication.read(out).build_id
    differing = differing_files(out, snapshot)
    for name in differing[:SHOWN]:
        typer.echo(f"other bytes: {printable(name)}")
    if differing:
        _fail(f"files that differ: {len(differing):,}; equal bytes need the same versions, ingest options and key")
    same = "the same build" if snapshot.name == build_id else f"build {snapshot.name}, whose other files differ"
    typer.echo(f"the inputs reproduce every published file byte for byte: {same}")


def _print_rows(answer: Answer) -> None:
    """Write the rows as CSV, with the units in the names of the columns."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([f"{column.name} [{column.unit}]" if column.unit else column.name for column in answer.columns])
    writer.writerows([row[column.name] for column in answer.columns] for row in answer.rows)
