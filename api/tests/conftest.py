"""Small published builds in the snapshot format, with results that the tests compute on their own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from sojourn_api.app import create_app
from sojourn_api.settings import Settings

Row = dict[str, Any]
UNITS = {"_ratio": "ratio", "_ms": "ms", "_us": "us", "_bps": "bit/s", "_bytes": "bytes", "packets": "packets"}
DUCKDB_TYPES = {
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.uint64(): "UBIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.decimal128(10, 2): "DECIMAL(10,2)",
    pa.list_(pa.int64()): "BIGINT[]",
    pa.map_(pa.string(), pa.int64()): "MAP(VARCHAR, BIGINT)",
}
DIMENSIONS = pa.schema(
    [
        ("study_id", pa.string()),
        ("run_id", pa.string()),
        ("bandwidth_bps", pa.int64()),
        ("rtt_ms", pa.float64()),
        ("aqm", pa.string()),
        ("congestion_control", pa.string()),
        ("application", pa.string()),
        ("repetition", pa.int32()),
        ("exclusion_reason", pa.string()),
        ("synthetic", pa.bool_()),
    ]
)


@dataclass
class Build:
    """The rows of a build by dataset, and what catalog.json says of them."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    delays_us: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, name: str, key: list[str], schema: pa.Schema, rows: list[Row]) -> None:
        table = pa.Table.from_pylist(rows, schema=schema)
        self.tables[name] = table.sort_by([(column, "ascending") for column in key])
        self.keys[name] = key

    def rows(self, name: str) -> list[Row]:
        return self.tables[name].to_pylist()

    def catalogue(self) -> dict[str, Any]:
        datasets = []
        for name in sorted(self.tables):
            table = self.tables[name]
            columns = [
                {
                    "name": f.name,
                    "type": DUCKDB_TYPES[f.type],
                    "unit": next((unit for end, unit in UNITS.items() if f.name.endswith(end)), None),
                    "description": f"The {f.name} of the {name}.",
                    "nullable": True,
                }
                for f in table.schema
            ]
            datasets.append(
                {
                    "name": name,
                    "subject": "made-up",
                    "description": f"All of {name}.",
                    "grain": f"one {name}",
                    "key": self.keys[name],
                    "rows": table.num_rows,
                    "columns": columns,
                }
            )
        return {"datasets": datasets}


def runs() -> list[Row]:
    return [
        {
            "study_id": "s-1" if repetition < 3 else "s-2",
            "run_id": f"{aqm}-{congestion_control}-{repetition}",
            "bandwidth_bps": 1_000_000 * (1 + repetition % 2),
            "rtt_ms": 50.0,
            "aqm": aqm,
            "congestion_control": congestion_control,
            "application": "rtp-cbr",
            "repetition": repetition,
            "exclusion_reason": "no TCP data" if (aqm, repetition) == ("codel", 2) else None,
            "synthetic": False,
        }
        for aqm in ("codel", "fq_codel", "tail-drop")
        for congestion_control in ("bbr", "cubic", None)
        for repetition in range(4)
    ]


def reference_bin(value: int) -> tuple[int, int, int]:
    """Index, lower and exclusive upper edge of a value's bin, counted up from the contract's definition."""
    if value < 64:
        return value, value, value + 1
    lower, width, index = 64, 1, 64
    while lower * 2 <= value:
        lower, width, index = lower * 2, width * 2, index + 64
    steps = (value - lower) // width
    return index + steps, lower + steps * width, lower + (steps + 1) * width


def example_build(seed: int = 7) -> Build:
    random = np.random.default_rng(seed)
    build = Build()
    all_runs = runs()
    build.add("run", ["study_id", "run_id"], DIMENSIONS, all_runs)
    study = pa.schema([("study_id", pa.string()), ("title", pa.string()), ("runs", pa.int64())])
    build.add(
        "study",
        ["study_id"],
        study,
        [
            {"study_id": "s-1", "title": "First, with a comma", "runs": 27},
            {"study_id": "s-2", "title": 'Second "quoted"', "runs": 9},
        ],
    )
    harm_schema = DIMENSIONS
    for name, kind in [
        ("role", pa.string()),
        ("harm_metric", pa.string()),
        ("demand_runs", pa.int64()),
        ("harm_ratio", pa.float64()),
    ]:
        harm_schema = harm_schema.append(pa.field(name, kind))
    harm = [
        {
            **run,
            "role": role,
            "harm_metric": "throughput",
            "demand_runs": int(random.integers(1, 9)),
            "harm_ratio": None if run["congestion_control"] is None else float(random.normal(0.1, 0.3)),
        }
        for run in all_runs
        for role in ("app", "tcp")
    ]
    build.add("run_harm", ["study_id", "run_id", "role", "harm_metric"], harm_schema, harm)
    histogram_schema = DIMENSIONS
    for name, kind in [
        ("role", pa.string()),
        ("delay_basis", pa.string()),
        ("bin_index", pa.int64()),
        ("bin_lower_us", pa.int64()),
        ("bin_upper_us", pa.int64()),
        ("packets", pa.int64()),
    ]:
        histogram_schema = histogram_schema.append(pa.field(name, kind))
    histogram: list[Row] = []
    for run in all_runs:
        for role in ("app", "tcp"):
            scale = {"codel": 8.0, "fq_codel": 6.0, "tail-drop": 11.0}[run["aqm"]]
            delays = [0, 0, 1, *np.floor(random.lognormal(scale, 1.5, 300)).astype(int).tolist()]
            build.delays_us[run["run_id"], role] = delays
            counts: dict[tuple[int, int, int], int] = {}
            for delay in delays:
                counts[reference_bin(delay)] = counts.get(reference_bin(delay), 0) + 1
            for (index, lower, upper), packets in counts.items():
                histogram.append(
                    {
                        **run,
                        "role": role,
                        "delay_basis": "queue_sojourn",
                        "bin_index": index,
                        "bin_lower_us": lower,
                        "bin_upper_us": upper,
                        "packets": packets,
                    }
                )
    build.add("queuing_delay_histogram", ["study_id", "run_id", "role", "bin_index"], histogram_schema, histogram)
    add_types(build)
    return build


def add_types(build: Build) -> None:
    """A dataset with every type, extreme values, and columns whose names are also parameters or operators."""
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("format", pa.string()),
            ("limit", pa.int32()),
            ("odd__lt", pa.int64()),
            ('quote"d', pa.string()),
            ("unsigned", pa.uint64()),
            ("real", pa.float64()),
            ("flag", pa.bool_()),
            ("day", pa.date32()),
            ("moment", pa.timestamp("us")),
            ("instant", pa.timestamp("us", "UTC")),
            ("price", pa.decimal128(10, 2)),
            ("numbers", pa.list_(pa.int64())),
            ("refused", pa.map_(pa.string(), pa.int64())),
        ]
    )
    reals = [0.1, float("nan"), float("inf"), float("-inf"), None, -0.0, 1e-300, 0.1 + 0.2]
    rows = [
        {
            "id": [-(2**63), 2**63 - 1, 2**53 + 1, 0, 1, 2, 3, 4][i],
            "format": ["pcap", "csv", "", None, "a,b", "it's", "ü€", "\x00"][i],
            "limit": i,
            "odd__lt": i * 10,
            'quote"d': f"q{i}",
            "unsigned": 2**64 - 1 - i,
            "real": reals[i],
            "flag": [True, False, None][i % 3],
            "day": date(2026, 11, 1 + i),
            "moment": datetime(2026, 11, 21, 1, 2, i),
            "instant": datetime(2026, 11, 21, 1, 2, i, tzinfo=UTC),
            "price": Decimal(f"{i}.25"),
            "numbers": None if i == 3 else list(range(i)),
            "refused": [("short", i)],
        }
        for i in range(8)
    ]
    build.add("types", ["id"], schema, rows)


Publish = Callable[..., Path]
Serve = Callable[..., TestClient]


def write_build(snapshots: Path, build: Build, build_id: str, published_at: str = "2026-11-21T01:02:03Z") -> Path:
    """Write a build and make it the current one, as `sojourn build` does."""
    folder = snapshots / build_id
    folder.mkdir(parents=True)
    for name, table in build.tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd", row_group_size=20_000)
    (folder / "catalog.json").write_text(json.dumps(build.catalogue()))
    inputs = [{"source_path": "a.pcap", "content_hash": "00", "format": "pcap", "status": "ok", "records_read": 1}]
    document = {"build_id": build_id, "engine": "duckdb", "studies": ["s-1", "s-2"], "inputs": inputs}
    (folder / "build.json").write_text(json.dumps(document))
    point_to(snapshots, build_id, published_at)
    return snapshots


def point_to(snapshots: Path, build_id: str, published_at: str = "2026-11-21T01:02:03Z") -> None:
    """Replace CURRENT in one step."""
    current = snapshots / "CURRENT.new"
    current.write_text(json.dumps({"build_id": build_id, "published_at": published_at}))
    current.replace(snapshots / "CURRENT")


@pytest.fixture(scope="session")
def write() -> Callable[[Path, Build, str], Path]:
    """The function that publishes a build in a folder of choice."""
    return write_build


@pytest.fixture(scope="session")
def build() -> Build:
    return example_build()


@pytest.fixture(scope="session")
def another_build() -> Build:
    """The same runs with other values."""
    return example_build(seed=8)


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """A function that publishes a build in this test's folder, and returns the folder of snapshots."""
    snapshots = tmp_path / "snap [1]'s"  # characters that SQL and glob patterns treat specially

    def write(build: Build, build_id: str = "b1", **options: str) -> Path:
        return write_build(snapshots, build, build_id, **options)

    return write


@pytest.fixture
def point() -> Callable[..., None]:
    """The function that replaces CURRENT."""
    return point_to


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    """The published example, for tests that publish nothing themselves."""
    # DuckDB would take the folder for a column.
    return write_build(tmp_path_factory.mktemp("study_id=x") / "snap [1]'s", build, "b1")


@pytest.fixture
def serve(example_folder: Path) -> Iterator[Serve]:
    """A function that returns a client of an app over a folder of snapshots, with settings of choice."""
    with contextlib.ExitStack() as stack:

        def start(*, folder: Path = example_folder, **settings: Any) -> TestClient:
            app = create_app(Settings(snapshots=folder, **settings))
            return stack.enter_context(TestClient(app, raise_server_exceptions=False))

        yield start


@pytest.fixture(scope="session")
def client(example_folder: Path) -> Iterator[TestClient]:
    """A client of the example with default settings."""
    with TestClient(create_app(Settings(snapshots=example_folder)), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def many() -> Build:
    """Enough rows of real numbers of very different size that their sum depends on its order and threads."""
    random = np.random.default_rng(3)
    rows = 400_000
    build = Build()
    values = random.normal(size=rows) * 10.0 ** random.integers(-8, 9, rows)
    build.tables["many"] = pa.table({"id": np.arange(rows), "g": random.integers(0, 5, rows), "x": values})
    build.keys["many"] = ["id"]
    return build
