"""``sojourn publish`` and ``sojourn verify``: this module has only what their help needs."""

from __future__ import annotations

import os
import re
from datetime import date as day
from pathlib import Path
from typing import Annotated

import typer

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def register(app: typer.Typer) -> None:
    """Add ``publish`` and ``verify`` to the command line."""
    app.command("publish", short_help="Write the build as a folder that any static host serves.")(publish)
    app.command("verify", short_help="Check a publication, and compute its figures again.")(verify)


def _names(text: str | None, option: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(names):
        raise typer.BadParameter("an empty name in the comma-separated list", param_hint=option)
    return names


def _is_date(text: str) -> bool:
    try:
        day.fromisoformat(text)
    except ValueError:
        return False
    # Python reads other forms of a date too.
    return _DATE.fullmatch(text) is not None


def publish(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write: new, or an earlier publication.")],
    var: Annotated[
        Path | None, typer.Option(help="Folder of all generated files. Default: $SOJOURN_VAR or ./var.")
    ] = None,
    studies: Annotated[
        str | None, typer.Option(metavar="ID,…", help="Only rows of these studies. Default: everything.")
    ] = None,
    datasets: Annotated[str | None, typer.Option(metavar="NAME,…", help="Only these datasets. Default: all.")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="URL at which the folder will be served, such as https://host/folder."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the data set. Default: that of its study.")] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="Author to cite; may be repeated. Default: the authors of its studies.")
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Date of publication. Default: that of the build.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, without doing it.")] = False,
) -> None:
    """Write the served build as a folder for a static host or object store.

    The folder has the marts as Parquet, sorted by their key and with statistics; views for reading them over HTTP with
    DuckDB (sojourn.duckdb); the catalogue; RO-Crate; CITATION.cff, the licence of each study, checksums, and an index
    page with figures. The same build and options give the same bytes.

    Rows are published as the API serves them, with pseudonyms and without suppressed cells. The dataset ingest_outcome
    has the paths of the inputs. To keep folder names of this machine out of them, ingest with --root, or leave out
    that dataset with --datasets.

    For example:

      sojourn publish site --url https://data.example.org/queues

      sojourn publish site --studies tma23-imvca --dry-run

      duckdb -c "ATTACH 'https://data.example.org/queues/sojourn.duckdb' AS s (READ_ONLY); FROM s.study"
    """
    if date is not None and not _is_date(date):
        raise typer.BadParameter(f"{date!r} is not a date; expected YYYY-MM-DD", param_hint="--date")
    if url is not None and not re.match(r"^https?://[^\s'\"]+$", url):
        raise typer.BadParameter(f"{url!r} is not a URL; expected https://host/folder", param_hint="--url")
    chosen_studies, chosen_datasets = _names(studies, "--studies"), _names(datasets, "--datasets")
    order_of = {
        "title": title,
        "authors": tuple(author or ()),
        "date": date,
        "url": None if url is None else url.rstrip("/"),
    }
    from sojourn_api.publication.reporting import run_publish

    run_publish(out, _snapshots(var), chosen_datasets, chosen_studies, order_of, dry_run)


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A publication.")],
    permalink: Annotated[
        str | None, typer.Argument(metavar="PERMALINK", help="A figure: BUILD/DATASET?QUERY, or its URL.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Folder that has the inputs, at any depth: rebuild from them.")
    ] = None,
    rebuild_in: Annotated[
        Path | None,
        typer.Option(metavar="VAR", help="New folder for the rebuild. Default: a temporary folder."),
    ] = None,
    ingest_options: Annotated[
        str, typer.Option(help="Options with which the inputs were ingested, such as '--server-names full'.")
    ] = "",
) -> None:
    """Check a publication, and compute its figures again.

    Without PERMALINK: every file has the bytes that were published, the documents of a whole build give its id, and
    every figure of the index page follows from the published data. With PERMALINK: print the rows that the data give.

    With --inputs, the build is repeated from the inputs that the RO-Crate lists, found by their content below the
    folder under any name, and compared: the figure, or every published file. The same bytes need the same versions and
    the same address key (SOJOURN_ADDRESS_KEY); figures without addresses need no key.

    For example:

      sojourn verify site

      sojourn verify site '0f3a5c7e9b1d2f46/run_harm?role=app&limit=5'

      sojourn verify site --inputs ~/captures
    """
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder}: no such folder", param_hint="FOLDER")
    if inputs is not None and not inputs.is_dir():
        raise typer.BadParameter(f"{inputs}: no such folder", param_hint="--inputs")
    if inputs is None and (rebuild_in is not None or ingest_options):
        raise typer.BadParameter("applies only with --inputs", param_hint="--rebuild-in or --ingest-options")
    from sojourn_api.publication.reporting import run_verify

    run_verify(folder, permalink, inputs, rebuild_in, ingest_options)


def _snapshots(var: Path | None) -> Path:
    named = os.environ.get("SOJOURN_SNAPSHOTS")
    if var is None and named:
        return Path(named).expanduser().resolve()
    return (var or Path(os.environ.get("SOJOURN_VAR") or "var")).expanduser().resolve() / "snapshots"
