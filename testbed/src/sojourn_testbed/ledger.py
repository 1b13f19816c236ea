"""What has been tried: one line of JSON an attempt, in the folder of the results, so that a killed study can go on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "attempts.jsonl"


@dataclass(frozen=True)
class Attempt:
    """One attempt at one run: kept (good), or failed with the reason."""

    run_id: str
    status: str
    complaints: list[str]
    seconds: float


class Ledger:
    """Attempts of a study, in their order."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    def attempts(self) -> list[Attempt]:
        """Return what was tried; a last line cut by a kill is an attempt that did not end, and is left out."""
        if not self._path.is_file():
            return []
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        return [Attempt(**json.loads(line)) for line in lines if line.endswith("\n")]

    def add(self, attempt: Attempt) -> None:
        """Note one attempt."""
        text = self._path.read_bytes() if self._path.is_file() else b""
        with self._path.open("ab") as handle:
            if text and not text.endswith(b"\n"):
                handle.truncate(text.rfind(b"\n") + 1)
            handle.write((json.dumps(asdict(attempt)) + "\n").encode())

    def kept(self) -> set[str]:
        """Return the runs that are done."""
        return {attempt.run_id for attempt in self.attempts() if attempt.status == "kept"}

    def failures(self, run_id: str) -> int:
        """Return how often a run failed."""
        return sum(attempt.run_id == run_id and attempt.status == "failed" for attempt in self.attempts())
