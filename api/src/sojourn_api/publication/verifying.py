"""Checks a publication: its checksums, its build id, its figures; and recomputes what a permalink names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_api.catalogue import Catalogue
from sojourn_api.publication.checksums import faults
from sojourn_api.publication.declaration import DATA, FORMAT, MARK, below
from sojourn_api.publication.errors import PublicationError
from sojourn_api.publication.figures import FIGURES
from sojourn_api.publication.permalinks import Answer, Permalink, Rows, parse_permalink
from sojourn_snapshot import verification
from sojourn_snapshot.catalogue import CATALOGUE, read_catalogue
from sojourn_snapshot.documents import BUILD, read_bytes
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import mart_paths, read_files


@dataclass(frozen=True)
class Checked:
    """What a check of a publication found: faults, one line each, and what was looked at."""

    build_id: str
    files: int
    build_id_checked: bool
    figures: int
    faults: tuple[str, ...]


@dataclass(frozen=True)
class OpenedPublication:
    """The documents of a publication that a check needs."""

    folder: Path
    mark: dict[str, Any]
    catalogue: Catalogue

    @classmethod
    def read(cls, folder: Path) -> OpenedPublication:
        """Return the publication in a folder.

        Raises
        ------
        PublicationError
            If the folder is not one.
        """
        mark = _document(folder, MARK)
        if not isinstance(mark, dict) or mark.get("format") != FORMAT:
            raise PublicationError(f"{folder / MARK} is not of a publication; expected a folder of `sojourn publish`")
        try:
            return cls(folder, mark, read_catalogue(folder, Catalogue))
        except DamagedSnapshotError as error:
            raise PublicationError(str(error)) from error

    @property
    def build_id(self) -> str:
        """The build that was published."""
        return str(self.mark["build_id"])

    def rows(self) -> Rows:
        """Return what answers permalinks from the files of the folder.

        Raises
        ------
        PublicationError
            If a file is missing.
        """
        try:
            files = {one.name: mart_paths_of(self.folder, one.name) for one in self.catalogue.datasets}
        except DamagedSnapshotError as error:
            raise PublicationError(str(error)) from error
        missing = next((path for paths in files.values() for path in paths if not path.is_file()), None)
        if missing is not None:
            raise PublicationError(f"{missing} is missing; fetch the folder again")
        return Rows(self.build_id, self.catalogue, {}, files)


def mart_paths_of(folder: Path, name: str) -> list[Path]:
    """Return the files of a dataset of a publication, in the order of its rows."""
    listed = sorted(file for file in read_files(folder) if file.partition("/")[0] == f"{name}.parquet")
    return [below(folder, f"{DATA}/{file}") for file in listed]


def _document(folder: Path, name: str) -> Any:
    try:
        return json.loads(read_bytes(folder / name))
    except (DamagedSnapshotError, ValueError, RecursionError) as error:
        raise PublicationError(
            f"{folder / name} cannot be read; expected a folder that `sojourn publish` wrote"
        ) from error


def check(folder: Path) -> Checked:
    """Check the checksums, the build id where the whole build was published, and every figure of the index page.

    Raises
    ------
    PublicationError
        If the folder is not a publication.
    """
    opened = OpenedPublication.read(folder)
    wrong = faults(folder)
    if wrong:
        # Documents with other bytes than were published say nothing that is worth a further check.
        return Checked(opened.build_id, 0, False, 0, tuple(wrong))
    files = len(read_files(folder))
    whole = bool(opened.mark.get("whole"))
    if whole and build_id_of(folder) != opened.build_id:
        wrong.append(f"build.json, catalog.json and the files give build {build_id_of(folder)}, not {opened.build_id}")
    figures = _document(folder, FIGURES)
    with opened.rows() as rows:
        for figure in figures:
            answer = rows.answer(parse_permalink(figure["permalink"]))
            stated = figure["rows"]
            if not all(row in answer.rows for row in stated):
                wrong.append(
                    f"{figure['title']}: the data give values that differ from {FIGURES}: {figure['permalink']}"
                )
    return Checked(opened.build_id, files, whole, len(figures), tuple(wrong))


def build_id_of(folder: Path) -> str:
    """Return the build id that follows from the documents of a whole build."""
    build = {name: value for name, value in _document(folder, BUILD).items() if name != "build_id"}
    return verification.build_id_of(build, (folder / CATALOGUE).read_bytes(), read_files(folder).values())


def recompute(folder: Path, text: str) -> tuple[Permalink, Answer]:
    """Return a permalink with the rows that the published files give.

    Raises
    ------
    PublicationError
        If it is of another build, or cannot be computed.
    """
    opened = OpenedPublication.read(folder)
    permalink = parse_permalink(text)
    if permalink.build_id not in (None, opened.build_id):
        raise PublicationError(
            f"{permalink} belongs to build {permalink.build_id}, but this publication to {opened.build_id}"
        )
    with opened.rows() as rows:
        return Permalink(opened.build_id, permalink.dataset, permalink.query), rows.answer(permalink)


def answer_of_snapshot(snapshot: Path, permalink: Permalink) -> Answer:
    """Return the rows that another build gives for the query of a permalink.

    Raises
    ------
    PublicationError
        If it cannot be computed.
    """
    try:
        catalogue = read_catalogue(snapshot, Catalogue)
        files = {one.name: mart_paths(snapshot, one.name) for one in catalogue.datasets}
    except DamagedSnapshotError as error:
        raise PublicationError(str(error)) from error
    with Rows(snapshot.name, catalogue, {}, files) as rows:
        return rows.answer(permalink)


def differing_files(folder: Path, snapshot: Path) -> list[str]:
    """Return the published files that a build has not, or has with other bytes."""
    ours, theirs = read_files(folder), read_files(snapshot)
    return sorted(name for name in ours if name not in theirs or theirs[name].sha256 != ours[name].sha256)


def differing_rows(published: Answer, rebuilt: Answer) -> Sequence[str]:
    """Return how two answers differ, one line for each row that only one of them has."""
    lines = [f"only published: {row}" for row in published.rows if row not in rebuilt.rows]
    return [*lines, *(f"only rebuilt: {row}" for row in rebuilt.rows if row not in published.rows)]
