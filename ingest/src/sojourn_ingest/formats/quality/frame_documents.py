"""Scores of frames in one JSON document: libvmaf's, and ffmpeg-quality-metrics'."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.quality.frame_lines import CLIP, scores_of_frame
from sojourn_ingest.formats.quality.scores import FrameOrder, Score, facts_of, frame_score

#: Libvmaf's keys beside the frames: what it states of the clip, of release 2 and before.
LIBVMAF_KEYS = frozenset(("pooled_metrics", "aggregate_metrics", "aggregate", "params", "VMAF score", "fps"))
WITHOUT_FRAMES = (
    "libvmaf's scores of a whole clip, without its frames; write them with "
    "ffmpeg -lavfi libvmaf=log_fmt=json:log_path=FILE.json, or vmaf --json -o FILE.json"
)
#: ffmpeg-quality-metrics: a list of frames by filter.
FILTER_SCORE = {"vmaf": ("vmaf", "vmaf"), "ssim": ("ssim", "ssim_avg"), "psnr": ("psnr_db", "psnr_avg")}


class FrameDocument(Format):
    """JSON of libvmaf, or of the tool ffmpeg-quality-metrics. Paths of clips in it are not kept."""

    name = "frame_document"
    without_facts = "no frame of the document has a score; score the clip again"
    holds_addresses = False
    version = "frame-document-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the document has frames with scores, or what libvmaf states of a whole clip."""
        document = source.object
        return (
            _is_frame(document.get("frames"), "frameNum")
            or any(_is_frame(document.get(name), "n") for name in FILTER_SCORE)
            or _has_no_frames(document)
        )

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the scores of each frame; a frame that cannot be read is refused and counted."""
        content = json_document.read_object(source, "scores of frames", reading)
        if _has_no_frames(content):
            raise InputError("no_measurement", WITHOUT_FRAMES, 0)
        metric_and_frames = _of_libvmaf(content) if isinstance(content.get("frames"), list) else _of_filters(content)

        def scores() -> Iterator[Score]:
            orders: defaultdict[str | None, FrameOrder] = defaultdict(FrameOrder)
            for of_filter, frame in metric_and_frames:
                try:
                    of_frame = _scores(of_filter, frame, reading)
                    orders[of_filter].follow(of_frame[0].frame_number or 0)
                except ValueError as error:
                    reading.refuse(f"frame: {error}")
                    continue
                reading.records_read += 1
                yield from of_frame

        return facts_of(scores())


def _is_frame(listed: Any, number: str) -> bool:
    return isinstance(listed, list) and bool(listed) and isinstance(listed[0], dict) and number in listed[0]


def _names_vmaf(pooled: Any) -> bool:
    return isinstance(pooled, dict) and any("vmaf" in key.lower() for key in pooled)


def _has_no_frames(document: dict[str, Any]) -> bool:
    named = any("vmaf" in key.lower() for key in document) or _names_vmaf(document.get("pooled_metrics"))
    return named and not document.get("frames") and not LIBVMAF_KEYS.isdisjoint(document)


def _of_libvmaf(content: dict[str, Any]) -> Iterator[tuple[str | None, Any]]:
    for frame in content["frames"]:
        yield None, frame


def _of_filters(content: dict[str, Any]) -> Iterator[tuple[str | None, Any]]:
    for name in FILTER_SCORE:
        frames = content.get(name)
        for frame in frames if isinstance(frames, list) else ():
            yield name, frame


def _scores(of_filter: str | None, frame: Any, reading: Reading) -> list[Score]:
    if not isinstance(frame, dict):
        raise ValueError("a frame is not an object")  # noqa: TRY004 - of the input, not of a caller
    number = json_document.count(frame.get("frameNum" if of_filter is None else "n"))
    if number is None:
        raise ValueError("a frame has no number")
    if of_filter is None:
        metrics = frame.get("metrics")
        return scores_of_frame(number, metrics if isinstance(metrics, dict) else {}, reading)
    metric, key = FILTER_SCORE[of_filter]
    return [Score(metric, CLIP, number, frame_score(metric, frame.get(key)))]
