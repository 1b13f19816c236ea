"""Cells of a plan and the order of their runs."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass

from sojourn_testbed.background import NO_BACKGROUND
from sojourn_testbed.places import Direction
from sojourn_testbed.plan import Axes, Plan
from sojourn_testbed.queue_disciplines import Queue, SetQueue


@dataclass(frozen=True)
class Cell:
    """One combination of the axes; ``application`` or what competes with it is null where the other is alone.

    With a workload, ``congestion_control`` is that of the background traffic.
    """

    queue: Queue
    rate_mbps: float
    rtt_ms: float
    congestion_control: str | None
    application: str | None
    start_order: str
    ecn: str = "none"
    direction: Direction = "downlink"
    rival: str | None = None
    workload: str | None = None
    congested: str = "none"
    #: Rate of the other direction, which has a queue of its own; null: it has none.
    opposite_mbps: float | None = None
    #: How rate or round-trip time change within the run; null: as in every run of the plan.
    programme: str | None = None

    @property
    def set_queue(self) -> SetQueue:
        """The queue at this cell's rate and round-trip time."""
        return SetQueue(self.queue, round(self.rate_mbps * 1e6), self.rtt_ms)

    @property
    def opposite_queue(self) -> SetQueue | None:
        """The queue of the other direction."""
        if self.opposite_mbps is None:
            return None
        return SetQueue(self.queue, round(self.opposite_mbps * 1e6), self.rtt_ms)

    @property
    def has_background(self) -> bool:
        """Whether background traffic runs."""
        return self.workload not in (None, NO_BACKGROUND)

    @property
    def label(self) -> str:
        """Name of the cell, the same in each plan that has it."""
        # Cells without ECN have the names that they had before there was such an axis: their seeds are made of them.
        ecn = "" if self.ecn == "none" else f"_{self.ecn}ecn"
        against = f"against-{self.rival}" if self.rival else self.congestion_control or "none"
        if self.workload is not None:
            against = self.workload if self.congested == "none" else f"{self.workload}-{self.congested}"
        direction = "" if self.direction == "downlink" else "up_"
        programme = f"_{self.programme}" if self.programme else ""
        return (
            f"{direction}{self.rate_mbps * 1000:g}k_rtt{self.rtt_ms:g}_{self.queue.label}_{against}_"
            f"{self.application or 'none'}_{self.start_order.replace('_', '')}{ecn}{programme}"
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


@dataclass(frozen=True)
class _Competitor:
    """What competes with the application in a cell, and the orders in which they may start."""

    orders: tuple[str, ...]
    congestion_control: str | None = None
    rival: str | None = None
    workload: str | None = None
    congested: str = "none"


def _competitors(plan: Plan) -> list[_Competitor]:
    axes = plan.axes
    orders = tuple(axes.start_order)
    competitors = [_Competitor(orders, congestion_control=control) for control in axes.congestion_control]
    competitors += [_Competitor(orders, rival=rival) for rival in axes.rival]
    for workload in axes.workload:
        if workload == NO_BACKGROUND:
            competitors.append(_Competitor(("solo",), workload=workload))
            continue
        # Background traffic is there first, as in a network that is in use.
        control = plan.background_congestion_control
        competitors += [_Competitor(("tcp_first",), control, None, workload, congested) for congested in axes.congested]
    return competitors


def _links(plan: Plan) -> list[tuple[Direction, float, float | None]]:
    """Return direction and rate of each bottleneck, and the rate of the other direction."""
    if plan.links is None:
        return [(direction, rate, None) for direction in plan.axes.direction for rate in plan.axes.rate_mbps]
    opposite: dict[Direction, Direction] = {"downlink": "uplink", "uplink": "downlink"}
    return [
        (direction, plan.links.mbps(direction), plan.links.mbps(opposite[direction]))
        for direction in plan.axes.direction
    ]


def cells(plan: Plan) -> list[Cell]:
    """Return the cells of a plan, runs of two flows first; solo runs are at the first queue of the plan."""
    axes = plan.axes
    programmes: list[str | None] = [*axes.programme] or [None]
    crossed = [
        Cell(
            queue, rate, rtt, one.congestion_control, application, order, ecn,
            direction, one.rival, one.workload, one.congested, opposite, programme,
        )
        for queue, (direction, rate, opposite), rtt, one, application in itertools.product(
            axes.queue, _links(plan), axes.rtt_ms, _competitors(plan), axes.application
        )
        for order, ecn, programme in itertools.product(one.orders, axes.ecn, programmes)
    ]  # fmt: skip
    if plan.solo:
        for (direction, rate, opposite), rtt, ecn, programme in itertools.product(
            _links(plan), axes.rtt_ms, axes.ecn, programmes
        ):
            alone: list[tuple[str | None, str | None]] = [(control, None) for control in axes.congestion_control]
            # An application that does not ask for ECN is alone in the same way with and without it.
            if ecn == axes.ecn[0]:
                alone += [(None, application) for application in _alone(axes)]
            crossed += [
                Cell(
                    axes.queue[0],
                    rate,
                    rtt,
                    *roles,
                    "solo",
                    ecn,
                    direction,
                    opposite_mbps=opposite,
                    programme=programme,
                )
                for roles in alone
            ]
    return crossed


def _alone(axes: Axes) -> list[str]:
    """Return the applications that need a run alone: those of noBG have one at each queue."""
    applications: list[str] = [] if NO_BACKGROUND in axes.workload else list(axes.application)
    return applications + [rival for rival in axes.rival if rival not in axes.application]


def blocks(plan: Plan, repetitions: int | None = None) -> list[list[Run]]:
    """Return the runs in the order in which they are to run: a block is one repetition of each cell, in random order.

    A randomised complete block design: what drifts over time falls on all cells alike. The order depends on the plan's
    seed alone; the seed of a run depends on the plan's seed, the cell and the repetition, and not on the order.
    """
    of_plan = cells(plan)
    order = random.Random(plan.seed)  # noqa: S311 - an order to be repeated, not a secret
    result = []
    for repetition in range(1, (repetitions or plan.repetitions) + 1):
        block = [Run(cell, repetition, _seed(plan.seed, cell, repetition)) for cell in of_plan]
        order.shuffle(block)
        result.append(block)
    return result


def _seed(plan_seed: int, cell: Cell, repetition: int) -> int:
    digest = hashlib.sha256(f"{plan_seed}\0{cell.label}\0{repetition}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1
