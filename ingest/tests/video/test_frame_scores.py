"""Loss becomes SSIM: a clip that ffmpeg makes, sent as RTP packets in a capture of which some are left out."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sojourn_ingest.cli import application
from sojourn_ingest.video.frame_scores import score_frames
from sojourn_ingest.video.transport_stream import VideoError, transport_stream

pytestmark = pytest.mark.skipif(
    shutil.which("ffmpeg") is None or shutil.which("tshark") is None, reason="needs ffmpeg and tshark: make setup-tests"
)

PACKET_BYTES = 7 * 188
FRAMES = 75
FIRST_NUMBER = 65_500
"""Sequence numbers begin again within the clip."""


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds of ffmpeg's test picture, as a transport stream; synthetic, with slices as IMC'14's clips have."""
    path = tmp_path_factory.mktemp("clip") / "clip.ts"
    make = (
        f"ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=25 -frames:v {FRAMES} -c:v libx264 -threads 1 -g 25"
        " -bf 0 -b:v 600k -x264-params slices=8 -pix_fmt yuv420p -f mpegts"
    )
    subprocess.run([*make.split(), str(path)], check=True)
    return path


def capture(path: Path, stream: bytes, lost: set[int] = frozenset(), ssrc: int = 7, payload_type: int = 33) -> Path:  # type: ignore[assignment]
    """Write a capture (LINKTYPE_RAW) of a stream in RTP over UDP and IPv4, without the lost packets."""
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for place, start in enumerate(range(0, len(stream), PACKET_BYTES)):
        if place in lost:
            continue
        number = (FIRST_NUMBER + place) % 65536
        rtp = (
            struct.pack("!BBHII", 0x80, payload_type, number, place * 900, ssrc) + stream[start : start + PACKET_BYTES]
        )
        udp = struct.pack("!HHHH", 5004, 5004, 8 + len(rtp), 0) + rtp
        address = bytes([192, 0, 2, 1, 192, 0, 2, 2])
        packet = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), place % 65536, 0, 64, 17, 0) + address + udp
        records.append(
            struct.pack("<IIII", 1_700_000_000 + place // 100, place % 100 * 10_000, len(packet), len(packet))
        )
        records.append(packet)
    path.write_bytes(b"".join(records))
    return path


def lost_of(stream: bytes, share: float) -> set[int]:
    """Draw lost packets, the same with each run; the first ones arrive, so that there is a stream to decode."""
    numbers = range(3, -(-len(stream) // PACKET_BYTES))
    return {number for number in numbers if random.Random(number).random() < share}


def test_loss_becomes_ssim_and_more_loss_less_of_it(clip: Path, tmp_path: Path) -> None:
    stream = clip.read_bytes()
    before = capture(tmp_path / "before.pcap", stream)
    means = []
    for share in (0.0, 0.02, 0.2):
        lost = lost_of(stream, share)
        after = capture(tmp_path / f"after-{share}.pcap", stream, lost)
        clip_scores = score_frames(clip, after, tmp_path, before)
        means.append(clip_scores.ssim_mean)
        assert (clip_scores.sent_frames, clip_scores.compared_frames) == (FRAMES, FRAMES)
        if share == 0:
            assert clip_scores.stream.missing_packets == 0
            scores = (tmp_path / "ssim.log").read_text().splitlines()
            assert {line.split("All:")[1].split()[0] for line in scores} == {"1.000000"}
            assert {
                line.split("psnr_avg:")[1].split()[0] for line in (tmp_path / "psnr.log").read_text().splitlines()
            } == {"inf"}
        else:
            # The last packets of the stream may be lost too, which no gap of numbers shows.
            assert 0 < clip_scores.stream.missing_packets <= len(lost)
    assert means[0] == 1
    assert means[0] > means[1] > means[2]


def test_a_clip_with_times_of_its_own_needs_the_capture_before(clip: Path, tmp_path: Path) -> None:
    stream = clip.read_bytes()
    file = tmp_path / "clip.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(clip), "-c", "copy", str(file)], check=True)
    after = capture(tmp_path / "after.pcap", stream)
    assert score_frames(file, after, tmp_path, after).ssim_mean == 1
    # Its times begin at 0 and those of the stream later: other frames would be compared.
    with pytest.raises(VideoError, match=r"from 0.000 s to 2.960 s, those that arrived from 1.400 s .* with --before"):
        score_frames(file, after, tmp_path)


def test_packets_lost_at_the_ends_count_with_the_capture_before(clip: Path, tmp_path: Path) -> None:
    stream = clip.read_bytes()
    packets = -(-len(stream) // PACKET_BYTES)
    lost = {*range(packets // 3), *range(packets - 5, packets)}
    before = capture(tmp_path / "before.pcap", stream)
    after = capture(tmp_path / "after.pcap", stream, lost)
    scores = score_frames(clip, after, tmp_path, before)
    assert (scores.sent_packets, scores.missing_packets) == (packets, len(lost))
    assert 0 < scores.compared_frames < FRAMES
    without = score_frames(clip, after, tmp_path)
    assert (without.sent_packets, without.missing_packets) == (packets - len(lost), 0)
    done = CliRunner().invoke(
        application(), ["qoe", "video", str(clip), "--after", str(after), "--out", str(tmp_path)]
    )  # fmt: skip
    assert f"{FRAMES - scores.compared_frames} frames before the first that arrived: no score" in done.output
    assert "use --before to count them" in done.output


def test_the_stream_is_put_together_in_order_and_copies_count_once(clip: Path, tmp_path: Path) -> None:
    stream = clip.read_bytes()
    path = capture(tmp_path / "a.pcap", stream)
    assembled = transport_stream(path, tmp_path / "whole.ts")
    assert (tmp_path / "whole.ts").read_bytes() == stream
    assert assembled.packets == -(-len(stream) // PACKET_BYTES)
    again = path.read_bytes() + path.read_bytes()[24:]
    (tmp_path / "twice.pcap").write_bytes(again)
    assert transport_stream(tmp_path / "twice.pcap", tmp_path / "twice.ts").packets == assembled.packets
    assert (tmp_path / "twice.ts").read_bytes() == stream


def test_bad_input_ends_in_one_line_and_writes_nothing(clip: Path, tmp_path: Path) -> None:
    stream = clip.read_bytes()
    other = capture(tmp_path / "other.pcap", stream, payload_type=96)
    two = capture(tmp_path / "two.pcap", stream[: 20 * PACKET_BYTES], ssrc=1)
    second = capture(tmp_path / "second.pcap", stream[: 20 * PACKET_BYTES], ssrc=2)
    two.write_bytes(two.read_bytes() + second.read_bytes()[24:])
    (tmp_path / "text.pcap").write_text("not a capture\n")
    out = tmp_path / "run"
    out.mkdir()
    for after, sent, message in (
        (other, clip, "no RTP packet of payload type 33"),
        (two, clip, r"several streams of payload type 33: 1 \(20 packets\), 2 \(20 packets\); choose one with --ssrc"),
        (tmp_path / "text.pcap", clip, "tshark cannot read it"),
        (tmp_path / "missing.pcap", clip, "is not a file; give a capture"),
        (capture(tmp_path / "a.pcap", stream), tmp_path / "text.pcap", "failed"),
        (
            capture(tmp_path / "none.pcap", b"\x00" * PACKET_BYTES * 5),
            clip,
            "no frame of its 5 packets of SSRC 7 can be read",
        ),
    ):
        with pytest.raises(VideoError, match=message) as raised:
            score_frames(sent, after, out)
        assert "\n" not in str(raised.value)
        assert list(out.iterdir()) == []


def test_the_command_says_what_it_found(clip: Path, tmp_path: Path) -> None:
    after = capture(tmp_path / "after.pcap", clip.read_bytes())
    done = CliRunner().invoke(
        application(), ["qoe", "video", str(clip), "--after", str(after), "--out", str(tmp_path)]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"{FRAMES} of {FRAMES} frames scored, mean SSIM 1.0000; 0 of" in done.output
