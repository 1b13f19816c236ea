"""Packet captures (pcap): flow, flow_interval, rtp_stream."""

from __future__ import annotations

from sojourn_ingest import _native
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.formats.native_decoder import facts, input_error

PCAP_MAGICS = frozenset(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1"))
PCAPNG_MAGIC = bytes.fromhex("0a0d0d0a")


class Capture:
    """Packet captures as tcpdump, dumpcap and Wireshark write them."""

    name = "capture"

    @property
    def version(self) -> str:
        """Version of the reader."""
        return f"capture-{_native.core_version()}"

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with a magic number of pcap or pcapng."""
        return source.head[:4] in PCAP_MAGICS or source.head[:4] == PCAPNG_MAGIC

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals and RTP streams."""
        try:
            decoder = _native.CaptureDecoder(str(source.path))
        except _native.DecodeError as error:
            raise input_error(error) from error
        yield from facts(decoder, context, reading)
