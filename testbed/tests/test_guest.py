"""A real guest: real queue disciplines, the probe, captures and counters, held against each other and ingested."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from sojourn_testbed.backend.qemu import QemuBackend
from sojourn_testbed.execution import Progress, execute
from sojourn_testbed.ledger import Ledger
from sojourn_testbed.plan import Plan
from sojourn_testbed.run_check import check_run

pytestmark = [pytest.mark.integration, pytest.mark.long]

SHORT = {
    "sojourn_testbed": 1,
    "study": "short",
    "axes": {"queue": [{"discipline": "tail-drop", "size_bdp": 2}, "cake"], "rate_mbps": [2]},
    "repetitions": 1,
    "solo": False,
    "timing": {
        "second_start_s": 0.5, "start_spread_s": 0.2, "window_start_s": 1, "window_end_s": 4, "end_s": 4.2,
        "drain_s": 1,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def backend() -> QemuBackend:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "testbed-image"
    found = QemuBackend(Path(os.environ.get("SOJOURN_TESTBED_IMAGE") or cache))
    found.check(Plan.model_validate(SHORT))
    return found


@pytest.fixture(scope="module")
def study(backend: QemuBackend, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Progress]]:
    folder = tmp_path_factory.mktemp("study")
    told: list[Progress] = []
    execute(Plan.model_validate(SHORT), 1, backend, folder, told.append, "none")
    return folder, told


def test_probe_captures_and_counters_agree(study: tuple[Path, list[Progress]]) -> None:
    folder, told = study
    assert [step.complaints for step in told] == [(), ()]
    assert [attempt.status for attempt in Ledger(folder).attempts()] == ["kept", "kept"]
    for run in (folder / "runs").iterdir():
        packets = (run / "queue_bpftrace.txt").read_text().splitlines()
        assert sum(line.startswith("D ") for line in packets) > 300
        assert any(line.startswith("X ") for line in packets), "a queue of 2 BDP and CAKE drop packets of CUBIC"


def test_a_done_study_is_not_run_again(study: tuple[Path, list[Progress]], backend: QemuBackend) -> None:
    folder, _ = study
    before = Ledger(folder).attempts()
    execute(Plan.model_validate(SHORT), 1, backend, folder, lambda _: pytest.fail("a run was repeated"), "none")
    assert Ledger(folder).attempts() == before


def test_a_run_whose_capture_misses_packets_is_not_good(study: tuple[Path, list[Progress]], tmp_path: Path) -> None:
    folder, _ = study
    run = next((folder / "runs").iterdir())
    for path in run.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert not check_run(tmp_path, 2_000_000).complaints
    # Half of the packets after the bottleneck are gone, as with a capture that was cut.
    content = (tmp_path / "after.pcap").read_bytes()
    (tmp_path / "after.pcap").write_bytes(content[: len(content) // 2])
    assert check_run(tmp_path, 2_000_000).complaints


def test_the_results_are_ingested_without_a_complaint(study: tuple[Path, list[Progress]], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sojourn_ingest.cli import application

    folder, _ = study
    ran = CliRunner().invoke(application(), ["ingest", str(folder), "--var", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert [line for line in ran.output.splitlines() if line.startswith(("rejected ", "partial "))] == []
    files = str(tmp_path / "lake" / "data" / "run" / "*.parquet")
    rows = duckdb.sql(
        f"select aqm, bandwidth_bps, application, congestion_control from '{files}' order by aqm"
    ).fetchall()
    assert rows == [("cake", 2_000_000, "voice", "cubic"), ("tail-drop", 2_000_000, "voice", "cubic")]
