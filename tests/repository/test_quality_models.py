"""Every model of quality has a section in docs/quality.md; readers and models have the same scales of scores."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import pytest

from sojourn_ingest.formats.quality.scores import SCALES

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "docs/quality.md").read_text(encoding="utf-8")
PARTS = ("**Input.**", "**Formula**", "**Valid**", "**It does not say**")


def _models() -> list[str]:
    with (REPOSITORY / "models/seeds/quality/qoe_model.csv").open(encoding="utf-8") as handle:
        models = [row["qoe_model_id"] for row in csv.DictReader(handle)]
    with (REPOSITORY / "models/seeds/delay_class.csv").open(encoding="utf-8") as handle:
        return [*models, *dict.fromkeys(row["mapping_id"] for row in csv.DictReader(handle))]


def _sections() -> dict[str, str]:
    """Return the text below each heading, up to the next heading of any level."""
    parts = re.split(r"^(#{2,3} .*)$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("model", _models())
def test_every_model_has_one_section_with_its_four_parts(model: str) -> None:
    by_name = {heading: text for heading, text in _sections().items() if f"`{model}`" in heading}
    assert len(by_name) == 1, list(by_name)
    (text,) = by_name.values()
    assert [part for part in PARTS if part not in text] == []


def test_every_model_in_a_heading_is_in_the_data() -> None:
    marts = {path.stem for path in (REPOSITORY / "models/marts").rglob("*.sql")}
    named = {name for heading in _sections() for name in re.findall(r"`([a-z0-9_-]+)`", heading)}
    assert named - set(_models()) - marts == set()


def test_readers_refuse_what_the_models_take_for_off_the_scale() -> None:
    with (REPOSITORY / "models/seeds/qoe_metric.csv").open(encoding="utf-8") as handle:
        scales = {
            row["qoe_metric"]: (float(row["lowest_score"] or -math.inf), float(row["highest_score"] or math.inf))
            for row in csv.DictReader(handle)
        }
    # A failed PESQ of -1 is kept, so that its sample is counted and has a reason.
    assert scales.pop("pesq") == (-0.5, 4.5)
    assert {name: scale for name, scale in scales.items() if scale != (-math.inf, math.inf)} == SCALES
