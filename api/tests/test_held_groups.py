"""Groups computed over columns in memory against DuckDB's answer to the same request, for generated data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sojourn_api.queries import paging
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot

NAME = "mixed"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("word", pa.string()),
        ("flag", pa.bool_()),
        ("whole", pa.int64()),
        ("small", pa.int32()),
        ("unsigned", pa.uint64()),
        ("real_ms", pa.float64()),
        ("few_ms", pa.float64()),
        ("all_null", pa.float64()),
        ("nan_ms", pa.float64()),
    ]
)
WORDS = ("", "a", "aqm", "Z", "zebra", "ä", "fq_codel", "日本", "\U0001f40c")
GROUPS = ("word", "flag", "small", "few_ms", "word,flag", "small,word", "few_ms,flag,small", "unsigned", None)
AGGREGATES = (
    "count", "mean:real_ms", "sum:real_ms", "median:real_ms", "q05:real_ms,q95:real_ms", "min:real_ms,max:real_ms",
    "mean:whole", "sum:whole", "q25:whole,q75:whole", "min:word,max:word", "min:flag,max:flag", "max:unsigned",
    "count:word,count:real_ms", "mean:all_null,min:all_null,median:all_null", "sum:small,mean:small", "mean:few_ms",
)  # fmt: skip
FILTERS = (
    "", "word=aqm", "word=aqm&word=none", "word__ne=a", "word__lt=b", "word__ge=Z", "word__in=ä,zebra,日本",
    "word__null=true", "word__null=false", "flag=true", "flag__ne=true", "flag__null=true", "whole__gt=-5",
    "whole__le=12", "small=3&small=4", "small__ne=3", "unsigned__ge=9223372036854775808", "real_ms__lt=0.25",
    "real_ms__null=true", "few_ms=0.5", "few_ms__in=0.5,2", "all_null__null=false", "id__lt=0",
    "word__gt=a&flag=false&real_ms__ge=-1",
)  # fmt: skip
ORDERS = ("", "-n", "-n,word", "word", "-word")


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Return generated rows, of which one value in eight is null."""
    random = np.random.default_rng(seed)

    def some(value: Any) -> Any:
        return None if random.random() < 0.125 else value

    return [
        {
            "id": number,
            "word": some(str(random.choice(WORDS))),
            "flag": some(bool(random.random() < 0.3)),
            "whole": some(int(random.integers(-1000, 1000)) * 10 ** int(random.integers(0, 9))),
            "small": some(int(random.integers(0, 6))),
            "unsigned": some(2**64 - 1 - int(random.integers(0, 5))),
            "real_ms": some(float(random.normal()) * 10.0 ** int(random.integers(-6, 6))),
            "few_ms": some(float(random.choice([0.5, 2.0, 12.5]))),
            "all_null": None,
            "nan_ms": float("nan") if number % 3 else -0.0,
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, build: Any, write: Any) -> Any:
    generated = type(build)()
    generated.add(NAME, ["id"], SCHEMA, rows(2500, seed=1))
    generated.add("empty", ["id"], SCHEMA, [])
    return write(tmp_path_factory.mktemp("generated"), generated, "b1")


def same(held: Any, of_duckdb: Any) -> bool:
    """Return whether two values are equal; a processor without fused operations interpolates one last bit away."""
    if isinstance(held, float) and isinstance(of_duckdb, float):
        return held == of_duckdb or abs(held - of_duckdb) <= math.ulp(of_duckdb)
    return bool(held == of_duckdb) and type(held) is type(of_duckdb)


@pytest.mark.parametrize("dataset", [NAME, "empty"])
@pytest.mark.parametrize("number", range(60))
def test_groups_are_those_of_duckdb(
    serve: Any, monkeypatch: pytest.MonkeyPatch, folder: Any, dataset: str, number: int
) -> None:
    client = serve(folder=folder, api_kept_bytes=0)
    random = np.random.default_rng(number)
    for _ in range(4 if dataset == NAME else 1):
        group, aggregate = random.choice(np.array(GROUPS, object)), random.choice(AGGREGATES)
        order = "" if group is None or "word" not in group else random.choice(ORDERS)
        parts = [f"aggregate={aggregate}", *(f"group={group}" for _ in [0] if group), str(random.choice(FILTERS))]
        address = f"/v1/datasets/{dataset}/rows?{'&'.join(filter(None, [*parts, order and f'order={order}']))}"
        computed: list[bool] = []
        held_groups = paging.held_groups

        def noting(*arguments: Any, compute: Any = held_groups, done: list[bool] = computed) -> Any:
            found = compute(*arguments)
            done.append(found is not None)
            return found

        monkeypatch.setattr(paging, "held_groups", noting)
        held = client.get(address)
        monkeypatch.setattr(paging, "held_groups", lambda *_: None)
        of_duckdb = client.get(address)
        monkeypatch.setattr(paging, "held_groups", held_groups)
        assert held.status_code == of_duckdb.status_code, address
        if held.status_code != 200:  # such as a sum beyond 64 bits
            assert held.json() == of_duckdb.json(), address
            continue
        assert computed == [True], address
        assert held.json()["columns"] == of_duckdb.json()["columns"]
        ours, theirs = held.json()["rows"], of_duckdb.json()["rows"]
        assert len(ours) == len(theirs), address
        for row, other in zip(ours, theirs, strict=True):
            assert all(same(row[name], other[name]) for name in other), (address, row, other)


@pytest.mark.parametrize(
    "query",
    [
        "group=nan_ms",
        "aggregate=mean:nan_ms",
        "nan_ms__gt=1&aggregate=count",
        "group=id",
        "aggregate=sum:unsigned",
        "group=word,flag,small,few_ms,unsigned",
    ],
    ids=["nan group", "nan values", "nan filter", "many groups", "beyond 64 bits", "many combinations"],
)
def test_what_arrays_cannot_answer_alike_is_left_to_duckdb(
    serve: Any, monkeypatch: pytest.MonkeyPatch, folder: Any, query: str
) -> None:
    client = serve(folder=folder, api_kept_bytes=0)
    computed = []
    held_groups = paging.held_groups
    monkeypatch.setattr(paging, "held_groups", lambda *arguments: computed.append(held_groups(*arguments)))
    answer = client.get(f"/v1/datasets/{NAME}/rows?{query}")
    assert computed == [None]
    assert answer.status_code == (422 if "sum" in query else 200)


def test_several_pages_of_groups_are_all_of_duckdb(serve: Any, monkeypatch: pytest.MonkeyPatch, folder: Any) -> None:
    client = serve(folder=folder, api_kept_bytes=0)
    address = f"/v1/datasets/{NAME}/rows?group=word,small&aggregate=median:real_ms&order=-median_real_ms"
    whole = client.get(address).json()["rows"]
    pages, cursor = [], ""
    while True:
        answer = client.get(f"{address}&limit=7{cursor}").json()
        pages += answer["rows"]
        if answer["next_cursor"] is None:
            break
        cursor = f"&cursor={answer['next_cursor']}"
    assert [(row["word"], row["small"], row["n"]) for row in pages] == [
        (row["word"], row["small"], row["n"]) for row in whole
    ]


def test_no_column_of_a_dataset_on_the_disk_is_held(folder: Any) -> None:
    snapshot = Snapshot.open(folder / "b1", Settings(snapshots=folder, api_load_bytes=1))
    dataset = snapshot.catalogue.dataset(NAME)
    assert snapshot.held.column(dataset, dataset.by_name["word"]) is None
    snapshot.close()
