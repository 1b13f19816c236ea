"""Every key of the lake that a dashboard's filter may list has words there."""

from __future__ import annotations

from pathlib import Path

import yaml

from sojourn_ingest.schema import TABLES
from sojourn_ingest.schema.series_tables import SERIES_METRICS

LOOK = Path(__file__).parents[2] / "dashboards" / "assets" / "look.yaml"


def test_series_and_orders_have_words() -> None:
    words = yaml.safe_load(LOOK.read_text(encoding="utf-8"))["value_words"]
    (orders,) = [column.codes for column in TABLES["run"].columns if column.name == "start_order"]
    assert "app_first" in orders
    assert not [key for key in orders if key not in words]
    assert not [key for key in SERIES_METRICS if "_" in key and key not in words]
