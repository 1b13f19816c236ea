"""What a run's manifest says of the flows of a capture: which are RTP, and rules by which they have roles.

Of two rules that fit a flow, the first in the list takes it. A 5-tuple is a rule that says all of both ends.
"""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from itertools import permutations

from sojourn_ingest.formats.capture.rtp_hint import RtpHint

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class EndRule:
    """What one end of a flow has; None for what it may have any of. Ports are first and last."""

    network: Network | None = None
    ports: tuple[int, int] | None = None

    def fits(self, address: Address, port: int | None) -> bool:
        """Return whether an end is one of these."""
        in_network = self.network is None or (address.version == self.network.version and address in self.network)
        return in_network and (self.ports is None or (port is not None and self.ports[0] <= port <= self.ports[1]))


@dataclass(frozen=True)
class FlowRule:
    """One rule of the list, in which it has ``number``: a flow that meets all it says has ``role``.

    Each of ``ends`` is another end of the flow; two with an address and a port each are a 5-tuple. A server's name is
    one of ``server_names`` or below it. ``more_than_bytes`` are those of the payload in both directions. ``is_first``:
    of the flows that no rule before it takes, the one that began first.
    """

    number: int
    role: str
    protocol: str | None = None
    ends: tuple[EndRule, ...] = ()
    server_names: tuple[str, ...] = ()
    more_than_bytes: int | None = None
    is_first: bool = False

    @property
    def is_rest(self) -> bool:
        """Whether it takes every flow that is left."""
        return self == FlowRule(self.number, self.role)

    def fits(self, flow: SeenFlow) -> bool:
        """Return whether a flow meets all but ``is_first``."""
        return (
            (self.protocol is None or flow.protocol == self.protocol)
            and (self.more_than_bytes is None or flow.payload_bytes > self.more_than_bytes)
            and (not self.server_names or any(map(flow.is_of_server, self.server_names)))
            and any(
                all(rule.fits(*end) for rule, end in zip(self.ends, ends, strict=True))
                for ends in permutations(flow.ends, len(self.ends))
            )
        )


@dataclass(frozen=True)
class RunRules:
    """The rules of one run, in their order."""

    study_id: str
    run_id: str
    rules: tuple[FlowRule, ...]


@dataclass(frozen=True)
class FlowHints:
    """What is declared of the flows of a capture: which are RTP, and which have which role."""

    rtp: tuple[RtpHint, ...] = ()
    roles: RunRules | None = None

    def roles_fingerprint(self) -> str:
        """Return what tells these rules from others."""
        return hashlib.sha256(repr(self.roles).encode()).hexdigest()[:8]


NO_HINTS = FlowHints()


@dataclass(frozen=True)
class SeenFlow:
    """A flow of a capture, as far as rules ask for it."""

    flow_id: int
    protocol: str
    ends: tuple[tuple[Address, int | None], tuple[Address, int | None]]
    server_name: str | None
    payload_bytes: int
    first_packet_ns: int

    def is_of_server(self, name: str) -> bool:
        """Return whether the server has a name, or one below it."""
        return self.server_name is not None and f".{self.server_name}".endswith(f".{name}")

    def begins_before(self, other: SeenFlow) -> bool:
        """Return whether it began before another flow."""
        return (self.first_packet_ns, self.flow_id) < (other.first_packet_ns, other.flow_id)
