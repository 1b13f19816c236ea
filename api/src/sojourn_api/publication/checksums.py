"""SHA256SUMS: the checksum of every other file of a publication, in the form that `sha256sum -c` reads."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn_api.publication.declaration import below
from sojourn_api.publication.errors import PublicationError
from sojourn_snapshot.documents import read_bytes
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import sha256_of

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"^([0-9a-f]{64})  (.+)$")


def files_in(folder: Path) -> list[str]:
    """Return the files below a folder as paths with slashes, in order."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files of a folder."""
    lines = [f"{sha256_of(folder / name)}  {name}\n" for name in files_in(folder) if name != CHECKSUMS]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums of a publication by file.

    Raises
    ------
    PublicationError
        If the list is missing or a line is not one of it.
    """
    path = folder / CHECKSUMS
    try:
        lines = read_bytes(path).decode().splitlines()
    except (DamagedSnapshotError, UnicodeDecodeError) as error:
        raise PublicationError(f"{path} cannot be read; expected a folder that `sojourn publish` wrote") from error
    sums = {}
    for number, line in enumerate(lines, start=1):
        match = _LINE.match(line)
        if match is None:
            raise PublicationError(f"{path}:{number}: not a checksum; publish again, or fetch the folder again")
        sums[match[2]] = match[1]
    return sums


def faults(folder: Path) -> list[str]:
    """Return what differs between a folder and its list of checksums, one line for each file.

    Raises
    ------
    PublicationError
        If the list cannot be read.
    """
    sums = read_checksums(folder)
    wrong = []
    for name, digest in sums.items():
        try:
            path = below(folder, name)
        except ValueError as error:
            wrong.append(str(error))
            continue
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif sha256_of(path) != digest:
            wrong.append(f"{name} has other bytes than were published")
    wrong += [f"{name} was not published" for name in files_in(folder) if name not in sums and name != CHECKSUMS]
    return wrong
