"""What an ingest needs to know of its files together before it tries each: recordings, and what manifests declare.

Files of one recording are found among those given and those beside them that the lake already holds, so that a
file which comes later joins the ones before it. A run's manifest overrules names: what it lists as one file stands
alone, what it lists as parts is one recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sojourn_ingest import _native
from sojourn_ingest.formats.capture.capture import Capture, RtpHint
from sojourn_ingest.formats.capture.capture_recording import CaptureRecording
from sojourn_ingest.formats.capture.rotation import capture_span, parse, plain_name, recordings_among, why_not_continued
from sojourn_ingest.formats.interface import InputError, Source
from sojourn_ingest.formats.run.run_manifest import MEASUREMENTS, RunManifest, load_manifest, measured_file, rtp_hints
from sojourn_ingest.lake import Commit, Lake

MANIFEST_SUFFIXES = (".json", ".yaml", ".yml")
CAPTURES = tuple(name for name, measurement in MEASUREMENTS.items() if measurement.startswith("capture_"))


@dataclass(frozen=True)
class PlannedRecording:
    """Files to be read as one. ``declared``: a manifest lists them, whatever their names."""

    parts: tuple[Path, ...]
    declared: bool = False

    def fault(self) -> InputError | None:
        """Return why declared parts cannot be one recording, if they cannot."""
        if not self.declared:
            return None
        try:
            spans = [capture_span(path) for path in self.parts]
        except _native.DecodeError as error:
            return InputError(
                "unreadable_part", f"the parts that the manifest lists cannot all be read: {error.args[0]}"
            )
        for (one, span), (other, next_span) in zip(
            zip(self.parts, spans, strict=True), zip(self.parts[1:], spans[1:], strict=True), strict=False
        ):
            reason = why_not_continued(span, next_span, None)
            if reason is not None:
                return InputError(
                    "not_contiguous",
                    f"{other.name} does not continue {one.name}: {reason}; list the parts in the order of time",
                )
        return None


@dataclass
class Plan:
    """Recordings among the files of an ingest, hints for its captures, and files to be tried beside those given."""

    recordings: list[PlannedRecording] = field(default_factory=list)
    hints: dict[Path, tuple[RtpHint, ...]] = field(default_factory=dict)
    #: Captures that the lake holds and that this ingest changes what is known of.
    also: set[Path] = field(default_factory=set)
    #: Parts of a recording of which another part is gone from the disk: it stays as it is.
    frozen: set[Path] = field(default_factory=set)

    @property
    def parts(self) -> set[Path]:
        """Files that are read as part of a recording."""
        return {path for recording in self.recordings for path in recording.parts}


Open = Callable[[Path], Source]


def plan(files: Iterable[Path], lake: Lake, open_source: Open) -> Plan:
    """Return the plan of an ingest of ``files``, which are absolute paths."""
    given = set(files)
    folders = {path.parent for path in given}
    known = _known_captures(lake, folders)
    result = Plan()
    of_folder: defaultdict[Path, set[Path]] = defaultdict(set)
    for path in given | known.captures:
        of_folder[path.parent].add(path)
    frozen_recordings = [
        commit for commit in known.recordings if not all(_exists(part.source_path) for part in commit.parts)
    ]
    for commit in frozen_recordings:
        result.frozen |= {Path(part.source_path) for part in commit.parts}
    overruled: set[Path] = set()
    for path in sorted({path for path in given if _may_be_manifest(path)} | known.manifests):
        overruled |= _declare(path, of_folder[path.parent], path in given, result, open_source)
    by_name = {
        path
        for folder in of_folder.values()
        for path in folder
        if parse(plain_name(path)) is not None and path not in overruled and path not in result.frozen
    }
    result.recordings += [PlannedRecording(parts) for parts in recordings_among(by_name)]
    result.recordings.sort(key=lambda recording: recording.parts)
    for commit in known.recordings:
        if commit not in frozen_recordings:
            result.also |= {Path(part.source_path) for part in commit.parts}
    result.also -= given | result.parts
    return result


@dataclass
class _Known:
    captures: set[Path] = field(default_factory=set)
    manifests: set[Path] = field(default_factory=set)
    recordings: list[Commit] = field(default_factory=list)


def _exists(path: str) -> bool:
    return Path(path).is_file()


def _known_captures(lake: Lake, folders: set[Path]) -> _Known:
    """Return what the lake holds of these folders, and is still there."""
    known = _Known()
    for commit in lake.live():
        path = Path(commit.source_path)
        if path.parent not in folders:
            continue
        if commit.format == CaptureRecording.name and commit.parts:
            known.recordings.append(commit)
            known.captures |= {Path(part.source_path) for part in commit.parts if _exists(part.source_path)}
        elif commit.format == Capture.name and path.is_file():
            known.captures.add(path)
        elif commit.format == RunManifest.name and path.is_file():
            known.manifests.add(path)
    return known


def _may_be_manifest(path: Path) -> bool:
    return plain_name(path).endswith(MANIFEST_SUFFIXES)


def _source(path: Path, open_source: Open) -> Source:
    if path.name.endswith(MANIFEST_SUFFIXES):
        # There may be many files of such a name that are no manifests: their heads must do.
        with path.open("rb") as handle:
            return Source(path, "none", handle.read(4096), path.stat().st_size)
    return open_source(path)


def _declare(path: Path, captures: set[Path], given: bool, result: Plan, open_source: Open) -> set[Path]:
    """Take into the plan what a manifest says of the captures beside it; return those that it lists."""
    try:
        source = _source(path, open_source)
        if not RunManifest().recognises(source):
            return set()
        manifest = load_manifest(source)
        measured = [measured_file(manifest, path.parent, name) for name in CAPTURES]
    except (InputError, OSError):
        return set()  # the manifest's own attempt says what is wrong
    hints = rtp_hints(manifest)
    overruled: set[Path] = set()
    for found in measured:
        if found is None:
            continue
        if hints:
            result.hints |= dict.fromkeys(found.paths, hints)
        if given:
            result.also |= {part for part in found.paths if part in captures}
        if found.is_listed:
            overruled |= set(found.paths)
            if len(found.paths) > 1 and captures.issuperset(found.paths) and not result.frozen & set(found.paths):
                result.recordings.append(PlannedRecording(found.paths, declared=True))
    return overruled
