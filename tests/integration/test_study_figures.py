"""Notebooks draw the figures of three studies from whatever runs a build holds, under their numbers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebooks import execute

from .conftest import SOJOURN, Service, serving
from .study_runs import BUFFERS, COMPETITION, MEASURED, STEPS, write_studies

pytestmark = pytest.mark.integration

DRAWN = {
    "imc14-buffers-and-workloads": {
        f"imc14-figure-04-{BUFFERS}-access",
        f"imc14-figure-05-{BUFFERS}-access",
    },
    "imc21-competition": {
        f"imc21-share-matrix-{COMPETITION}",
        f"imc21-bitrate-over-capacity-{COMPETITION}",
        f"imc21-rates-about-competition-{COMPETITION}",
        f"imc21-share-boxes-{COMPETITION}",
        f"imc21-time-to-recovery-{STEPS}",
    },
    "pam21-zoom-form": {"pam21-figure-02"},
}


@pytest.fixture(scope="module")
def planted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("studies")
    write_studies(folder / "runs", shared / "data" / "testbed")
    for command in (["ingest", str(folder / "runs")], ["build"]):
        done = subprocess.run(
            [str(SOJOURN), *command, "--var", str(folder / "var")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
    with serving(folder / "var") as running:
        yield running


@pytest.mark.parametrize("notebook", DRAWN)
def test_every_figure_of_a_study_is_drawn_from_the_runs_of_any_build(
    planted: Service, notebook: str, tmp_path: Path
) -> None:
    execute.execute(execute.FOLDER / f"{notebook}.ipynb", str(planted.client.base_url), tmp_path)
    assert DRAWN[notebook] <= {figure.stem for figure in tmp_path.glob("*.png")}


def test_each_buffer_has_its_delay_in_each_direction_and_workload(planted: Service) -> None:
    rows = planted.rows("configuration_queuing_delay", study_id=BUFFERS, role="all")
    assert {row["queue_limit_packets"] for row in rows} == set(MEASURED)
    assert all(row["queuing_delay_class"] for row in rows)
    cells = {
        (row["direction"], row["workload"], row["congested_direction"], row["queue_limit_packets"]) for row in rows
    }
    assert len(cells) == len(rows) == 12


def test_each_definition_of_recovery_and_the_overshoot_have_what_was_planted(planted: Service) -> None:
    rows = planted.rows("step_recovery", study_id=STEPS, run_id="disrupted-1", rate_basis="capture_after")
    # Back to 40 % of the rate at once, and to all of it 12 s later: two of the five seconds may still be low.
    assert {row["recovery_definition"]: row["recovery_ms"] for row in rows} == {
        "imc21-median-of-5-s": 14_000, "sojourn-share-held": 14_000, "sojourn-demand-held": None,
    }  # fmt: skip
    (stepped,) = planted.rows("rtt_step_reaction", study_id=STEPS, run_id="stepped-1", rate_basis="capture_before")
    # 61 packets of the 101 before it, from the third second on, and 111 after 6 s; the capture before has one more. Of
    # five seconds three have 111 after 8 s.
    assert (stepped["fall_ms"], stepped["recovery_ms"]) == (2000, 8000)
    assert stepped["overshoot_ratio"] == pytest.approx(112 / 102)
