"""What each role of a real Superset may do, and how many logins it takes; prints it as JSON.

Run in a process of its own, because Superset is configured by the environment as it is imported.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from superset.app import create_app
from superset_requests import chart_question, logged_in, token_of

PASSWORD = os.environ["SUPERSET_VIEWER_PASSWORD"]
#: An expression, and a condition in SQL, that a chart has.
METRIC = {"expressionType": "SQL", "sqlExpression": "MAX(packets) * 2", "label": "twice"}
CONDITION = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "packets > 0"}
#: An operation on the rows that a chart was saved with.
OPERATION = {"operation": "histogram", "options": {"column": "packets", "groupby": [], "bins": 3}}
OWN_OPERATION = {"operation": "histogram", "options": {"column": "packets", "groupby": [], "bins": 4}}
#: Users by the column of SECURITY.md that says what they can do.
ROLES = {
    "viewer": ("Sojourn viewer",),
    "Gamma": ("Gamma",),
    "Gamma, sql_lab": ("Gamma", "sql_lab"),
    "Alpha": ("Alpha",),
    "Alpha, sql_lab": ("Alpha", "sql_lab"),
    "Admin": ("Admin",),
}


class Asking:
    """Requests of one session, by what they are for. Each makes what it changes, so that roles do not meet."""

    def __init__(self, client: Any, headers: dict[str, str], question: dict[str, Any], user: str) -> None:
        self.client, self.headers, self.question, self.user = client, headers, question, user

    def status(self, method: str, path: str, json: Any = None) -> int:
        """Return the status of a request."""
        return int(self.client.open(path, method=method, json=json, headers=self.headers).status_code)

    def rows(self, **changes: Any) -> str:
        """Return the status of a chart's question, and how many rows or which refusal it is answered with."""
        (query,) = self.question["queries"]
        question = {**self.question, "queries": [{**query, **changes}]}
        answer = self.client.post("/api/v1/chart/data", json=question, headers=self.headers)
        body = answer.get_json(silent=True) or {}
        return f"{answer.status_code} {len(body['result'][0]['data']) if answer.status_code == 200 else body}"

    def sql(self, sql: str) -> str:
        """Return what SQL Lab answers."""
        body = {"database_id": 1, "sql": sql, "runAsync": False}
        answer = self.client.post("/api/v1/sqllab/execute/", json=body, headers=self.headers)
        return f"{answer.status_code} {answer.get_data(as_text=True)[:1500]}"

    def everything(self, app: Any) -> dict[str, Any]:
        """Ask for everything that SECURITY.md has a row of."""
        dataset = self.question["datasource"]["id"]
        chart = {"slice_name": self.user, "viz_type": "table", "datasource_id": dataset, "datasource_type": "table"}
        dashboard = {"dashboard_title": self.user}
        another = {"database_name": self.user, "sqlalchemy_uri": "postgresql://192.0.2.1/x"}
        return {
            "open a dashboard": self.status("GET", "/superset/dashboard/one/"),
            "read a chart's rows": self.rows(),
            "use an expression that a chart has": self.rows(
                metrics=[METRIC], extras={"where": f"({CONDITION['sqlExpression']})", "having": ""}
            ),
            "use your own expression in a chart": self.rows(metrics=[{**METRIC, "sqlExpression": "MAX(packets) + 1"}]),
            "use your own column in a chart": self.rows(columns=["upper(run_id)"], metrics=[METRIC]),
            "use your own condition in a chart": self.rows(metrics=[METRIC], extras={"where": "(packets > 1)"}),
            "use an operation that a chart has": self.rows(columns=["packets"], post_processing=[OPERATION]),
            "use your own operation in a chart": self.rows(columns=["packets"], post_processing=[OWN_OPERATION]),
            "create charts": self.status("POST", "/api/v1/chart/", chart),
            "create dashboards": self.status("POST", "/api/v1/dashboard/", dashboard),
            "change someone else's chart": self.status("PUT", "/api/v1/chart/1", {"description": self.user}),
            "change someone else's dashboard": self.status("PUT", "/api/v1/dashboard/1", {"css": f"/* {self.user} */"}),
            "create datasets": self.status(
                "POST", "/api/v1/dataset/", {"database": 1, "table_name": f"of {self.user}", "sql": "SELECT 1 AS one"}
            ),
            "query in SQL Lab": self.sql("SELECT run_id FROM run_harm"),
            "attach a file in SQL Lab": self.sql("ATTACH DATABASE 'superset.db' AS x"),
            "add a database connection": self.status("POST", "/api/v1/database/", another),
            "change the database connection": self.status("PUT", "/api/v1/database/1", {"expose_in_sqllab": True}),
            "test a database connection": self.status("POST", "/api/v1/database/test_connection/", another),
            "list users": self.status("GET", "/api/v1/security/users/"),
            "create users": self.status("POST", "/api/v1/security/users/", {"username": self.user}),
            "list roles": self.status("GET", "/api/v1/security/roles/"),
            "import assets": self.status("POST", "/api/v1/assets/import/"),
            "export assets": self.status("GET", "/api/v1/assets/export/"),
        }


def main() -> None:
    """Ask, and print."""
    app = create_app()
    logging.disable(logging.CRITICAL)
    with app.app_context():
        from superset import db
        from superset import security_manager as manager
        from superset.models.slice import Slice

        chart = db.session.query(Slice).filter_by(slice_name="kept").one()
        chart.params = json.dumps({**json.loads(chart.params), "metric": METRIC, "adhoc_filters": [CONDITION]})
        chart.query_context = json.dumps({"queries": [{"columns": ["packets"], "post_processing": [OPERATION]}]})
        db.session.commit()
        for user, roles in ROLES.items():
            if user not in ("Admin", "viewer"):
                user_roles = [manager.find_role(role) for role in roles]
                assert manager.add_user(user, user, "Tester", f"{roles[0]}@{len(roles)}", user_roles, PASSWORD), user
    question = chart_question(app)
    answers: dict[str, Any] = {
        "not logged in": Asking(app.test_client(), {}, question, "not logged in").everything(app)
    }
    for place, user in enumerate(ROLES):
        name = {"Admin": os.environ["SUPERSET_ADMIN_USER"], "viewer": os.environ["VIEWER"]}.get(user, user)
        password = os.environ["SUPERSET_ADMIN_PASSWORD"] if user == "Admin" else PASSWORD
        client, headers, _ = logged_in(app, name, password, f"192.0.2.{place + 1}")
        answers[user] = Asking(client, headers, question, user).everything(app)
    answers["logins"] = logins(app)
    print(json.dumps(answers), file=sys.stderr)


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


if __name__ == "__main__":
    main()
