"""The MPEG-2 transport stream that RTP packets of a capture carry (RFC 2250), put together without what was lost.

Wireshark's tshark reads the capture, so every link type, tunnel and capture format that it knows is read. Packets are
put in the order of their sequence numbers; copies count once.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_ingest.formats.content.expansion import refuse_expansion
from sojourn_ingest.formats.content.streams_in_a_row import StrayBytesError, XzStreams
from sojourn_ingest.input_error import InputError
from sojourn_ingest.operator_error import OperatorError

MP2T: Final = 33
"""RTP payload type of MPEG-2 transport streams (RFC 3551, section 6)."""
HALF_OF_NUMBERS: Final = 2**15
ALL_NUMBERS: Final = 2**16


class VideoError(OperatorError):
    """A clip or a capture that cannot be compared; the message says why, and what to do."""


@dataclass(frozen=True)
class TransportStream:
    """What was put together.

    Attributes
    ----------
    path
        The transport stream.
    ssrc
        RTP synchronisation source, 0 to 2**32 - 1.
    packets, missing_packets
        RTP packets in the stream, and sequence numbers between its first and last packet without one.
    """

    path: Path
    ssrc: int
    packets: int
    missing_packets: int


def tool(name: str) -> str:
    """Return the path of a command.

    Raises
    ------
    VideoError
        If it is not installed.
    """
    path = shutil.which(name)
    if path is None:
        package = "ffmpeg" if name == "ffprobe" else name
        raise VideoError(f"{name} is not installed; on Debian: sudo apt-get install {package}")
    return path


def transport_stream(capture: Path, out: Path, ssrc: int | None = None) -> TransportStream:
    """Write the transport stream that a capture's RTP packets carry.

    Parameters
    ----------
    capture
        Capture that tshark reads; also compressed with xz.
    out
        File to write.
    ssrc
        Which stream, where the capture has several with payload type 33.

    Raises
    ------
    VideoError
        The capture cannot be read, or has no such stream, or several and none was named.
    """
    # Where each payload is in a file: a clip of an hour would not fit into memory.
    places: dict[int, dict[int, tuple[int, int]]] = {}
    highest: dict[int, int] = {}
    packets: Counter[int] = Counter()
    with tempfile.TemporaryFile() as payloads:
        for source, number, payload in _rtp_packets(capture):
            if ssrc is not None and source != ssrc:
                continue
            last = highest.get(source, number + ALL_NUMBERS)
            # The number nearest to the highest so far: sequence numbers start again after 65,535.
            extended = last + (number - last + HALF_OF_NUMBERS) % ALL_NUMBERS - HALF_OF_NUMBERS
            highest[source] = max(last, extended)
            packets[source] += 1
            of_source = places.setdefault(source, {})
            if extended not in of_source:
                of_source[extended] = (payloads.tell(), len(payload))
                payloads.write(payload)
        if not places:
            which = "" if ssrc is None else f" with SSRC {ssrc}"
            raise VideoError(
                f"{capture}: no RTP packet of payload type {MP2T}{which}; send the clip as MPEG-2 TS over RTP"
            )
        if len(places) > 1:
            listed = ", ".join(f"{source} ({count} packets)" for source, count in sorted(packets.items()))
            raise VideoError(f"{capture}: several streams of payload type {MP2T}: {listed}; choose one with --ssrc")
        ((stream, by_number),) = places.items()
        with out.open("wb") as handle:
            for _, (offset, length) in sorted(by_number.items()):
                payloads.seek(offset)
                handle.write(payloads.read(length))
    span = max(by_number) - min(by_number) + 1
    return TransportStream(out, stream, len(by_number), span - len(by_number))


@contextmanager
def _readable(capture: Path) -> Iterator[Path]:
    """Yield the capture as tshark can read it: xz is the one compression that it does not know."""
    try:
        refuse_expansion(capture)
    except InputError as error:
        raise VideoError(f"{capture}: {error.message}") from error
    if capture.suffix != ".xz":
        yield capture
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        try:
            with capture.open("rb") as packed:
                shutil.copyfileobj(XzStreams(packed), plain)
        except (lzma.LZMAError, StrayBytesError, EOFError) as error:
            raise VideoError(f"{capture}: not a whole xz file ({error}); copy it again") from error
        plain.flush()
        yield Path(plain.name)


def _rtp_packets(capture: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield SSRC, sequence number and payload of each RTP packet with a transport stream, in the capture's order."""
    if not capture.is_file():
        raise VideoError(f"{capture} is not a file; give a capture of the packets")
    with _readable(capture) as readable, tempfile.TemporaryFile() as messages:
        arguments = [
            tool("tshark"), "-n", "-r", str(readable), "--enable-heuristic", "rtp_udp", "--disable-protocol", "mp2t",
            "-Y", f"rtp.p_type == {MP2T}", "-T", "fields", "-e", "rtp.ssrc", "-e", "rtp.seq", "-e", "rtp.payload",
        ]  # fmt: skip
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=messages, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                fields = line.rstrip("\n").split("\t")
                # A packet that the capture cut short has no payload: it is missing like a lost one.
                if len(fields) == 3 and all(fields):
                    yield int(fields[0], 0), int(fields[1]), bytes.fromhex(fields[2].replace(":", ""))
        if process.returncode:
            messages.seek(0)
            lines = messages.read().decode("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else "no message"
            # A capture that is cut short ends in an error of tshark too; what came before it stands.
            if "cut short" not in said:
                raise VideoError(f"{capture}: tshark cannot read it: {said}")
