"""Scores of networks: documents of percentiles of speed tests."""

from __future__ import annotations

from sojourn_process.printable import counted
from sojourn_transforms.look.content import Column, Evidence, Section, Table
from sojourn_transforms.look.view import View

ROWS_SHOWN = 24


def scores_sections(view: View) -> list[Section]:
    """Return the section of the Internet Quality Barometer; none if no file has percentiles of tests."""
    if not view.has("network_percentile"):
        return []
    rows = view.rows("iqb_score", order="folder_name, file_name, percentile")
    if not rows:
        return []
    columns = (
        Column("file_name", "document"),
        Column("percentile", "percentile"),
        Column("tests", "tests"),
        Column("iqb_score", "score", "0 to 1", 3),
        Column("binding_use_case", "binding use case", in_words=True),
        Column("binding_requirement", "binding requirement", in_words=True),
        Column("score_null_reason", "no score because"),
        Column("interval_null_reason", "no interval because"),
    )
    section = Section("scores", "Internet Quality Barometer")
    section.items.append(
        Table(
            "iqb",
            "Score by percentile",
            columns,
            rows[:ROWS_SHOWN],
            Evidence("0 to 1", counted(len(rows), "percentile"), "in the table: the reason why there is none"),
            f"{ROWS_SHOWN} of {len(rows):,} rows" if len(rows) > ROWS_SHOWN else "",
        )
    )
    return [section]
