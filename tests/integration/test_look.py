"""The page of one run against the marts of a whole build, as the API serves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn_transforms.look.view import View, viewed
from tests.integration.conftest import Service

pytestmark = pytest.mark.integration

RUN = "1000k_rtt50_codel_bbr_video_appfirst_rep1"
#: Marts of a run alone: harm needs the solo runs of others too.
MARTS = (
    "run_queuing_delay",
    "queuing_delay_histogram",
    "run_rate",
    "run_flow_loss",
    "run_queue_count",
    "run_flow_rate_equality",
    "run_capture_pair_flow",
    "run_capture_rtt",
    "run_smoothed_rtt",
    "run_voice_quality",
    "run_load_delay",
    "run_load_rate",
    "run_outcome",
    "run_standing_queue",
)


@pytest.fixture(scope="module")
def view(sample: Path) -> Any:
    files = sorted(path for path in (sample / RUN).iterdir() if path.is_file())
    with viewed(files, lambda _attempt: None, 2) as opened_view:
        yield opened_view


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(row, default=str))


@pytest.mark.parametrize("mart", MARTS)
def test_every_row_of_the_run_equals_that_of_the_build(service: Service, view: View, mart: str) -> None:
    built = [row for row in service.rows(mart, run_id=RUN) if row["study_id"] == "sojourn-sample"]
    shown = [plain(row) for row in view.rows(mart, f"run_id = '{RUN}'")]
    assert shown
    assert len(shown) == len(built)
    # Whatever is compared exactly, so that the order is the same however a row's numbers differ in their last digits.
    key = [name for name in shown[0] if not any(isinstance(row[name], float) for row in (*shown, *built))]
    for one, other in zip(
        sorted(shown, key=lambda row: [str(row[name]) for name in key]),
        sorted(built, key=lambda row: [str(row[name]) for name in key]),
        strict=True,
    ):
        assert _equal(one, other), (mart, one, other)


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        value == pytest.approx(other[name], rel=1e-9) if isinstance(value, float) else value == other[name]
        for name, value in one.items()
    )
