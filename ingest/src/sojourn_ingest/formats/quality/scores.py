"""Rows of tool_score, and which values are scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.formats.interface import Facts
from sojourn_ingest.schema import table

BATCH_ROWS: Final = 16_384

LARGEST_FRAME_NUMBER: Final = 2**63 - 1
EQUAL_FRAMES_DB: Final = 60.0
"""What an infinite PSNR, of equal frames, counts as: the most that libvmaf gives 8 bits (6 bits + 12)."""

#: Least and greatest value of each metric's scale. PESQ has none here: a sample whose PESQ failed is kept. A PSNR of
#: 200 dB is above that of one wrong bit in a frame of 8K with 16 bits a sample.
SCALES: Final = {
    "ssim": (-1.0, 1.0),
    "psnr_db": (0.0, 200.0),
    "vmaf": (0.0, 100.0),
    "mos": (1.0, 5.0),
    "page_load_time_ms": (0.001, math.inf),
}

#: Names of the metrics in libvmaf's output, by preference. PSNR and SSIM are of luma there.
VMAF_NAMES: Final = {"vmaf": ("vmaf",), "ssim": ("float_ssim", "ssim"), "psnr_db": ("psnr_y", "psnr")}


@dataclass(frozen=True)
class Score:
    """One score of one item, or of one of its frames."""

    metric: str
    item: str
    frame_number: int | None
    score: float

    def __post_init__(self) -> None:
        if self.frame_number is not None and self.frame_number > LARGEST_FRAME_NUMBER:
            raise ValueError("a frame has a number of more than 63 bits")


class FrameOrder:
    """The numbers of a clip's frames, which rise: a file to which another clip was appended would count as one."""

    def __init__(self) -> None:
        self._last = -1

    def follow(self, number: int) -> None:
        """Take the next number.

        Raises
        ------
        ValueError
            If it does not follow the last one.
        """
        if number <= self._last:
            raise ValueError("its number does not follow the last one; put each clip into a separate file")
        self._last = number


def frame_score(metric: str, value: Any) -> float:
    """Return a frame's score from a tool's number or text.

    Raises
    ------
    ValueError
        If it is not a number on the metric's scale.
    """
    if isinstance(value, bool):
        raise ValueError(f"{metric} is not a number")  # noqa: TRY004 - of the input, not of a caller
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{metric} is not a number") from error
    if metric == "psnr_db" and number == math.inf:
        return EQUAL_FRAMES_DB
    least, greatest = SCALES[metric]
    if not least <= number <= greatest:
        raise ValueError(f"{metric} lies outside its scale")
    return number


def wrong_scores(columns: dict[str, pa.Array]) -> list[tuple[str, pa.Array]]:
    """Return which rows of a table of scores, with columns ``metric`` and ``score``, cannot count, by reason."""
    scores = pc.cast(columns["score"], pa.float64())
    reasons = []
    for metric, (least, greatest) in SCALES.items():
        outside = pc.or_(pc.less(scores, least), pc.greater(scores, greatest))
        wrong = pc.and_(pc.equal(columns["metric"], metric), outside)
        reasons.append((f"{metric} lies outside its scale", pc.fill_null(wrong, False)))
    return reasons


def facts_of(scores: Iterable[Score]) -> Facts:
    """Yield batches of tool_score, numbered in their order."""
    declared = [field for field in table("tool_score").arrow_schema() if field.name not in PROVENANCE]
    schema = pa.schema(declared)
    first = 0
    for rows in _chunks(scores):
        columns = {
            "score_number": range(first, first + len(rows)),
            "metric": [row.metric for row in rows],
            "item": [row.item for row in rows],
            "frame_number": [row.frame_number for row in rows],
            "score": [row.score for row in rows],
        }
        arrays = [pa.array(columns[field.name], field.type) for field in declared]
        yield "tool_score", pa.RecordBatch.from_arrays(arrays, schema=schema)
        first += len(rows)


PROVENANCE: Final = ("source_hash", "decoder_version")


def _chunks(scores: Iterable[Score]) -> Iterator[list[Score]]:
    rows: list[Score] = []
    for score in scores:
        rows.append(score)
        if len(rows) == BATCH_ROWS:
            yield rows
            rows = []
    if rows:
        yield rows
