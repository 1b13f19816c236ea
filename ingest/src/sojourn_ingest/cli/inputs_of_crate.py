"""The inputs that the RO-Crate of a publication lists, found by their content and put where the crate has them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.study.study_description import bundled_description_paths
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.session import files_below
from sojourn_ingest.session.sources import content_hash

_INPUT = "#input-"
MISSING_SHOWN = 3


class CrateError(OperatorError, ValueError):
    """A crate cannot be followed; the message says what to do."""


@dataclass(frozen=True)
class ListedInput:
    """A file that a crate lists: where it was, the SHA-256 of its plain content, its length and its time."""

    path: str
    content_hash: str
    size_bytes: int
    modified_ns: int
    is_duplicate: bool


@dataclass(frozen=True)
class StagedInputs:
    """Files in a folder as the crate has them below the root of the file system; those of equal content come last."""

    root: Path
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def listed_inputs(crate: Path) -> tuple[list[ListedInput], list[str]]:
    """Return the files that a crate lists, and warnings of those that nobody can find.

    Raises
    ------
    CrateError
        If it is not a crate of a publication, or lists its inputs without their paths.
    """
    try:
        graph = json.loads(crate.read_bytes())["@graph"]
        entities = [one for one in graph if str(one["@id"]).startswith(_INPUT)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CrateError(f"{crate} is not an RO-Crate of `sojourn publish`") from error
    if not entities or not any("modifiedNs" in one for one in entities):
        raise CrateError(
            f"{crate} does not list the paths of its inputs, because only part of the build was published; "
            "publish it with the dataset ingest_outcome"
        )
    listed, warnings = [], []
    for entity in entities:
        if entity.get("derived"):
            continue
        if not entity.get("contentHash"):
            warnings.append(f"{entity.get('name')} had no readable content, so it cannot be located")
            continue
        listed.append(_listed(crate, entity))
    return listed, warnings


def _listed(crate: Path, entity: dict[str, Any]) -> ListedInput:
    try:
        return ListedInput(
            path=str(entity["name"]),
            content_hash=str(entity["contentHash"]),
            size_bytes=int(entity["contentSize"]),
            modified_ns=int(entity["modifiedNs"]),
            is_duplicate="duplicateOf" in entity,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise CrateError(f"{crate}: {entity.get('@id')} is incomplete: {error}") from error


def found_files(listed: Iterable[ListedInput], sources: list[Path]) -> dict[ListedInput, Path]:
    """Return for each input a file with its content; one of the same length, and so the same compression, first.

    Descriptions of studies that ship with Sojourn are looked at too.
    """
    wanted = list(listed)
    candidates = [*files_below(sources), *bundled_description_paths()]
    lengths = {one.size_bytes for one in wanted}
    # A length tells most files apart; the rest is read only if something is still missing.
    likely = [path for path in candidates if path.stat().st_size in lengths]
    matches: dict[tuple[str, int], Path] = {}
    by_content: dict[str, Path] = {}
    others = {*candidates} - {*likely}
    for several in (likely, [path for path in candidates if path in others]):
        if all(one.content_hash in by_content for one in wanted):
            break
        for path in several:
            try:
                digest = content_hash(path)
            except InputError:
                continue  # what cannot be read is not one of the inputs
            matches.setdefault((digest, path.stat().st_size), path)
            by_content.setdefault(digest, path)
    return {
        one: matches.get((one.content_hash, one.size_bytes), by_content[one.content_hash])
        for one in wanted
        if one.content_hash in by_content
    }


@contextmanager
def staged_inputs(crate: Path, sources: list[Path], folder: Path) -> Iterator[StagedInputs]:
    """Put the inputs of a crate into a folder as the crate has them, with their times; the folder is removed after.

    Raises
    ------
    CrateError
        If an input is not among the sources, or a path of the crate leads out of the folder.
    """
    listed, warnings = listed_inputs(crate)
    matches = found_files(listed, sources)
    missing = [one for one in listed if one not in matches]
    if missing:
        shown = ", ".join(f"{one.path} (SHA-256 of its content {one.content_hash})" for one in missing[:MISSING_SHOWN])
        raise CrateError(f"{len(missing)} of {len(listed)} inputs are not below the given paths: {shown}")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        files = [_placed(one, matches[one], folder) for one in sorted(listed, key=lambda o: (o.is_duplicate, o.path))]
        other = [one.path for one in listed if matches[one].stat().st_size != one.size_bytes]
        if other:
            warnings.append(
                f"{len(other)} inputs are not compressed as they were when they were ingested, such as {other[0]}"
            )
        yield StagedInputs(folder, tuple(files), tuple(warnings))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _placed(one: ListedInput, source: Path, folder: Path) -> Path:
    target = folder / one.path.lstrip("/")
    if ".." in target.parts:
        raise CrateError(f"the crate names {one.path!r}, which is outside the folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.stat().st_mtime_ns == one.modified_ns:
        try:
            # Nothing writes to it, and captures are large.
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    else:
        shutil.copyfile(source, target)
    os.utime(target, ns=(one.modified_ns, one.modified_ns))
    return target
