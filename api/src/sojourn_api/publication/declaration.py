"""What is published: the one declaration from which every document of a publication is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sojourn_api.catalogue import Dataset

#: The name of the file that marks a folder as a publication, and of the format in it.
MARK = "publication.json"
FORMAT = "sojourn-publication"
FORMAT_VERSION = 1
DATA = "data"


@dataclass(frozen=True)
class PublishedFile:
    """A Parquet file: its path in the folder, its rows, its length and its SHA-256."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PublishedDataset:
    """A dataset as the catalogue describes it, with the files that hold its rows, in order."""

    dataset: Dataset
    files: tuple[PublishedFile, ...]

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.dataset.name

    @property
    def bytes(self) -> int:
        """Length of its files together."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Study:
    """A study whose rows are published; a text is None where its description does not say."""

    study_id: str
    title: str | None
    description: str | None
    citation: str | None
    licence: str | None
    url: str | None
    synthetic: bool | None

    @property
    def name(self) -> str:
        """Its title, or else its id."""
        return self.title or self.study_id


@dataclass(frozen=True)
class Input:
    """A source of the build by the SHA-256 of its plain content.

    Where the mart of outcomes is published, ``path``, ``modified_ns`` (UTC epoch) and the rest are as it has them;
    else only what `build.json` says without the path. ``part_of`` is the recording that a file is a part of,
    ``duplicate_of`` the path that holds the facts of the same content, and ``derived`` says that it is a reading of
    several files.
    """

    content_hash: str | None
    format: str | None
    status: str | None
    decoder_version: str | None = None
    path: str | None = None
    size_bytes: int | None = None
    modified_ns: int | None = None
    part_of: str | None = None
    duplicate_of: str | None = None
    derived: bool = False


@dataclass(frozen=True)
class Choice:
    """What of a build is published: names of datasets and studies, or None for all of them."""

    datasets: tuple[str, ...] | None = None
    studies: tuple[str, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether it is everything that the build serves."""
        return self.datasets is None and self.studies is None


@dataclass(frozen=True)
class Publication:
    """Everything that the documents of a publication say."""

    build_id: str
    build: Mapping[str, Any]
    title: str
    description: str
    authors: tuple[str, ...]
    date: str
    url: str | None
    choice: Choice
    datasets: tuple[PublishedDataset, ...]
    studies: tuple[Study, ...]
    inputs: tuple[Input, ...]
    software: Mapping[str, str]
    left_out: Mapping[str, str]

    @property
    def sojourn_version(self) -> str:
        """The version that made the build, or what is known of it."""
        return str(self.build.get("sojourn_version", "unknown"))

    @property
    def licences(self) -> tuple[str, ...]:
        """The licences of its studies, each once; empty where none is stated."""
        return tuple(sorted({study.licence for study in self.studies if study.licence}))

    @property
    def bytes(self) -> int:
        """Length of the Parquet files together."""
        return sum(dataset.bytes for dataset in self.datasets)

    @property
    def rows(self) -> int:
        """Rows of all datasets together."""
        return sum(dataset.dataset.rows for dataset in self.datasets)

    def address_of(self, path: str) -> str:
        """Return where a file of the folder will be: below the URL if one is known, else the path in the folder."""
        return path if self.url is None else f"{self.url}/{quote(path)}"


def below(folder: Path, path: str) -> Path:
    """Return the file of the folder that a path of one of its documents names.

    Raises
    ------
    ValueError
        If the path leads out of the folder, or nowhere: documents of a publication may come from anybody.
    """
    try:
        target = (folder / path).resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path!r} is a link that leads nowhere") from error
    if not target.is_relative_to(folder.resolve()):
        raise ValueError(f"{path!r} is outside the folder")
    return target
