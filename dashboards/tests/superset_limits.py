"""Bounds on what users of a real Superset send and leave: what is kept of it, and what it does to others."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from superset_requests import token_of

from sojourn_superset import answer_size, kept_state

#: Where Superset keeps what is sent.
KEEPING = (
    "/api/v1/dashboard/1/filter_state?tab_id=1",
    "/api/v1/dashboard/1/permalink",
    "/api/v1/explore/form_data",
    "/api/v1/explore/permalink",
    "/api/v1/sqllab/permalink",
)
#: What a chart may have been saved with, unfinished or by a program, that is none of a chart's parameters.
ODD_PARAMETERS = (
    "[]", "null", "{}x", "[" * 60_000, '{"adhoc_filters": 5}', '{"adhoc_filters": [1]}',
    '{"adhoc_filters": [{"expressionType": "SQL"}]}',
    '{"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "(("}]}',
    '{"adhoc_filters": [{"expressionType": "SQL", "clause": 5, "sqlExpression": "1"}]}',
    *(
        json.dumps({"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": sql}]})
        for sql in ("(" * 300 + ")" * 300, "1" + "+a" * 30_000)
    ),
    '{"x": 1e999}', '{"metrics": [[1]]}', '{"metrics": [{"label": []}]}', '{"groupby": [{}]}', '{"filter_configs": 5}',
)  # fmt: skip
ODD_CONTEXTS = (
    "[]", "null", "{}", '{"queries": 5}', '{"queries": [1]}', '{"queries": [{"post_processing": 5}]}',
    '{"queries": [{"columns": 5}]}', '{"x":' * 10_000 + "1" + "}" * 10_000,
)  # fmt: skip


def too_large(app: Any, client: Any, headers: dict[str, str]) -> dict[str, int]:
    """Return the statuses of requests that are too large for what they are to."""
    statuses = {path: client.post(path, json={"value": "x" * 2**16}, headers=headers).status_code for path in KEEPING}
    form = {"data": "a=" + "%c3" * 700_000, "content_type": "application/x-www-form-urlencoded"}
    statuses["/login/"] = app.test_client().post("/login/", **form).status_code
    css = {"dashboard_title": "x", "css": "x" * 2**21}
    return statuses | {"/api/v1/dashboard/": client.post("/api/v1/dashboard/", json=css, headers=headers).status_code}


def malformed_logins(app: Any) -> list[int]:
    """Return the statuses of logins that cannot be read."""
    return [
        app.test_client().post("/api/v1/security/login", data=body, content_type="application/json").status_code
        for body in ("[" * 50_000, '{"username": "\\ud800", "password": "x", "provider": "db"}', "x" * 2**17)
    ]


def left_by_authors(app: Any, author: Any, viewer: Any) -> dict[str, Any]:
    """Return what is refused of an author, and what others are answered after what is not."""
    source = {"datasource_id": author.question["datasource"]["id"], "datasource_type": "table"}
    chart = {"slice_name": "left", "viz_type": "table", **source}
    layer = "/api/v1/annotation_layer/1/annotation/"
    event = {"short_descr": "a", "start_dttm": "2026-01-01T00:00:00", "end_dttm": "2026-01-01T00:00:00"}
    long = "x" * (2**16 + 1)
    answers: dict[str, Any] = {
        "long": {
            "params": author.status("POST", "/api/v1/chart/", {**chart, "params": json.dumps({"a": long})}),
            "query_context": author.status("POST", "/api/v1/chart/", {**chart, "query_context": json.dumps([long])}),
            "description": author.status("POST", "/api/v1/chart/", {**chart, "description": long}),
            "certified_by": author.status("POST", "/api/v1/dashboard/", {"dashboard_title": "x", "certified_by": long}),
            "long_descr": author.status("POST", layer, {**event, "long_descr": long}),
            "json_metadata": author.status("POST", layer, {**event, "json_metadata": json.dumps(long)}),
            "css": author.status("POST", "/api/v1/dashboard/", {"dashboard_title": "x", "css": long}),
            "position_json": author.status(
                "POST", "/api/v1/dashboard/", {"dashboard_title": "x", "position_json": json.dumps(long * 4)}
            ),
            "nested": author.status("POST", "/api/v1/chart/", {**chart, "params": '{"x":' * 200 + "1" + "}" * 200}),
        }
    }
    with app.app_context():
        from superset import db, security_manager
        from superset.models.core import KeyValue
        from superset.models.dashboard import Dashboard
        from superset.models.slice import Slice

        for text in ODD_PARAMETERS:
            db.session.add(Slice(slice_name="odd", viz_type="table", params=text, **source))
        for text in ODD_CONTEXTS:
            db.session.add(Slice(slice_name="odd", viz_type="table", params="{}", query_context=text, **source))
        odd = [each for each in db.session.new if isinstance(each, Slice)]
        owner = [security_manager.find_user(author.user_name)]
        shown = Dashboard(dashboard_title="odd", slug="odd", published=True, slices=odd, owners=owner)
        db.session.add(shown)
        db.session.add(KeyValue(id=1, value=json.dumps({"sql": "SELECT 'of somebody else'"})))
        db.session.commit()
        db.session.expire_all()
        assert [len(dataset["columns"]) for dataset in shown.datasets_trimmed_for_slices()] == [0]
        (dataset,) = shown.datasources
        answers["columns that a dashboard holds"] = sorted({"columns", "metrics"} & set(vars(dataset)))
    charts = viewer.client.get("/api/v1/chart/?q=(page_size:100)")
    json.loads(charts.get_data(as_text=True), parse_constant=answers.setdefault("numbers that are none", []).append)
    of_odd = viewer.client.get("/api/v1/dashboard/odd/charts").get_json()["result"]
    answers["of a dashboard of odd charts"] = {
        part: viewer.status("GET", f"/api/v1/dashboard/odd/{part}") for part in ("datasets", "charts", "tabs")
    }
    answers["pages of odd charts"] = sorted(
        {author.status("GET", f"/api/v1/explore/?slice_id={each['id']}") for each in of_odd}
    )
    answers["beside odd charts"] = viewer.expressions_and_operations()
    answers["texts of dashboards in lists"] = texts_of_dashboards(app, author)
    draft = author.client.post("/api/v1/dashboard/", json={"dashboard_title": "draft"}, headers=author.headers)
    path = f"/api/v1/dashboard/{draft.get_json()['id']}/permalink"
    key = author.client.post(path, json={}, headers=author.headers).get_json()["key"]
    answers["permalink of a draft"] = [
        each.status("GET", f"/api/v1/dashboard/permalink/{key}") for each in (author, viewer)
    ]
    answers["columns and metrics"] = columns_and_metrics(author)
    answers["tables of a tab"] = tables_of_a_tab(app, author)
    for number in range(3):
        author.status(
            "POST", layer, {**event, "short_descr": str(number), "json_metadata": json.dumps({"a": "x" * 40_000})}
        )
    answers["of a large layer"] = of_a_large_layer(viewer)
    answers["numbers of links"] = author.status("GET", "/api/v1/sqllab/permalink/kv:1")
    body = "[" + "[]," * 600_000 + "[]]"
    began = time.process_time()
    for path in ("/static/x", "/nothing"):
        app.test_client().post(path, data=body, content_type="application/json")
    answers["bodies that nothing reads, CPU s"] = time.process_time() - began
    return answers


def texts_of_dashboards(app: Any, author: Any) -> dict[str, str]:
    """Return the status of each list of charts or dashboards, and the long texts of dashboards that it loaded."""
    from sqlalchemy import event

    dataset = author.question["datasource"]["id"]
    loaded: set[str] = set()

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        # Within, a count has all columns.
        outermost = statement.partition("FROM")[0]
        loaded.update(name for name in ("css", "position_json", "json_metadata") if f".{name}" in outermost)

    with app.app_context():
        from superset import db

        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    answers = {}
    for path in (
        "chart/?q=(page_size:100)", "chart/1", "explore/?slice_id=1", f"dataset/{dataset}/related_objects",
        "dashboard/favorite_status/?q=!(1,2)", "dashboard/?q=(columns:!(id,dashboard_title))",
    ):  # fmt: skip
        loaded.clear()
        status = author.status("GET", f"/api/v1/{path}")
        answers[path] = f"{status} {', '.join(sorted(loaded))}".strip()
    event.remove(engine, "before_cursor_execute", note)
    return answers


def columns_and_metrics(author: Any) -> dict[str, int]:
    """Return the statuses of changes of an own dataset's columns and metrics, with long texts and with short ones."""
    table = {"database": 1, "table_name": "own", "sql": "SELECT 1 AS one"}
    made = author.client.post("/api/v1/dataset/", json=table, headers=author.headers)
    path = f"/api/v1/dataset/{made.get_json()['id']}"
    (one,) = author.client.get(path).get_json()["result"]["columns"]
    long, column, metric = "x" * 100_000, {"column_name": "a"}, {"metric_name": "a", "expression": "1"}
    changes: dict[str, dict[str, Any]] = {
        "description of a column": {"columns": [{**column, "description": long[:5_000]}]},
        "expression of a column": {"columns": [{**column, "expression": long}]},
        "expression of an earlier column": {"columns": [{"id": one["id"], "column_name": "one", "expression": long}]},
        "many columns": {
            "columns": [{"column_name": f"c{number}", "expression": long[:60_000]} for number in range(20)]
        },
        "description of a metric": {"metrics": [{**metric, "description": long[:5_000]}]},
        "expression of a metric": {"metrics": [{**metric, "expression": long}]},
        "short": {"columns": [{**column, "expression": "1"}], "metrics": [metric]},
    }
    answers = {name: author.status("PUT", path, change) for name, change in changes.items()}
    replaced = {"columns": [{**column, "expression": long}]}
    # What is given by its number alone keeps its texts.
    for name, new in (("within", ("b", "c")), ("beyond, with earlier ones", ("d",))):
        earlier = author.client.get(path).get_json()["result"]["columns"]
        kept_columns = [{key: each[key] for key in ("id", "column_name")} for each in earlier]
        added = [{"column_name": each, "expression": long[:50_000]} for each in new]
        answers[name] = author.status("PUT", path, {"columns": [*kept_columns, *added]})
    return {**answers, "columns replaced": author.status("PUT", f"{path}?override_columns=true", replaced)}


def tables_of_a_tab(app: Any, author: Any) -> dict[str, Any]:
    """Show tables in a tab of SQL Lab; return the statuses, and which are kept."""

    def sent(path: str, **form: Any) -> Any:
        values = {name: json.dumps(value) for name, value in form.items()}
        return author.client.post(path, data=values, headers=author.headers)

    tab = sent("/tabstateview/", queryEditor={"dbId": 1, "name": "tables", "sql": ""}).get_json()["id"]
    table = {"queryEditorId": tab, "dbId": 1, "schema": "main"}
    statuses = [sent("/tableschemaview/", table={**table, "name": "t", "x": "x" * 2**16}).status_code]
    most, kept_state.MOST_TABLES = kept_state.MOST_TABLES, 3
    tables = ({**table, "name": f"t{number}"} for number in range(5))
    statuses += [sent("/tableschemaview/", table=each).status_code for each in tables]
    kept_state.MOST_TABLES = most
    shown = author.client.get(f"/tabstateview/{tab}").get_json()["table_schemas"]
    return {"statuses": statuses, "tables": [each["table"] for each in shown]}


def of_a_large_layer(viewer: Any) -> dict[str, Any]:
    """Return what a viewer is answered with a chart's layer larger than an answer, and how often layers were read."""
    from superset.daos.annotation_layer import AnnotationLayerDAO

    reads = []
    find, most = AnnotationLayerDAO.find_by_ids, answer_size.LARGEST_ANSWER_BYTES
    AnnotationLayerDAO.find_by_ids = staticmethod(lambda numbers: reads.append(numbers) or find(numbers))
    answers = {}
    for name, bound in (("beyond", 10**5), ("within", 10**6)):
        answer_size.LARGEST_ANSWER_BYTES = bound
        answers[name] = viewer.layer()[:200]
        answers[f"{name}, reads"] = len(reads)
    AnnotationLayerDAO.find_by_ids, answer_size.LARGEST_ANSWER_BYTES = find, most
    return answers


def kept(app: Any, client: Any, headers: dict[str, str]) -> dict[str, Any]:
    """Send states of filters and links, more than are kept, and return what is kept of them."""
    state, link = "/api/v1/dashboard/1/filter_state", "/api/v1/dashboard/1/permalink"
    accepted = [
        client.post(f"{state}?tab_id=1", json={"value": json.dumps({"a": "x" * 60_000})}, headers=headers),
        client.post(link, json={"urlParams": [["a", "x" * 60_000]]}, headers=headers),
    ]
    most, kept_state.MOST_ENTRIES = kept_state.MOST_ENTRIES, 4
    keys: list[str] = []
    for number in range(10):
        accepted.append(client.post(f"{state}?tab_id={number}", json={"value": "{}"}, headers=headers))
        accepted.append(client.post(link, json={"urlParams": [["a", str(number)]]}, headers=headers))
        keys.append(accepted[-1].get_json()["key"])
    kept_state.MOST_ENTRIES = most
    with app.app_context():
        from superset import db
        from superset.key_value.models import KeyValueEntry

        of_users = db.session.query(KeyValueEntry.resource).filter(KeyValueEntry.created_by_fk.isnot(None))
        resources = [resource for (resource,) in of_users]
    return {
        "statuses": sorted({answer.status_code for answer in accepted}),
        "entries": {resource: resources.count(resource) for resource in set(resources) if resource != "app"},
        "links": [
            client.get(f"/api/v1/dashboard/permalink/{key}").status_code
            # As Superset makes keys, which can be computed, and with a code of another key.
            for key in (keys[0], *keys[-4:], keys[-1][:-32], keys[-1][:-32] + keys[-2][-32:])
        ],
    }


def logins(app: Any) -> dict[str, Any]:
    """Try passwords, from an address of its own for each way to log in; the last one of each is right."""
    passwords = [*(f"wrong{number}" for number in range(12)), os.environ["SUPERSET_ADMIN_PASSWORD"]]
    statuses: dict[str, Any] = {}
    for address, way in (("198.51.100.1", "page"), ("198.51.100.2", "API")):
        client = app.test_client()
        client.environ_base["REMOTE_ADDR"] = address
        statuses[way] = []
        for password in passwords:
            login = {"username": os.environ["SUPERSET_ADMIN_USER"], "password": password}
            if way == "page":
                answer = client.post("/login/", data={**login, "csrf_token": token_of(client)})
            else:
                answer = client.post("/api/v1/security/login", json={**login, "provider": "db"})
            statuses[way].append(answer.status_code)
        statuses[f"{way}, then"] = client.get("/api/v1/me/").status_code
    client.environ_base["REMOTE_ADDR"] = "198.51.100.3"
    answer = client.post("/api/v1/security/login", json={**login, "provider": "db"})
    statuses["API, another address"] = answer.status_code
    return statuses
