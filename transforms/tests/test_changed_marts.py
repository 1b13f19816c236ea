"""What `sojourn build` prints of the marts that changed."""

from __future__ import annotations

import io

from rich.console import Console

from sojourn_transforms.build import BuildReport, MartChange
from sojourn_transforms.cli import print_changes


def printed(*changes: MartChange) -> str:
    out = Console(file=io.StringIO(), width=80)
    print_changes(out, BuildReport("0f3a5c7e9b1d2f46", built=True, changes=list(changes)))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_marts_without_rows_are_only_counted() -> None:
    text = printed(MartChange("run", 1200, None), MartChange("call_freeze", 0, None), MartChange("web_page", 0, None))
    assert "run" in text
    assert "1,200" in text
    assert "call_freeze" not in text
    assert text.endswith("without rows: 2 marts\n")


def test_a_mart_that_lost_its_rows_is_listed() -> None:
    text = printed(MartChange("run", 0, 3))
    assert "│ run" in text
    assert "without rows" not in text


def test_a_build_may_change_no_mart() -> None:
    assert printed() == "build 0f3a5c7e9b1d2f46: no mart changed\n"
