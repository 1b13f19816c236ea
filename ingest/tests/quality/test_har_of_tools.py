"""HAR of tools that put logs together: a page that stands there twice is one load."""

from __future__ import annotations

import json
from pathlib import Path

from results import read


def test_a_page_that_stands_there_twice_is_one_load(tmp_path: Path) -> None:
    """Ids of logs that were put together are the same, but not when their pages began to load."""
    pages = [
        {"id": "page_1", "startedDateTime": f"2024-03-01T10:00:0{second}.000+02:00", "pageTimings": {"onLoad": load}}
        for second, load in ((0, 1000), (0, 1000), (5, 1000), (5, -1))
    ]
    path = tmp_path / "two.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "pages": pages, "entries": []}}))
    _, tables, reading = read(path)
    assert [row["score"] for row in tables["tool_score"]] == [1000.0, 1000.0]
    assert reading.refused == {
        "page: it repeats an earlier one": 1,
        "page: the page did not load (its time is not positive)": 1,
    }
