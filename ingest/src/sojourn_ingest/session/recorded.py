"""What is on record of a file: the outcome of its path, alone or as a part of a recording."""

from __future__ import annotations

from pathlib import Path

from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.session.recorded_paths import path_text


def recorded_at(lake: Lake, path: Path) -> list[Commit]:
    """Return the live commits of a path, and that of the recording it is a part of, as a commit of the part."""
    text = path_text(path)
    recording = lake.recording_with(text)
    part = None if recording is None else recording.of_part(text)
    return [*lake.current_at(text), *([] if part is None else [part])]


def recorded_as_it_is(lake: Lake, path: Path, size_bytes: int, modified_ns: int) -> list[Commit]:
    """Return those that are of a file of this size and time of modification: what was tried, and is as it was."""
    state = (size_bytes, modified_ns)
    return [each for each in recorded_at(lake, path) if (each.size_bytes, each.modified_ns) == state]
