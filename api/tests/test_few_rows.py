"""Groups that are fetched row by row: the same answer as by way of Arrow, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from sojourn_api.formats import are_plain
from sojourn_api.queries import paging
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot

PLAIN = {
    "id": "BIGINT", "format": "VARCHAR", "limit": "INTEGER", "unsigned": "UBIGINT", "real": "DOUBLE", "flag": "BOOLEAN",
}  # fmt: skip


@pytest.mark.parametrize("where", ["true", "id = 0", "id = 12345"], ids=["all", "one", "none"])
def test_rows_one_by_one_are_the_table_of_arrow(example_folder: Path, where: str) -> None:
    snapshot = Snapshot.open(example_folder / "b1", Settings(snapshots=example_folder))
    runner = QueryRunner(30, 1)
    names = ", ".join(f'"{name}"' for name in PLAIN)
    sql = f"select {names} from types where {where} and id >= cast(? as bigint) order by id"
    by_arrow = runner.run(snapshot, sql, [-(2**63)])
    by_row = runner.run_few(snapshot, sql, [-(2**63)], tuple(PLAIN.items())).table()
    assert by_row.schema == by_arrow.schema
    # NaN is not equal to itself, and -0.0 is equal to 0.0.
    assert [list(map(repr, row.values())) for row in by_row.to_pylist()] == [
        list(map(repr, row.values())) for row in by_arrow.to_pylist()
    ]
    snapshot.close()


@pytest.mark.parametrize("format_name", ["json", "ndjson", "csv", "arrow", "parquet"])
@pytest.mark.parametrize(
    "query",
    [
        "run_harm/rows?group=aqm,role&aggregate=median:harm_ratio,sum:demand_runs,min:repetition&order=-n",
        "run_harm/rows?group=aqm,congestion_control&aggregate=mean:harm_ratio&limit=2",
        "run_harm/rows?group=aqm&aqm=codel&congestion_control__lt=a",
        "types/rows?group=format,flag&aggregate=max:unsigned,mean:real,count:price",
        "types/rows?group=flag&aggregate=min:day,max:instant,max:price",
    ],
)
def test_answers_are_the_same_either_way(
    serve: Any, monkeypatch: pytest.MonkeyPatch, query: str, format_name: str
) -> None:
    client: TestClient = serve(api_kept_bytes=0)
    address = f"/v1/datasets/{query}&format={format_name}"
    seen: list[bool] = []

    def noting(types: Any) -> bool:
        seen.append(are_plain(list(types)))
        return seen[-1]

    monkeypatch.setattr(paging, "are_plain", noting)
    by_row = client.get(address)
    monkeypatch.setattr(paging, "are_plain", lambda _: False)
    by_arrow = client.get(address)
    assert by_row.status_code == by_arrow.status_code == 200
    if format_name == "arrow":
        # What lies under a null is not determined in the bytes.
        tables = [pa.ipc.open_stream(answer.content).read_all() for answer in (by_row, by_arrow)]
        assert tables[0].schema.equals(tables[1].schema, check_metadata=True)
        assert repr(tables[0].to_pylist()) == repr(tables[1].to_pylist())
    else:
        assert by_row.content == by_arrow.content
    assert by_row.headers.get("link") == by_arrow.headers.get("link")
    assert seen == ["max:instant" not in query]
