"""Cells of a plan and the order of their runs."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass

from sojourn_testbed.plan import Plan
from sojourn_testbed.queue_disciplines import Queue, SetQueue


@dataclass(frozen=True)
class Cell:
    """One combination of the axes; ``application`` or ``congestion_control`` is null where the other is alone."""

    queue: Queue
    rate_mbps: float
    rtt_ms: float
    congestion_control: str | None
    application: str | None
    start_order: str
    ecn: str = "none"

    @property
    def set_queue(self) -> SetQueue:
        """The queue at this cell's rate and round-trip time."""
        return SetQueue(self.queue, round(self.rate_mbps * 1e6), self.rtt_ms)

    @property
    def label(self) -> str:
        """Name of the cell, the same in each plan that has it."""
        # Cells without ECN have the names that they had before there was such an axis: their seeds are made of them.
        ecn = "" if self.ecn == "none" else f"_{self.ecn}ecn"
        return (
            f"{self.rate_mbps * 1000:g}k_rtt{self.rtt_ms:g}_{self.queue.label}_{self.congestion_control or 'none'}_"
            f"{self.application or 'none'}_{self.start_order.replace('_', '')}{ecn}"
        )


@dataclass(frozen=True)
class Run:
    """One repetition of a cell."""

    cell: Cell
    repetition: int
    seed: int

    @property
    def run_id(self) -> str:
        """Name of the run, unique in its study."""
        return f"{self.cell.label}_rep{self.repetition}"


def cells(plan: Plan) -> list[Cell]:
    """Return the cells of a plan, runs of two flows first; solo runs are at the first queue of the plan."""
    axes = plan.axes
    found = [
        Cell(*combination)
        for combination in itertools.product(
            axes.queue,
            axes.rate_mbps,
            axes.rtt_ms,
            axes.congestion_control,
            axes.application,
            axes.start_order,
            axes.ecn,
        )
    ]
    if plan.solo:
        for rate, rtt, ecn in itertools.product(axes.rate_mbps, axes.rtt_ms, axes.ecn):
            alone: list[tuple[str | None, str | None]] = [(control, None) for control in axes.congestion_control]
            # An application that does not ask for ECN is alone in the same way with and without it.
            if ecn == axes.ecn[0]:
                alone += [(None, application) for application in axes.application]
            found += [Cell(axes.queue[0], rate, rtt, *roles, "solo", ecn) for roles in alone]
    return found


def blocks(plan: Plan, repetitions: int | None = None) -> list[list[Run]]:
    """Return the runs in the order in which they are to run: a block is one repetition of each cell, in random order.

    A randomised complete block design: what drifts over time falls on all cells alike. The order depends on the plan's
    seed alone; the seed of a run depends on the plan's seed, the cell and the repetition, and not on the order.
    """
    found = cells(plan)
    order = random.Random(plan.seed)  # noqa: S311 - an order to be repeated, not a secret
    result = []
    for repetition in range(1, (repetitions or plan.repetitions) + 1):
        block = [Run(cell, repetition, _seed(plan.seed, cell, repetition)) for cell in found]
        order.shuffle(block)
        result.append(block)
    return result


def _seed(plan_seed: int, cell: Cell, repetition: int) -> int:
    digest = hashlib.sha256(f"{plan_seed}\0{cell.label}\0{repetition}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1
