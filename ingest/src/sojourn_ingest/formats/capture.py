"""Packet captures (pcap, pcapng): flow, flow_interval, rtp_stream, and packet where it is asked for."""

from __future__ import annotations

from sojourn_ingest import _native
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.formats.native_decoder import facts, input_error

PCAP_MAGICS = frozenset(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "34cdb2a1"))
PCAPNG_MAGIC = bytes.fromhex("0a0d0d0a")


class Capture:
    """Packet captures as tcpdump, dumpcap and Wireshark write them."""

    name = "capture"
    holds_addresses = True

    def __init__(self, *, packets: bool = False) -> None:
        self._packets = packets

    @property
    def version(self) -> str:
        """Version of the reader; one that gives the packet table too has a version of its own."""
        return self._version_with_packets() if self._packets else f"capture-{_native.core_version()}"

    @staticmethod
    def _version_with_packets() -> str:
        return f"capture-{_native.core_version()}+packets"

    def versions_as_good(self) -> tuple[str, ...]:
        """Return the versions whose facts hold all that this reader gives: packets once asked for are kept."""
        return tuple({self.version, self._version_with_packets()})

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with a magic number of pcap or pcapng."""
        return source.head[:4] in PCAP_MAGICS or source.head[:4] == PCAPNG_MAGIC

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals, RTP streams, and packets where asked for."""
        try:
            decoder = _native.CaptureDecoder(str(source.path), packets=self._packets)
        except _native.DecodeError as error:
            raise input_error(error) from error
        yield from facts(decoder, context, reading)
        if reading.records_read == 0 and reading.fault is not None:
            # A capture of which no packet could be decoded is rejected; its packets stand there by reason.
            raise reading.fault
