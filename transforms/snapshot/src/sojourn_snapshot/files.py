"""files.json: every Parquet file of a snapshot with its length and hash, and where the rows of a dataset lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sojourn_snapshot.documents import read_bytes
from sojourn_snapshot.errors import DamagedSnapshotError, what_is_wrong

FILES = "files.json"


@dataclass(frozen=True)
class MartFile:
    """One file of a mart, and what its bytes follow from; without a fingerprint it is never taken over."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.parquet(/[0-9a-z-]+\.parquet)?$", max_length=255)]
    rows: int
    bytes: int
    sha256: str
    fingerprint: str | None

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


_LIST = TypeAdapter(list[MartFile])


def read_files(snapshot: Path) -> dict[str, MartFile]:
    """Return the files of a snapshot by name.

    Raises
    ------
    DamagedSnapshotError
        If its list of files is missing or cannot be read.
    """
    path = snapshot / FILES
    content = read_bytes(path)
    try:
        return {file.name: file for file in _LIST.validate_json(content, strict=True)}
    except ValidationError as error:
        raise DamagedSnapshotError(f"{path} cannot be read: {what_is_wrong(error)}") from error


def write_files(snapshot: Path, files: Sequence[MartFile]) -> None:
    """Write the list of files of a snapshot."""
    content = json.dumps([asdict(file) for file in files], indent=1, sort_keys=True) + "\n"
    (snapshot / FILES).write_text(content, encoding="utf-8")


def mart_paths(snapshot: Path, name: str) -> list[Path]:
    """Return the files of a mart in the order of its rows.

    Raises
    ------
    DamagedSnapshotError
        If one of several is missing or of another length, or is not known. A mart that is one file is returned as it
        is.
    """
    folder = snapshot / f"{name}.parquet"
    if not folder.is_dir():
        return [folder]
    by_name = read_files(snapshot)
    listed = sorted(file for file in by_name if file.startswith(f"{folder.name}/"))
    for file in listed:
        path = snapshot / file
        if not path.is_file() or path.stat().st_size != by_name[file].bytes:
            raise DamagedSnapshotError(f"{path} is missing or not of {by_name[file].bytes} bytes")
    if not listed:
        raise DamagedSnapshotError(f"{folder} is in no list of files")
    return [snapshot / file for file in listed]


def has_bytes(path: Path, file: MartFile) -> bool:
    """Return whether a path holds the bytes that a list of files says."""
    return path.is_file() and path.stat().st_size == file.bytes and sha256_of(path) == file.sha256


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
