"""What a backend does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sojourn_testbed.cells import Run
from sojourn_testbed.plan import Plan


class BackendError(Exception):
    """A backend cannot carry out runs here; the message says what is missing and how to get it."""


#: The kernel's part of the recorder of binary queue logs, in the folder of the guest's image.
QUEUE_EVENTS = "queue_events.bpf.o"


def check_recorder(plan: Plan, image: Path) -> None:
    """Refuse a plan with a binary queue log where the image has no recorder of it.

    Raises
    ------
    BackendError
        With how to make it.
    """
    if plan.has_binary_log and not (image / QUEUE_EVENTS).is_file():
        raise BackendError(f"{image / QUEUE_EVENTS} is missing, which queue_log needs; build it: make testbed-image")


@dataclass(frozen=True)
class Estimate:
    """What runs will cost on this backend."""

    seconds: float
    basis: str


class Backend(Protocol):
    """Carries out runs and leaves a folder of raw files for each."""

    name: str

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be carried out here, before its first run.

        Raises
        ------
        BackendError
            With what is missing and how to get it.
        """

    def estimate(self, plan: Plan, blocks: Sequence[Sequence[Run]]) -> Estimate:
        """Return how long the runs of the plan take."""

    def carry_out(self, plan: Plan, runs: Sequence[Run], folder: Path, on_run: Callable[[Run, Path], None]) -> None:
        """Carry out runs in their order; as each ends, ``on_run`` is told with the folder of its raw files.

        Raises
        ------
        BackendError
            If the backend itself fails; a run that fails says so in its ``result.json``.
        """
