"""Questions of an administrator to a real Superset, in SQL Lab: every dataset with rows of connections, and statements.

Run by Superset's Python in a process of its own, because Superset is configured by the environment as it is imported.
"""

from __future__ import annotations

import json
import logging
import os
import re

from sql_lab_statements import STATEMENTS
from superset.app import create_app


def main() -> None:
    """Ask, and print how many rows came, and what each of the statements is answered with."""
    app = create_app()
    logging.disable(logging.CRITICAL)
    client = app.test_client()
    page = client.get("/login/").get_data(as_text=True)
    match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page) or re.search(
        r"csrf_token&#34;: &#34;([^&]+)", page
    )
    token = match.group(1) if match else client.get("/api/v1/security/csrf_token/").get_json()["result"]
    user = {"username": os.environ["SUPERSET_ADMIN_USER"], "password": os.environ["SUPERSET_ADMIN_PASSWORD"]}
    client.post("/login/", data={**user, "csrf_token": token})
    token = client.get("/api/v1/security/csrf_token/").get_json()["result"]
    with app.app_context():
        from superset.connectors.sqla.models import SqlaTable
        from superset.extensions import db

        names = sorted(table.table_name for table in db.session.query(SqlaTable).all())
    assert any("connection" in name for name in names), names
    for name in names:
        if "connection" in name or name.startswith("ingest"):
            sql = {"database_id": 1, "sql": f"SELECT * FROM {name} LIMIT 1000", "runAsync": False}
            answer = client.post("/api/v1/sqllab/execute/", json=sql, headers={"X-CSRFToken": token})
            assert answer.status_code == 200, (name, answer.get_data(as_text=True)[:2000])
            print(f"{len(answer.get_json()['data'])} rows of {name}")
    answers = []
    for statement in STATEMENTS:
        sql = {"database_id": 1, "sql": statement, "runAsync": False, "queryLimit": 1000}
        answer = client.post("/api/v1/sqllab/execute/", json=sql, headers={"X-CSRFToken": token})
        assert answer.status_code == 200, (statement, answer.get_data(as_text=True)[:2000])
        names = [column["column_name"] for column in answer.get_json()["columns"]]
        answers.append([names, [[row[name] for name in names] for row in answer.get_json()["data"]]])
    print(f"answers: {json.dumps(answers)}")


if __name__ == "__main__":
    main()
