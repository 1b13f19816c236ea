"""SSIM and PSNR of each frame of a clip as it arrived, by ffmpeg's filters.

The clip that was sent leads: each of its frames is compared with what a viewer would see at its time, which is the
newest frame that arrived. If a frame never came, the one before it is compared, so that a freeze lowers the score.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from sojourn_ingest.video.transport_stream import TransportStream, VideoError, tool, transport_stream

SSIM_FILE: Final = "ssim.log"
PSNR_FILE: Final = "psnr.log"
SSIM: Final = re.compile(r" All:(\S+)")
LONGEST_S: Final = 3600
TIME_TOLERANCE_S: Final = 0.001
"""By how much rounded times of one frame may differ: less than any clip's time from frame to frame."""


@dataclass(frozen=True)
class FrameScores:
    """What came of a clip.

    Attributes
    ----------
    stream
        The stream that arrived.
    sent_packets, missing_packets
        RTP packets of the stream before the bottleneck, and those of them that did not arrive. Without that capture,
        those from the first to the last that arrived.
    sent_frames, compared_frames
        Frames of the clip, and those with a score. Frames before the first that arrived have none.
    ssim_mean
        Mean over the frames with a score, -1 to 1.
    """

    stream: TransportStream
    sent_packets: int
    missing_packets: int
    sent_frames: int
    compared_frames: int
    ssim_mean: float


def score_frames(
    sent: Path, after: Path, out: Path, before: Path | None = None, ssrc: int | None = None
) -> FrameScores:
    """Compare the frames that arrived with those that were sent, and write ffmpeg's ``ssim.log`` and ``psnr.log``.

    Parameters
    ----------
    sent
        The sender's video file, in any form that ffmpeg reads.
    after, before
        Capture after the bottleneck, and, if there is one, before it: it says at which time of the stream the clip
        begins. Without it, the file must have the times of the stream, as a transport stream that is sent as it is.
    out
        Folder to write to, such as that of the run's manifest.
    ssrc
        SSRC of the RTP stream, if the capture has several.

    Raises
    ------
    VideoError
        A file cannot be read, no frame arrived, or the times of the clip and of the stream do not meet.
    """
    if not sent.is_file():
        raise VideoError(f"{sent} is not a file; give the video file that was sent")
    if not out.is_dir():
        raise VideoError(f"{out} is not a folder; give the folder of the run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arrived = transport_stream(after, folder / "arrived.ts", ssrc)
        start_s, end_s, sent_frames = _times(sent)
        shift_s = 0.0
        sent_packets = arrived.packets + arrived.missing_packets
        if before is not None:
            whole = transport_stream(before, folder / "whole.ts", arrived.ssrc)
            shift_s = _times_of_stream(whole, before)[0] - start_s
            sent_packets = max(sent_packets, whole.packets)
        else:
            first_s, last_s = _times_of_stream(arrived, after)
            if first_s < start_s - TIME_TOLERANCE_S or last_s > end_s + TIME_TOLERANCE_S:
                raise VideoError(
                    f"{sent.name}: its frames are from {start_s:.3f} s to {end_s:.3f} s, those that arrived from "
                    f"{first_s:.3f} s to {last_s:.3f} s; give the capture before the bottleneck with --before"
                )
        _compare(sent, arrived.path, shift_s, folder)
        scores = [
            float(match[1]) for line in _lines(folder / SSIM_FILE) if (match := SSIM.search(line)) is not None
        ]  # fmt: skip
        if not scores:
            advice = "" if before is not None else "; give --before if the file's times are not those of the stream"
            raise VideoError(f"{after}: no frame that arrived matches the clip in time{advice}")
        for file_name in (SSIM_FILE, PSNR_FILE):
            (out / file_name).write_bytes((folder / file_name).read_bytes())
    return FrameScores(arrived, sent_packets, sent_packets - arrived.packets, sent_frames, len(scores), fmean(scores))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="ascii", errors="replace").splitlines() if path.exists() else []


def _times(clip: Path) -> tuple[float, float, int]:
    """Return the times of a clip's first and last frame in seconds and the number of its frames."""
    said = _run(
        "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
        str(clip),
    )  # fmt: skip
    # Transport streams end some lines in a comma, and a packet may have no time.
    times = [float(text) for line in said.splitlines() if (text := line.strip().rstrip(",")) not in ("", "N/A")]
    if not times:
        raise VideoError(f"{clip.name}: ffmpeg finds no video in it; give a clip with a video stream")
    return min(times), max(times), len(said.split())


def _times_of_stream(stream: TransportStream, capture: Path) -> tuple[float, float]:
    """Return the times of a stream's first and last frame in seconds."""
    try:
        return _times(stream.path)[:2]
    except VideoError as error:
        raise VideoError(
            f"{capture}: no frame of its {stream.packets} packets of SSRC {stream.ssrc} can be read; give a capture "
            "with the beginning of the clip, or another stream with --ssrc"
        ) from error


def _compare(sent: Path, arrived: Path, shift_s: float, folder: Path) -> None:
    """Let ffmpeg score every sent frame against the newest one that arrived, in both metrics."""
    filters = (
        "[0:v]split=2[sent1][sent2];[1:v]split=2[came1][came2];"
        f"[sent1][came1]ssim=stats_file={SSIM_FILE}:eof_action=repeat[a];"
        f"[sent2][came2]psnr=stats_file={PSNR_FILE}:eof_action=repeat[b]"
    )
    _run(
        # One thread: how a damaged frame is concealed must not depend on the machine.
        "ffmpeg", "-v", "fatal", "-nostdin", "-copyts",
        "-threads", "1", "-itsoffset", f"{shift_s:.6f}", "-i", str(sent.resolve()),
        "-threads", "1", "-i", str(arrived),
        "-filter_complex", filters, "-map", "[a]", "-f", "null", "-", "-map", "[b]", "-f", "null", "-",
        cwd=folder,
    )  # fmt: skip


def _run(command: str, *arguments: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            [tool(command), *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired as error:
        raise VideoError(f"{command} did not end within an hour; give a shorter clip") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise VideoError(f"{command} failed: {lines[-1] if lines else 'no message'}")
    return done.stdout
