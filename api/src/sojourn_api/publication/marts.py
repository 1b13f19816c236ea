"""The Parquet files of a publication: those of the snapshot byte for byte, or the rows of some studies."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from sojourn_api.catalogue import Dataset, identifier
from sojourn_api.publication.declaration import DATA, Choice, PublishedDataset, PublishedFile
from sojourn_api.publication.errors import PublicationError
from sojourn_api.suggestions import did_you_mean
from sojourn_process.parquet_sql import parquet_rows
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import FILES, MartFile, mart_paths, read_files, sha256_of

ROW_GROUP_ROWS = 122_880
STUDY = "study_id"
#: Datasets of models and thresholds: they say nothing of a study, and rows of every study refer to them.
REFERENCE = ("quality_model", "quality_model_parameter", "quality_class")
_NOT_OF_A_STUDY = "no row of it belongs to a study"


@dataclass(frozen=True)
class Chosen:
    """The datasets to publish, and those that are left out with the reason."""

    datasets: tuple[Dataset, ...]
    left_out: dict[str, str]


def literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def choose(datasets: Sequence[Dataset], choice: Choice) -> Chosen:
    """Return which datasets are published.

    With a choice of studies these are the datasets with a ``study_id``, and the models and classes that they refer
    to: rows of connections, captures and outcomes belong to no study, so nobody can tell whose they are.

    Raises
    ------
    PublicationError
        If a name is not of a dataset, or a dataset that was named has no rows of a study.
    """
    names = {dataset.name for dataset in datasets}
    for name in choice.datasets or ():
        if name not in names:
            raise PublicationError(f"--datasets: {name!r} is not a dataset of this build{_instead(name, names)}")
    chosen, left_out = [], {}
    for dataset in datasets:
        if choice.datasets is not None and dataset.name not in choice.datasets:
            left_out[dataset.name] = "not among the chosen datasets"
        elif choice.studies is not None and not _of_studies(dataset):
            if choice.datasets is not None:
                raise PublicationError(
                    f"--datasets {dataset.name} cannot be combined with --studies: {_NOT_OF_A_STUDY}"
                )
            left_out[dataset.name] = _NOT_OF_A_STUDY
        else:
            chosen.append(dataset)
    return Chosen(tuple(chosen), left_out)


def _of_studies(dataset: Dataset) -> bool:
    return STUDY in dataset.by_name or dataset.name in REFERENCE


def _instead(name: str, names: set[str]) -> str:
    listed = sorted(names)
    return did_you_mean(name, names) or f"; expected {', '.join(listed[:8])}" + (", …" if len(listed) > 8 else "")


def sources(snapshot: Path, dataset: Dataset) -> list[Path]:
    """Return the files of a dataset in a snapshot.

    Raises
    ------
    PublicationError
        If one is missing.
    """
    try:
        paths = mart_paths(snapshot, dataset.name)
    except DamagedSnapshotError as error:
        raise PublicationError(f"build {snapshot.name}: {error}") from error
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise PublicationError(f"{missing} is missing; run `sojourn build --force`")
    return paths


def known_files(snapshot: Path) -> dict[str, MartFile]:
    """Return the files that a snapshot lists; none where it has no list, as those of older versions."""
    if not (snapshot / FILES).exists():
        return {}
    try:
        return read_files(snapshot)
    except DamagedSnapshotError as error:
        raise PublicationError(f"build {snapshot.name}: {error}") from error


def selection_sql(paths: Sequence[Path], studies: Sequence[str]) -> str:
    """Return the statement that selects the rows of some studies, in the order of the files."""
    wanted = ", ".join(literal(study) for study in studies)
    return f"select * from {parquet_rows(paths)} where {identifier(STUDY)} in ({wanted})"


class MartCopies:
    """Puts the files of datasets below a folder, or only measures them where there is none."""

    def __init__(self, snapshot: Path, choice: Choice, folder: Path | None) -> None:
        self._snapshot = snapshot
        self._studies = choice.studies
        self._folder = folder
        self._known = known_files(snapshot)

    def published(self, dataset: Dataset) -> PublishedDataset:
        """Return a dataset with its files, which are then in the folder.

        Without a folder the rows are counted, and the length of a file of which only some rows are published is that
        of the whole.

        Raises
        ------
        PublicationError
            If the snapshot is not as it says.
        """
        paths = sources(self._snapshot, dataset)
        if self._studies is None or dataset.name in REFERENCE:
            files = tuple(self._copied(path) for path in paths)
            return PublishedDataset(dataset, files)
        file = self._selected(dataset, paths, self._studies)
        return PublishedDataset(dataset.model_copy(update={"rows": file.rows}), (file,))

    def _copied(self, path: Path) -> PublishedFile:
        name = path.relative_to(self._snapshot).as_posix()
        earlier = self._known.get(name)
        digest = sha256_of(path) if self._folder is not None or earlier is None else earlier.sha256
        if earlier is not None and (path.stat().st_size, digest) != (earlier.bytes, earlier.sha256):
            raise PublicationError(f"{path} differs from files.json; run `sojourn build --force`")
        if self._folder is not None:
            target = self._folder / DATA / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # Not a hard link: whoever changes a file of the publication must not change the build that is served.
            shutil.copyfile(path, target)
        rows = pq.read_metadata(path).num_rows
        return PublishedFile(f"{DATA}/{name}", rows, path.stat().st_size, digest)

    def _selected(self, dataset: Dataset, paths: Sequence[Path], studies: Sequence[str]) -> PublishedFile:
        name = f"{DATA}/{dataset.name}.parquet"
        statement = selection_sql(paths, studies)
        with duckdb.connect(config={"threads": 1}) as connection:
            if self._folder is None:
                (rows,) = connection.execute(f"select count(*) from ({statement})").fetchall()[0]
                return PublishedFile(name, rows, sum(path.stat().st_size for path in paths), "")
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            order = ", ".join(f"{identifier(column)} nulls first" for column in dataset.key)
            reader = connection.sql(f"{statement} order by {order}").to_arrow_reader(ROW_GROUP_ROWS)
            rows = 0
            with pq.ParquetWriter(target, reader.schema, compression="zstd") as writer:
                for batch in reader:
                    rows += batch.num_rows
                    writer.write_batch(batch, row_group_size=ROW_GROUP_ROWS)
        return PublishedFile(name, rows, target.stat().st_size, sha256_of(target))
