from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from api.tests.conftest import Build
from fastapi.testclient import TestClient

from sojourn_api.formats import OutputColumn, encode
from sojourn_api.json_rows import joined_rows, json_bytes, json_rows, rows_of

URLS = [
    "/v1/datasets/run_harm/rows?limit=20",
    "/v1/datasets/run_harm/rows?group=aqm,role&aggregate=median:harm_ratio,sum:bandwidth_bps",
    "/v1/distributions/queuing_delay?group=role",
    "/v1/distributions/queuing_delay?statistic=pdf&bins_per_octave=2",
]
MEDIA_TYPES = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


def table_of(name: str, content: bytes) -> pa.Table:
    if name == "arrow":
        return pa.ipc.open_stream(content).read_all()
    return pq.read_table(io.BytesIO(content))


def without_nan(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in rows]


@pytest.mark.parametrize("url", URLS)
def test_every_format_tells_the_same(client: TestClient, url: str) -> None:
    expected = client.get(url).json()
    rows = expected["rows"]
    for name, media_type in MEDIA_TYPES.items():
        response = client.get(f"{url}&format={name}")
        assert response.headers["content-type"] == media_type
        assert response.headers["X-Sojourn-Build"] == "b1"
        # The cursor of one format continues in another; it is bound to the query only.
        assert response.headers.get("X-Sojourn-Next-Cursor") == expected["next_cursor"]
        if name == "json":
            assert response.json() == expected
        elif name == "ndjson":
            assert [json.loads(line) for line in response.text.splitlines()] == rows
        elif name == "csv":
            read = list(csv.DictReader(io.StringIO(response.text)))
            as_text = [{k: "" if v is None else csv_text(v) for k, v in row.items()} for row in rows]
            assert [{k: number_text(v) for k, v in row.items()} for row in read] == as_text
        else:
            table = table_of(name, response.content)
            assert without_nan(table.to_pylist()) == rows
            assert table.schema.metadata[b"sojourn.build_id"] == b"b1"
            units = {f.name: (f.metadata or {}).get(b"unit") for f in table.schema}
            assert units == {c["name"]: c["unit"] and c["unit"].encode() for c in expected["columns"]}


def csv_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def number_text(value: str) -> str:
    try:
        return repr(float(value))
    except ValueError:
        return value


def test_csv_quotes_text_and_tells_null_from_empty(client: TestClient) -> None:
    text = client.get("/v1/datasets/types/rows?select=format,real,instant,refused&order=limit&format=csv").text
    lines = text.split("\n")
    assert lines[0] == '"format","real","instant","refused"'
    assert lines[1] == '"pcap",0.1,"2026-11-21T01:02:00.000000Z","{""short"":0}"'
    assert lines[2] == '"csv",,"2026-11-21T01:02:01.000000Z","{""short"":1}"'
    assert lines[3].startswith('"",,')
    assert lines[4].startswith(",,")
    assert lines[5].startswith('"a,b",')
    title = client.get("/v1/datasets/study/rows?select=title&format=csv").text
    assert title == '"title"\n"First, with a comma"\n"Second ""quoted"""\n'


FORMULAS = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+2"]
TEXTS = ["codel", "1=1", "a-b", "", "'=1", None]


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_formulas_of_spreadsheets_are_escaped_where_that_is_asked_for(
    name: str, tmp_path: Path, write: Callable[..., Path], build: Build, serve: Callable[..., TestClient]
) -> None:
    hostile = Build(dict(build.tables), dict(build.keys))
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    rows = [{"id": -place, "text": text} for place, text in enumerate([*FORMULAS, *TEXTS])]
    hostile.add("hostile", ["id"], schema, rows)
    histogram = hostile.tables["queuing_delay_histogram"]
    renamed = pa.array([f"={study}" for study in histogram["study_id"].to_pylist()])
    hostile.tables["queuing_delay_histogram"] = histogram.set_column(0, "study_id", renamed)
    client = serve(folder=write(tmp_path / "snapshots", hostile, "b1"))

    def texts(url: str, column: str) -> list[str | None]:
        content = client.get(f"{url}&format={name}").content
        if name == "json":
            rows = json.loads(content)["rows"]
        elif name == "ndjson":
            rows = [json.loads(line) for line in content.splitlines()]
        elif name == "csv":
            rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
        else:
            rows = table_of(name, content).to_pylist()
        return [row[column] for row in rows]

    null = "" if name == "csv" else None
    url = "/v1/datasets/hostile/rows?order=-id"
    kept = [*TEXTS[:-1], null]
    assert texts(url, "text") == [*FORMULAS, *kept]
    assert texts(f"{url}&escape=formulas", "text") == [*(f"'{text}" for text in FORMULAS), *kept]
    delay = "/v1/distributions/queuing_delay?group=study_id&quantiles=0.5"
    assert set(texts(delay, "study_id")) == {"=s-1", "=s-2"}
    assert set(texts(f"{delay}&escape=formulas", "study_id")) == {"'=s-1", "'=s-2"}


def test_an_unknown_escape_is_refused(client: TestClient) -> None:
    problem = client.get(f"{URLS[0]}&escape=all").json()
    assert (problem["status"], problem["allowed"]) == (422, ["formulas"])


def test_binary_formats_keep_types_and_extreme_values(client: TestClient) -> None:
    for name in ("arrow", "parquet"):
        table = table_of(name, client.get(f"/v1/datasets/types/rows?order=limit&format={name}").content)
        assert table["id"].to_pylist()[:3] == [-(2**63), 2**63 - 1, 2**53 + 1]
        assert table["unsigned"][0].as_py() == 2**64 - 1
        assert math.isnan(table["real"][1].as_py())
        assert table["numbers"].to_pylist()[3] is None
        assert table.schema.field("day").type == pa.date32()


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("TEXT/CSV;q=0.5, application/json;q=0.4", "text/csv; charset=utf-8"),
        ("application/*", "application/json"),
        ("application/vnd.apache.parquet, */*;q=0.1", "application/vnd.apache.parquet"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("application/json;q=0, */*", "application/x-ndjson"),
    ],
)
def test_accept_decides_without_format(client: TestClient, accept: str | None, media_type: str) -> None:
    headers = {"Accept": accept} if accept else {}
    response = client.get(URLS[0], headers=headers)
    assert response.headers["content-type"] == media_type
    assert "Accept" in response.headers["vary"]
    assert client.get(URLS[0] + "&format=json", headers={"Accept": "text/csv"}).json()["row_count"] == 20


def test_nothing_acceptable_is_a_problem(client: TestClient) -> None:
    for accept in ("image/png", "application/json;q=0", "nonsense"):
        problem = client.get(URLS[0], headers={"Accept": accept}).json()
        assert (problem["status"], problem["type"]) == (406, "urn:sojourn:problem:not-acceptable")
        assert "text/csv" in problem["allowed"]


@pytest.mark.parametrize("name", MEDIA_TYPES)
@pytest.mark.parametrize("url", URLS)
def test_same_request_same_bytes(serve: Any, url: str, name: str) -> None:
    first, second = serve(), serve(api_threads=3, api_cells_rows=0)
    contents = {c.get(f"{url}&format={name}").content for c in (first, first, second)}
    assert len(contents) == 1


def typed_table(rows: int) -> pa.Table:
    """A column of each type, with nulls, repeats and the values that are easily written otherwise."""
    random = np.random.default_rng(17)
    reals = random.integers(-(2**63), 2**63, rows).view(np.float64)  # any bits, so NaN of several kinds too
    special = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e16, 1e-7, 5e-324, 0.1 + 0.2, None]
    texts = ["", "a,b", 'quo"te', "\\", "ü€", "\n\x00", "null", None]
    integers = [0, -(2**63), 2**63 - 1, 2**53 + 1, None]
    moments = [datetime(2026, 11, 21, 1, 2, 3, 456), datetime(1969, 12, 31), None]

    def repeated(values: list[Any], type_: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in random.integers(0, len(values), rows)], type_)

    return pa.table(
        {
            "bits": reals,
            "special": repeated(special, pa.float64()),
            "single": repeated([0.1, -0.0, float("nan"), 3e38, None], pa.float32()),
            'text "quoted"': repeated(texts, pa.string()),
            "whole": repeated(integers, pa.int64()),
            "unsigned": repeated([2**64 - 1, 0, None], pa.uint64()),
            "small": repeated([-128, 127, None], pa.int8()),
            "flag": repeated([True, False, None], pa.bool_()),
            "day": repeated([date(2026, 11, 21), date(1, 1, 1), None], pa.date32()),
            "moment": repeated(moments, pa.timestamp("us")),
            "instant": repeated(moments, pa.timestamp("us", "UTC")),
            "nothing": repeated([None], pa.string()),
        }
    )


@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_rows_as_json_are_those_of_each_value_alone(rows: int) -> None:
    table = typed_table(rows)
    chunked = pa.concat_tables([table, table.slice(rows // 3, rows // 2)])
    decimals = table.append_column("price", pa.array([Decimal("1.25")] * rows, pa.decimal128(10, 2)))
    for written in (table, chunked, table.slice(rows // 2), decimals, table.select([])):
        assert json_rows(written) == [json_bytes(row) for row in rows_of(written)]


@pytest.mark.parametrize("rows", [2000, 30_000])
def test_many_rows_are_written_as_few_are(rows: int) -> None:
    table = typed_table(rows)
    chunked = pa.concat_tables([table, table.slice(rows // 3, rows // 2)])
    same_names = table.select(["whole", "flag"]).rename_columns(["a", "A"])
    for written in (table, chunked, same_names):
        # A number may have another form, such as 1e16 or 10000000000000000.0, but never another value or type.
        assert repr(json.loads(b"[%b]" % b"".join(joined_rows(written, b",")))) == repr(
            [json.loads(row) for row in json_rows(written)]
        )
    assert b"".join(joined_rows(table, b"\n")).count(b"\n") == rows - 1


def test_a_body_is_that_of_the_whole_document() -> None:
    table = typed_table(50)
    columns = tuple(OutputColumn(name, "ANY", None) for name in table.column_names)
    document = {
        "build_id": "b1",
        "columns": [column.as_json() for column in columns],
        "rows": rows_of(table),
        "row_count": 50,
        "next_cursor": "next",
    }
    assert encode("json", table, columns, {"build_id": "b1"}, "next") == json_bytes(document)
    lines = b"".join(json_bytes(row) + b"\n" for row in rows_of(table))
    assert encode("ndjson", table, columns, {}, None) == lines


@pytest.mark.parametrize("rows", [1, 50])
def test_a_double_is_written_unrounded_with_the_fewest_digits_that_read_back_as_it(rows: int) -> None:
    value = 0.1 + 0.2
    table = pa.table({"sum": [value] * rows})
    columns = (OutputColumn("sum", "DOUBLE", None),)
    assert encode("csv", table, columns, {}, None).decode().splitlines() == ['"sum"', *[repr(value)] * rows]
    assert encode("ndjson", table, columns, {}, None).decode().splitlines() == [f'{{"sum":{value!r}}}'] * rows
    assert pq.read_table(io.BytesIO(encode("parquet", table, columns, {}, None)))["sum"].to_pylist() == [value] * rows
