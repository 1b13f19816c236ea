"""``sojourn qoe``: quality that must be computed before it can be ingested."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn_process.printable import counted


def register(app: typer.Typer) -> None:
    """Add ``qoe`` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Compute video quality from the capture of a run.")

    @group.callback()
    def qoe_options() -> None:
        """Compute video quality from the capture of a run, as files that `sojourn ingest` reads."""

    group.command("video", short_help="SSIM and PSNR of each frame that arrived.")(video)
    app.add_typer(group, name="qoe")


def video(
    sent: Annotated[Path, typer.Argument(help="The sender's video file.")],
    after: Annotated[Path, typer.Option(help="Capture after the bottleneck, or at the receiver.")],
    out: Annotated[Path, typer.Option(help="Folder of the run: ssim.log and psnr.log are written there.")],
    before: Annotated[
        Path | None,
        typer.Option(
            help="Capture before the bottleneck. Needed if the timestamps of the stream differ from those in the file."
        ),
    ] = None,
    ssrc: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="SSRC of the RTP stream, if the capture has several.")
    ] = None,
) -> None:
    """Decode the frames that arrived and compare them with those that were sent.

    The clip is sent as MPEG-2 TS over RTP. Each sent frame is compared with the newest frame that had arrived at its
    time, so lost packets and freezes lower the score. No receiver is needed. ffmpeg and tshark must be installed.

    For example:

      sojourn qoe video clip.ts --after run/after.pcap --out run

      sojourn ingest run && sojourn build
    """
    from sojourn_ingest.video.frame_scores import score_frames

    scored = score_frames(sent, after, out, before, ssrc)
    unscored = scored.sent_frames - scored.compared_frames
    typer.echo(
        f"{scored.compared_frames:,} of {counted(scored.sent_frames, 'frame')} scored, "
        f"mean SSIM {scored.ssim_mean:.4f}; "
        f"{scored.missing_packets:,} of {counted(scored.sent_packets, 'packet')} missing (SSRC {scored.stream.ssrc})"
    )
    if unscored > 0:
        typer.echo(
            f"{counted(unscored, 'frame')} before the first that arrived: no score, and not in the mean",
            err=True,
        )
    if before is None:
        typer.echo(
            "packets lost before the first or after the last one that arrived are not counted; use --before "
            "to count them",
            err=True,
        )
