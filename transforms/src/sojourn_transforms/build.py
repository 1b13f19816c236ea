"""One build: the lake's live facts into marts, tested, compared, and published as a snapshot."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

from sojourn_ingest.disk_space import refuse_too_small_a_disk, size_text
from sojourn_ingest.forgotten import ForgottenListError, list_fingerprint, pending_in
from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.verification import refuse_damage
from sojourn_ingest.memory import memory_bytes
from sojourn_ingest.paths import Paths
from sojourn_snapshot.catalogue import Catalogue, read_catalogue
from sojourn_snapshot.files import read_files
from sojourn_snapshot.pointer import CURRENT
from sojourn_transforms import __version__
from sojourn_transforms.engine import DuckDbEngine, Engine
from sojourn_transforms.mart import MART_LAYER
from sojourn_transforms.mart_files import Origin, RepeatedKeyError
from sojourn_transforms.project import (
    SettingError,
    find_project,
    minimum_hosts,
    project_fingerprint,
    statistics_fingerprint,
)
from sojourn_transforms.publishing import (
    FORGOTTEN,
    current_build,
    publish_snapshot,
    snapshots_with_another_list,
    unknown_folders,
)
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.runner import Progress
from sojourn_transforms.running.statements import ModelError
from sojourn_transforms.warehouse import remove_if_of_another_list

COUNTED_ONCE = "every_connection_is_counted_once"
"""The test that finds days and months whose kept counts differ from those of their sources."""


READ_ERROR = re.compile(
    r"parquet|decompress|thrift|protocol|corrupt|buffer|magic|snappy|zstd|deserializ", re.IGNORECASE
)
"""Words in errors of DuckDB and Spark that a file with other bytes than were written may cause."""

#: The warehouse without a row, and the copies of little lake tables.
EMPTY_BUILD_BYTES = 90_000_000
EMPTY_SNAPSHOT_BYTES = 2_000_000
WAREHOUSE_RATIO = 1.4
SNAPSHOT_RATIO = 0.3

#: Of a Parquet file of a wide table: measured with 1,000 and with 4,000 of them.
OPEN_FILE_BYTES = 2**18
#: Files that the message of a build that failed lists.
SHOWN_SOURCES = 3
LIBRARIES = ("duckdb", "numpy", "pyarrow", "scipy", "statsmodels")
"""The libraries whose versions a build notes, beside those of dbt: of other versions figures and the bytes of files may
differ in the last bits."""


class BuildError(RuntimeError):
    """The build stopped; the message says at what, and what to do."""


@dataclass
class BuildReport:
    """What a build did."""

    build_id: str
    built: bool
    models: int = 0
    tables: int = 0
    """Models, seeds and marts of the statistics."""
    tables_built: int = 0
    """Those of them that were executed; the others stand as they were."""
    tests_passed: int = 0
    warnings: list[str] = field(default_factory=list)
    changes: list[MartChange] = field(default_factory=list)


def inputs_fingerprint(lake: Lake, project: Path) -> str:
    """Return a hash of everything a build depends on: live facts, the dbt project, the statistics, the version."""
    models = f"{project_fingerprint(project)}\0{minimum_hosts()}"
    parts = f"{__version__}\0{lake.fingerprint()}\0{models}\0{statistics_fingerprint()}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def build(
    paths: Paths,
    on_step: Callable[[str | Progress], None],
    force: bool = False,
    engine: Engine | None = None,
    say: Callable[[str], None] | None = None,
) -> BuildReport:
    """Build, test and publish; do nothing when what is being served was built from the same facts and models.

    ``on_step`` is called with a short text of what is being done. Without ``engine`` it is DuckDB. ``say`` is called
    with what the build will write and what is free; without it nothing is estimated.

    Raises
    ------
    BuildError
        If a model or test failed, the lake is empty, a setting has no sense, or CURRENT is a folder.
    DiskTooSmallError
        If what the build will write does not fit.
    LakeDamagedError
        If a file of the lake is missing, torn or altered.
    """
    lake = paths.open_lake()
    if not lake.live():
        refuse_damage(lake)
        raise BuildError(f"the lake {lake.storage.uri} is empty: run `sojourn ingest PATH…` first")
    try:
        project = find_project()
        fingerprint = inputs_fingerprint(lake, project)
        forgotten = list_fingerprint(paths.forgotten)
    except (SettingError, ForgottenListError) as error:
        raise BuildError(str(error)) from error
    if (paths.snapshots / CURRENT).is_dir():
        # Found out at the end, hours of work would be lost.
        raise BuildError(f"{paths.snapshots / CURRENT} is a folder; remove it, then run the same command again")
    served = current_build(paths.snapshots)
    chosen = engine or DuckDbEngine(paths)
    is_same = served is not None and (served.get("fingerprint"), served.get("engine")) == (fingerprint, chosen.name)
    if served is not None and is_same and not force and not snapshots_with_another_list(paths.snapshots, forgotten):
        return BuildReport(build_id=served["build_id"], built=False, warnings=pending_in(paths.forgotten))
    if chosen.name == "duckdb":
        refuse_too_many_files(lake, memory_bytes())
    if say is not None and chosen.name == "duckdb":
        refuse_too_small_a_disk("the build", build_disk_need(lake, paths), paths.var, say)
    # From the first model to the switch no other build may touch what is published.
    with _alone(paths):
        return _build_and_publish(paths, project, lake, chosen, on_step, force)


def refuse_too_many_files(lake: Lake, available_bytes: int) -> None:
    """Go on if a build can hold the footers of all files of a table at once, as DuckDB does, in half of the memory.

    Raises
    ------
    BuildError
        If it cannot; the message says which command puts small files together.
    """
    files = {(file.table, lake.place_of(file)) for commit in lake.live() for file in commit.files}
    table, count = max(Counter(name for name, _ in files).items(), key=lambda item: item[1], default=("", 0))
    needed = count * OPEN_FILE_BYTES
    if needed > available_bytes / 2:
        what = f"table {table} of the lake is in {count:,} files, which take a build about {size_text(needed)}"
        raise BuildError(
            f"{what} of memory, but only {size_text(available_bytes)} are available; run sojourn maintain compact"
        )


def build_disk_need(lake: Lake, paths: Paths) -> int:
    """Return about how many bytes a build will write, beside what it writes over.

    The factors are those of the bundled sample (half of the lake's bytes) and of 430 million connections (0.7 times),
    doubled for what DuckDB spills and for tables that are replaced.
    """
    facts = sum(file.size_bytes for commit in lake.live() for file in commit.files)
    snapshot = EMPTY_SNAPSHOT_BYTES + round(facts * SNAPSHOT_RATIO)
    whole = EMPTY_BUILD_BYTES + round(facts * WAREHOUSE_RATIO)
    there = paths.warehouse.stat().st_size if paths.warehouse.exists() else 0
    return snapshot + max(0, whole - there)


@contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    """Hold the lock of builds, which ends with the process that has it."""
    paths.var.mkdir(parents=True, exist_ok=True)
    with (paths.var / "build.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BuildError(f"another build in {paths.var} is running; wait for it to end") from error
        yield


def _build_and_publish(
    paths: Paths,
    project: Path,
    lake: Lake,
    engine: Engine,
    on_step: Callable[[str | Progress], None],
    force: bool,
) -> BuildReport:
    # SciPy takes a second to import, which a build without work should not spend.
    from sojourn_transforms.statistics_marts import STATISTICS_MARTS

    try:
        # Before an engine is started, which waits for nothing then.
        compiled = compiled_project(project, engine.name)
    except ModelError as error:
        raise BuildError(str(error)) from error
    # The build sees the lake as it is now, even if files are ingested or compacted meanwhile. Until the new snapshot is
    # served, no host can be forgotten: it would hold the host's rows.
    with lake.reading():
        forgotten = list_fingerprint(paths.forgotten)
        remove_if_of_another_list(paths.warehouse, forgotten)
        with engine.running():
            refuse_damage(lake)
            fingerprint = inputs_fingerprint(lake, project)
            try:
                report = engine.build_marts(compiled, lake, on_step, force)
            except (ModelError, duckdb.Error) as error:
                # A file that changed without changing its size is found by its hash; if none is, the error stands as
                # it is. Every byte is read for that, so only for an error of a kind that such a file causes.
                if READ_ERROR.search(str(error)):
                    refuse_damage(lake, full=True)
                if isinstance(error, duckdb.Error):
                    raise
                advice = "; `sojourn build --full` counts all connections again" if COUNTED_ONCE in str(error) else ""
                raise BuildError(f"{error}; {_unpublished(paths, lake)}{advice}") from error
        description = {
            "engine": engine.name,
            "sojourn_version": __version__,
            "fingerprint": fingerprint,
            "studies": sorted(lake.values("run", "study_id")),
            "inputs": _inputs(lake),
            "software": {**{name: version(name) for name in LIBRARIES}, **compiled.compiler},
            "dbt": {"models": report.models, "tests_passed": report.tests_passed},
            **({FORGOTTEN: forgotten} if forgotten else {}),
        }
        marts = sorted([*compiled.marts, *STATISTICS_MARTS], key=lambda mart: mart.name)
        origins = {mart.name: Origin(report.contents[mart.name], report.definitions[mart.name]) for mart in marts}
        on_step("publishing the snapshot")
        before = _datasets(paths)
        try:
            build_id, _ = publish_snapshot(
                engine.marts_file,
                MART_LAYER,
                marts,
                description,
                paths.snapshots,
                origins=origins,
                parts=engine.parts_by_day(),
                full=engine.is_full,
                memory=engine.memory,
            )
        except RepeatedKeyError as error:
            raise BuildError(f"{error}; {_unpublished(paths, lake)}") from error
    unknown = [
        f"{folder} may contain a forgotten host: it is not removed, since no build.json names it; "
        "remove it if it is a build"
        for folder in (unknown_folders(paths.snapshots) if forgotten else ())
    ]
    return BuildReport(
        build_id,
        True,
        report.models,
        len(report.contents),
        len(report.built),
        report.tests_passed,
        [*report.warnings, *unknown, *pending_in(paths.forgotten)],
        _changes(before, _datasets(paths)),
    )


@dataclass(frozen=True)
class MartChange:
    """A mart whose rows are not those of the build before: its rows now and then, None where it was not there."""

    name: str
    rows: int
    rows_before: int | None


Datasets = dict[str, tuple[int, tuple[str, ...]]]
"""Rows, and hashes of the files, of each published mart."""


def _datasets(paths: Paths) -> Datasets:
    served = current_build(paths.snapshots)
    if served is None:
        return {}
    snapshot = paths.snapshots / str(served["build_id"])
    files = read_files(snapshot)
    hashes: dict[str, list[str]] = {}
    for name, file in sorted(files.items()):
        hashes.setdefault(name.partition(".parquet")[0], []).append(file.sha256)
    catalogue = read_catalogue(snapshot, Catalogue)
    return {dataset.name: (dataset.rows, tuple(hashes.get(dataset.name, ()))) for dataset in catalogue.datasets}


def _changes(before: Datasets, after: Datasets) -> list[MartChange]:
    return [
        MartChange(name, published[0], before[name][0] if name in before else None)
        for name, published in after.items()
        if published != before.get(name)
    ]


def _unpublished(paths: Paths, lake: Lake) -> str:
    """Say what is served instead, which files it does not have, and how to take a file out of the lake."""
    served = current_build(paths.snapshots)
    before = {(each["content_hash"], each["decoder_version"]) for each in served.get("inputs", ())} if served else set()
    new = [
        each["source_path"] for each in _inputs(lake) if (each["content_hash"], each["decoder_version"]) not in before
    ]
    listed = ", ".join(new[:SHOWN_SOURCES])
    more = f" and {len(new) - SHOWN_SOURCES:,} more" if len(new) > SHOWN_SOURCES else ""
    still = "nothing was published" + (", and the previous build is still served" if served else "")
    without = f", without {listed}{more}" if served and new else ""
    advice = "; to take a file out of the lake, run `sojourn maintain expire --source FILE`" if new else ""
    return f"{still}{without}{advice}"


def _inputs(lake: Lake) -> list[dict[str, Any]]:
    inputs = [
        {
            "source_path": commit.source_path,
            "content_hash": commit.content_hash,
            "format": commit.format,
            "decoder_version": commit.decoder_version,
            "status": commit.status,
            "records_read": commit.records_read,
        }
        for commit in lake.live()
        if commit.status != "rejected"
    ]
    return sorted(inputs, key=lambda item: (str(item["source_path"]), str(item["content_hash"])))
