"""Packet captures (pcap, pcapng): flow, flow_interval, rtp_stream, and packet where it is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from sojourn_ingest import _native
from sojourn_ingest.formats.content.native_decoder import facts, input_error
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source

PCAP_MAGICS = frozenset(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "34cdb2a1"))
PCAPNG_MAGIC = bytes.fromhex("0a0d0d0a")


@dataclass(frozen=True, order=True)
class RtpHint:
    """What a run's manifest says of a UDP flow: whether it is RTP, and which stream, as far as it is known."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    is_rtp: bool
    ssrc: int | None = None
    payload_type: int | None = None


class Capture:
    """Packet captures as tcpdump, dumpcap and Wireshark write them."""

    name = "capture"
    holds_addresses = True

    def __init__(self, *, packets: bool = False, rtp_hints: Sequence[RtpHint] = ()) -> None:
        self.packets = packets
        self.rtp_hints = tuple(rtp_hints)

    def with_hints(self, rtp_hints: Sequence[RtpHint]) -> Capture:
        """Return a reader that takes what is declared of flows as known."""
        return Capture(packets=self.packets, rtp_hints=rtp_hints)

    @property
    def version(self) -> str:
        """Version of the reader; one that gives the packet table too, or was given hints, has a version of its own."""
        return self._version(self.packets)

    def _version(self, packets: bool) -> str:
        return f"{self.base_version()}{self._hints_fingerprint()}{'+packets' if packets else ''}"

    @staticmethod
    def base_version() -> str:
        """Return what the versions of all readers of captures begin with."""
        return f"capture-{_native.core_version()}"

    def _hints_fingerprint(self) -> str:
        if not self.rtp_hints:
            return ""
        text = json.dumps([astuple(hint) for hint in sorted(self.rtp_hints, key=repr)])
        return f"+rtp-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def native_hints(self) -> list[tuple[str, int, str, int, bool, int | None, int | None]]:
        """Return the hints as the decoder takes them."""
        return [
            (
                hint.source,
                hint.source_port,
                hint.destination,
                hint.destination_port,
                hint.is_rtp,
                hint.ssrc,
                hint.payload_type,
            )
            for hint in self.rtp_hints
        ]

    def compatible_versions(self) -> tuple[str, ...]:
        """Return the versions whose facts hold all that this reader gives: packets once asked for are kept."""
        return tuple({self.version, self._version(packets=True)})

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with a magic number of pcap or pcapng."""
        return source.head[:4] in PCAP_MAGICS or source.head[:4] == PCAPNG_MAGIC

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals, RTP streams, and packets where asked for."""
        try:
            decoder = _native.CaptureDecoder(str(source.path), packets=self.packets, rtp_hints=self.native_hints())
        except _native.DecodeError as error:
            raise input_error(error) from error
        yield from facts(decoder, context, reading)
        if reading.records_read == 0 and reading.fault is not None:
            # A capture of which no packet could be decoded is rejected; its packets stand there by reason.
            raise reading.fault
