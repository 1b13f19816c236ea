"""Plans: YAML that says which queues, rates, congestion controls and applications to compare, and how often.

Unknown keys and impossible values are refused with the place of the fault and what is expected there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from sojourn_testbed.background import NO_BACKGROUND, WORKLOADS, Congested, Sessions
from sojourn_testbed.places import Direction
from sojourn_testbed.queue_disciplines import FRAME_BYTES, Queue

#: Longest plan that is read; a plan is written by hand.
MAX_BYTES = 2**20

CongestionControl = Literal["cubic", "bbr", "reno"]
Application = Literal["voice", "video", "web", "web-parallel", "streaming", "webrtc", "clip"]
#: Applications whose data go from a server to the home, whatever the bottleneck's direction.
DOWNLOADS = frozenset({"web", "web-parallel", "streaming"})
StartOrder = Literal["app_first", "tcp_first"]
#: Whether the hosts ask for ECN (RFC 3168) when TCP connects; the guest's kernel has no Accurate ECN.
Ecn = Literal["none", "classic"]
#: The programme without a step.
STEADY = "steady"
#: The form in which each event of the queues is recorded.
QueueLog = Literal["text", "binary", "both"]


class PlanError(Exception):
    """A plan cannot be carried out; the message says where and what is expected."""


class RateStep(BaseModel, extra="forbid", frozen=True):
    """From ``at_s`` seconds after the run's start on, the bottleneck has another rate."""

    at_s: Annotated[float, Field(ge=0, le=86_400)]
    rate_mbps: Annotated[float, Field(gt=0, le=1000)]


class RttStep(BaseModel, extra="forbid", frozen=True):
    """From ``at_s`` seconds after the run's start on, the round-trip time without queuing is another."""

    at_s: Annotated[float, Field(ge=0, le=86_400)]
    rtt_ms: Annotated[float, Field(ge=0, le=10_000)]


class Programme(BaseModel, extra="forbid", frozen=True):
    """How rate and round-trip time change within a run."""

    rate_steps: list[RateStep] = []
    rtt_steps: list[RttStep] = []

    def check(self, end_s: float) -> None:
        """Raise ValueError if a step is after the run's end, not at a whole second, or twice at one."""
        for kind, times in (
            ("a rate step", [step.at_s for step in self.rate_steps]),
            ("a step of the round-trip time", [step.at_s for step in self.rtt_steps]),
        ):
            for at_s in times:
                if at_s >= end_s:
                    raise ValueError(f"{kind} at {at_s:g} s comes after the end at {end_s:g} s")
                if at_s != int(at_s):
                    raise ValueError(f"{kind} at {at_s:g} s; expected whole seconds")
            if len(set(times)) < len(times):
                raise ValueError(f"{kind} is given twice for one second")


class Axes(BaseModel, extra="forbid", frozen=True):
    """What is varied: each combination of one value of each axis is a cell."""

    queue: Annotated[list[Queue], Field(min_length=1)]
    #: Empty where the plan gives the rates of both directions (``links``).
    rate_mbps: list[Annotated[float, Field(gt=0, le=1000)]] = []
    direction: Annotated[list[Direction], Field(min_length=1)] = ["downlink"]
    rtt_ms: Annotated[list[Annotated[float, Field(ge=0, le=10_000)]], Field(min_length=1)] = [50.0]
    #: What competes with the application: a bulk TCP flow of each of these, each rival, each workload. Empty by default
    #: where there is a rival or a workload.
    congestion_control: list[CongestionControl] = ["cubic"]
    rival: list[Application] = []
    workload: list[str] = []
    #: Which directions each workload but noBG goes.
    congested: Annotated[list[Congested], Field(min_length=1)] = ["downstream"]
    application: Annotated[list[Application], Field(min_length=1)] = ["voice"]
    start_order: Annotated[list[StartOrder], Field(min_length=1)] = ["app_first"]
    ecn: Annotated[list[Ecn], Field(min_length=1)] = ["none"]
    #: Programmes by name: those of the plan, and steady. Empty where all runs have the plan's own steps.
    programme: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _competes_with_one_kind(cls, values: Any) -> Any:
        if (
            isinstance(values, dict)
            and "congestion_control" not in values
            and (values.get("rival") or values.get("workload"))
        ):
            return values | {"congestion_control": []}
        return values

    @field_validator("queue", mode="before")
    @classmethod
    def _names_of_disciplines(cls, values: Any) -> Any:
        # A discipline without parameters may stand by its name alone.
        return (
            [{"discipline": one} if isinstance(one, str) else one for one in values]
            if isinstance(values, list)
            else values
        )

    @model_validator(mode="after")
    def _differ(self) -> Axes:
        for name in type(self).model_fields:
            values = getattr(self, name)
            if len({repr(value) for value in values}) < len(values):
                raise ValueError(f"{name} names a value twice")
        if not (self.congestion_control or self.rival or self.workload):
            raise ValueError(
                "nothing competes: give congestion_control, rival or workload (noBG: the application alone)"
            )
        downloads = sorted(DOWNLOADS & {*self.application, *self.rival})
        if "uplink" in self.direction and downloads:
            raise ValueError(
                f"{downloads[0]} downloads, so its data do not pass a bottleneck on the uplink; give links and the "
                "direction downlink, and let a workload fill the uplink"
            )
        return self


class Links(BaseModel, extra="forbid", frozen=True):
    """Rates of both directions, each with a queue of its own: the cell's, at that direction's rate."""

    downlink_mbps: Annotated[float, Field(gt=0, le=1000)]
    uplink_mbps: Annotated[float, Field(gt=0, le=1000)]

    def mbps(self, direction: Direction) -> float:
        """Rate of a direction."""
        return self.downlink_mbps if direction == "downlink" else self.uplink_mbps


class Timing(BaseModel, extra="forbid", frozen=True):
    """Seconds after the start of a run: the first flow begins at 0, all end at ``end_s``."""

    second_start_s: Annotated[float, Field(ge=0)] = 5.0
    #: The second flow starts up to this much later, uniformly, by the run's seed: repetitions meet another phase.
    start_spread_s: Annotated[float, Field(ge=0, le=60)] = 0.5
    window_start_s: Annotated[float, Field(ge=0)] = 10.0
    window_end_s: Annotated[float, Field(gt=0)] = 30.0
    end_s: Annotated[float, Field(gt=0, le=86_400)] = 31.0
    #: When the second flow ends; null: with the run. The first goes on alone.
    second_end_s: Annotated[float, Field(gt=0)] | None = None
    drain_s: Annotated[float, Field(ge=0, le=60)] = 1.5

    @model_validator(mode="after")
    def _follow(self) -> Timing:
        last_start_s = self.second_start_s + self.start_spread_s
        if not last_start_s <= self.window_start_s < self.window_end_s <= self.end_s:
            raise ValueError(
                "expected second_start_s + start_spread_s <= window_start_s < window_end_s <= end_s; "
                f"found {last_start_s:g}, {self.window_start_s:g}, {self.window_end_s:g}, {self.end_s:g}"
            )
        if self.second_end_s is not None and not last_start_s < self.second_end_s <= self.end_s:
            raise ValueError(
                f"expected second_start_s + start_spread_s < second_end_s <= end_s; found {last_start_s:g}, "
                f"{self.second_end_s:g}, {self.end_s:g}"
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
    #: Rates of both directions, instead of the axis rate_mbps.
    links: Links | None = None
    #: Sessions of workloads that are not built in, by name.
    workloads: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")], Sessions] = {}
    #: Congestion control of background traffic.
    background_congestion_control: CongestionControl = "cubic"
    #: Probes of ping from the side of the bottleneck's sender, beside the application; null: none.
    ping_interval_ms: Annotated[int, Field(ge=10, le=10_000)] | None = None
    #: Rate of the way back; null: not limited.
    uplink_mbps: Annotated[float, Field(gt=0, le=1000)] | None = None
    #: Steps of every run; where runs differ in their steps, axes.programme and programmes instead.
    rate_steps: list[RateStep] = []
    rtt_steps: list[RttStep] = []
    programmes: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")], Programme] = {}
    #: The MPEG-2 transport stream that the application ``clip`` sends; in a plan's file, relative to its folder.
    clip: Path | None = None
    #: Media rate of video over the rate of the link.
    video_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    snap_length_bytes: Annotated[int, Field(ge=64, le=65_535)] = 96
    poll_interval_ms: Annotated[int, Field(ge=10, le=10_000)] = 100
    #: Where it is both, ingest reads the text.
    queue_log: QueueLog = "text"

    @model_validator(mode="after")
    def _is_possible(self) -> Plan:
        axes = self.axes
        if (self.links is None) == (not axes.rate_mbps):
            raise ValueError("expected either axes.rate_mbps, or links with the rates of both directions")
        if self.uplink_mbps is not None and (self.links is not None or "uplink" in axes.direction):
            raise ValueError("uplink_mbps limits the way back of a bottleneck on the downlink; expected links instead")
        self._has_its_programmes()
        if "voice" in axes.application and min(self.rates_mbps) < 0.1:
            raise ValueError("voice (G.711) needs 87 kbit/s; expected rate_mbps of 0.1 or more")
        if ("clip" in {*axes.application, *axes.rival}) != (self.clip is not None):
            raise ValueError(
                "expected both the application clip and the file that it sends (clip: FILE.ts), or neither"
            )
        if self.clip is not None and self.snap_length_bytes < FRAME_BYTES:
            raise ValueError(
                f"a clip is scored from whole packets; expected snap_length_bytes of {FRAME_BYTES} or more"
            )
        self._has_its_workloads()
        return self

    def _has_its_programmes(self) -> None:
        if self.axes.programme and (self.rate_steps or self.rtt_steps):
            raise ValueError("expected either steps of every run (rate_steps, rtt_steps), or axes.programme")
        for programme in (self.steps(None), *self.programmes.values()):
            programme.check(self.timing.end_s)
        _check_names("programme", self.axes.programme, self.programmes, {STEADY})
        empty = sorted(name for name, one in self.programmes.items() if not (one.rate_steps or one.rtt_steps))
        if empty:
            raise ValueError(f"programme {empty[0]!r} has no step; a run without one is {STEADY}")
        if STEADY in self.programmes:
            raise ValueError(f"{STEADY} is the name of runs without a step; rename the programme")

    def _has_its_workloads(self) -> None:
        _check_names("workload", self.axes.workload, self.workloads, {NO_BACKGROUND, *WORKLOADS})
        filling = [name for name in self.axes.workload if name != NO_BACKGROUND]
        if filling and self.links is None and any(one != "downstream" for one in self.axes.congested):
            raise ValueError("a workload that goes upstream needs the rate of both directions; give links")

    @property
    def has_text_log(self) -> bool:
        """Whether the queue log is recorded as text."""
        return self.queue_log in ("text", "both")

    @property
    def has_binary_log(self) -> bool:
        """Whether the queue log is recorded in the binary form."""
        return self.queue_log in ("binary", "both")

    @property
    def rates_mbps(self) -> list[float]:
        """Rates of the bottleneck, of all directions."""
        if self.links is None:
            return self.axes.rate_mbps
        return [self.links.mbps(direction) for direction in self.axes.direction]

    def sessions(self, workload: str) -> Sessions:
        """Return the sessions of a workload other than noBG."""
        return self.workloads.get(workload) or WORKLOADS[workload]

    def steps(self, programme: str | None) -> Programme:
        """Return the steps of a cell's programme; null: those of every run of the plan."""
        if programme is None:
            return Programme(rate_steps=self.rate_steps, rtt_steps=self.rtt_steps)
        return Programme() if programme == STEADY else self.programmes[programme]

    def programme_name(self, programme: str | None, rate_mbps: float, rtt_ms: float) -> str | None:
        """Name of the programme that steps rate or round-trip time from these on; null without steps."""
        steps = self.steps(programme)
        if not steps.rate_steps and not steps.rtt_steps:
            return None
        return f"{programme or 'steps'}-{rate_mbps * 1000:g}k" + (f"-rtt{rtt_ms:g}" if steps.rtt_steps else "")


def _check_names(kind: str, named: list[str], described: dict[str, Any], built_in: set[str]) -> None:
    """Raise ValueError if an axis names what nobody describes, or a plan describes what no cell has."""
    names = built_in | described.keys()
    for name in named:
        if name not in names:
            raise ValueError(f"{kind} {name!r} is not one of {', '.join(sorted(names))}; describe it under {kind}s")
    unused = sorted(described.keys() - set(named))
    if unused:
        raise ValueError(f"{kind} {unused[0]!r} is described but in no cell; name it in axes.{kind}")


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
    clip = content.get("clip")
    if isinstance(clip, str):
        content["clip"] = path.parent / clip
        if not content["clip"].is_file():
            raise PlanError(
                f"{path}: clip: there is no file {content['clip']}; create it with ffmpeg, as the "
                "documentation describes"
            )
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
