"""Plans: YAML that says which queues, rates, congestion controls and applications to compare, and how often.

Unknown keys and impossible values are refused with the place of the fault and what is expected there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from sojourn_testbed.queue_disciplines import Queue

#: Longest plan that is read; a plan is written by hand.
MAX_BYTES = 2**20

CongestionControl = Literal["cubic", "bbr", "reno"]
Application = Literal["voice", "video"]
StartOrder = Literal["app_first", "tcp_first"]
#: Whether the hosts ask for ECN (RFC 3168) when TCP connects; the guest's kernel has no Accurate ECN.
Ecn = Literal["none", "classic"]


class PlanError(Exception):
    """A plan cannot be carried out; the message says where and what is expected."""


class RateStep(BaseModel, extra="forbid", frozen=True):
    """From ``at_s`` seconds after the run's start on, the bottleneck has another rate."""

    at_s: Annotated[float, Field(ge=0, le=86_400)]
    rate_mbps: Annotated[float, Field(gt=0, le=1000)]


class Axes(BaseModel, extra="forbid", frozen=True):
    """What is varied: each combination of one value of each axis is a cell."""

    queue: Annotated[list[Queue], Field(min_length=1)]
    rate_mbps: Annotated[list[Annotated[float, Field(gt=0, le=1000)]], Field(min_length=1)]
    rtt_ms: Annotated[list[Annotated[float, Field(ge=0, le=10_000)]], Field(min_length=1)] = [50.0]
    congestion_control: Annotated[list[CongestionControl], Field(min_length=1)] = ["cubic"]
    application: Annotated[list[Application], Field(min_length=1)] = ["voice"]
    start_order: Annotated[list[StartOrder], Field(min_length=1)] = ["app_first"]
    ecn: Annotated[list[Ecn], Field(min_length=1)] = ["none"]

    @field_validator("queue", mode="before")
    @classmethod
    def _names_of_disciplines(cls, given: Any) -> Any:
        # A discipline without parameters may stand by its name alone.
        return (
            [{"discipline": one} if isinstance(one, str) else one for one in given]
            if isinstance(given, list)
            else given
        )

    @model_validator(mode="after")
    def _differ(self) -> Axes:
        for name in type(self).model_fields:
            values = getattr(self, name)
            if len({repr(value) for value in values}) < len(values):
                raise ValueError(f"{name} names a value twice")
        return self


class Timing(BaseModel, extra="forbid", frozen=True):
    """Seconds after the start of a run: the first flow begins at 0, all end at ``end_s``."""

    second_start_s: Annotated[float, Field(ge=0)] = 5.0
    #: The second flow starts up to this much later, uniformly, by the run's seed: repetitions meet another phase.
    start_spread_s: Annotated[float, Field(ge=0, le=60)] = 0.5
    window_start_s: Annotated[float, Field(ge=0)] = 10.0
    window_end_s: Annotated[float, Field(gt=0)] = 30.0
    end_s: Annotated[float, Field(gt=0, le=86_400)] = 31.0
    drain_s: Annotated[float, Field(ge=0, le=60)] = 1.5

    @model_validator(mode="after")
    def _follow(self) -> Timing:
        last_start_s = self.second_start_s + self.start_spread_s
        if not last_start_s <= self.window_start_s < self.window_end_s <= self.end_s:
            raise ValueError(
                "expected second_start_s + start_spread_s <= window_start_s < window_end_s <= end_s; "
                f"found {last_start_s:g}, {self.window_start_s:g}, {self.window_end_s:g}, {self.end_s:g}"
            )
        return self


class Plan(BaseModel, extra="forbid", frozen=True):
    """A study: cells, repetitions, and how one run goes."""

    sojourn_testbed: Literal[1]
    study: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
    title: str = ""
    axes: Axes
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 5
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    timing: Timing = Timing()
    #: Runs of each application and each congestion control alone, which give demand and so harm.
    solo: bool = True
    #: Rate of the way back; null: not limited.
    uplink_mbps: Annotated[float, Field(gt=0, le=1000)] | None = None
    rate_steps: list[RateStep] = []
    #: Media rate of video over the rate of the link.
    video_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    snap_length_bytes: Annotated[int, Field(ge=64, le=65_535)] = 96
    poll_interval_ms: Annotated[int, Field(ge=10, le=10_000)] = 100

    @model_validator(mode="after")
    def _is_possible(self) -> Plan:
        for step in self.rate_steps:
            if step.at_s >= self.timing.end_s:
                raise ValueError(f"a rate step at {step.at_s:g} s comes after the end at {self.timing.end_s:g} s")
        if "voice" in self.axes.application and min(self.axes.rate_mbps) < 0.1:
            raise ValueError("voice (G.711) needs 87 kbit/s; expected rate_mbps of 0.1 or more")
        return self


def load_plan(path: Path) -> Plan:
    """Return the plan that a file holds.

    Raises
    ------
    PlanError
        If the file cannot be read or is not a plan.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PlanError(f"{path} has {path.stat().st_size:,} bytes; expected a plan of at most {MAX_BYTES:,}")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlanError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or "sojourn_testbed" not in content:
        raise PlanError(f"{path} is not a testbed plan; expected a line `sojourn_testbed: 1` in it")
    try:
        return Plan.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "plan"
        what = (
            "is not a key of a plan"
            if first["type"] == "extra_forbidden"
            else first["msg"].removeprefix("Value error, ")
        )
        raise PlanError(f"{path}: {place}: {what}") from error
