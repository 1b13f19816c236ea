"""Keep the results of studies of the testbed: ``python testbed/results/keep.py --runs FOLDER --var FOLDER [STUDY…]``.

``--runs`` holds a folder for each study, as ``sojourn testbed run testbed/results/STUDY/plan.yaml --out FOLDER/STUDY``
wrote it. They are ingested and built below ``--var``, and the marts named in MARTS are written beside each plan as
Parquet, with ``provenance.json``: plan, seed, commit, versions, and how many runs were kept, failed and excluded. No
captures are kept.

``python testbed/results/keep.py --judge`` asks what studies state of the marts that are kept, by today's seeds and SQL,
and writes each ``published_replication.parquet`` again. It needs no runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import yaml

from sojourn_ingest.lake import Lake
from sojourn_transforms.models_in_memory import ModelsInMemory

FOLDER = Path(__file__).resolve().parent
PROJECT = FOLDER.parents[1] / "models"
SOJOURN = Path(sys.executable).parent / "sojourn"
#: Marts that the notebook draws from, or that say what its figures are of; those without a row of a study are left out.
MARTS = (
    *("run", "run_link", "run_queuing_delay", "run_queue", "run_queue_delay_over_time", "run_harm", "run_mos"),
    *("run_delay_over_time", "run_metric", "run_rate", "run_phase", "rtt_step_reaction", "step_reaction"),
    *("run_flow_rate_equality", "run_page_load", "run_streaming", "run_phase_second", "step_recovery", "rate_profile"),
    *("configuration_metric", "configuration_quality", "configuration_queuing_delay", "competition_matrix"),
    *("comparison", "published_replication"),
)
#: What verdicts are made of, as models that are read from the kept marts.
JUDGED = {
    "run": "select * from read_parquet('{results}/*/run.parquet', union_by_name = true)",
    "run_metric_measures": "select * from read_parquet('{results}/*/run_metric.parquet', union_by_name = true)",
    "configuration_metric_measures": """
        select * from read_parquet('{results}/*/configuration_metric.parquet', union_by_name = true)""",
    "int_run_configuration": "select study_id, run_id, configuration_id, run_number from marts.run",
    "int_run_throughput_harm": """
        select * from read_parquet('{results}/*/run_harm.parquet', union_by_name = true)
        where harm_metric = 'throughput'""",
    "configuration": """
        select * exclude (run_id),
            count(*) filter (exclusion_reason is null) over alike as runs,
            count(exclusion_reason) over alike as excluded_runs
        from marts.run
        window alike as (partition by configuration_id)
        qualify run_number = 1""",
}
AS_PARQUET = "(format parquet, compression zstd)"


def study_id_of(study: Path) -> str:
    """Return the study that a folder's plan names."""
    return str(yaml.safe_load((study / "plan.yaml").read_text(encoding="utf-8"))["study"])


def provenance(study: Path, runs: Path) -> dict[str, Any]:
    """Return what the runs of a study were made with, from their manifests and the ledger of attempts."""
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(runs.glob("runs/*/manifest.json"))]
    attempts = [json.loads(line) for line in (runs / "attempts.jsonl").read_text(encoding="utf-8").splitlines()]
    made_with = {json.dumps(one["made_with"], sort_keys=True) for one in manifests}
    plan = json.loads((runs / "testbed.json").read_text(encoding="utf-8"))["plan"]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=True).stdout
    return {
        "what": "runs of Sojourn's own testbed, not the data of the study whose form they have",
        "study_id": study_id_of(study),
        "plan_sha256": hashlib.sha256((study / "plan.yaml").read_bytes()).hexdigest(),
        "seed": plan["seed"],
        "repetitions_planned": plan["repetitions"],
        "runs": len(manifests),
        "runs_by_block": dict(sorted(Counter(str(one["block"]) for one in manifests).items())),
        "excluded_runs": sum("exclusion_reason" in one for one in manifests),
        "failed_attempts": sum(one["status"] == "failed" for one in attempts),
        "commit": commit.strip(),
        "made_with": [json.loads(one) for one in sorted(made_with)],
    }


def keep_marts(snapshot: Path, study: Path) -> int:
    """Write the marts of a study beside its plan, and return their bytes."""
    for old in study.glob("*.parquet"):
        old.unlink()
    kept = 0
    study_id = study_id_of(study)
    for mart in MARTS:
        source = snapshot / f"{mart}.parquet"
        path = study / f"{mart}.parquet"
        rows = f"from read_parquet('{source}') where study_id = '{study_id}'"
        (number,) = duckdb.sql(f"select count(*) {rows}").fetchall()[0]
        if number:
            duckdb.sql(f"copy (select * {rows} order by all) to '{path}' {AS_PARQUET}")
            kept += path.stat().st_size
    return kept


def judge(results: Path, project: Path = PROJECT) -> dict[str, int]:
    """Write the verdicts of each kept study on what other studies state; return how many there are, by folder.

    They follow from four of its marts. A study without a verdict has no file.
    """
    models = ModelsInMemory(project, Lake(results))
    for model, statement in JUDGED.items():
        models.put(model, statement.format(results=results))
    verdicts = models.table("published_replication")
    numbers: dict[str, int] = {}
    for plan in sorted(results.glob("*/plan.yaml")):
        path = plan.parent / "published_replication.parquet"
        path.unlink(missing_ok=True)
        rows = f"from {verdicts} where study_id = '{study_id_of(plan.parent)}'"
        (number,) = models.connection.execute(f"select count(*) {rows}").fetchall()[0]
        if number:
            models.connection.execute(f"copy (select * {rows} order by all) to '{path}' {AS_PARQUET}")
            numbers[plan.parent.name] = number
    models.close()
    return numbers


def main() -> None:
    """Ingest, build and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder with a folder of results for each study")
    parser.add_argument("--var", type=Path, help="folder for the lake and the build")
    parser.add_argument("--judge", action="store_true", help="write the verdicts of what is kept again, without runs")
    parser.add_argument("studies", nargs="*", help="folders of testbed/results; all with results without any")
    arguments = parser.parse_args()
    if arguments.judge:
        for name, number in judge(FOLDER).items():
            print(f"{name}: {number} verdicts")
        return
    if arguments.runs is None or arguments.var is None:
        parser.error("expected --runs and --var, or --judge")
    names = arguments.studies or sorted(path.parent.name for path in FOLDER.glob("*/plan.yaml"))
    present = [name for name in names if (arguments.runs / name / "runs").is_dir()]
    if not present:
        raise SystemExit(f"{arguments.runs} has results of none of {', '.join(names)}")
    results = [str(arguments.runs / name) for name in present]
    subprocess.run([SOJOURN, "ingest", *results, "--var", str(arguments.var)], check=True)
    subprocess.run([SOJOURN, "build", "--var", str(arguments.var)], check=True)
    snapshots = arguments.var / "snapshots"
    snapshot = snapshots / json.loads((snapshots / "CURRENT").read_text(encoding="utf-8"))["build_id"]
    for name in present:
        study = FOLDER / name
        size = keep_marts(snapshot, study)
        text = json.dumps(provenance(study, arguments.runs / name), indent=1)
        (study / "provenance.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {size / 1000:,.0f} kB")


if __name__ == "__main__":
    main()
