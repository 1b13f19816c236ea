"""Writes a publication: everything beside its place, which then takes the place of an older publication as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sojourn_api.catalogue import Catalogue, Dataset
from sojourn_api.publication.checksums import CHECKSUMS, files_in, read_checksums, write_checksums
from sojourn_api.publication.citation import CITATION, LICENCES, citation_file, licences_page
from sojourn_api.publication.crate import CRATE, crate
from sojourn_api.publication.database import write_database, write_views
from sojourn_api.publication.declaration import (
    DATA,
    FORMAT,
    FORMAT_VERSION,
    MARK,
    Choice,
    Input,
    Publication,
    PublishedDataset,
    Study,
)
from sojourn_api.publication.errors import PublicationError
from sojourn_api.publication.figures import FIGURES, drawn_figures
from sojourn_api.publication.marts import MartCopies, choose, sources
from sojourn_api.publication.page import INDEX, index_page
from sojourn_api.publication.permalinks import Rows
from sojourn_api.publication.staging import end_killed_publications, staging_folder, take_place
from sojourn_snapshot.catalogue import read_catalogue, write_catalogue
from sojourn_snapshot.documents import BUILD, read_build, write_document
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import MartFile, write_files
from sojourn_snapshot.pointer import Pointer, read_pointer

OUTCOMES = "ingest_outcome"
_STUDY_TEXTS = ("title", "description", "citation", "licence", "url", "synthetic")
_DERIVED_FORMATS = ("capture_pair",)


@dataclass(frozen=True)
class Order:
    """What `sojourn publish` was asked for; texts that are None follow from the build."""

    snapshots: Path
    choice: Choice
    title: str | None
    authors: tuple[str, ...]
    date: str | None
    url: str | None


def published_snapshot(snapshots: Path) -> tuple[Path, Pointer]:
    """Return the snapshot that is served, and what CURRENT says of it.

    Raises
    ------
    PublicationError
        If there is none.
    """
    try:
        pointer = read_pointer(snapshots)
    except DamagedSnapshotError as error:
        raise PublicationError(str(error)) from error
    if pointer is None:
        raise PublicationError(f"no build published under {snapshots}: run `sojourn build`")
    return snapshots / pointer.build_id, pointer


def declare(order: Order, folder: Path | None) -> Publication:
    """Return what is published, with its Parquet files in the folder; without a folder they are only measured.

    Raises
    ------
    PublicationError
        If the snapshot is damaged, or a dataset or study that was named is not in it.
    """
    snapshot, pointer = published_snapshot(order.snapshots)
    try:
        catalogue, build = read_catalogue(snapshot, Catalogue), read_build(snapshot)
    except DamagedSnapshotError as error:
        raise PublicationError(str(error)) from error
    studies = _studies(snapshot, catalogue, order.choice)
    chosen = choose(catalogue.datasets, order.choice)
    copies = MartCopies(snapshot, order.choice, folder)
    datasets = tuple(copies.published(dataset) for dataset in chosen.datasets)
    whole_outcomes = order.choice.studies is None and any(one.name == OUTCOMES for one in datasets)
    inputs = _inputs_of_outcomes(snapshot, catalogue) if whole_outcomes else _inputs_of_build(build)
    title = order.title or _title(studies, pointer.build_id)
    return Publication(
        build_id=pointer.build_id,
        build=build,
        title=title,
        description=_description(studies, chosen.datasets, build, order.choice),
        authors=order.authors or (f"The authors of {', '.join(study.name for study in studies) or title}",),
        date=order.date or date.fromisoformat(pointer.published_at[:10]).isoformat(),
        url=order.url,
        choice=order.choice,
        datasets=datasets,
        studies=studies,
        inputs=inputs,
        software=dict(build.get("software", {})),
        left_out=chosen.left_out,
    )


def _studies(snapshot: Path, catalogue: Catalogue, choice: Choice) -> tuple[Study, ...]:
    datasets = {dataset.name: dataset for dataset in catalogue.datasets}
    rows: list[dict[str, Any]] = []
    if "study" in datasets:
        rows = [row for path in sources(snapshot, datasets["study"]) for row in pq.read_table(path).to_pylist()]
    studies = {row["study_id"]: Study(row["study_id"], *map(row.get, _STUDY_TEXTS)) for row in rows}
    missing = next((name for name in choice.studies or () if name not in studies), None)
    if missing is not None:
        raise PublicationError(
            f"--studies: {missing!r} is not a study of this build; expected {', '.join(sorted(studies))}"
        )
    wanted = sorted(studies) if choice.studies is None else choice.studies
    return tuple(studies[study_id] for study_id in wanted)


def _title(studies: Sequence[Study], build_id: str) -> str:
    names = [study.name for study in studies]
    if not names:
        return f"Measurements of queuing delay, build {build_id}"
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more studies"


def _description(
    studies: Sequence[Study], datasets: Sequence[Dataset], build: Mapping[str, Any], choice: Choice
) -> str:
    version = build.get("sojourn_version")
    text = "Marts of queuing delay, flow-rate equality, harm and quality of experience, built by Sojourn"
    text += f" {version}." if version else "."
    if studies:
        text += f" Studies: {'; '.join(study.name for study in studies)}."
    if any("synthetic" in dataset.by_name for dataset in datasets):
        text += " Rows whose column synthetic is true were generated, not measured."
    return text if choice.whole else f"{text} This is a choice of the build's datasets or studies."


def _inputs_of_build(build: Mapping[str, Any]) -> tuple[Input, ...]:
    inputs = {
        Input(one.get("content_hash"), one.get("format"), one.get("status"), one.get("decoder_version"))
        for one in build.get("inputs", [])
    }
    return tuple(sorted(inputs, key=lambda one: (one.content_hash or "", one.format or "", one.decoder_version or "")))


def _inputs_of_outcomes(snapshot: Path, catalogue: Catalogue) -> tuple[Input, ...]:
    dataset = catalogue.dataset(OUTCOMES)
    rows = [row for path in sources(snapshot, dataset) for row in pq.read_table(path).to_pylist()]
    recordings = {row.get("part_of") for row in rows}
    return tuple(
        Input(
            content_hash=row["content_hash"] or None,
            format=row.get("format"),
            status=row.get("status"),
            decoder_version=row.get("decoder_version"),
            path=row["source_path"],
            size_bytes=row.get("size_bytes"),
            modified_ns=row.get("modified_ns"),
            part_of=row.get("part_of"),
            duplicate_of=row.get("duplicate_of"),
            derived=row["source_path"] in recordings or row.get("format") in _DERIVED_FORMATS,
        )
        for row in sorted(rows, key=lambda row: (row["source_path"], row["content_hash"] or ""))
    )


def check_target(out: Path) -> None:
    """Refuse to write where something else than an older publication is.

    Raises
    ------
    PublicationError
        If the path is a file, a folder with other content, or a publication to which files were added.
    """
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise PublicationError(f"{out} is not a folder; give a new folder, or an older publication")
    if not any(out.iterdir()):
        return
    try:
        mark = json.loads((out / MARK).read_bytes())
    except (OSError, ValueError) as error:
        raise PublicationError(f"{out} is not an older publication; give a new folder") from error
    if not isinstance(mark, dict) or mark.get("format") != FORMAT:
        raise PublicationError(f"{out} is not an older publication; give a new folder")
    extra = sorted(set(files_in(out)) - set(read_checksums(out)) - {CHECKSUMS})
    if extra:
        raise PublicationError(f"{out} has {extra[0]}, which was not published; move it away, or give a new folder")


def publish(order: Order, out: Path, on_step: Callable[[str], None]) -> Publication:
    """Write a publication to a folder that is new, empty or an older publication; return what was published.

    The older one stays until the new one is complete. The same build and options give the same bytes.
    Removes temporary folders that killed publications left in the parent folder first.

    Raises
    ------
    PublicationError
        If the build cannot be published, or something else is in the folder.
    """
    end_killed_publications(out)
    check_target(out)
    # What cannot be published is refused before a folder is made or a step is announced.
    declare(order, None)
    out.parent.mkdir(parents=True, exist_ok=True)
    with staging_folder(out) as staging:
        on_step("copying Parquet files")
        publication = declare(order, staging)
        on_step("writing views and documents")
        _write_documents(staging, publication)
        on_step("computing figures")
        write_figures(staging, publication)
        on_step("computing checksums")
        write_checksums(staging)
        take_place(staging, out)
    return publication


def _write_documents(folder: Path, publication: Publication) -> None:
    write_catalogue(folder, Catalogue(datasets=tuple(one.dataset for one in publication.datasets)))
    write_files(folder, [_mart_file(file, one) for one in publication.datasets for file in one.files])
    if publication.choice.whole:
        write_document(folder / BUILD, dict(publication.build))
    write_document(folder / MARK, _mark(publication))
    write_document(folder / CRATE, crate(publication))
    (folder / CITATION).write_text(citation_file(publication), encoding="utf-8")
    (folder / LICENCES).write_text(licences_page(publication), encoding="utf-8")
    write_views(folder, publication)
    write_database(folder, publication)


def _mart_file(file: Any, dataset: PublishedDataset) -> MartFile:
    return MartFile(file.path.removeprefix(f"{DATA}/"), file.rows, file.bytes, file.sha256, None)


def _mark(publication: Publication) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "build_id": publication.build_id,
        "sojourn_version": publication.sojourn_version,
        "title": publication.title,
        "authors": list(publication.authors),
        "date": publication.date,
        "url": publication.url,
        "whole": publication.choice.whole,
        "studies": [study.study_id for study in publication.studies],
        "chosen_studies": None if publication.choice.studies is None else list(publication.choice.studies),
        "datasets": [one.name for one in publication.datasets],
        "left_out": dict(publication.left_out),
    }


def write_figures(folder: Path, publication: Publication) -> None:
    """Compute the figures from the published files, and write figures.json and the index page."""
    catalogue = Catalogue(datasets=tuple(one.dataset for one in publication.datasets))
    files = {one.name: [folder / file.path for file in one.files] for one in publication.datasets}
    with Rows(publication.build_id, catalogue, publication.build, files) as rows:
        figures = drawn_figures(publication, rows)
    write_document(folder / FIGURES, [figure.document() for figure in figures])
    (folder / INDEX).write_text(index_page(publication, figures), encoding="utf-8")
