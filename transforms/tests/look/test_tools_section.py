"""What the section of measurement tools chooses to draw."""

from __future__ import annotations

from typing import Any

from sojourn_transforms.look.sections.tools import _basis_to_compare


def row(run: str, basis: str, phase: str) -> dict[str, Any]:
    return {"study_id": "study", "run_id": run, "delay_basis": basis, "phase": phase}


def test_runs_are_compared_by_the_basis_that_most_of_them_have_under_load() -> None:
    rows = [row("a", "flent_rtt_ms_samples", phase) for phase in ("idle", "loaded")]
    rows += [row(run, "flent_srtt_ms_polls", "loaded") for run in "ab"]
    assert _basis_to_compare(rows) == "flent_srtt_ms_polls"


def test_a_probe_that_saw_the_idle_path_goes_before_the_smoothed_rtt_of_the_load() -> None:
    rows = [row("a", "flent_srtt_ms_polls", "loaded"), row("b", "flent_one_way_delay_ms_samples", "loaded")]
    rows += [row("a", "flent_rtt_ms_intervals", phase) for phase in ("idle", "loaded")]
    assert _basis_to_compare(rows) == "flent_rtt_ms_intervals"
    rows += [row("a", "flent_rtt_ms_samples", phase) for phase in ("idle", "loaded")]
    assert _basis_to_compare(rows) == "flent_rtt_ms_samples"


def test_without_a_load_there_is_a_basis_too() -> None:
    assert _basis_to_compare([row("a", "ping_rtt_ms_samples", "idle")]) == "ping_rtt_ms_samples"
