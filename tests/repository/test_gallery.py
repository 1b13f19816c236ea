"""The gallery of the documentation site puts each figure beside the cell that draws it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from infra.site import gallery

ROOT = Path(__file__).resolve().parents[2]


def project(folder: Path, codes: list[str], figures: list[str]) -> Path:
    """Write a notebook with these cells of code, and these figures, as the project has them."""
    (folder / "notebooks").mkdir()
    (folder / "docs" / "figures").mkdir(parents=True)
    cells = [{"cell_type": "markdown", "source": ["# Study"]}, {"cell_type": "code", "source": ["start()"]}]
    cells += [{"cell_type": "code", "source": [code]} for code in codes]
    (folder / "notebooks" / "study.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    for name in figures:
        (folder / "docs" / "figures" / f"{name}.png").write_bytes(b"png")
    return folder


def test_figures_of_each_study_are_beside_the_cell_with_the_longest_name(tmp_path: Path) -> None:
    codes = ['show_each("one-08", draw)', 'show_each("one-08-rates", draw)', 'show(figure, f"one-03-{study}")']
    figures = ["one-03-b", "one-08", "one-08-b-2026", "one-08-rates", "one-08-rates-b-2026"]
    page = gallery.gallery(project(tmp_path, codes, figures), tmp_path / "page")
    shown = re.findall(r"!\[([\w-]+)\]|(show\w*\(.*)", page)
    assert [image or code for image, code in shown] == [
        "one-08", "one-08-b-2026", codes[0], "one-08-rates", "one-08-rates-b-2026", codes[1], "one-03-b", codes[2],
    ]  # fmt: skip
    assert {path.stem for path in (tmp_path / "page").iterdir()} == set(figures)


def test_a_figure_that_no_notebook_draws_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no notebook draws docs/figures/two"):
        gallery.gallery(project(tmp_path, ['show_each("one-08", draw)'], ["one-08", "two"]), tmp_path / "page")


def test_every_figure_of_the_documents_has_a_notebook(tmp_path: Path) -> None:
    assert "# Gallery" in gallery.gallery(ROOT, tmp_path / "page")
