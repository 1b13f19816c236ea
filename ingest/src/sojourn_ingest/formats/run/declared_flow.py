"""A flow that a run's manifest declares: by its 5-tuple, or by a rule that it fits."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sojourn_ingest.formats.capture.flow_hints import EndRule, FlowRule
from sojourn_ingest.formats.capture.rtp_hint import RtpHint
from sojourn_ingest.hosts_in_text import addresses_in

Count = Annotated[int, Field(ge=0, lt=2**53)]
Port = Annotated[int, Field(ge=0, le=65535)]

TUPLE = ("proto", "src", "sport", "dst", "dport")
_PORTS = re.compile(r"(\d{1,5})(?: ?- ?(\d{1,5}))?")


class ManifestPart(BaseModel):
    """A part of a manifest, which may say more than Sojourn reads; no number of it is infinite."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


def _list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _domain(value: str) -> str:
    name = value.lower().removeprefix("*.").strip(".")
    if re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name) is None:
        raise ValueError(f"{value!r} is not the name of a server; write a domain, which covers its subdomains")
    if addresses_in(name):
        # It would be readable in the lake.
        raise ValueError(
            "a name of server_name has an address in it; write the domain above it, or the address as host"
        )
    return name


def _ports(value: Any) -> tuple[int, int]:
    match = _PORTS.fullmatch(str(value).strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match is not None else (1, 0)
    if not first <= last <= 65535:
        raise ValueError(f"{value!r} is neither a port nor a range of ports; write it as 443 or 8801-8810")
    return first, last


def _network(value: Any) -> Any:
    try:
        return ipaddress.ip_network(str(value))
    except ValueError as error:
        raise ValueError(f"{error}; write an address, or a prefix as 192.0.2.0/24") from error


class DeclaredFlow(ManifestPart):
    """One entry of a manifest's ``flows``.

    With all of a 5-tuple it is that flow, whose data go from ``src`` to ``dst``. Else it is a rule: of what it says, a
    flow must meet all. ``host`` and ``ports`` are of the same end, whichever that is.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, arbitrary_types_allowed=True)

    role: Literal["app", "tcp", "rival", "tcp_control", "background"]
    proto: Literal["tcp", "udp"] | None = None
    src: str | None = None
    sport: Port | None = None
    dst: str | None = None
    dport: Port | None = None
    #: An address or a prefix.
    host: Annotated[ipaddress.IPv4Network | ipaddress.IPv6Network, BeforeValidator(_network)] | None = None
    ports: Annotated[tuple[int, int], BeforeValidator(_ports)] | None = None
    #: Names of TLS, QUIC or DNS; each has the names below it.
    server_name: Annotated[list[str], BeforeValidator(_list), Field(min_length=1)] | None = None
    #: Bytes of the payload in both directions.
    more_than_bytes: Count | None = None
    #: Of those that no rule before takes, the flow that began first.
    first: bool = False
    #: Every flow that no rule before takes.
    rest: bool = False
    cc: str | None = None
    app: str | None = None
    ssrc: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    rtp_payload_type: Annotated[int, Field(ge=0, lt=128)] | None = None
    #: Whether the flow is RTP; where it is not said, a flow with an SSRC or a payload type is.
    rtp: bool | None = None
    planned_start_s: float | None = None

    @property
    def is_tuple(self) -> bool:
        """Whether it is one flow by its 5-tuple."""
        return self.src is not None

    @model_validator(mode="before")
    @classmethod
    def _is_understood(cls, content: Any) -> Any:
        # What is said of a 5-tuple besides changes nothing; a condition that is not read would widen a rule.
        if isinstance(content, dict) and not {"src", "sport", "dst", "dport"} & {*content}:
            unread = [str(name) for name in content if name not in cls.model_fields]
            if unread:
                raise ValueError(
                    f"{', '.join(unread)}: not a condition of a rule, which are proto, host, ports, server_name, "
                    "more_than_bytes, first and rest"
                )
        return content

    @model_validator(mode="after")
    def _says_which_flows(self) -> DeclaredFlow:
        absent = [name for name in TUPLE if getattr(self, name) is None]
        conditions = (self.host, self.ports, self.server_name, self.more_than_bytes)
        has_conditions = self.first or any(condition is not None for condition in conditions)
        if {*TUPLE} - {"proto"} - {*absent}:
            if absent:
                raise ValueError(
                    f"{', '.join(absent)} of the 5-tuple is missing; give it, or a rule with host and ports"
                )
            if has_conditions or self.rest:
                raise ValueError(
                    "a 5-tuple names one flow; leave out host, ports, server_name, more_than_bytes, first, rest"
                )
            return self
        if self.rest and (has_conditions or self.proto is not None):
            raise ValueError("rest takes every flow; remove the other conditions")
        if not (self.rest or has_conditions or self.proto is not None):
            raise ValueError(
                "no condition says which flows it applies to; give src, sport, dst, dport and proto of one "
                "flow, or host, ports, proto, server_name, more_than_bytes, first or rest"
            )
        if self.ssrc is not None or self.rtp_payload_type is not None or self.rtp is not None:
            raise ValueError("ssrc, rtp_payload_type and rtp describe one flow; give its 5-tuple")
        if self.server_name is not None:
            self.server_name = [_domain(name) for name in self.server_name]
        return self

    def rule(self, number: int) -> FlowRule:
        """Return the rule by which it takes flows; ``number`` is its place in the list.

        Raises
        ------
        ValueError
            If an address of a 5-tuple is none.
        """
        if self.src is not None and self.dst is not None and self.sport is not None and self.dport is not None:
            ends = (
                EndRule(_network(self.src), (self.sport, self.sport)),
                EndRule(_network(self.dst), (self.dport, self.dport)),
            )
            return FlowRule(number, self.role, self.proto, ends)
        has_end = self.host is not None or self.ports is not None
        return FlowRule(
            number,
            self.role,
            self.proto,
            (EndRule(self.host, self.ports),) if has_end else (),
            tuple(self.server_name or ()),
            self.more_than_bytes,
            self.first,
        )


def rtp_hint(flow: DeclaredFlow) -> RtpHint | None:
    """Return what is said of a UDP flow: that it is RTP, or that it is not; None where nothing is."""
    has_stream = flow.ssrc is not None or flow.rtp_payload_type is not None
    is_rtp = has_stream if flow.rtp is None else flow.rtp
    if flow.proto != "udp" or not (has_stream or flow.rtp is not None):
        return None
    if flow.src is None or flow.sport is None or flow.dst is None or flow.dport is None:
        return None
    stream = (flow.ssrc, flow.rtp_payload_type) if is_rtp else (None, None)
    return RtpHint(flow.src, flow.sport, flow.dst, flow.dport, is_rtp, *stream)
