"""What a run's manifest says (JSON or YAML, schema testbed-manifest/1)."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from sojourn_ingest.formats.capture.flow_hints import FlowHints, RunRules
from sojourn_ingest.formats.content.before_damage import read_whole
from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.interface import InputError, Source
from sojourn_ingest.formats.run.declared_flow import DeclaredFlow, ManifestPart, rtp_hint
from sojourn_ingest.schema.shared_columns import (
    COUNT,
    DELAY_MS,
    LONGEST_RUN_S,
    QUEUE_SIZE,
    RATE_BPS,
    SHORTEST_WINDOW_MS,
)
from sojourn_ingest.validation_message import one_line
from sojourn_ingest.yaml_text import load_yaml, refuse_many_values

SCHEMA = "testbed-manifest/1"
#: Of what is read of a manifest: a field of the same name as a column of the lake's ``run`` is a fact, and raises it.
VERSION = "run-manifest-14"
SCHEMA_ENTRY = re.compile(rb"""(?:^|[{,])\s*"?schema"?\s*:\s*["']?""" + re.escape(SCHEMA.encode()), re.MULTILINE)
MAX_BYTES = 16 * 2**20
#: Rules, and names of servers in them: a capture's flows are compared with each.
MOST_RULES = 200

# Seconds whose nanoseconds fit 63 bits: until the year 2262.
Epoch = Annotated[float, Field(ge=0, lt=9.2e9)]


def within(bounds: tuple[int, int]) -> Any:
    """Return the constraint of a number that a column with these bounds holds."""
    return Field(ge=bounds[0], le=bounds[1])


class _Shaper(ManifestPart):
    #: Kernel name: tbf, htb, cake.
    kind: str | None = None
    #: What a full token bucket lets pass at once; of another shaper, and where it is not known, null.
    burst_bytes: Annotated[int, Field(ge=0, lt=2**32)] | None = None


class _Queue(ManifestPart):
    discipline: str
    size_bdp: Annotated[float, within(COUNT)] | None = None
    size_bytes: Annotated[int, within(QUEUE_SIZE)] | None = None
    size_packets: Annotated[int, within(QUEUE_SIZE)] | None = None
    aqm_parameters: dict[str, Any] | None = None
    #: What the study calls the size: tiny, BDP, largest.
    scheme: str | None = None
    #: What sets the rate above the discipline.
    shaper: _Shaper | None = None
    #: Which queue of the log is the bottleneck's, where the log holds several.
    interface: str | None = None
    handle: str | None = None


class _Link(ManifestPart):
    """One direction of the bottleneck's link."""

    bandwidth_bps: Annotated[int, within(RATE_BPS)] | None = None
    #: One way, without queuing.
    delay_ms: Annotated[float, within(DELAY_MS)] | None = None
    queue: _Queue | None = None


class _Links(ManifestPart):
    # A third direction is a slip of the pen, and would be lost.
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    downlink: _Link | None = None
    uplink: _Link | None = None


class _Phase(ManifestPart):
    """A phase of the run, in seconds since its start."""

    phase: Literal["solo", "competing", "recovery"]
    start_s: Annotated[float, Field(ge=0, lt=9.2e9)]
    end_s: Annotated[float, Field(ge=0, lt=9.2e9)]

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> _Phase:
        if self.end_s <= self.start_s:
            raise ValueError(f"phase {self.phase} ends at {self.end_s:g} s, not after its start at {self.start_s:g} s")
        return self


class _Instant(ManifestPart):
    epoch_s: Epoch


class _Window(ManifestPart):
    start_epoch_s: Epoch
    end_epoch_s: Epoch

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> _Window:
        # Two epochs as doubles are a quarter of a microsecond off each.
        if round((self.end_epoch_s - self.start_epoch_s) * 1e6) < SHORTEST_WINDOW_MS * 1000:
            raise ValueError(
                f"the window ends at {self.end_epoch_s}, not {SHORTEST_WINDOW_MS} ms after its start at "
                f"{self.start_epoch_s}"
            )
        return self


class _Clock(ManifestPart):
    mono_to_realtime_offset_ns: int = Field(ge=0, le=2**62)


#: Without a path; no file system has longer ones.
FileName = Annotated[str, Field(pattern=r"^[^/\\\x00]+$", max_length=255)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Part(ManifestPart):
    """One of the files that a capture was written to; ``sha256`` is that of its plain content."""

    name: FileName
    sha256: Sha256 | None = None


class _File(ManifestPart):
    """A file of the run, or, of a capture, the files that it was written to one after the other."""

    sha256: Sha256 | None = None
    parts: list[Part | FileName] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_known(self) -> _File:
        if (self.sha256 is None) == (self.parts is None):
            raise ValueError("give sha256, or parts if the recording is in several files")
        return self


class Manifest(ManifestPart):
    """A manifest as written by the testbed; fields are named there, columns of ``run`` here."""

    run_id: str = Field(min_length=1)
    study: str = Field(min_length=1)
    direction: Literal["downlink", "uplink"] | None = None
    #: Not needed where a programme of the study sets the rate.
    bandwidth_bps: Annotated[int, within(RATE_BPS)] | None = None
    rtt_ms: Annotated[float, within(DELAY_MS)]
    queue: _Queue
    #: Both directions of the link. That of ``direction`` is the bottleneck's.
    links: _Links | None = None
    cc: str | None = None
    app: str | None = None
    #: The application that competes with ``app``, where no TCP flow does.
    rival: str | None = None
    order: Literal["solo", "app_first", "tcp_first", "rival_first"]
    workload: str = "call"
    testbed: str | None = None
    #: Which direction the background traffic fills.
    congested_direction: Literal["none", "upstream", "downstream", "both"] | None = None
    #: Of a call of several people.
    participants: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    call_view: Literal["gallery", "speaker", "pinned"] | None = None
    #: What the hosts ask for when TCP connects (RFC 3168, RFC 9768).
    ecn: Literal["none", "classic", "accurate"] | None = None
    #: Which roles send as L4S (RFC 9331).
    l4s: Literal["neither", "app", "tcp", "both"] | None = None
    repetition: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    #: The set of runs that were made together and share what drifts, such as a day, or a round of a randomised plan.
    block: Annotated[str, Field(min_length=1)] | int | None = None
    bandwidth_programme: str | None = None
    session_id: str | None = None
    t0: _Instant | None = None
    window: _Window | None = None
    #: Where they are not given, they follow from the flows.
    phases: list[_Phase] = Field(default_factory=list)
    flows: list[DeclaredFlow] = Field(default_factory=list)
    clock: _Clock | None = None
    files: dict[str, _File] = Field(default_factory=dict)
    exclusion_reason: str | None = None

    @property
    def burst_bytes(self) -> int | None:
        """What the bottleneck lets pass at once; None where the manifest does not say."""
        return None if self.queue.shaper is None else self.queue.shaper.burst_bytes

    @model_validator(mode="before")
    @classmethod
    def _bottleneck_of_links(cls, content: Any) -> Any:
        """Take rate, queue and RTT from the links where the manifest does not say them of the run."""
        if not isinstance(content, dict) or not isinstance(content.get("links"), dict):
            return content
        links, direction = content["links"], content.get("direction")
        own = links.get(direction) if isinstance(direction, str) else None
        values: dict[str, Any] = {}
        if isinstance(own, dict):
            values = {name: own[name] for name in ("bandwidth_bps", "queue") if own.get(name) is not None}
        delays = [link.get("delay_ms") for link in links.values() if isinstance(link, dict)]
        if len(delays) == 2 and all(isinstance(delay, int | float) for delay in delays):
            values["rtt_ms"] = sum(delays)
        if values.get("bandwidth_bps") is not None and content.get("bandwidth_programme") is not None:
            # A programme sets the rate of the run; the link's is what the source states beside it.
            del values["bandwidth_bps"]
        return values | {name: value for name, value in content.items() if value is not None or name not in values}

    @model_validator(mode="after")
    def _agrees_with_its_links(self) -> Manifest:
        if self.links is None:
            return self
        if self.direction is None:
            raise ValueError("links is given without direction, which says which queue is the bottleneck")
        own = getattr(self.links, self.direction)
        for name in ("bandwidth_bps", "queue"):
            said, of_link = getattr(self, name), None if own is None else getattr(own, name)
            if said is not None and of_link is not None and said != of_link:
                raise ValueError(f"{name} and links/{self.direction}/{name} differ; leave one of them out")
        return self

    @model_validator(mode="after")
    def _phases_follow_each_other(self) -> Manifest:
        names = [phase.phase for phase in self.phases]
        if len(set(names)) < len(names):
            raise ValueError("phases: give each of solo, competing and recovery at most once")
        if any(first.end_s > second.start_s for first, second in pairwise(self.phases)):
            raise ValueError("phases overlap; each must begin after the previous one ends")
        if self.phases and self.t0 is None:
            raise ValueError("phases is given without t0, from which its seconds count")
        return self

    @model_validator(mode="after")
    def _is_no_longer_than_a_run(self) -> Manifest:
        times_s = (
            [] if self.t0 is None else [self.t0.epoch_s + phase.end_s for phase in self.phases] + [self.t0.epoch_s]
        )
        if self.window is not None:
            times_s += [self.window.start_epoch_s, self.window.end_epoch_s]
        span_s = max(times_s) - min(times_s) if times_s else 0
        if span_s > LONGEST_RUN_S:
            raise ValueError(
                f"t0, window and phases span {span_s / 3600:,.1f} h, a run {LONGEST_RUN_S // 3600} h at most; "
                "give epoch_s, start_epoch_s and end_epoch_s in seconds since 1970"
            )
        return self

    @model_validator(mode="after")
    def _rules_can_take_a_flow(self) -> Manifest:
        has_rules = not all(each.is_tuple for each in self.flows)
        if has_rules and sum(1 + len(flow.server_name or ()) for flow in self.flows) > MOST_RULES:
            raise ValueError(
                f"flows: rules and 5-tuples beside them, with names of servers, are at most {MOST_RULES}; "
                "5-tuples alone may be more"
            )
        for number, flow in enumerate(self.flows):
            if has_rules:
                # The reader of captures needs its addresses.
                flow.rule(number)
            if flow.rest and number < len(self.flows) - 1:
                raise ValueError(f"flows: rule {number} matches all remaining flows; put it last")
        return self

    @model_validator(mode="after")
    def _has_a_rate(self) -> Manifest:
        if self.bandwidth_bps is None and self.bandwidth_programme is None:
            raise ValueError(
                "bandwidth_bps is missing; give it, or bandwidth_programme if the rate changes during the run"
            )
        return self

    @model_validator(mode="after")
    def _has_two_competing_roles_at_most(self) -> Manifest:
        roles = {flow.role for flow in self.flows}
        if self.rival is None:
            if self.order == "rival_first" or "rival" in roles:
                raise ValueError("rival is missing; give the application of role rival")
            return self
        if self.app is None:
            raise ValueError("rival is given without app; the application under study is app")
        if self.cc is not None or "tcp" in roles:
            raise ValueError(
                "rival is given with cc or a flow of role tcp; at most two roles compete in a run: "
                "name the competing TCP flow as rival, or leave rival out"
            )
        if self.order in ("solo", "tcp_first"):
            raise ValueError(f"order is {self.order} and rival is given; use app_first or rival_first")
        return self


def _load(source: Source) -> dict[str, Any]:
    with open_plain(source) as handle:
        text = read_whole(handle, MAX_BYTES)
    try:
        if text.lstrip().startswith(b"{"):
            content = json.loads(text)
            refuse_many_values(content)
        else:
            content = load_yaml(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError("corrupt_record", f"manifest is not valid JSON or YAML: {one_line(error)}") from error
    if not isinstance(content, dict):
        raise InputError("corrupt_record", "manifest is not a JSON or YAML object")
    return content


def load_manifest(source: Source) -> Manifest:
    """Return the manifest that a file holds.

    Raises
    ------
    InputError
        If it is not valid.
    """
    try:
        return Manifest.model_validate(_load(source))
    except ValidationError as error:
        raise InputError("corrupt_record", f"manifest: {one_line(error)}") from error


def flow_hints(manifest: Manifest) -> FlowHints:
    """Return what a manifest says of flows to a reader of captures.

    A list of 5-tuples alone needs no capture to say whose role a flow has.
    """
    rtp = tuple(hint for hint in map(rtp_hint, manifest.flows) if hint is not None)
    if all(flow.is_tuple for flow in manifest.flows):
        return FlowHints(rtp)
    rules = tuple(flow.rule(number) for number, flow in enumerate(manifest.flows))
    return FlowHints(rtp, RunRules(manifest.study, manifest.run_id, rules))
