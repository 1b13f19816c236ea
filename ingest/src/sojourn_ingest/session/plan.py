"""What an ingest needs to know about its files together before it tries each: recordings, and what files declare.

Files of one recording are found among those given and those next to them that the lake already has, so that a
later file joins the earlier ones. What a file such as a run's manifest declares has precedence over names: a single
file in its list is a recording of its own, and parts in its list are one recording.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sojourn_ingest.formats.capture.flow_hints import NO_HINTS, FlowHints
from sojourn_ingest.formats.interface import (
    DeclaredFiles,
    DescribingFormat,
    InputError,
    JoinedFormat,
    Recording,
    Source,
)
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.remote import is_remote
from sojourn_ingest.session.recorded import recorded_as_it_is
from sojourn_ingest.session.recorded_paths import path_of
from sojourn_ingest.session.sources import open_file

#: How much of a plain file is read to see whether it declares anything.
HEAD_BYTES = 4096
#: Remote files that are looked into at a time.
REQUESTS_AT_A_TIME = 16


@dataclass(frozen=True)
class PlannedRecording:
    """Files of one format to be read as one. ``declared``: a file lists them, under any names."""

    parts: tuple[Path, ...]
    format: str
    declared: bool = False

    @property
    def path(self) -> Path:
        """Name of the recording in outcomes, if all of its parts are read as one."""
        return Recording.path_of(self.parts)

    def reader(self, registry: Registry) -> JoinedFormat:
        """Return the format of the parts; raises KeyError if the registry has none of its name."""
        named = registry.named(self.format)
        joined = None if named is None else named.joined()
        if joined is None:
            raise KeyError(self.format)
        return joined

    def fault(self, registry: Registry) -> InputError | None:
        """Return why declared parts cannot be one recording, if they cannot."""
        return self.reader(registry).why_not_one_recording(self.parts) if self.declared else None


@dataclass(frozen=True)
class RecordingLimit:
    """With so many files, or bytes, a recording is complete: files that continue it begin another one."""

    files: int
    size_bytes: int

    def is_reached(self, sizes_bytes: Sequence[int]) -> bool:
        """Return whether files of these sizes are a complete recording."""
        return len(sizes_bytes) >= self.files or sum(sizes_bytes) >= self.size_bytes

    def split(self, parts: Iterable[Path]) -> Iterator[tuple[Path, ...]]:
        """Yield files that continue one another as recordings that this allows; a file that is left alone is none."""
        taken: list[Path] = []
        sizes: list[int] = []
        for part in parts:
            taken.append(part)
            sizes.append(part.stat().st_size)
            if self.is_reached(sizes):
                if len(taken) > 1:
                    yield tuple(taken)
                taken, sizes = [], []
        if len(taken) > 1:
            yield tuple(taken)


@dataclass
class Plan:
    """Recordings among the files of an ingest, hints for its captures, and further files to be tried."""

    recordings: list[PlannedRecording] = field(default_factory=list)
    hints: dict[Path, FlowHints] = field(default_factory=dict)
    #: Files in the lake about which this ingest changes what is known.
    also: set[Path] = field(default_factory=set)
    #: Parts of a recording that lacks another part on the disk: the recording stays as it is.
    frozen: set[Path] = field(default_factory=set)
    #: Sizes in bytes that several of the files have, which may be copies; not of objects in a store.
    repeated_sizes: frozenset[int] = frozenset()

    @property
    def parts(self) -> set[Path]:
        """Files that are read as part of a recording."""
        return {path for recording in self.recordings for path in recording.parts}


def plan(
    files: Iterable[Path],
    lake: Lake,
    registry: Registry,
    look_into: Callable[[list[Path]], None] = lambda _: None,
    limit: RecordingLimit | None = None,
) -> Plan:
    """Return the plan of an ingest of ``files``, which are absolute paths.

    With a ``limit``, only the ends of recordings that the files continue are looked at, so that a file which continues
    a long row of files takes no longer than the limit allows.

    ``look_into`` is told of remote files whose times this will ask for, before it does, so that they are found
    elsewhere and many at a time.
    """
    listed = set(files)
    joined = [reader for reader in (one.joined() for one in registry.formats) if reader is not None]
    describing = [reader for reader in (one.describing() for one in registry.formats) if reader is not None]
    earlier = _known_files(lake, {path.parent for path in listed}, joined, describing)
    of_folder: defaultdict[Path, set[Path]] = defaultdict(set)
    for path in listed | earlier.joined:
        of_folder[path.parent].add(path)
    if limit is not None:
        earlier = _beside(listed, earlier, joined, limit)
    result = Plan(repeated_sizes=_repeated_sizes(listed))
    frozen_recordings = [
        commit for commit in earlier.recordings if not all(_exists(part.source_path) for part in commit.parts)
    ]
    for commit in frozen_recordings:
        result.frozen |= {path_of(part.source_path) for part in commit.parts}
    settled: set[Path] = set()
    for chosen in joined:
        families = [family for family in chosen.families_among(listed | earlier.joined) if any(map(is_remote, family))]
        unsettled: list[Path] = []
        for family in families:
            if all(_is_as_recorded(lake, path) for path in family):
                settled |= set(family)
            else:
                unsettled += family
        look_into(unsettled)
    overruled: set[Path] = set()
    for reader in describing:
        paths = sorted({path for path in listed if reader.may_be_called(_plain_name(path))} | earlier.describing)
        for path, declared in zip(paths, _declared_by(reader, paths), strict=True):
            overruled |= _declare(declared, of_folder[path.parent], path in listed, result)
    by_name = (listed | earlier.joined) - overruled - result.frozen
    for chosen in joined:
        chains = chosen.recordings_among(by_name - settled)
        if limit is not None:
            chains = [parts for chain in chains for parts in limit.split(chain)]
        result.recordings += [PlannedRecording(parts, chosen.name) for parts in chains]
        result.recordings += _as_they_were(earlier.recordings, chosen, by_name & settled)
    result.recordings.sort(key=lambda recording: recording.parts)
    for commit in earlier.recordings:
        if commit not in frozen_recordings:
            result.also |= {path_of(part.source_path) for part in commit.parts}
    # What depends on the files next to it is read again, because one of them has come or changed.
    result.also |= earlier.describing
    result.also -= listed | result.parts
    return result


def _repeated_sizes(paths: Iterable[Path]) -> frozenset[int]:
    sizes: Counter[int] = Counter()
    # Objects are hashed first in any case.
    for path in (path for path in paths if not is_remote(path)):
        # Its own attempt records why it cannot be read.
        with suppress(OSError):
            sizes[path.stat().st_size] += 1
    return frozenset(size for size, files in sizes.items() if files > 1)


@dataclass
class _KnownFiles:
    joined: set[Path] = field(default_factory=set)
    describing: set[Path] = field(default_factory=set)
    recordings: list[Commit] = field(default_factory=list)


def _is_as_recorded(lake: Lake, path: Path) -> bool:
    """Return whether the lake knows a remote file as it is now, alone or as a part."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return False
    return bool(recorded_as_it_is(lake, path, state.st_size, state.st_mtime_ns))


def _as_they_were(recordings: list[Commit], chosen: JoinedFormat, settled: set[Path]) -> list[PlannedRecording]:
    """Return the recordings among files that may continue one another and all are as they were when that was found.

    To see it again would take the whole content of each.
    """
    planned = []
    for commit in recordings:
        parts = tuple(path_of(part.source_path) for part in commit.parts)
        if settled.issuperset(parts):
            planned.append(PlannedRecording(parts, chosen.name))
    return planned


def _exists(path: str) -> bool:
    return path_of(path).is_file()


def _known_files(
    lake: Lake, folders: set[Path], joined: list[JoinedFormat], describing: list[DescribingFormat]
) -> _KnownFiles:
    """Return what the lake holds of these folders, and is still there."""
    names_joined = {reader.name for reader in joined}
    names_describing = {reader.name for reader in describing}
    earlier = _KnownFiles()
    for commit in lake.live():
        path = path_of(commit.source_path)
        if path.parent not in folders:
            continue
        if commit.parts:
            earlier.recordings.append(commit)
            earlier.joined |= {path_of(part.source_path) for part in commit.parts if _exists(part.source_path)}
        elif commit.format in names_joined and path.is_file():
            earlier.joined.add(path)
        elif commit.format in names_describing and path.is_file():
            earlier.describing.add(path)
    return earlier


def _beside(listed: set[Path], earlier: _KnownFiles, joined: list[JoinedFormat], limit: RecordingLimit) -> _KnownFiles:
    """Return of the known files only those that may join the given ones: right beside them, and not complete."""
    recordings = {path_of(part.source_path): commit for commit in earlier.recordings for part in commit.parts}

    def files_with(path: Path) -> set[Path]:
        commit = recordings.get(path)
        return {path} if commit is None else {path_of(part.source_path) for part in commit.parts}

    kept = {part for path in listed & recordings.keys() for part in files_with(path)}
    for chosen in joined:
        for family in chosen.families_among(listed | earlier.joined):
            for one, other in pairwise(family):
                for path in ({one, other} - listed) if listed & {one, other} else ():
                    files = files_with(path)
                    # A file of it that is gone counts as none, and lets it stay as it is.
                    if not limit.is_reached([each.stat().st_size for each in files if each.is_file()]):
                        kept |= files
    return _KnownFiles(
        earlier.joined & kept,
        earlier.describing,
        [commit for commit in earlier.recordings if not kept.isdisjoint(path_of(p.source_path) for p in commit.parts)],
    )


def _plain_name(path: Path) -> str:
    return Source(path, "none", b"", 0).plain_name


def _source(path: Path) -> Source:
    if _plain_name(path) == path.name:
        # There may be many files of such a name that declare nothing: their heads must do.
        with path.open("rb") as handle:
            return Source(path, "none", handle.read(HEAD_BYTES), path.stat().st_size)
    return open_file(path).source


def _declared_by(chosen: DescribingFormat, paths: list[Path]) -> Iterator[list[DeclaredFiles]]:
    """Yield what each file declares about those next to it."""

    def declared(path: Path) -> list[DeclaredFiles]:
        try:
            source = _source(path)
            return chosen.declared_files(source) if chosen.recognises(source) else []
        except (InputError, OSError):
            return []  # the file's own attempt reports what is wrong

    if not any(map(is_remote, paths)):
        yield from map(declared, paths)
        return
    # A store takes its time to answer, and answers many at a time.
    with ThreadPoolExecutor(REQUESTS_AT_A_TIME, thread_name_prefix="manifests") as pool:
        yield from pool.map(declared, paths)


def _declare(declared: list[DeclaredFiles], neighbours: set[Path], is_listed: bool, result: Plan) -> set[Path]:
    """Add to the plan what a file declares about those next to it; return those that it lists."""
    overruled: set[Path] = set()
    for declaration in declared:
        if declaration.hints != NO_HINTS:
            result.hints |= dict.fromkeys(declaration.paths, declaration.hints)
        if is_listed:
            result.also |= {part for part in declaration.paths if part in neighbours}
        if declaration.is_listed:
            overruled |= set(declaration.paths)
            if (
                len(declaration.paths) > 1
                and neighbours.issuperset(declaration.paths)
                and not result.frozen & set(declaration.paths)
            ):
                result.recordings.append(PlannedRecording(declaration.paths, declaration.format, declared=True))
    return overruled
