"""Delay that load adds where a tool pings hosts at unlike distances: that of each host, never of all together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_ingest.lake import Lake
from sojourn_transforms.models_in_memory import ModelsInMemory

pytestmark = pytest.mark.integration


def test_a_load_that_moves_no_ping_adds_no_delay(shared: Path, repository: Path, tmp_path: Path) -> None:
    writer = shared / "data" / "cases" / "make_flent_probes.py"
    (tmp_path / "in").mkdir()
    subprocess.run([sys.executable, writer, tmp_path / "in" / "probes.flent.gz"], check=True)
    sojourn = Path(sys.executable).parent / "sojourn"
    subprocess.run([sojourn, "ingest", tmp_path / "in", "--var", tmp_path / "var"], check=True, capture_output=True)
    models = ModelsInMemory(repository / "models", Lake(tmp_path / "var" / "lake"))
    (row,) = models.rows("run_load_delay", "role = 'probe'")
    # Hosts 10, 50, 200 and 500 ms away, whose medians are 0.1 ms above that, idle and loaded; the far two answer little
    # when idle, so a median over all pings together moves by more than 100 ms.
    assert (row["series"], row["increase_series"]) == (4, 4)
    assert row["median_increase_ms"] == pytest.approx(0, abs=0.1)
    assert (row["idle_median_ms"], row["loaded_median_ms"]) == (None, None)
    assert row["delay_null_reason"] == "series of hosts at different distances: run_series has each"
    (outcome,) = models.rows("run_outcome", "role = 'probe'")
    assert (outcome["bufferbloat_grade"], outcome["responsiveness_rpm"]) == ("A+", None)
    models.close()
