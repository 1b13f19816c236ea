"""A tool's result as a run of its own, where no manifest lies beside it.

The study is the folder that the file lies in. A run manifest in that folder says what the files beside it are; they are
then the manifest's measurements, and no runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.interface import Context, Facts, Source
from sojourn_ingest.formats.series.bounds import date_of
from sojourn_ingest.formats.series.setting import UNKNOWN, Setting
from sojourn_ingest.schema import table

MANIFESTS = ("manifest.json", "manifest.yaml", "manifest.yml")
#: As many digits of the content's hash as tell the results of one folder apart.
HASH_DIGITS = 12


@dataclass(frozen=True)
class ToolRun:
    """What a reader knows of the run that its source is; the columns of ``run`` say what the fields mean."""

    measurement: str
    workload: str
    setting: Setting
    direction: str | None = None
    application: str | None = None
    start_order: str = "solo"
    start_ns: int | None = None
    #: Further measurements that the same file holds.
    also: tuple[str, ...] = ()


def has_manifest(source: Source) -> bool:
    """Return whether a run manifest lies in the folder of a file."""
    return any((source.path.parent / name).is_file() for name in MANIFESTS)


def study_of(path: Path) -> str:
    """Return the study that a result without a manifest is counted to: the name of its folder."""
    return path.parent.name or "results"


def run_rows(run: ToolRun, source: Source, context: Context) -> Facts:
    """Yield ``run`` and ``run_source`` of a result; nothing where a manifest describes it."""
    if has_manifest(source):
        return
    content_hash = context.fingerprint(source.path)
    setting = run.setting
    key = {
        "study_id": study_of(source.path),
        "run_id": f"{run.measurement}-{run.workload.split(' ')[0]}-{content_hash[:HASH_DIGITS]}",
    }
    others = [f"{name}={value}" for name, value in sorted(setting.more.items())]
    # A title that names nothing is all that tells one setting from another.
    label = [setting.label] if setting.label and setting.discipline is None else []
    yield _batch(
        "run",
        [
            key
            | {
                "start_order": run.start_order,
                "workload": " ".join((run.workload, *others, *label)),
                "direction": run.direction,
                "bandwidth_bps": setting.bandwidth_bps(run.direction),
                "rtt_ms": setting.rtt_ms,
                "aqm": setting.aqm,
                "queue_discipline": setting.discipline or UNKNOWN,
                "aqm_parameters": _rates(setting) if setting.bandwidth_bps(run.direction) is None else None,
                "congestion_control": setting.congestion_control,
                "application": run.application,
                "repetition": setting.repetition,
                "start_ns": date_of(run.start_ns),
            }
        ],
    )
    sources = [
        key | {"measurement": measurement, "file_name": source.plain_name, "measurement_hash": content_hash}
        for measurement in (run.measurement, *run.also)
    ]
    yield _batch("run_source", sources)


def _rates(setting: Setting) -> str | None:
    down, up = setting.rates_bps
    return None if down is None and up is None else json.dumps({"rate_down_bps": down, "rate_up_bps": up})


def _batch(name: str, rows: list[dict[str, Any]]) -> tuple[str, pa.RecordBatch]:
    provenance = ("source_hash", "decoder_version")
    schema = pa.schema([column for column in table(name).arrow_schema() if column.name not in provenance])
    return name, pa.RecordBatch.from_pylist(rows, schema=schema)
