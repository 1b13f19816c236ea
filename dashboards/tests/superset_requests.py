"""Requests to a real Superset as an administrator and as a viewer; prints what came back as JSON.

Run in a process of its own, because Superset is configured by the environment as it is imported.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from typing import Any

from superset.app import create_app
from superset_questions import ARRANGED, LARGE_ANSWER, LAYERS, MALFORMED, OWN_OPERATIONS, TOO_MUCH

from sojourn_superset import operation_bounds

VIEWER, VIEWER_PASSWORD = os.environ["VIEWER"], os.environ["SUPERSET_VIEWER_PASSWORD"]
ADMIN, ADMIN_PASSWORD = os.environ["SUPERSET_ADMIN_USER"], os.environ["SUPERSET_ADMIN_PASSWORD"]
OTHER_API = os.environ["OTHER_API"]


def token_of(client: Any) -> str:
    """Return the token that a form of the login page carries."""
    page = client.get("/login/").get_data(as_text=True)
    match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page) or re.search(
        r"csrf_token&#34;: &#34;([^&]+)", page
    )
    return str(match.group(1) if match else client.get("/api/v1/security/csrf_token/").get_json()["result"])


def logged_in(app: Any, user: str, password: str, address: str = "127.0.0.1") -> tuple[Any, dict[str, str], list[str]]:
    """Return a client with a session, the headers of its changes, and the cookies that the login set."""
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = address
    answer = client.post("/login/", data={"username": user, "password": password, "csrf_token": token_of(client)})
    cookies = answer.headers.getlist("Set-Cookie")
    assert client.get("/api/v1/me/").status_code == 200, (user, answer.status_code)
    token = client.get("/api/v1/security/csrf_token/").get_json()
    return client, {"X-CSRFToken": token["result"]} if token and "result" in token else {}, cookies


def chart_question(app: Any) -> dict[str, Any]:
    """Return what a chart asks."""
    with app.app_context():
        from superset.connectors.sqla.models import SqlaTable
        from superset.extensions import db

        dataset = db.session.query(SqlaTable).filter_by(table_name="run_harm").one()
        source = {"id": dataset.id, "type": "table"}
    return {
        "datasource": source,
        "queries": [{"columns": ["run_id"], "metrics": [], "row_limit": 5, "orderby": []}],
        "result_format": "json",
        "result_type": "full",
    }


def answers_to(
    changes: dict[str, dict[str, Any]], client: Any, headers: dict[str, str], question: dict[str, Any]
) -> dict[str, str]:
    """Return the status and the beginning of the answer to each change of a chart's question."""
    (query,) = question["queries"]
    answers = {}
    for name, change in changes.items():
        asked = {**question, "queries": [{**query, "columns": ["run_id", "packets"], **change}]}
        answer = client.post("/api/v1/chart/data", json=asked, headers=headers)
        answers[name] = f"{answer.status_code} {answer.get_data(as_text=True)[:300]}"
    long_time = "1 day ago : " * 2_000
    answers["a long range of time, alone"] = str(
        client.get(f"/api/v1/time_range/?q='{long_time}'", headers=headers).status_code
    )
    return answers


def virtual_dataset(client: Any, headers: dict[str, str], sql: str, day_format: str | None) -> dict[str, Any]:
    """Make a virtual dataset whose column `day` has a format; return what charts call it."""
    table = {"database": 1, "table_name": f"days in {day_format}", "sql": sql}
    number = client.post("/api/v1/dataset/", json=table, headers=headers).get_json()["id"]
    (column,) = client.get(f"/api/v1/dataset/{number}").get_json()["result"]["columns"]
    change = {"id": column["id"], "column_name": "day", "is_dttm": True, "python_date_format": day_format}
    answer = client.put(f"/api/v1/dataset/{number}", json={"columns": [change]}, headers=headers)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return {"id": number, "type": "table"}


def days_within(client: Any, headers: dict[str, str], question: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Return the days that a chart has of each range of time, also of virtual datasets: a null first, and a format."""
    noons = "SELECT DATETIME(day, '+12 hours') FROM run_harm"
    sources = [
        question["datasource"],
        virtual_dataset(
            client, headers, f"SELECT NULL AS day UNION ALL SELECT day FROM run_harm UNION ALL {noons}", None
        ),
        virtual_dataset(client, headers, "SELECT REPLACE(day, '-', '') AS day FROM run_harm", "%Y%m%d"),
    ]
    days = {}
    for times in (
        "2026-01-02 : ", " : 2026-01-02", "2026-01-01 : 2026-01-02", "2026-01-01T06:00:00 : 2026-01-02T06:00:00"
    ):  # fmt: skip
        query = {"columns": ["day"], "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": times}]}
        days[times] = []
        for source in sources:
            asked = {**question, "datasource": source, "queries": [query]}
            answer = client.post("/api/v1/chart/data", json=asked, headers=headers).get_json()
            days[times].append(sorted(str(row["day"]) for row in answer["result"][0]["data"]))
    return days


def with_the_day_before(client: Any, headers: dict[str, str], question: dict[str, Any]) -> dict[str, str]:
    """Return what a chart has of a day and of the day before, and what it says if the query for that day fails."""
    within = {"col": "day", "op": "TEMPORAL_RANGE", "val": "2026-01-02 : 2026-01-03"}
    of_each = {
        "a metric": "SUM(packets + 0)",
        "a metric without that day": "SUM(CASE WHEN day < '2026-01-02' THEN length(json(run_id)) ELSE packets END)",
    }
    answers = {}
    for name, sql in of_each.items():
        metric = {"expressionType": "SQL", "sqlExpression": sql, "label": "v"}
        query = {"columns": [], "metrics": [metric], "filters": [within], "time_offsets": ["1 day ago"]}
        answer = client.post("/api/v1/chart/data", json={**question, "queries": [query]}, headers=headers)
        body = answer.get_json()
        answers[name] = f"{answer.status_code} {body['result'][0]['data'] if 'result' in body else body}"
    return answers


def descriptions(client: Any, headers: dict[str, str], question: dict[str, Any]) -> dict[str, Any]:
    """Return what lists of charts are, and the CPU time that they take, with descriptions that take long to read."""
    chart = {"viz_type": "table", "datasource_id": question["datasource"]["id"], "datasource_type": "table"}
    texts = {"blanks": " " * 200_000 + "x", "one letter": "a" * 900_000, "Markdown": "*a*\n\n    x = 1\n"}
    texts |= {f"{text}, often": text * (4_900 // len(text)) for text in ("[", "![", "[a][", "[](", "<b ")}
    for name, text in texts.items():
        made = client.post("/api/v1/chart/", json={**chart, "slice_name": name, "description": text}, headers=headers)
        assert made.status_code == 201, made.get_data(as_text=True)
    began = time.process_time()
    listed = client.get("/api/v1/chart/", headers=headers).get_json()["result"]
    statuses = [
        client.get(f"/api/v1/chart/?q=(filters:!((col:slice_name,opr:chart_all_text,value:'{'a' * length}b')))")
        for length in (20, 30_000)
    ]
    for count in (10, 11):
        each = f"(col:description,opr:nct,value:{'a' * 90}b)"
        statuses.append(client.get(f"/api/v1/chart/?q=(filters:!({','.join([each] * count)}))"))
    return {
        "cpu_s": time.process_time() - began,
        "statuses": [answer.status_code for answer in statuses],
        "Markdown": next(each["description_markeddown"] for each in listed if each["slice_name"] == "Markdown"),
    }


def older_charts(client: Any, headers: dict[str, str], source: dict[str, Any]) -> dict[str, str]:
    """Return the status and the answer to each kind of chart at the address of Superset's older charts."""
    answers = {}
    for kind in ("table", "line", "world_map", "nothing"):
        form = {"datasource": f"{source['id']}__table", "viz_type": kind, "groupby": ["run_id"], "metrics": ["count"]}
        answer = client.post("/superset/explore_json/", data={"form_data": json.dumps(form)}, headers=headers)
        answers[kind] = f"{answer.status_code} {answer.get_data(as_text=True)}"
    return answers


def main() -> None:
    """Ask, and print."""
    app = create_app()
    logging.disable(logging.CRITICAL)
    settings = ("SECRET_KEY", "GUEST_TOKEN_JWT_SECRET", "GLOBAL_ASYNC_QUERIES_JWT_SECRET", "PERMANENT_SESSION_LIFETIME")
    reported: dict[str, Any] = {name: str(app.config[name]) for name in settings}
    nobody = app.test_client()
    reported["nobody"] = {
        path: nobody.get(path).status_code
        for path in (
            "/api/v1/dashboard/",
            "/api/v1/chart/",
            "/api/v1/database/",
            "/superset/dashboard/one/",
            "/sqllab/",
        )
    }
    reported["login without a token"] = nobody.post(
        "/login/", data={"username": ADMIN, "password": ADMIN_PASSWORD}
    ).status_code
    reported["nobody after that"] = nobody.get("/api/v1/me/").status_code

    client, headers, cookies = logged_in(app, VIEWER, VIEWER_PASSWORD)
    question = chart_question(app)
    reported["cookies"] = cookies
    response = client.post("/api/v1/chart/data", json=question, headers=headers)
    reported["viewer reads"] = {
        "dashboard": client.get("/superset/dashboard/one/").status_code,
        "list": client.get("/api/v1/dashboard/").status_code,
        "chart": response.status_code,
        "rows of a chart": client.post(
            f"/datasource/samples?datasource_type=table&datasource_id={question['datasource']['id']}",
            json={},
            headers=headers,
        ).status_code,
        "rows": len(response.get_json()["result"][0]["data"])
        if response.status_code == 200
        else response.get_data(as_text=True),
    }
    reported["viewer without a token"] = client.post("/api/v1/dashboard/1/permalink", json={}).status_code
    sql = {"database_id": 1, "sql": "SELECT run_id FROM run_harm", "runAsync": False}
    source = {"datasource_id": question["datasource"]["id"], "datasource_type": "table"}
    chart = {"slice_name": "made", "viz_type": "table", **source}
    reported["viewer is refused"] = {
        "SQL Lab": client.post("/api/v1/sqllab/execute/", json=sql, headers=headers).status_code,
        "SQL Lab page": client.get("/sqllab/").status_code,
        "saved queries": client.get("/api/v1/saved_query/").status_code,
        "databases": client.get("/api/v1/database/").status_code,
        "new database": client.post(
            "/api/v1/database/", json={"database_name": "x", "sqlalchemy_uri": "postgresql://h/d"}, headers=headers
        ).status_code,
        "change a database": client.put("/api/v1/database/1", json={"extra": "{}"}, headers=headers).status_code,
        "new chart": client.post("/api/v1/chart/", json=chart, headers=headers).status_code,
        "change a chart": client.put("/api/v1/chart/1", json={"slice_name": "x"}, headers=headers).status_code,
        "remove a chart": client.delete("/api/v1/chart/1", headers=headers).status_code,
        "new dashboard": client.post("/api/v1/dashboard/", json={"dashboard_title": "x"}, headers=headers).status_code,
        "change a dashboard": client.put(
            "/api/v1/dashboard/1", json={"dashboard_title": "x"}, headers=headers
        ).status_code,
        "new dataset": client.post(
            "/api/v1/dataset/", json={"database": 1, "table_name": "run_harm"}, headers=headers
        ).status_code,
        "users": client.get("/api/v1/security/users/").status_code,
        "log": client.get("/api/v1/log/").status_code,
        # It takes what the schema of charts refuses.
        "another way to a chart's rows": client.post(
            "/api/v1/query/", data={"query_context": json.dumps(question)}, headers=headers
        ).status_code,
        "import": client.post("/api/v1/assets/import/", headers=headers).status_code,
    }

    changes = ARRANGED | OWN_OPERATIONS | LAYERS | MALFORMED
    reported["viewer asks for"] = answers_to(changes, client, headers, question)
    reported["viewer asks for older charts"] = older_charts(client, headers, question["datasource"])
    viewer, viewer_headers = client, headers

    client, headers, _ = logged_in(app, ADMIN, ADMIN_PASSWORD)
    reported["admin asks for"] = answers_to(
        OWN_OPERATIONS | TOO_MUCH | MALFORMED | {"a large answer": LARGE_ANSWER}, client, headers, question
    )
    reported["admin asks for older charts"] = older_charts(client, headers, question["datasource"])
    reported["days within ranges"] = days_within(client, headers, question)
    circle = {"ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["ROOT_ID"]}}
    made = client.post(
        "/api/v1/dashboard/", json={"dashboard_title": "x", "position_json": json.dumps(circle)}, headers=headers
    )
    reported["tabs in a circle"] = client.get(f"/api/v1/dashboard/{made.get_json()['id']}/tabs").get_json()["result"]
    reported["a body of many items"] = client.put(
        f"/api/v1/dashboard/{made.get_json()['id']}/filters",
        json={"modified": [{"id": str(number)} for number in range(30_000)]},
        headers=headers,
    ).status_code
    reported["descriptions"] = descriptions(client, headers, question)
    reported["with the day before"] = with_the_day_before(client, headers, question)
    saved = {"db_id": 1, "label": "x", "sql": "SELECT * FROM {{ 'run' ~ '_harm' }}"}
    number = client.post("/api/v1/saved_query/", json=saved, headers=headers).get_json()["id"]
    reported["tables of a template"] = client.get(f"/api/v1/saved_query/{number}").get_json()["result"]["sql_tables"]
    reported["empty statements"] = [
        f"{answer.status_code} {answer.get_data(as_text=True)}"
        for empty in ("", " ", "-- nothing", ";")
        for answer in [client.post("/api/v1/sqllab/execute/", json={**sql, "sql": empty}, headers=headers)]
    ]
    client.post("/api/v1/sqllab/execute/", json={**sql, "client_id": "downloaded"}, headers=headers)
    of_stream = {**question, "result_format": "csv", "form_data": {"row_limit": 10**9}}
    reported["downloads as csv"] = {
        name: f"{answer.status_code} {answer.get_data(as_text=True)[:300]}"
        for name, answer in {
            "SQL Lab": client.get("/api/v1/sqllab/export/downloaded/"),
            "chart": client.post("/api/v1/chart/data", json={**question, "result_format": "csv"}, headers=headers),
            "SQL Lab, as a stream": client.post(
                "/api/v1/sqllab/export_streaming/", data={"client_id": "downloaded"}, headers=headers
            ),
            "chart, as a stream": client.post("/api/v1/chart/data", json=of_stream, headers=headers),
        }.items()
    }
    operation_bounds.MOST_CELLS = 1
    reported["with one cell"] = answers_to(ARRANGED, client, headers, {**question, "force": True})
    of_adapters = {"sojourn": {"base_url": OTHER_API}}
    extra = {"engine_params": {"adapters": ["sojourn", "csvfile"], "adapter_kwargs": of_adapters}}
    reported["admin points elsewhere"] = client.put(
        "/api/v1/database/1", json={"extra": json.dumps(extra)}, headers=headers
    ).status_code
    reported["admin makes another of the family"] = {
        uri: client.post(
            "/api/v1/database/", json={"database_name": uri, "sqlalchemy_uri": uri}, headers=headers
        ).status_code
        for uri in ("shillelagh://", "gsheets://", "shillelagh+safe://host")
    }
    response = client.post("/api/v1/chart/data", json={**question, "force": True}, headers=headers)
    reported["after that"] = [response.status_code, response.get_data(as_text=True)[:2000]]
    response = client.post("/api/v1/sqllab/execute/", json=sql, headers=headers)
    reported["in SQL Lab"] = [response.status_code, response.get_data(as_text=True)[:2000]]
    of_query = {**question, "datasource": {"id": response.get_json()["query_id"], "type": "query"}}
    reported["of a query of SQL Lab"] = {
        "admin": client.post("/api/v1/chart/data", json=of_query, headers=headers).status_code,
        "viewer": viewer.post("/api/v1/chart/data", json=of_query, headers=viewer_headers).status_code,
    }
    print(json.dumps(reported), file=sys.stderr)


if __name__ == "__main__":
    main()
