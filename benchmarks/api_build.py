"""A generated build for the benchmark of the API: rows of runs as many as a study has, and one large mart.

Every row is synthetic. The build has what a published one has, so that the service opens it as any other.
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from sojourn_snapshot.catalogue import Catalogue, Column, Dataset, write_catalogue
from sojourn_snapshot.documents import BUILD, write_document
from sojourn_snapshot.pointer import Pointer, write_pointer

#: Rows of run_harm in the published tables of TMA'23.
HARM_ROWS = 11_106
_HARM = """
    select
        'synthetic' as study_id,
        printf('run-%05d', i // 2) as run_id,
        case i % 2 when 0 then 'app' else 'tcp' end as role,
        'throughput' as harm_metric,
        ['tail-drop', 'codel', 'fq_codel', 'cake'][1 + (i // 2) % 4] as aqm,
        ['bbr', 'cubic'][1 + (i // 8) % 2] as congestion_control,
        cast(1e6 * (1 + (i // 16) % 6) as bigint) as bandwidth_bps,
        cast(10 * (1 + (i // 96) % 5) as double) as rtt_ms,
        'video' as application,
        cast(1 + i // 480 as integer) as repetition,
        cast(null as varchar) as exclusion_reason,
        true as synthetic,
        cast(3 as bigint) as demand_runs,
        (hash(i + {seed}) % 100000) / 100000.0::double as harm_ratio
    from range({rows}) as t(i)
"""
_LARGE = """
    select
        i as row_number,
        ['tail-drop', 'codel', 'fq_codel', 'cake', 'pie', 'red', 'fq', 'sfq'][1 + cast(hash(i) % 8 as bigint)] as aqm,
        cast(hash(i + 1) % 1500 as bigint) as packet_bytes,
        (hash(i + {seed}) % 1000000) / 1000.0::double as queuing_delay_ms,
        true as synthetic
    from range({rows}) as t(i)
"""
_STUDY = """
    select 'synthetic' as study_id, 'Generated rows' as title, cast({rows} as bigint) as runs, {seed}::bigint as seed
"""
_KEYS = {
    "run_harm": ("study_id", "run_id", "role", "harm_metric"),
    "generated_packet": ("row_number",),
    "study": ("study_id",),
}
LARGE = "generated_packet"


def write_build(snapshots: Path, build_id: str, rows: int, seed: int) -> Path:
    """Write a build that is not yet served, and return its folder.

    Parameters
    ----------
    snapshots : pathlib.Path
    build_id : str
    rows : int
        Rows of the large mart.
    seed : int
        Values differ between seeds.
    """
    folder = snapshots / build_id
    folder.mkdir(parents=True)
    connection = duckdb.connect()
    datasets = []
    for name, sql, count in (("generated_packet", _LARGE, rows), ("run_harm", _HARM, HARM_ROWS), ("study", _STUDY, 1)):
        path = folder / f"{name}.parquet"
        connection.execute(f"copy ({sql.format(rows=count, seed=seed)}) to '{path}' (compression zstd)")
        described = connection.execute(f"describe select * from '{path}'").fetchall()
        columns = tuple(Column(name=column[0], type=column[1]) for column in described)
        datasets.append(Dataset(name=name, grain="one generated row", key=_KEYS[name], rows=count, columns=columns))
    write_catalogue(folder, Catalogue(datasets=tuple(sorted(datasets, key=lambda dataset: dataset.name))))
    write_document(folder / BUILD, {"build_id": build_id, "engine": "duckdb", "studies": ["synthetic"], "inputs": []})
    return folder


def serve_build(snapshots: Path, build_id: str) -> None:
    """Make a build the one that is served."""
    write_pointer(snapshots, Pointer(build_id=build_id, published_at="2026-01-01T00:00:00Z"))


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process that runs, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
