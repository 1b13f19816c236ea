from __future__ import annotations

import base64
import hashlib
import math
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

ROWS = "/v1/datasets/{}/rows"


def get(client: TestClient, dataset: str, query: str) -> dict[str, Any]:
    response = client.get(f"{ROWS.format(dataset)}?{query}")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    assert body["row_count"] == len(body["rows"])
    return body


def test_all_rows_come_in_the_order_of_the_key(client: TestClient, build: Any) -> None:
    body = get(client, "run_harm", "")
    assert body["rows"] == build.rows("run_harm")
    assert body["build_id"] == "b1"
    assert body["dataset"] == "run_harm"
    assert body["next_cursor"] is None
    assert body["columns"][-1] == {"name": "harm_ratio", "type": "DOUBLE", "unit": "ratio"}


def test_select_keeps_its_order_and_columns_not_selected_can_order(client: TestClient, build: Any) -> None:
    body = get(client, "run_harm", "select=role,run_id&order=-harm_ratio&limit=5")
    expected = sorted(
        (row for row in build.rows("run_harm") if row["harm_ratio"] is not None), key=lambda row: -row["harm_ratio"]
    )
    assert [list(row) for row in body["rows"]] == [["role", "run_id"]] * 5
    assert [row["run_id"] for row in body["rows"]] == [row["run_id"] for row in expected[:5]]


FILTERS: list[tuple[str, Any]] = [
    ("aqm=codel", lambda r: r["aqm"] == "codel"),
    ("aqm=codel&aqm=tail-drop", lambda r: r["aqm"] in ("codel", "tail-drop")),
    ("aqm__in=codel,fq_codel", lambda r: r["aqm"] in ("codel", "fq_codel")),
    ("aqm__eq=codel", lambda r: r["aqm"] == "codel"),
    ("congestion_control__ne=bbr", lambda r: r["congestion_control"] == "cubic"),
    ("aqm__ne=codel&aqm__ne=fq_codel", lambda r: r["aqm"] == "tail-drop"),
    ("congestion_control__null=true", lambda r: r["congestion_control"] is None),
    ("congestion_control__null=false", lambda r: r["congestion_control"] is not None),
    ("bandwidth_bps__gt=1000000", lambda r: r["bandwidth_bps"] > 1_000_000),
    ("bandwidth_bps__le=1000000&repetition__ge=2", lambda r: r["bandwidth_bps"] <= 1_000_000 and r["repetition"] >= 2),
    ("rtt_ms=50", lambda r: True),
    ("rtt_ms=5.0e1", lambda r: True),
    ("rtt_ms__lt=49.999", lambda r: False),
    ("synthetic=false", lambda r: True),
    *(
        (f"bandwidth_bps={text}", lambda r: r["bandwidth_bps"] == 1_000_000)
        for text in ("1e6", "1M", "1Mbit", "1000kbps")
    ),
    ("rtt_ms__lt=5.1e1ms", lambda r: r["rtt_ms"] < 51),
    ("aqm__like=%25codel", lambda r: r["aqm"].endswith("codel")),
    ("run_id__like=codel-_%25-3", lambda r: r["run_id"].startswith("codel-") and r["run_id"].endswith("-3")),
    ("synthetic=true&unknown_values=allow", lambda r: False),
    ("aqm=&unknown_values=allow", lambda r: False),
    ("harm_ratio__lt=0", lambda r: r["harm_ratio"] is not None and r["harm_ratio"] < 0),
]


@pytest.mark.parametrize(("query", "keeps"), FILTERS, ids=[query for query, _ in FILTERS])
def test_filters(client: TestClient, build: Any, query: str, keeps: Any) -> None:
    assert get(client, "run_harm", query)["rows"] == [row for row in build.rows("run_harm") if keeps(row)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("id=9223372036854775807", [2**63 - 1]),
        ("id=9007199254740993", [2**53 + 1]),
        ("id__lt=-1", [-(2**63)]),
        ("unsigned=18446744073709551615", [-(2**63)]),
        ("format__eq=pcap", [-(2**63)]),
        ("format__eq=a%2Cb", [1]),
        ("format__eq=%00", [4]),
        ("format__eq=%C3%BC%E2%82%AC", [3]),
        ("limit__ge=7", [4]),
        ("odd__lt=40", [1]),
        ("odd__lt__lt=20", [-(2**63), 2**63 - 1]),
        ("quote%22d=q5", [2]),
        ("flag=true", [-(2**63), 0, 3]),
        ("day=2026-11-03", [2**53 + 1]),
        ("day__gt=2026-11-07", [4]),
        ("moment__lt=2026-11-21T01:02:01", [-(2**63)]),
        ("instant=2026-11-21T02:02:01%2B01:00", [2**63 - 1]),
        ("instant=2026-11-21T02:02:01+01:00", [2**63 - 1]),
        ("instant=2026-11-21T01:02:01Z", [2**63 - 1]),
        ("price=4.25", [1]),
        ("price=4.25000", [1]),
        ("price__ge=6.25", [3, 4]),
        ("numbers__null=true", [0]),
        ("real=0.30000000000000004", [4]),
    ],
)
def test_typed_filters_are_exact(client: TestClient, query: str, ids: list[int]) -> None:
    rows = get(client, "types", f"select=id&{query}")["rows"]
    assert [row["id"] for row in rows] == ids


def test_json_has_exact_integers_and_no_nan(client: TestClient) -> None:
    response = client.get(ROWS.format("types") + "?order=limit")
    for word in ("NaN", "nan", "Infinity", "inf"):
        assert f":{word}" not in response.text
    rows = response.json()["rows"]
    assert [row["id"] for row in rows] == [-(2**63), 2**63 - 1, 2**53 + 1, 0, 1, 2, 3, 4]
    assert rows[0]["unsigned"] == 2**64 - 1
    assert [row["real"] for row in rows] == [0.1, None, None, None, None, 0.0, 1e-300, 0.1 + 0.2]
    assert math.copysign(1, rows[5]["real"]) == -1
    assert rows[0]["instant"] == "2026-11-21T01:02:00Z"
    assert rows[2]["numbers"] == [0, 1]
    assert rows[2]["refused"] == {"short": 2}


PAGED = [
    ("run_harm", ""),
    ("run_harm", "order=-harm_ratio"),
    ("run_harm", "order=congestion_control,-repetition"),
    ("run_harm", "order=-congestion_control&select=run_id,role"),
    ("run_harm", "aqm__ne=codel&order=harm_ratio"),
    ("run_harm", "group=aqm,congestion_control,role&aggregate=mean:harm_ratio&order=-mean_harm_ratio"),
    ("run_harm", "group=congestion_control&excluded=include"),
    ("types", "order=real"),
    ("types", "order=-real"),
    ("types", "order=flag,-instant"),
    ("types", "order=moment"),
    ("types", "order=-day"),
    ("types", "order=-price"),
    ("types", "order=-unsigned"),
    ("types", "order=format"),
    ("types", "group=price&aggregate=sum:price&order=-sum_price"),
]


@pytest.mark.parametrize("page_rows", [1, 3, 7])
@pytest.mark.parametrize(("dataset", "query"), PAGED, ids=[f"{d}-{q}" for d, q in PAGED])
def test_pages_join_up_to_the_whole(client: TestClient, dataset: str, query: str, page_rows: int) -> None:
    whole = get(client, dataset, query)["rows"]
    joined: list[Any] = []
    url = f"{ROWS.format(dataset)}?{query}&limit={page_rows}"
    page = client.get(url)
    while True:
        body = page.json()
        joined += body["rows"]
        cursor = body["next_cursor"]
        assert page.headers.get("X-Sojourn-Next-Cursor") == cursor
        if cursor is None:
            assert "Link" not in page.headers
            break
        assert len(body["rows"]) == page_rows
        assert page.links["next"]["url"].startswith("?")
        page = client.get(ROWS.format(dataset) + page.links["next"]["url"])
    assert joined == whole


def test_order_places_nulls_last_both_ways(client: TestClient) -> None:
    for sign in ("", "-"):
        rows = get(client, "run_harm", f"order={sign}congestion_control")["rows"]
        assert [row["congestion_control"] for row in rows][-24:] == [None] * 24


def test_page_may_change_its_size_and_format(client: TestClient, build: Any) -> None:
    first = get(client, "run_harm", "limit=10")
    url = ROWS.format("run_harm")
    rest = client.get(url, params={"cursor": first["next_cursor"], "limit": 100, "format": "json"})
    assert first["rows"] + rest.json()["rows"] == build.rows("run_harm")


REFUSED = [
    ("run_harm", "bandwith_bps=1", "unknown-parameter", "bandwith_bps"),
    ("run_harm", "aqm__lik=a", "unknown-parameter", "aqm__lik"),
    ("run_harm", "__null=true", "unknown-parameter", "__null"),
    ("run_harm", "=1", "unknown-parameter", ""),
    ("run_harm", "rtt_ms__like=5%25", "invalid-parameter", "rtt_ms__like"),
    ("run_harm", "bandwidth_bps=1Mbyte", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "bandwidth_bps=1e-6", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "rtt_ms=50M", "invalid-parameter", "rtt_ms"),
    ("run_harm", "repetition=1M", "invalid-parameter", "repetition"),
    ("run_harm", "bandwidth_bps=abc", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "bandwidth_bps=1.5", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "bandwidth_bps=1_000", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "bandwidth_bps=9223372036854775808", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "repetition=2147483648", "invalid-parameter", "repetition"),
    ("run_harm", "bandwidth_bps__in=1,,2", "invalid-parameter", "bandwidth_bps__in"),
    ("run_harm", "bandwidth_bps=", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "rtt_ms=nan", "invalid-parameter", "rtt_ms"),
    ("run_harm", "rtt_ms=1e999", "invalid-parameter", "rtt_ms"),
    ("run_harm", "rtt_ms=%D9%A1", "invalid-parameter", "rtt_ms"),
    ("run_harm", "bandwidth_bps=%D9%A1", "invalid-parameter", "bandwidth_bps"),
    ("run_harm", "synthetic=yes", "invalid-parameter", "synthetic"),
    ("run_harm", "synthetic__lt=true", "invalid-parameter", "synthetic__lt"),
    ("run_harm", "aqm__null=maybe", "invalid-parameter", "aqm__null"),
    ("run_harm", "select=nope", "invalid-parameter", "select"),
    ("run_harm", "select=aqm,aqm", "invalid-parameter", "select"),
    ("run_harm", "select=", "invalid-parameter", "select"),
    ("run_harm", "select=aqm&select=role", "invalid-parameter", "select"),
    ("run_harm", "order=nope", "invalid-parameter", "order"),
    ("run_harm", "order=aqm,-aqm", "invalid-parameter", "order"),
    ("run_harm", "limit=0", "invalid-parameter", "limit"),
    ("run_harm", "limit=-1", "invalid-parameter", "limit"),
    ("run_harm", "limit=100001", "invalid-parameter", "limit"),
    ("run_harm", "limit=%D9%A1", "invalid-parameter", "limit"),
    ("run_harm", "limit=99999999999999999999999", "invalid-parameter", "limit"),
    ("run_harm", "format=xml", "invalid-parameter", "format"),
    ("run_harm", "excluded=maybe", "invalid-parameter", "excluded"),
    ("run_harm", "group=nope", "invalid-parameter", "group"),
    ("run_harm", "group=aqm&select=aqm", "invalid-parameter", "select"),
    ("run_harm", "aggregate=median", "invalid-parameter", "aggregate"),
    ("run_harm", "aggregate=mode:harm_ratio", "invalid-parameter", "aggregate"),
    ("run_harm", "aggregate=mean:nope", "invalid-parameter", "aggregate"),
    ("run_harm", "aggregate=mean:aqm", "invalid-parameter", "aggregate"),
    ("run_harm", "aggregate=mean:harm_ratio&order=harm_ratio", "invalid-parameter", "order"),
    ("types", "day=yesterday", "invalid-parameter", "day"),
    ("types", "moment=12", "invalid-parameter", "moment"),
    ("types", "moment=0001-01-01T00:00:00%2B14:00", "invalid-parameter", "moment"),
    ("types", "instant__lt=9999-12-31T23:59:59-14:00", "invalid-parameter", "instant__lt"),
    ("types", "price=1,5", "invalid-parameter", "price"),
    ("types", "price=NaN", "invalid-parameter", "price"),
    ("types", "price__lt=1e12", "invalid-parameter", "price__lt"),
    ("types", "price__ge=1.234", "invalid-parameter", "price__ge"),
    ("types", "numbers=1", "invalid-parameter", "numbers"),
    ("types", "order=numbers", "invalid-parameter", "order"),
    ("types", "group=numbers", "invalid-parameter", "group"),
    ("types", "aggregate=max:numbers", "invalid-parameter", "aggregate"),
]


@pytest.mark.parametrize(("dataset", "query", "kind", "parameter"), REFUSED, ids=[f"{r[0]}-{r[1]}" for r in REFUSED])
def test_bad_parameters_are_refused(client: TestClient, dataset: str, query: str, kind: str, parameter: str) -> None:
    response = client.get(f"{ROWS.format(dataset)}?{query}")
    problem = response.json()
    assert response.status_code == problem["status"] == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:sojourn:problem:{kind}"
    assert problem["parameter"] == parameter
    assert problem["instance"] == ROWS.format(dataset)
    if kind == "unknown-parameter":
        assert {"select", "aqm", "harm_ratio"} <= set(problem["allowed"])


def test_unknown_dataset_names_the_known(client: TestClient) -> None:
    for path in ("/v1/datasets/nope", "/v1/datasets/nope/rows"):
        problem = client.get(path).json()
        assert problem["status"] == 404
        assert problem["known"] == ["queuing_delay_histogram", "run", "run_harm", "study", "types"]


def test_cursors_are_bound_to_their_query(client: TestClient) -> None:
    url = ROWS.format("run_harm")
    cursor = client.get(url + "?limit=2&aqm=codel").json()["next_cursor"]
    for query in ("aqm=fq_codel", "aqm=codel&order=-run_id", "", "aqm=codel&select=run_id"):
        problem = client.get(f"{url}?{query}&cursor={cursor}").json()
        assert (problem["status"], problem["type"]) == (422, "urn:sojourn:problem:invalid-cursor")


@pytest.mark.parametrize("cursor", ["", "x", "%00", "AAAA", "§", "x" * 5000, "eyJhIjoxfQ=="])
def test_damaged_cursors_are_refused(client: TestClient, cursor: str) -> None:
    problem = client.get(ROWS.format("run_harm"), params={"cursor": cursor}).json()
    assert (problem["status"], problem["type"]) == (422, "urn:sojourn:problem:invalid-cursor")


def test_made_up_cursors_are_checked_like_other_input(client: TestClient) -> None:
    from sojourn_api.requests import cursors

    path = ROWS.format("types")
    query = cursors.fingerprint(path, [])
    for values in (("1 or true",), (True,), (2**63,), (1.0,), (1, 2), ()):
        made_up = cursors.encode("b1", query, values)
        problem = client.get(path, params={"cursor": made_up}).json()
        assert (problem["status"], problem["type"]) == (422, "urn:sojourn:problem:invalid-cursor"), values


def _forged(payload: str) -> str:
    raw = payload.encode()
    return base64.urlsafe_b64encode(hashlib.sha256(raw).digest()[:8] + raw).decode().rstrip("=")


@pytest.mark.parametrize(
    "values",
    [
        "[" * 5000,
        "[" * 4000 + "]" * 4000,
        '[{"real":' + '{"real":' * 2000 + '"0x1p0"' + "}" * 2000 + "}]",
        '["' + "a" * 20_000 + '"]',
        '["\\ud800"]',
        '["\\',
        "[" + "1" * 5000 + "]",
        "[NaN]",
        "null",
        '{"a":1}',
        '[{"real":[]}]',
    ],
    ids=lambda values: values[:16],
)
def test_forged_cursors_are_refused_whatever_they_hold(client: TestClient, values: str) -> None:
    from sojourn_api.requests import cursors

    path = ROWS.format("study")
    # The checksum is right, and so are build and query: only the values are not.
    payload = f'["b1","{cursors.fingerprint(path, [])}",{values}]'
    for forged in (payload, values):
        problem = client.get(path, params={"cursor": _forged(forged)}).json()
        assert (problem["status"], problem["type"]) == (422, "urn:sojourn:problem:invalid-cursor"), problem


@pytest.mark.parametrize(
    ("decimal", "status"),
    [
        ("12.34", 200),
        ("-99999999.99", 200),
        ("0.00", 200),
        ("0", 200),
        ("sNaN", 422),
        ("NaN", 422),
        ("-Infinity", 422),
        ("1e999999", 422),
        ("1e-999999", 422),
        ("9" * 11_000, 422),
        ("100000000.00", 422),
        ("1.234", 422),
    ],
    ids=lambda value: str(value)[:16],
)
def test_a_decimal_of_a_cursor_is_one_of_its_column(client: TestClient, decimal: str, status: int) -> None:
    from sojourn_api.requests import cursors

    path = ROWS.format("types")
    # The last term of the order is the key.
    payload = f'["b1","{cursors.fingerprint(path, [("order", "price")])}",[{{"decimal":"{decimal}"}},5]]'
    response = client.get(path, params={"order": "price", "cursor": _forged(payload)})
    assert response.status_code == status, response.text
    if status == 422:
        assert response.json()["type"] == "urn:sojourn:problem:invalid-cursor"


@pytest.mark.parametrize(
    ("start", "repeated"),
    [('"', '\\"'), ('["', '\\"'), ('["a","a",["', '\\"'), ('["a","a",[1', ",1"), ('["a","a",[', '"a",')],
)
def test_a_forged_cursor_is_read_once(start: str, repeated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn_api.problems import ProblemError
    from sojourn_api.requests import cursors

    monkeypatch.setattr(cursors, "MOST_TARGET_BYTES", 10**6)

    def seconds(times: int) -> float:
        forged = _forged(start + repeated * times)
        taken = []
        for _ in range(3):
            started = time.thread_time()
            with pytest.raises(ProblemError):
                cursors.decode(forged, "b1", "q", [])
            taken.append(time.thread_time() - started)
        return min(taken)

    # Twice the text takes twice the time, and four times if each character is read again for each.
    assert seconds(16_000) < 3 * max(seconds(8_000), 0.01)
