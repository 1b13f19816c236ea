"""What was read, as what, and what was refused with its reason."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn_process.printable import counted
from sojourn_transforms.look.content import COUNTED, Column, Evidence, Section, Table
from sojourn_transforms.look.texts import in_words, natural, plain
from sojourn_transforms.look.view import View, path_text

#: Files with a row of their own; those that could not be read come first.
FILES_SHOWN = 60
_FIRST = {"rejected": 0, "partial": 1}
#: Formats of the wholes that the session makes of several files.
_WHOLES = {"capture_pair": "pair of captures", "capture_recording": "recording of several files"}


def files_section(view: View) -> Section:
    """Return the section of the files: each with its outcome; files beyond :data:`FILES_SHOWN` are counted."""
    outcomes = view.rows("ingest_outcome")
    listed = {path_text(path): place for place, path in enumerate(view.files)}
    ours = [row for row in outcomes if row["source_path"] in listed or row["format"] in _WHOLES]
    names = display_names([row["source_path"] for row in ours])
    ours.sort(
        key=lambda row: (
            _FIRST.get(row["status"], 2),
            listed.get(row["source_path"], len(listed)),
            natural(row["source_path"]),
        )
    )
    rows = [_row(row, names[row["source_path"]]) for row in ours]
    shown = rows[:FILES_SHOWN]
    counts = Counter(row["status"] for row in ours if row["source_path"] in listed)
    statuses = ", ".join(f"{number:,} {status}" for status, number in sorted(counts.items()))
    section = Section("files", "What was read", lead=f"{counted(len(listed), 'file')}: {statuses or 'none'}.")
    section.items.append(
        Table(
            "files",
            "Files",
            (
                Column("file", "file"),
                Column("read_as", "read as"),
                Column("status", "outcome"),
                Column("records_read", "records read"),
                Column("records_refused", "records refused"),
                Column("why", "reason"),
            ),
            shown,
            Evidence("records", counted(len(rows), "file or pair", "files and pairs"), COUNTED),
            f"{len(shown)} of {len(rows):,}; the other {len(rows) - len(shown):,} are counted above"
            if len(rows) > len(shown)
            else "",
        )
    )
    return section


def _row(outcome: Mapping[str, Any], name: str) -> dict[str, Any]:
    refused = outcome["refused_by_reason"]
    reasons = json.loads(refused) if isinstance(refused, str) else dict(refused or {})
    why = [outcome["message"] or in_words(outcome["reason"] or "")]
    why += [f"{count:,} records refused: {in_words(reason)}" for reason, count in sorted(reasons.items()) if count]
    if outcome["duplicate_of"]:
        why.append("same content as another file, counted once")
    if outcome["part_of"]:
        why.append("part of a recording")
    status = outcome["status"]
    return {
        "file": name,
        "read_as": _WHOLES.get(outcome["format"]) or in_words(outcome["format"] or "not recognised"),
        "status": status,
        "records_read": outcome["records_read"],
        "records_refused": outcome["records_refused"],
        "why": "; ".join(text for text in why if text),
    }


def display_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the name of each path below the folder that all have in common."""
    if not paths:
        return {}
    common = os.path.commonpath([str(Path(path).parent) for path in paths])
    return {path: plain(os.path.relpath(path, common)) for path in paths}
