"""Every grouping of histograms is what plain SQL over their rows gives, held in memory or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from sojourn_api import held_histograms
from sojourn_api.app import create_app
from sojourn_api.distribution_metrics import METRICS, histogram_counts
from sojourn_api.queries.distributions import grouped_histograms
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.distributions import DistributionParameters, distribution_request
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.histogram import log_linear

NAME = "connection_queuing_delay_histogram"
METRIC = "connection_queuing_delay"
TEXT, WHOLE = pa.string(), pa.int64()
SCHEMA = pa.schema(
    [
        ("start_date", pa.date32()),
        ("start_month", pa.date32()),
        ("dataset", TEXT),
        ("synthetic", pa.bool_()),
        ("rtt_basis", TEXT),
        ("sample_basis", TEXT),
        ("detail_level", pa.int32()),
        ("country", TEXT),
        ("access_technology", TEXT),
        ("ip_version", TEXT),
        ("all_null", TEXT),
        ("bin_index", WHOLE),
        ("connections", WHOLE),
        ("is_upper_bound", pa.bool_()),
    ]
)
DIMENSIONS = ("start_date", "start_month", "country", "access_technology", "ip_version", "all_null")
ALWAYS = METRICS[METRIC].always
# Order and comparison of text are by code point: none of it by case, accent or language.
COUNTRIES = ("a", "B", "Z", "ä", "", "it's", "€", None)
FILTERS = (
    "",
    "country=a&country=%C3%A4",
    "country__lt=b",
    "country__ge=Z&country__ne=a",
    "country__in=a,B,nowhere&unknown_values=allow",
    "country__null=true",
    "country__null=false&start_date__gt=2026-01-30",
    "start_date=2026-02-01&detail_level__le=1",
    "access_technology=nothing&unknown_values=allow",
    "all_null=x&unknown_values=allow",
    "synthetic=true",
    "is_upper_bound=true&rtt_basis=smoothed&dataset__ne=polled&unknown_values=allow",
)


def groupings(query: str) -> list[tuple[str, ...]]:
    """Every grouping; with a filter those by at most two columns and by all, which take a quarter of the time."""
    sizes = (0, 1, 2, len(DIMENSIONS)) if query else range(len(DIMENSIONS) + 1)
    return list(chain.from_iterable(combinations(DIMENSIONS, size) for size in sizes))


def cube(seed: int = 5, rows: int = 3000, one_basis: bool = False, few: bool = False) -> pa.Table:
    """A cube of random cells; some of its counts are zero, and the bins of a cell are in no order."""
    random = np.random.default_rng(seed)
    days = [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1)]
    made = {}
    for _ in range(rows):
        day = days[random.integers(3)]
        polled = not one_basis and random.random() < 0.1
        cell = {
            "start_date": day,
            "start_month": day.replace(day=1),
            "dataset": "polled" if polled else "made-up",
            "synthetic": not polled,
            "rtt_basis": "smoothed",
            "sample_basis": None if one_basis else "polls" if polled else "rtt_samples",
            "detail_level": int(random.integers(3)),
            "country": COUNTRIES[random.integers(len(COUNTRIES))],
            "access_technology": ("adsl", "cable", "ftth")[random.integers(3)],
            "ip_version": ("4", "6", "withheld")[random.integers(3)],
            "all_null": None,
            "bin_index": int(random.choice([0, 63, 64, 3647, int(random.integers(200, 400))])),
        }
        made[tuple(cell.values())] = {
            **cell,
            "connections": int(random.choice([0, 1, 7] if few else [0, 1, 7, 2**31, 2**40])),
            "is_upper_bound": True,
        }
    return pa.Table.from_pylist(list(made.values()), schema=SCHEMA).sort_by("connections")


def published(write: Any, folder: Path, build: Any, table: pa.Table) -> Path:
    """Publish a cube and all of a build, and return the folder of snapshots."""
    made = type(build)(dict(build.tables), dict(build.keys))
    made.tables[NAME] = table
    made.keys[NAME] = [name for name in SCHEMA.names if name not in ("connections", "is_upper_bound")]
    folder_of_snapshots: Path = write(folder, made, "b1")
    return folder_of_snapshots


CUBES = {"several bases": {}, "one basis": {"one_basis": True}, "counts of 32 bits": {"few": True}}


HELD, READ = (2**28, 2), (0, 1)


@pytest.fixture(scope="module", autouse=True)
def _small_histograms_are_held_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOJOURN_API_CELLS_ROWS", "0")
        yield


@pytest.fixture(scope="module", params=list(CUBES))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, write: Any, build: Any) -> Path:
    return published(write, tmp_path_factory.mktemp("cells"), type(build)(), cube(**CUBES[request.param])) / "b1"


@pytest.fixture(scope="module", params=[HELD, READ], ids=["held", "read"])
def snapshot(request: pytest.FixtureRequest, folder: Path) -> Iterator[Snapshot]:
    most_bytes, threads = request.param
    opened = Snapshot.open(folder, Settings(api_cells_bytes=most_bytes, api_threads=threads))
    assert (NAME in opened.cells) == bool(most_bytes)
    yield opened
    opened.close()


@cache
def rows_of(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"create table cube as from '{folder}/{NAME}.parquet'")
    return connection


@cache
def plain(folder: Path, group: tuple[str, ...], where: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    keys = ", ".join(group)
    return (
        rows_of(folder)
        .execute(
            f"""
            select {keys}, bin_index, sum(connections)::bigint from cube {where}
            group by {keys}, bin_index having sum(connections) > 0
            order by {", ".join(f"{key} asc nulls last" for key in group)}, bin_index
            """,
            list(parameters),
        )
        .fetchall()
    )


@pytest.mark.parametrize("query", FILTERS, ids=[query or "all" for query in FILTERS])
def test_every_grouping_is_that_of_plain_sql(snapshot: Snapshot, folder: Path, query: str) -> None:
    filter_items = parse_qsl(query, keep_blank_values=True)
    runner = QueryRunner(30, 1)
    for group in groupings(query):
        parameters = DistributionParameters(group=",".join(group) or None)
        context = RequestContext("", (*([("group", ",".join(group))] if group else []), *filter_items), None)
        request = distribution_request(METRICS[METRIC], snapshot.catalogue, parameters, context)
        table, histograms, groups = grouped_histograms(runner, snapshot, request)
        lengths, bins, counts = histograms.merged(groups)
        keys = [column.name for column in request.group]
        rows = [tuple(row[key] for key in keys) for row in table.to_pylist()]
        cells = [
            (*row, index, count)
            for row, index, count in zip(
                [row for row, length in zip(rows, lengths, strict=True) for _ in range(length)],
                bins.tolist(),
                counts.tolist(),
                strict=True,
            )
        ]
        filters = request.selection.filters
        assert cells == plain(folder, tuple(keys), filters.where, tuple(filters.parameters)), group


def test_statistics_are_those_of_each_group_alone(snapshot: Snapshot, folder: Path) -> None:
    group = ("country", "start_month", *ALWAYS)
    of_groups: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
    for *key, index, count in plain(folder, group, "", ()):
        bins, counts = of_groups.setdefault(tuple(key), ([], []))
        bins.append(index)
        counts.append(count)
    settings = Settings(snapshots=folder.parent, api_cells_bytes=2**28 if snapshot.cells else 0)
    with TestClient(create_app(settings)) as client:
        url = f"/v1/distributions/{METRIC}?group=country,start_month"
        quantiles = [0.0, 0.5, 0.07, 0.999999999999, 1.0]
        rows = client.get(f"{url}&quantiles=0,0.5,0.07,0.999999999999,1").json()["rows"]
        expected = []
        for key, (bins, counts) in of_groups.items():
            chosen = log_linear.quantile_bins(bins, counts, quantiles)
            middle, lower = log_linear.representative_us(chosen) / 1000, log_linear.bin_lower_us(chosen) / 1000
            upper = (log_linear.bin_upper_us(chosen) - 1) / 1000
            expected += [
                (*plain_key(key), sum(counts), *point) for point in zip(quantiles, middle, lower, upper, strict=True)
            ]
        assert [tuple(row.values()) for row in rows] == expected

        thresholds_us = [500_000, 0, 63, 64, 10_000_000_000]
        rows = client.get(f"{url}&statistic=thresholds&thresholds_ms=500,0,0.063,0.064,10000000").json()["rows"]
        expected = []
        for key, (bins, counts) in of_groups.items():
            share = log_linear.share_above(bins, counts, thresholds_us)
            points = zip(np.array(thresholds_us) / 1000, share.estimate, share.lower, share.upper, strict=True)
            expected += [(*plain_key(key), sum(counts), *point) for point in points]
        assert [tuple(row.values()) for row in rows] == expected


def plain_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.isoformat() if isinstance(value, date) else value for value in key)


STATISTICS = ("quantiles=0.05,0.5", "statistic=thresholds&thresholds_ms=1,50", "statistic=cdf", "statistic=pdf")


@pytest.mark.parametrize("statistic", STATISTICS)
def test_runs_are_counted_alike_and_answers_are_the_same_bytes(
    tmp_path: Path, write: Any, build: Any, statistic: str
) -> None:
    folder = published(write, tmp_path, build, cube())
    with (
        TestClient(create_app(Settings(snapshots=folder))) as held,
        TestClient(create_app(Settings(snapshots=folder, api_cells_bytes=0))) as read,
    ):
        for url in (
            "queuing_delay?",
            "queuing_delay?group=aqm,congestion_control",
            "queuing_delay?group=study_id,rtt_ms&role=app&excluded=include",
            "queuing_delay?group=exclusion_reason&bandwidth_bps__gt=1000000",
            "queuing_delay?aqm=none&unknown_values=allow",
            f"{METRIC}?group=country,access_technology",
            f"{METRIC}?country=none&unknown_values=allow",
        ):
            answers = [client.get(f"/v1/distributions/{url}&{statistic}") for client in (held, read)]
            assert answers[0].status_code == 200
            assert answers[0].content == answers[1].content
            tables = [
                client.get(f"/v1/distributions/{url}&{statistic}&format=arrow").content for client in (held, read)
            ]
            first, second = (pa.ipc.open_stream(content).read_all() for content in tables)
            assert first.equals(second, check_metadata=True)


def test_smallest_datasets_are_held_for_as_long_as_they_fit(folder: Path) -> None:
    rows = next(d.rows for d in Snapshot.open(folder, Settings()).catalogue.datasets if d.name == NAME)
    assert NAME in histogram_counts()
    for most_bytes, held in ((6 * rows - 1, False), (6 * rows, True)):
        assert (NAME in Snapshot.open(folder, Settings(api_cells_bytes=most_bytes)).cells) == held
    for fewest_rows, held in ((rows + 1, False), (rows, True)):
        assert (NAME in Snapshot.open(folder, Settings(api_cells_rows=fewest_rows)).cells) == held


def counts_of_two_bins(table: pa.Table) -> list[int]:
    """Counts of which each bin's sum fits 64 bits, and the sum of all does not."""
    bins = table.column("bin_index").to_pylist()
    largest = {bins.index(0), bins.index(63)}
    return [2**62 if row in largest else 0 for row in range(len(bins))]


@pytest.mark.parametrize("counts_of", [lambda table: [2**60] * table.num_rows, counts_of_two_bins])
def test_counts_that_do_not_fit_together_are_read_each_time(
    tmp_path: Path, write: Any, build: Any, counts_of: Callable[[pa.Table], list[int]]
) -> None:
    table = cube()
    position = table.schema.get_field_index("connections")
    huge = pa.array(counts_of(table), pa.int64())
    folder = published(write, tmp_path, type(build)(), table.set_column(position, "connections", huge))
    assert Snapshot.open(folder / "b1", Settings()).cells == {}
    with TestClient(create_app(Settings(snapshots=folder))) as client:
        problem = client.get(f"/v1/distributions/{METRIC}").json()
        assert problem["type"] == "urn:sojourn:problem:result-out-of-range"


def test_without_memory_for_histograms_a_dataset_is_read_each_time(
    tmp_path: Path, write: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_memory(*_: object) -> None:
        raise MemoryError("Unable to allocate 1.00 GiB")

    folder = published(write, tmp_path, type(build)(), cube())
    monkeypatch.setattr(held_histograms, "_histograms_of", without_memory)
    assert Snapshot.open(folder / "b1", Settings()).cells == {}
