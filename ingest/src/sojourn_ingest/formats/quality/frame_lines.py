"""Scores of frames, one frame a line: ffmpeg's ssim and psnr stats files, libvmaf's XML and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from sojourn_ingest.formats.content.delimiters import delimiter_of, numbers_of
from sojourn_ingest.formats.content.plain_text import first_line, head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.scores import VMAF_NAMES, FrameOrder, Score, facts_of, frame_score

LONGEST_LINE: Final = 65_536
CLIP: Final = "clip/0"

FFMPEG_LINE = re.compile(rb"^n:(\d{1,12}) ")
#: What ffmpeg's filters call the mean over planes (libavfilter: vf_ssim.c, vf_psnr.c).
FFMPEG_SCORE = {
    "ssim": re.compile(rb" All:(\S+)"),
    "psnr_db": re.compile(rb" psnr_avg:(\S+)"),
}
#: First line of psnr's stats file with ``stats_version=2``.
FFMPEG_HEADER = b"psnr_log_version:"
#: Of more digits, none has 63 bits.
FRAME_NUMBER = re.compile(r"\d{1,19}")
#: The root element, behind the declaration and comments.
XML_ROOT = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]|-(?!->))*+-->\s*)*+<VMAF\s")
XML_FRAME = re.compile(rb"<frame(\s[^<>]*)>\Z")
XML_ATTRIBUTE = re.compile(rb"""\s([A-Za-z0-9_]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
BLOCK_BYTES: Final = 2**18


WITHOUT_FRAMES = "no whole frame in the file; score the clip again"


def _lines(handle: BinaryIO) -> Iterator[bytes]:
    while line := handle.readline(LONGEST_LINE):
        yield line


def _tags(handle: BinaryIO) -> Iterator[bytes]:
    """Yield a text in pieces that end with the end of a tag, however it is laid out; comments are blank."""
    rest = b""
    is_comment = False
    while block := handle.read(BLOCK_BYTES):
        *whole, rest = (rest + block).split(b">")
        for before_end in whole:
            piece, is_comment = _without_comment(before_end + b">", is_comment)
            yield piece
        if len(rest) > LONGEST_LINE:
            # The last bytes may belong to the begin or the end of a comment.
            piece, is_comment = _without_comment(rest[:-3], is_comment)
            yield piece
            rest = rest[-3:]
    if rest and not is_comment:
        yield rest


def _without_comment(piece: bytes, is_comment: bool) -> tuple[bytes, bool]:
    """Return a piece with blanks for what of it is in a comment, and whether the next begins in one."""
    before, begin, _ = (b"", b"<!--", b"") if is_comment else piece.partition(b"<!--")
    return (before.ljust(len(piece)), not piece.endswith(b"-->")) if begin else (piece, False)


def _read_pieces(
    source: Source,
    reading: Reading,
    scores_in: Callable[[bytes], list[Score] | None],
    pieces_of: Callable[[BinaryIO], Iterable[bytes]] = _lines,
) -> Facts:
    """Yield the scores of each piece; None is a piece that holds no frame, ValueError one that cannot be read."""

    def scores() -> Iterator[Score]:
        offset = 0
        order = FrameOrder()
        try:
            with open_plain(source) as handle:
                for piece in pieces_of(handle):
                    try:
                        frame_scores = scores_in(piece)
                        if frame_scores:
                            order.follow(frame_scores[0].frame_number or 0)
                    except ValueError as error:
                        reading.refuse(f"frame: {error}")
                    else:
                        if frame_scores is not None:
                            reading.records_read += 1
                            yield from frame_scores
                    offset += len(piece)
        except InputError as error:
            # Damage to the compressed stream: the frames before it stand.
            error.offset = offset
            reading.fault = error

    return facts_of(scores())


class FfmpegFrameLog(Format):
    """Stats file of ffmpeg's ``ssim`` or ``psnr`` filter: ``n:1 … All:0.97 (16.2)`` or ``n:1 … psnr_avg:38.1 …``."""

    name = "ffmpeg_frame_log"
    without_facts = WITHOUT_FRAMES
    holds_addresses = False
    version = "ffmpeg-frame-log-3"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a frame with one of the scores."""
        lines = head_lines(source, limit=2)
        lines = lines[1:] if lines and lines[0].startswith(FFMPEG_HEADER) else lines
        return bool(lines) and FFMPEG_LINE.match(lines[0]) is not None and _ffmpeg_metric(lines[0]) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one score per frame; a line that cannot be read is refused and counted."""
        return _read_pieces(source, reading, self._scores)

    @staticmethod
    def _scores(line: bytes) -> list[Score] | None:
        if not line.strip() or line.startswith(FFMPEG_HEADER):
            return None
        frame, metric = FFMPEG_LINE.match(line), _ffmpeg_metric(line)
        if frame is None or metric is None or not line.endswith(b"\n"):
            raise ValueError("the line is not a whole frame of ffmpeg's ssim or psnr")
        match = FFMPEG_SCORE[metric].search(line)
        assert match is not None
        score = frame_score(metric, match[1].decode("ascii", "replace"))
        return [Score(metric, CLIP, int(frame[1]), score)]


def _ffmpeg_metric(line: bytes) -> str | None:
    return next((metric for metric, pattern in FFMPEG_SCORE.items() if pattern.search(line)), None)


class VmafXml(Format):
    """libvmaf's XML. It is read tag by tag: no entity of it is ever expanded."""

    name = "vmaf_xml"
    without_facts = "libvmaf's XML without a whole frame; score the clip again: vmaf --xml -o FILE.xml"
    holds_addresses = False
    version = "vmaf-xml-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the root element is libvmaf's."""
        return XML_ROOT.match(source.head) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the scores of each frame."""

        def scores(piece: bytes) -> list[Score] | None:
            frame = XML_FRAME.search(piece)
            if frame is None:
                if b"<frame " in piece:
                    raise ValueError("the file ends within it")
                return None
            attributes = XML_ATTRIBUTE.findall(frame[1])
            values = {name.decode(): (one or other).decode("ascii", "replace") for name, one, other in attributes}
            number = values.get("frameNum", "")
            if FRAME_NUMBER.fullmatch(number) is None:
                raise ValueError("a frame has no number")
            return scores_of_frame(int(number), values, reading)

        return _read_pieces(source, reading, scores, _tags)


class VmafCsv(Format):
    """libvmaf's CSV: a header that begins with ``Frame``, and a line per frame."""

    name = "vmaf_csv"
    without_facts = WITHOUT_FRAMES
    holds_addresses = False
    version = "vmaf-csv-5"

    def recognises(self, source: Source) -> bool:
        """Return whether the header is of frames with a score."""
        return self._delimiter(source) is not None

    @staticmethod
    def _delimiter(source: Source) -> str | None:
        def fits(names: list[str]) -> bool:
            return names[:1] == ["Frame"] and any(name in names for columns in VMAF_NAMES.values() for name in columns)

        return delimiter_of(first_line(source), fits)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the scores of each frame; a line of another length than the header is refused and counted."""
        header: list[str] = []
        delimiter = self._delimiter(source) or ","

        def scores(line: bytes) -> list[Score] | None:
            fields = _fields(line, delimiter)
            if not header:
                header.extend(fields)
                return None
            if not fields:
                return None
            if len(fields) != len(header) or FRAME_NUMBER.fullmatch(fields[0]) is None or not line.endswith(b"\n"):
                raise ValueError("the line has another form than the header")
            return scores_of_frame(int(fields[0]), dict(zip(header, fields, strict=True)), reading)

        return _read_pieces(source, reading, scores)


def scores_of_frame(number: int, values: Mapping[str, Any], reading: Reading) -> list[Score]:
    """Return the known scores among the values that libvmaf gives a frame; one off its scale costs itself alone.

    Raises
    ------
    ValueError
        If there is none.
    """
    scores: list[Score] = []
    wrong: list[str] = []
    for metric, names in VMAF_NAMES.items():
        name = next((name for name in names if name in values), None)
        if name is not None:
            try:
                scores.append(Score(metric, CLIP, number, frame_score(metric, values[name])))
            except ValueError as error:
                wrong.append(str(error))
    if not scores:
        raise ValueError(wrong[0] if wrong else "the frame has no VMAF, SSIM or PSNR")
    for reason in wrong:
        reading.refuse(f"score: {reason}")
    return scores


def _fields(line: bytes, delimiter: str) -> list[str]:
    """Return the fields of a line; libvmaf ends each with the delimiter, which starts no field."""
    fields = numbers_of(line.decode("utf-8", "replace").strip(" \r\n"), delimiter)
    return fields[:-1] if fields and not fields[-1] else fields
