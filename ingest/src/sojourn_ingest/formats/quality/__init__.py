"""Readers of what quality tools write beside a run: scores of frames, and page loads. All of them give tool_score."""

from __future__ import annotations

from sojourn_ingest.formats.interface import Format
from sojourn_ingest.formats.quality.frame_documents import FrameDocument
from sojourn_ingest.formats.quality.frame_lines import FfmpegFrameLog, VmafCsv, VmafXml
from sojourn_ingest.formats.quality.page_loads import HttpArchive, PageLoadLines

QUALITY_FORMATS: tuple[Format, ...] = (
    FfmpegFrameLog(),
    VmafXml(),
    VmafCsv(),
    FrameDocument(),
    HttpArchive(),
    PageLoadLines(),
)

__all__ = ["QUALITY_FORMATS"]
