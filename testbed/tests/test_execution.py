"""What an execution of a plan leaves in the folder of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sojourn_testbed.backend.backend import BackendError, Estimate
from sojourn_testbed.cells import Run
from sojourn_testbed.execution import execute
from sojourn_testbed.plan import Plan


class Failing:
    """A backend that begins a run and fails."""

    name = "failing"

    def check(self, plan: Plan) -> None:
        """Refuse nothing."""

    def estimate(self, plan: Plan, blocks: Sequence[Sequence[Run]]) -> Estimate:
        """Return no time."""
        return Estimate(0, "nothing is run")

    def carry_out(self, plan: Plan, runs: Sequence[Run], folder: Path, on_run: Callable[[Run, Path], None]) -> None:
        """Begin a run."""
        folder.mkdir()
        (folder / "raw").write_text("half")
        raise BackendError("it failed")


def test_what_was_begun_goes_and_folders_of_the_user_stay(tmp_path: Path) -> None:
    plan = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": {"queue": ["cake"], "rate_mbps": [1]}})
    mine = [tmp_path / ".scratch", tmp_path / ".scratch-1"]
    for folder in mine:
        folder.mkdir()
    with pytest.raises(BackendError, match="it failed"):
        execute(plan, 1, Failing(), tmp_path, lambda _: None)
    assert sorted(tmp_path.glob(".*")) == mine
