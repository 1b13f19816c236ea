"""Packet captures (pcap, pcapng): flow, ECN, intervals, RTP streams, calls, and packet where it is asked for.

Captures in several files are decoded as one, so that flows go on over the files; so are those in one archive.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.capture.flow_hints import NO_HINTS, FlowHints
from sojourn_ingest.formats.capture.flow_roles import FlowRoles
from sojourn_ingest.formats.capture.rotation import (
    capture_span,
    families_among,
    recordings_among,
    why_not_continued,
)
from sojourn_ingest.formats.capture.server_names import ServerNames
from sojourn_ingest.formats.content.archive_magic import is_archive
from sojourn_ingest.formats.content.native_decoder import NativeDecoder, facts, input_error, read_summary
from sojourn_ingest.formats.interface import Context, Facts, InputError, JoinedFormat, Reading, Recording, Source
from sojourn_ingest.input_error import changed_while_read
from sojourn_ingest.remote import local_file

PCAP_MAGICS = frozenset(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "34cdb2a1"))
PCAPNG_MAGIC = bytes.fromhex("0a0d0d0a")


class Capture(JoinedFormat):
    """Packet captures as tcpdump, dumpcap and Wireshark write them."""

    name = "capture"
    holds_addresses = True
    hashed_magics = frozenset((*PCAP_MAGICS, PCAPNG_MAGIC))
    without_facts = "the capture has no packets; check the interface and the filter of the recording"

    def __init__(
        self,
        *,
        packets: bool = False,
        hints: FlowHints = NO_HINTS,
        server_names: ServerNames = "registrable",
    ) -> None:
        self.packets = packets
        self.server_names = server_names
        self.hints = hints

    def with_hints(self, hints: FlowHints) -> Capture:
        """Return a reader that uses what is declared about flows."""
        return Capture(packets=self.packets, hints=hints, server_names=self.server_names)

    @property
    def version(self) -> str:
        """Version of the reader; packets, hints and another choice of server names give versions of their own."""
        return self._version(self.packets)

    def _version(self, packets: bool) -> str:
        names = "" if self.server_names == "registrable" else f"+names-{self.server_names}"
        return f"{self.base_version()}{self._hints_fingerprint()}{names}{'+packets' if packets else ''}"

    @staticmethod
    def base_version() -> str:
        """Return what the versions of all readers of captures begin with."""
        return f"capture-{_native.core_version()}"

    def _hints_fingerprint(self) -> str:
        rtp = ""
        if self.hints.rtp:
            text = json.dumps([astuple(hint) for hint in sorted(self.hints.rtp, key=repr)])
            rtp = f"+rtp-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return f"{rtp}{self._roles_fingerprint()}"

    def _roles_fingerprint(self) -> str:
        return "" if self.hints.roles is None else f"+roles-{self.hints.roles_fingerprint()}"

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
            for hint in self.hints.rtp
        ]

    def _with_roles(self, decoder: NativeDecoder) -> NativeDecoder:
        """Return the decoder; where a manifest has rules, with the roles of its flows."""
        return decoder if self.hints.roles is None else _DecodedRoles(decoder, FlowRoles(self.hints.roles))

    def compatible_versions(self) -> tuple[str, ...]:
        """Return the versions whose facts hold all that this reader gives: packets once asked for are kept."""
        return tuple({self.version, self._version(packets=True)})

    def is_served_by(self, version: str) -> bool:
        """Return whether facts of the same core will do: with packets where wanted, with hints where there are any.

        Names of servers are as they were asked for: whoever asks for fewer does not want those that are there.

        Where two manifests say different things of the same content, hints are kept that are there; roles are of one
        run, so that those of another do not serve.
        """
        has_packets = not self.packets or "+packets" in version
        has_hints = "+rtp-" in version or not self.hints.rtp
        has_roles = self._roles_fingerprint() in version
        names = re.search(r"\+names-([a-z]+)", version)
        has_names = (names[1] if names else "registrable") == self.server_names
        return version.startswith(self.base_version()) and has_packets and has_hints and has_roles and has_names

    def families_among(self, paths: Iterable[Path]) -> list[list[Path]]:
        """Return the captures whose names are those of one tool's files."""
        return families_among(paths)

    def recordings_among(self, paths: Iterable[Path]) -> list[tuple[Path, ...]]:
        """Return the captures that one tool wrote one after the other."""
        return recordings_among(paths)

    def why_not_one_recording(self, parts: Sequence[Path]) -> InputError | None:
        """Return which part cannot be read, or does not continue the previous one."""
        try:
            spans = [capture_span(path) for path in parts]
        except (_native.DecodeError, InputError) as error:
            said = error.message if isinstance(error, InputError) else error.args[0]
            return InputError("unreadable_part", f"not all parts listed in the manifest can be read: {said}")
        for (one, span), (other, next_span) in pairwise(zip(parts, spans, strict=True)):
            reason = why_not_continued(span, next_span, None)
            if reason is not None:
                return InputError(
                    "not_contiguous",
                    f"{other.name} does not continue {one.name}: {reason}; list the parts in chronological order",
                )
        return None

    def recording(self, parts: Sequence[Path]) -> Recording:
        """Return what decodes captures as one, so that flows go on over the files."""
        return CaptureRecording(parts, self)

    def recognises(self, source: Source) -> bool:
        """Return whether the content begins with a magic number of pcap or pcapng, or is an archive of captures."""
        if source.head[:4] in self.hashed_magics:
            return True
        if not is_archive(source.head):
            return False
        # Its first capture may stand behind any other file.
        with local_file(source.path) as (local,):
            try:
                return _native.holds_capture(local)
            except _native.DecodeError as error:
                raise input_error(error) from error

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals, RTP streams, calls, and packets where asked for."""
        with local_file(source.path) as (local,):
            try:
                decoder = _native.CaptureDecoder(
                    local,
                    packets=self.packets,
                    rtp_hints=self.native_hints(),
                    server_names=self.server_names,
                    hashed=source.to_hash,
                )
            except _native.DecodeError as error:
                raise input_error(error) from error
            yield from facts(self._with_roles(decoder), context, reading)
            try:
                reading.content_hash = decoder.content_hash()
            except _native.DecodeError as error:
                raise input_error(error) from error
            if source.to_hash and reading.content_hash is None:
                # It was a capture when its head was read, and an archive when it was decoded.
                raise changed_while_read()
        if reading.records_read == 0 and reading.fault is not None:
            # A capture without a decodable packet is rejected; its packets are counted there by reason.
            raise reading.fault


class _DecodedRoles:
    """The batches of a decoder, and the roles of its flows, which are decided by plain addresses."""

    def __init__(self, decoder: NativeDecoder, roles: FlowRoles) -> None:
        self._decoder = decoder
        self._roles = roles

    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        for table, batch in self._decoder:
            yield table, batch
            if table == "flow":
                yield from self._roles.take(batch)
        yield from self._roles.finish()

    def summary(self) -> _native.Summary:
        """Return what was seen, once the iteration has ended."""
        return self._decoder.summary()


class CaptureRecording(Recording, Capture):
    """Captures in several files, such as a ring buffer leaves them, in the order of time."""

    name = "capture_recording"

    def __init__(self, parts: Sequence[Path], like: Capture) -> None:
        Capture.__init__(self, packets=like.packets, hints=like.hints, server_names=like.server_names)
        self.parts = tuple(parts)
        #: What was read of each part; empty until then.
        self.part_readings: list[Reading] = []

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield flows, flow intervals, RTP streams, calls, and packets where asked for."""
        with local_file(*self.parts) as (first, *continued):
            try:
                decoder = _native.CaptureDecoder(
                    first,
                    continued=continued,
                    packets=self.packets,
                    rtp_hints=self.native_hints(),
                    server_names=self.server_names,
                )
            except _native.DecodeError as error:
                raise input_error(error) from error
            yield from facts(self._with_roles(decoder), context, reading)
        self.part_readings = [read_summary(summary) for summary in decoder.file_summaries()]
        for path, part in zip(self.parts, self.part_readings, strict=True):
            if part.fault is not None:
                # The offset is in that file; the recording has none.
                reading.fault = type(part.fault)(part.fault.reason, f"{path.name}: {part.fault.message}")
                break
        if reading.records_read == 0 and reading.fault is not None:
            raise reading.fault
