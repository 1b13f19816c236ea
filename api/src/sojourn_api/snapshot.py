"""The published build that is served: immutable, and replaced as a whole when CURRENT names another.

A request holds the snapshot it started with until it ends. A snapshot that is no longer current is closed
when its last request has ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sojourn_api.catalogue import Catalogue, Dataset
from sojourn_api.distribution_metrics import histogram_counts
from sojourn_api.held_histograms import Cells, load_cells
from sojourn_api.queries.known_values import KnownValues, Query, Studies
from sojourn_api.settings import Settings, memory_that_fits
from sojourn_process.parquet_sql import parquet_rows, path_pattern
from sojourn_snapshot.catalogue import read_catalogue
from sojourn_snapshot.documents import BUILD, read_build
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import FILES, mart_paths
from sojourn_snapshot.pointer import CURRENT, Pointer, read_pointer
from sojourn_snapshot.undamaged import undamaged_builds
from sojourn_snapshot.verification import REBUILD, damages, refuse_damage

if TYPE_CHECKING:
    from sojourn_api.catalogue import Column
    from sojourn_api.requests.value_words import ColumnValues

logger = logging.getLogger(__name__)

SECONDS_BEFORE_NEXT_TRY = 5.0


class SnapshotError(Exception):
    """A build that cannot be served, or no build at all."""


def published_pointer(folder: Path) -> Pointer:
    """Return what CURRENT in the folder of the published builds says.

    Raises
    ------
    SnapshotError
        When there is none, or it is damaged.
    """
    try:
        pointer = read_pointer(folder)
    except DamagedSnapshotError as error:
        raise SnapshotError(_with_advice(str(error))) from error
    if pointer is None:
        raise SnapshotError(f"no build published under {folder}: run `sojourn build`")
    return pointer


def _with_advice(fault: str) -> str:
    return fault if REBUILD in fault else f"{fault}; run {REBUILD}, which publishes it again"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Snapshot:
    """An open build: its catalogue, and a database of views over its Parquet files.

    A copy of a dataset in memory takes ten times the size of its file, and saves a millisecond or two a query. Only
    large histograms are held in memory, beside the database (`cells`).

    The database can reach no file but those, and its configuration is locked.
    """

    def __init__(
        self,
        build_id: str,
        catalogue: Catalogue,
        build: dict[str, Any],
        connection: duckdb.DuckDBPyConnection,
        cells: Mapping[str, Cells],
        threads: int,
    ) -> None:
        self.build_id = build_id
        self.catalogue = catalogue
        self.build = build
        self.cells = cells
        self.threads = threads
        self._connection = connection
        self._known_values = KnownValues()

    @classmethod
    def open(cls, folder: Path, settings: Settings) -> Snapshot:
        """Open the build in a folder.

        Raises
        ------
        SnapshotError
            When a file is missing or damaged, or the catalogue and the Parquet files disagree.
        """
        try:
            catalogue = read_catalogue(folder, Catalogue)
            build = read_build(folder)
            refuse_damage(folder)
        except DamagedSnapshotError as error:
            raise SnapshotError(f"build {folder.name}: {error}") from error
        connection = duckdb.connect(
            ":memory:",
            config={
                "threads": settings.api_threads,
                "temp_directory": "",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            },
        )
        try:
            connection.execute("set memory_limit = ?", [settings.api_memory or memory_that_fits(duckdbs_bound())])
            _attach(connection, folder, catalogue)
            cells = load_cells(
                connection,
                catalogue,
                histogram_counts(),
                settings.api_cells_rows,
                settings.api_cells_bytes,
                settings.api_threads,
            )
        except (duckdb.Error, OSError, DamagedSnapshotError) as error:
            connection.close()
            # A file that changed without changing its size is named; DuckDB says what it stumbled over, not why. A
            # build of a version that wrote no list of files has no hashes to compare.
            changed = damages(folder, full=(folder / FILES).exists())
            text = f"{changed[0]}; run {REBUILD}, which publishes it again" if changed else str(error).splitlines()[0]
            raise SnapshotError(f"build {folder.name}: {text}") from error
        except SnapshotError:
            connection.close()
            raise
        return cls(folder.name, catalogue, build, connection, cells, settings.api_threads)

    def values_of(self, query: Query, dataset: Dataset, column: Column, studies: Studies) -> ColumnValues | None:
        """Return the distinct values of a column, as `KnownValues.of` does."""
        return self._known_values.of(query, self.cells.get(dataset.name), dataset, column, studies)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own to the database, for one query in one thread."""
        return self._connection.cursor()

    def close(self) -> None:
        """Close the database and give its memory back."""
        self._connection.close()


@cache
def duckdbs_bound() -> str:
    """Return the memory that DuckDB would take by itself, such as ``819.1 MiB``: it knows of cgroups."""
    with duckdb.connect() as connection:
        row = connection.execute("select current_setting('memory_limit')").fetchone()
    return str(row[0]) if row else "0 bytes"


def _attach(connection: duckdb.DuckDBPyConnection, folder: Path, catalogue: Catalogue) -> None:
    """Make a view of each dataset."""
    for dataset in catalogue.datasets:
        rows = parquet_rows(mart_paths(folder, dataset.name))
        connection.execute(f"create view {dataset.sql} as select * from {rows}")
        _check_columns(connection, dataset)
    # Both spellings, because DuckDB checks the pattern that it is given and then the file that it opens.
    allowed = ", ".join(sorted({_literal(f"{folder}/"), _literal(f"{path_pattern(folder)}/")}))
    connection.execute(f"set allowed_directories = [{allowed}]")
    connection.execute("set TimeZone = 'UTC'")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    # The first result of a process loads DuckDB's Arrow output, and pyarrow's way to NumPy imports pandas: a second
    # that no request should have to wait for.
    connection.sql("select 1 as one").to_arrow_table().column("one").to_numpy()


def _check_columns(connection: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    described = connection.execute(f"describe {dataset.sql}").fetchall()
    in_file = {str(row[0]): str(row[1]) for row in described}
    in_catalogue = {column.name: column.type for column in dataset.columns}
    if in_file != in_catalogue:
        differing = sorted(
            name for name in in_file.keys() | in_catalogue.keys() if in_file.get(name) != in_catalogue.get(name)
        )
        names = ", ".join(differing)
        raise SnapshotError(f"{dataset.name}: catalog.json and the Parquet file disagree on {names}")


@dataclass(frozen=True)
class Opened:
    """The first build of a service, and why it is not the one that CURRENT names, if it is not."""

    snapshot: Snapshot
    pointer: Pointer
    fault: str | None
    #: What CURRENT says, if it can be read.
    named: Pointer | None


def open_first(folder: Path, open_snapshot: Callable[[Path], Snapshot]) -> Opened:
    """Open what CURRENT names or, if that or CURRENT itself is damaged, the newest build that is undamaged.

    Raises
    ------
    SnapshotError
        When nothing was published, or no build can be opened; the message is one line.
    """
    if not (folder / CURRENT).exists():
        published_pointer(folder)  # which says so
    named = None
    try:
        named = published_pointer(folder)
        return Opened(open_snapshot(folder / named.build_id), named, None, named)
    except SnapshotError as error:
        fault = _with_advice(str(error))
    tried = {None if named is None else named.build_id}
    for pointer in undamaged_builds(folder):
        if pointer.build_id not in tried:
            try:
                opened = Opened(open_snapshot(folder / pointer.build_id), pointer, fault, named)
            except SnapshotError as error:
                logger.warning("%s", error)
                continue
            logger.error(
                "NOT SERVING THE BUILD PUBLISHED LAST: %s; build %s, written %s, is served instead",
                fault, pointer.build_id, pointer.published_at,
            )  # fmt: skip
            return opened
    raise SnapshotError(f"{fault}; no other build in {folder} is undamaged")


@dataclass(frozen=True)
class Served:
    """The snapshot that one request uses."""

    snapshot: Snapshot
    published_at: str


@dataclass(frozen=True)
class ServedBuild:
    """Which build is served, and when it was published."""

    build_id: str
    published_at: str


@dataclass(frozen=True)
class Health:
    """Which build is served, and why not the published one where they differ."""

    build_id: str
    fault: str | None


class _Handle:
    def __init__(self, snapshot: Snapshot, published_at: str) -> None:
        self.snapshot = snapshot
        self.published_at = published_at
        self.requests = 0
        self.retired = False


class SnapshotStore:
    """Opens what CURRENT names, and keeps each snapshot open for as long as a request uses it.

    A published build that cannot be opened does not interrupt the service: the one before stays, the fault is
    logged and shown by `health`, and opening is tried again after `SECONDS_BEFORE_NEXT_TRY`.
    """

    def __init__(self, folder: Path, open_snapshot: Callable[[Path], Snapshot]) -> None:
        self._folder = folder
        self._open_snapshot = open_snapshot
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._current: _Handle | None = None
        self._fault: str | None = None
        self._fault_at = 0.0
        self._faulty_pointer: Pointer | None = None
        self._pointer_read: tuple[tuple[int, int, int], Pointer] | None = None

    def start(self) -> Pointer:
        """Open the published build before the first request, and return which it is.

        If it is damaged, the newest undamaged build is opened instead, and the fault is logged and shown by `health`.

        Raises
        ------
        SnapshotError
            When there is none, or none can be opened.
        """
        opened = open_first(self._folder, self._open_snapshot)
        with self._lock:
            self._current = _Handle(opened.snapshot, opened.pointer.published_at)
            if opened.fault is not None:
                self._fault, self._fault_at, self._faulty_pointer = opened.fault, time.monotonic(), opened.named
        return opened.pointer

    @contextmanager
    def acquire(self) -> Iterator[Served]:
        """Hold the current snapshot for the duration of a request.

        Raises
        ------
        SnapshotError
            When there is no snapshot to serve.
        """
        handle = self._hold()
        try:
            yield Served(handle.snapshot, handle.published_at)
        finally:
            self._let_go(handle)

    def kept_builds(self) -> list[dict[str, str]]:
        """Return the id of each build on the disk and when it was written (UTC), the newest first."""
        written = {}
        for path in self._folder.glob(f"*/{BUILD}"):
            try:
                written[path.parent.name] = path.stat().st_mtime
            except FileNotFoundError:
                continue  # it was removed meanwhile, as older builds are
        return [
            {"build_id": name, "written_at": datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
            for name, seconds in sorted(written.items(), key=lambda each: (-each[1], each[0]))
        ]

    def published_build(self) -> ServedBuild | None:
        """Return which build CURRENT names, opened or not; None where it names none."""
        try:
            pointer = self._pointer()
        except SnapshotError:
            return None  # the request that follows reports why
        return ServedBuild(pointer.build_id, pointer.published_at)

    def served_build(self) -> ServedBuild | None:
        """Return which build is served, without opening one.

        None asks for a request that opens what CURRENT names. While that goes on, the build before is served.
        """
        if self._due() is not None and not self._opening.locked():
            return None
        with self._lock:
            handle = self._current
            return None if handle is None else ServedBuild(handle.snapshot.build_id, handle.published_at)

    def health(self) -> Health:
        """Return which build is served.

        Raises
        ------
        SnapshotError
            When there is no snapshot to serve.
        """
        with self.acquire() as served:
            return Health(served.snapshot.build_id, self._fault)

    def close(self) -> None:
        """Close the current snapshot as soon as no request uses it."""
        with self._lock:
            handle, self._current = self._current, None
        if handle:
            self._retire(handle)

    def _hold(self) -> _Handle:
        while True:
            self._refresh()
            with self._lock:
                handle = self._current
                if handle is not None and not handle.retired:
                    handle.requests += 1
                    return handle
                fault = self._fault
            if handle is None:
                raise SnapshotError(fault or "the service is shutting down")

    def _refresh(self) -> None:
        if self._due() is None:
            return
        # While one request opens the new build, others go on with the old one; without an old one they wait.
        if not self._opening.acquire(blocking=self._current is None):
            return
        try:
            # CURRENT may have changed since, and going back to an earlier build would be wrong.
            pointer = self._due()
            if pointer:
                self._switch(pointer)
        finally:
            self._opening.release()

    def _due(self) -> Pointer | None:
        """Return what CURRENT says when it should be opened now."""
        try:
            pointer = self._pointer()
        except SnapshotError as error:
            self._note_fault(str(error), None)
            return None
        return None if self._is_current(pointer) or self._failed_lately(pointer) else pointer

    def _pointer(self) -> Pointer:
        """Return what CURRENT says; it is read again only after it was replaced."""
        try:
            status = (self._folder / CURRENT).stat()
        except OSError:
            return published_pointer(self._folder)  # which says what is wrong
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        earlier = self._pointer_read
        if earlier is not None and earlier[0] == seen:
            return earlier[1]
        # Looked at before it is read: if it is replaced in between, the next look differs.
        pointer = published_pointer(self._folder)
        self._pointer_read = (seen, pointer)
        return pointer

    def _is_current(self, pointer: Pointer) -> bool:
        with self._lock:
            handle = self._current
            if handle is None or handle.snapshot.build_id != pointer.build_id:
                return False
            handle.published_at = pointer.published_at
            self._fault = None
            return True

    def _failed_lately(self, pointer: Pointer) -> bool:
        return (
            self._fault is not None
            and self._faulty_pointer == pointer
            and time.monotonic() - self._fault_at < SECONDS_BEFORE_NEXT_TRY
        )

    def _note_fault(self, fault: str, pointer: Pointer | None) -> None:
        with self._lock:
            repeated = self._fault == fault
            self._fault, self._fault_at, self._faulty_pointer = fault, time.monotonic(), pointer
        if not repeated:
            logger.error("%s", fault)

    def _switch(self, pointer: Pointer) -> None:
        started = time.monotonic()
        try:
            snapshot = self._open_snapshot(self._folder / pointer.build_id)
        except SnapshotError as error:
            self._note_fault(str(error), pointer)
            return
        except MemoryError:
            self._note_fault(
                f"build {pointer.build_id}: not enough memory to open it next to the previous one", pointer
            )
            return
        with self._lock:
            old, self._current = self._current, _Handle(snapshot, pointer.published_at)
            self._fault = None
        logger.info("serving build %s, opened in %.2f s", pointer.build_id, time.monotonic() - started)
        if old:
            self._retire(old)

    def _retire(self, handle: _Handle) -> None:
        with self._lock:
            handle.retired = True
            unused = handle.requests == 0
        if unused:
            handle.snapshot.close()

    def _let_go(self, handle: _Handle) -> None:
        with self._lock:
            handle.requests -= 1
            unused = handle.retired and handle.requests == 0
        if unused:
            handle.snapshot.close()
