"""The report of the bundled sample against sums over the rows that the API serves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy

from tests.integration.conftest import Service

pytestmark = pytest.mark.integration


def test_estimates_of_the_sample_are_those_of_the_analysis_of_variance_of_its_rows(service: Service) -> None:
    printed = service.sojourn("report", "sojourn-sample", "--json", "--scale", "log")
    document: dict[str, Any] = json.loads(printed)
    estimates = {
        (row["level"], row["at"]): row
        for section in document["sections"]
        for one in section["tables"]
        if one["key"] == "contrasts"
        for row in one["rows"]
    }
    rows = service.rows("run_queuing_delay", study_id="sojourn-sample", role="app", start_order="app_first")
    cells = sorted({(str(row["queue_label"]), str(row["congestion_control"])) for row in rows})
    blocks = sorted({str(row["run_id"]).rpartition("_rep")[2] for row in rows})
    table = np.full((len(blocks), len(cells)), np.nan)
    for row in rows:
        place = cells.index((str(row["queue_label"]), str(row["congestion_control"])))
        table[blocks.index(str(row["run_id"]).rpartition("_rep")[2]), place] = np.log(float(str(row["mean_ms"])))
    assert not np.isnan(table).any()
    means = table.mean(axis=0)
    left = table - means - table.mean(axis=1)[:, None] + table.mean()
    degrees = (len(blocks) - 1) * (len(cells) - 1)
    half = scipy.stats.t.ppf(0.975, degrees) * np.sqrt(2 * (left**2).sum() / degrees / len(blocks))
    for queue in ("CoDel", "FQ-CoDel", "tail-drop 10 BDP"):
        for control in ("cubic", "bbr"):
            row = estimates[queue, f"congestion control: {control}"]
            difference = means[cells.index((queue, control))] - means[cells.index(("tail-drop 2 BDP", control))]
            assert row["degrees"] == pytest.approx(degrees, rel=1e-6)
            assert row["estimate"] == pytest.approx(np.exp(difference), rel=1e-9)
            assert row["lower"] == pytest.approx(np.exp(difference - half), rel=1e-5)
            assert row["upper"] == pytest.approx(np.exp(difference + half), rel=1e-5)
