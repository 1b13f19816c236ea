"""What became of one file, of one recording, of one pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sojourn_ingest.lake import Commit
from sojourn_ingest.session.recorded_paths import path_of

Disposition = Literal["new", "unchanged"]


@dataclass(frozen=True)
class Attempt:
    """What became of one file: its commit, whether this ingest made it or found it, and what it refused by reason."""

    path: Path
    commit: Commit
    disposition: Disposition
    refused_by_reason: dict[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """Return how many records were refused."""
        return sum(self.refused_by_reason.values())


@dataclass(frozen=True)
class RecordingAttempt:
    """What became of a planned recording: its attempt and those of its files, and the files to be tried one by one."""

    attempts: list[Attempt]
    alone: tuple[Path, ...]


def attempts_of(
    path: Path, commit: Commit, disposition: Disposition, refused_by_reason: dict[str, int] | None = None
) -> list[Attempt]:
    """Return a recording's attempt, and those of its parts."""
    attempts = [Attempt(path, commit, disposition, refused_by_reason or {})]
    for part in commit.parts:
        of_part = commit.of_part(part.source_path)
        if of_part is not None:
            attempts.append(Attempt(path_of(part.source_path), of_part, disposition))
    return attempts
