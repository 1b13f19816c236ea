"""catalog.json: the datasets of a build, and what their columns mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from sojourn_snapshot.documents import read_bytes, write_document
from sojourn_snapshot.errors import DamagedSnapshotError, what_is_wrong

CATALOGUE = "catalog.json"
_DATASET_NAME = re.compile(r"^[a-z][a-z0-9_]*$")


class Column(BaseModel):
    """A column of a dataset."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(examples=["harm_ratio"])
    type: str = Field(description="DuckDB type name", examples=["DOUBLE"])
    unit: str | None = Field(default=None, examples=["ratio"])
    description: str = Field(default="", examples=["(demand - performance) / demand; negative is a gain"])
    nullable: bool = True


class Dataset(BaseModel):
    """A table of the build: what one row is, what identifies it, and its columns."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(examples=["run_harm"])
    subject: str = Field(default="", description="What the dataset is about", examples=["fairness"])
    description: str = ""
    grain: str = Field(examples=["one role of one run"])
    key: tuple[str, ...] = Field(examples=[["study_id", "run_id", "role", "harm_metric"]])
    rows: int
    columns: tuple[Column, ...]

    @field_validator("name")
    @classmethod
    def _is_a_file_name(cls, name: str) -> str:
        if not _DATASET_NAME.match(name):
            raise ValueError(f"a dataset name is lower case letters, digits and _, got {name!r}")
        return name

    @model_validator(mode="after")
    def _key_is_columns(self) -> Dataset:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: a column name occurs twice")
        if not self.key or not set(self.key) <= set(names):
            raise ValueError(f"{self.name}: the key {self.key} must be columns of the dataset")
        return self


class Catalogue(BaseModel):
    """All datasets of a build."""

    model_config = ConfigDict(extra="allow", frozen=True)

    datasets: tuple[Dataset, ...]


AnyCatalogue = TypeVar("AnyCatalogue", bound=Catalogue)


def read_catalogue(snapshot: Path, kind: type[AnyCatalogue]) -> AnyCatalogue:
    """Return the catalogue of a snapshot as `Catalogue`, or as a reader's own kind of it.

    Raises
    ------
    DamagedSnapshotError
        If it is missing, or not a catalogue.
    """
    path = snapshot / CATALOGUE
    content = read_bytes(path)
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {what_is_wrong(error)}") from error


def write_catalogue(snapshot: Path, catalogue: Catalogue) -> None:
    """Write the catalogue of a snapshot."""
    write_document(snapshot / CATALOGUE, catalogue.model_dump(mode="json"))
