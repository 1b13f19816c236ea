"""No number within the bounds of its column ends a build: a table of a study with each bound, alone and together."""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_ingest.schema import table

pytestmark = pytest.mark.integration

#: What a run or a measurement usually has; times in seconds since 1970.
USUAL = {
    "bandwidth_bps": 1_000_000, "rtt_ms": 50, "queue_size_bytes": 9_000, "queue_size_packets": 6, "queue_size_bdp": 1,
    "participants": 2, "repetition": 1, "start_ns": 1_777_629_600, "window_start_ns": 1_777_629_600,
    "window_end_ns": 1_777_629_660, "bytes": 7_000_000, "window_ms": 60_000, "queuing_delay_mean_ms": 5,
    "queue_mean_packets": 3, "drop_ratio": 0.1, "second": 3, "rate_bps": 500_000,
}  # fmt: skip
#: Times are bounded together, too: not one by one.
TIMES = ("start_ns", "window_start_ns", "window_end_ns")
#: What quotients are made of.
TOGETHER = ("bandwidth_bps", "rtt_ms", "queue_size_bytes", "queuing_delay_mean_ms")
UNITS = {"bps": "bit/s", "ms": "ms", "bytes": "bytes", "bdp": "BDP", "ns": "epoch s", "ratio": "ratio", "second": "s"}
SAME = "aqm: { constant: tail-drop }, application: { constant: blink }, workload: { constant: call }"


def corners() -> dict[str, dict[str, float]]:
    """Return rows by name: the usual one, one for each bound, and one for each corner of some of them."""
    bounds = {
        column.name: column.bounds
        for name in ("run", "run_measurement", "rate_profile")
        for column in table(name).columns
        if column.bounds is not None and column.name in USUAL and column.name not in TIMES
    }
    rows = {"usual": USUAL}
    for name, (least, most) in bounds.items():
        rows |= {f"{name}-least": {**USUAL, name: least}, f"{name}-most": {**USUAL, name: most}}
    for number, values in enumerate(itertools.product(*(bounds[name] for name in TOGETHER))):
        rows[f"corner-{number}"] = {**USUAL, **dict(zip(TOGETHER, values, strict=True))}
    day = {"window_end_ns": USUAL["start_ns"] + 86_400}
    return rows | {"long": {**USUAL, **day}, "early": {**USUAL, **dict(zip(TIMES, (0, 0, 86_400), strict=True))}}


def described(rows: dict[str, dict[str, float]], folder: Path) -> None:
    """Write the tables and their description."""
    with (folder / "values.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "number", *USUAL])
        writer.writerows([name, number, *row.values()] for number, (name, row) in enumerate(rows.items()))

    def fields(name: str) -> str:
        columns = [column.name for column in table(name).columns if column.name in USUAL]
        units = {column: UNITS.get(column.rpartition("_")[2], "") for column in columns}
        return ", ".join(f"{each}: {{ from: {each}{unit and f', unit: {unit}'} }}" for each, unit in units.items())

    outputs = [
        ("run", f"run_id: {{ from: name }}, start_order: {{ constant: app_first }}, {SAME}, "
         f"queue_discipline: {{ constant: bfifo }}, congestion_control: {{ constant: cubic }}, {fields('run')}"),
        *(
            ("run_measurement", f"run_id: {{ from: name }}, role: {{ constant: {role} }}, {fields('run_measurement')}")
            for role in ("app", "tcp")
        ),
        ("rate_profile", f"profile_number: {{ from: number }}, {SAME}, {fields('rate_profile')}"),
    ]  # fmt: skip
    (folder / "study.yaml").write_text(
        "sojourn_study: 1\nstudy_id: corners\ntitle: Corners\ndescription: Made up.\nlicence: CC0-1.0\n"
        f"synthetic: true\ntables:\n  - name: values\n    header: [name, number, {', '.join(USUAL)}]\n    outputs:\n"
        + "".join(f"      - {{ table: {name}, fields: {{ {fields} }} }}\n" for name, fields in outputs)
    )


def test_no_number_within_its_bounds_ends_a_build(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = corners()
    described(rows, tmp_path / "in")
    sojourn = Path(sys.executable).parent / "sojourn"
    for command in (["ingest", tmp_path / "in"], ["build"]):
        run = subprocess.run(
            [sojourn, *command, "--var", tmp_path / "var"], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr[-3000:] + run.stdout[-3000:]
        assert "refused" not in run.stderr + run.stdout.replace("records refused", "")
