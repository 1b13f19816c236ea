"""What each role of a real Superset may do, and how many logins it takes; prints it as JSON.

Run in a process of its own, because Superset is configured by the environment as it is imported.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import uuid
from typing import Any
from urllib.parse import quote

from superset.app import create_app
from superset_imports import imported, imports
from superset_limits import kept, left_by_authors, logins, malformed_logins, too_large
from superset_owners import SAVED_QUERY, Changes
from superset_requests import chart_question, logged_in

from sojourn_superset.open_endpoints import OPEN_ENDPOINTS
from sojourn_superset.security import ADMINISTRATORS_ONLY

PASSWORD = os.environ["SUPERSET_VIEWER_PASSWORD"]
#: An expression, and a condition in SQL, that a chart has.
METRIC = {"expressionType": "SQL", "sqlExpression": "MAX(packets) * 2", "label": "twice"}
CONDITION = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "packets > 0"}
#: An operation on the rows that a chart was saved with.
OPERATION = {"operation": "histogram", "options": {"column": "packets", "groupby": [], "bins": 3}}
OWN_OPERATION = {"operation": "histogram", "options": {"column": "packets", "groupby": [], "bins": 4}}
#: An annotation layer that a chart was saved with.
LAYER = {
    "annotationType": "EVENT", "sourceType": "NATIVE", "name": "a", "show": True, "showMarkers": False, "value": 1,
}  # fmt: skip
#: Expressions that read another table than the chart's.
OF_HARM = (
    "EXISTS(SELECT 1 FROM run_harm)",
    "(SELECT COUNT(*) FROM run_harm)",
    "('s', 2) IN \"run_harm?group=study_id\"",
    "('s', 2) IN main.\"run_harm?group=study_id\"",
    "EXISTS(SELECT 1 FROM main.run_harm)",
    "GET_METADATA('run_harm')",
    "(SELECT COUNT(*) FROM (SELECT 's' AS study_id) JOIN run_harm USING (study_id))",
    "name IN (SELECT run_id FROM run_harm)",
    "name IN (VALUES ('a') UNION SELECT run_id FROM run_harm)",
    "CASE WHEN NOT EXISTS(SELECT 1 FROM run_harm WHERE packets > 5) THEN 1 END",
)
#: Statements that read the table itself, of which Superset overlooks the name.
OF_THE_TABLE = (
    "WITH run_harm AS (SELECT 1), b AS (SELECT run_id AS x FROM main.run_harm) SELECT * FROM b",
    "SELECT ('s', 2) IN \"run_harm?group=study_id\" AS x",
)
#: The same in a comment, which Superset writes elsewhere as it writes the expression again.
IN_A_COMMENT = "/* SELECT (SELECT MAX(run_id) FROM run_harm) || ' */ ' --'"
#: Number of the theme and the CSS template, and name of the tag, that nobody of these users made.
OTHERS = 900
TAG = "of somebody else"
#: A statement of the administrator, as the source of a chart.
STATEMENT = {"id": OTHERS, "type": "query"}
STATEMENT_NAME, OF_STATEMENT = "of others", "SELECT 1 AS one"
DRAFT = uuid.uuid4()
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

    def __init__(
        self, client: Any, headers: dict[str, str], question: dict[str, Any], user: str, name: str = ""
    ) -> None:
        self.client, self.headers, self.question, self.user, self.user_name = client, headers, question, user, name

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

    def layer(self) -> str:
        """Return the answer to a question with the annotation layer that a chart has."""
        return self.rows(annotation_layers=[LAYER], extras={"where": f"({CONDITION['sqlExpression']})", "having": ""})

    def expressions_and_operations(self) -> list[str]:
        """Return the answers to questions for what charts have, and for what they do not have."""
        return [
            self.rows(metrics=[METRIC]),
            self.rows(columns=["packets"], post_processing=[OPERATION]),
            self.rows(metrics=[{**METRIC, "sqlExpression": "MAX(packets) + 1"}])[:4],
            self.rows(columns=["packets"], post_processing=[OWN_OPERATION])[:4],
        ]

    def asked_of(self, source: dict[str, Any], expression: str) -> str:
        """Return the status of a question for an expression, and the rows or the refusal."""
        column = {"label": "x", "sqlExpression": expression, "expressionType": "SQL"}
        question = {**self.question, "datasource": source, "queries": [{"columns": [column], "metrics": []}]}
        answer = self.client.post("/api/v1/chart/data", json=question, headers=self.headers)
        body = answer.get_json(silent=True) or {}
        return f"{answer.status_code} {body['result'][0]['data'] if answer.status_code == 200 else body}"

    def drafts(self, app: Any) -> int:
        """Return 200 if a list of what uses the database, a dataset or a chart has drafts of others, or their tabs."""
        with app.app_context():
            from superset import db

            theirs = "SELECT {0}.id FROM {0} JOIN ab_user ON ab_user.id = user_id WHERE username != :name"
            mine = "SELECT dashboard_id FROM dashboard_user JOIN ab_user ON ab_user.id = user_id WHERE username = :name"
            drafts = f"SELECT id FROM dashboards WHERE NOT published AND id NOT IN ({mine})"
            of_others = {
                (kind, number)
                for kind, sql in (("dashboards", drafts), ("sqllab_tab_states", theirs.format("tab_state")))
                for (number,) in db.session.execute(sql, {"name": self.user_name})
            }
        listed = set()
        for path in ("database/1", f"dataset/{self.question['datasource']['id']}"):
            answer = self.client.get(f"/api/v1/{path}/related_objects/", headers=self.headers).get_json(silent=True)
            listed |= {
                (kind, each["id"])
                for kind, of_kind in (answer or {}).items()
                if isinstance(of_kind, dict)
                for each in of_kind["result"]
            }
        for path in ("chart/1", "chart/", "chart/?q=(columns:!(id,dashboards.dashboard_title))"):
            answer = self.client.get(f"/api/v1/{path}", headers=self.headers).get_json(silent=True) or {}
            result = answer.get("result", [])
            for chart in result if isinstance(result, list) else [result]:
                listed |= {("dashboards", dashboard.get("id", 0)) for dashboard in chart["dashboards"]}
        answer = self.client.get("/api/v1/explore/?slice_id=1", headers=self.headers).get_json(silent=True) or {}
        metadata = answer.get("result", {}).get("metadata") or {"dashboards": []}
        listed |= {("dashboards", dashboard["id"]) for dashboard in metadata["dashboards"]}
        return 200 if listed & (of_others | {("dashboards", 0)}) else 403

    def draft(self) -> int:
        """Return the status of a draft of someone else, the least by each of its addresses."""
        api = "/api/v1/dashboard/{}"
        addresses = ("/superset/dashboard/{}/", *(api + part for part in ("", "/charts", "/datasets", "/tabs")))
        return min(self.status("GET", address.format(key)) for key in (OTHERS, DRAFT) for address in addresses)

    def statement_of_others(self) -> int:
        """Return the status of a statement of someone else; 200 also if a tab of one's own shows it."""
        form = {"queryEditor": json.dumps({"dbId": 1, "name": "latest", "sql": ""})}
        tab = self.client.post("/tabstateview/", data=form, headers=self.headers).get_json(silent=True) or {}
        path, latest = f"/tabstateview/{tab.get('id')}", {"latest_query_id": json.dumps(STATEMENT_NAME)}
        self.client.put(path, data=latest, headers=self.headers)
        if OF_STATEMENT in self.client.get(path).get_data(as_text=True):
            return 200
        return self.status("GET", f"/datasource/get/query/{OTHERS}/")

    def chart_of_no_dataset(self) -> int:
        """Return the status of the page of a chart, of which the question names a dataset that does not exist."""
        form_data = json.dumps({"datasource": "999999__table"})
        path = f"/api/v1/explore/?slice_id=1&form_data={quote(form_data)}"
        answer = self.client.get(path, headers=self.headers)
        return 200 if ((answer.get_json(silent=True) or {}).get("result") or {}).get("slice") else 403

    def earlier_chart(self, source: str) -> int:
        """Return the status of a question for the statement of a chart of an older kind."""
        form = {
            "datasource": source,
            "viz_type": "world_map",
            "entity": "one",
            "metric": "count",
            "country_fieldtype": "cca2",
        }
        form |= {"url_params": {}, "row_limit": 1, "adhoc_filters": [], "time_range": "No filter"}
        data = {"form_data": json.dumps(form)}
        return int(self.client.post("/superset/explore_json/?query=true", data=data, headers=self.headers).status_code)

    def charts_on_own_dashboard(self) -> int:
        """Put the first chart on a new dashboard; return 200 if its parameters are read there."""
        made = self.client.post("/api/v1/dashboard/", json={"dashboard_title": "own"}, headers=self.headers)
        if made.status_code != 201:
            return int(made.status_code)
        path = f"/api/v1/dashboard/{made.get_json()['id']}"
        positions = {"CHART-1": {"type": "CHART", "id": "CHART-1", "children": [], "meta": {"chartId": 1}}}
        change = {"json_metadata": json.dumps({"positions": positions})}
        status = self.client.put(path, json=change, headers=self.headers).status_code
        charts = self.client.get(f"{path}/charts").get_json()["result"]
        return 200 if [chart["form_data"] for chart in charts] else int(status)

    def chart_of_own(self, app: Any, sql: str) -> str:
        """Return what a chart of an own statement, which SQL Lab keeps also if it fails, is answered."""
        with app.app_context():
            from superset import db
            from superset.models.sql_lab import Query

            statement = db.session.query(Query).filter_by(sql=sql).order_by(Query.id.desc()).first()
        return self.asked_of({"id": statement.id, "type": "query"}, "upper(x)") if statement else "404"

    def charts(self, own: int, other: int) -> dict[str, str]:
        """Make charts of a dataset, and of one that is not granted; return the statuses."""
        chart = {"slice_name": self.user, "viz_type": "table", "datasource_id": own, "datasource_type": "table"}
        made = self.client.post("/api/v1/chart/", json=chart, headers=self.headers)
        change = {"datasource_id": other, "datasource_type": "table"}
        path = f"/api/v1/chart/{(made.get_json() or {}).get('id')}"
        return {
            "own chart": str(made.status_code),
            "chart of another dataset": str(self.status("POST", "/api/v1/chart/", {**chart, "datasource_id": other})),
            "another dataset for the own chart": str(self.status("PUT", path, change)),
        }

    def sql(self, sql: str) -> str:
        """Return what SQL Lab answers, also to who wants the answer later."""
        body = {"database_id": 1, "sql": sql, "runAsync": True}
        answer = self.client.post("/api/v1/sqllab/execute/", json=body, headers=self.headers)
        return f"{answer.status_code} {answer.get_data(as_text=True)[:1500]}"

    def lists(self, path: str, lists: dict[str, set[int]]) -> str:
        """Return the status of a list; or, if it is refused, one of 200 where others than the own ones are seen.

        Parameters
        ----------
        path
            Of the list itself.
        lists
            Path of each other list to the own numbers.
        """
        status = self.status("GET", path)
        for other, own in lists.items():
            for question in ("", "?q=(filter:e)", f"?q=(include_ids:!({','.join(map(str, range(1, 30)))}))"):
                answer = self.client.get(other + question, headers=self.headers)
                seen = {each["value"] for each in (answer.get_json(silent=True) or {}).get("result", ())}
                if status != 200 and seen - own:
                    return f"200 {other}{question} lists {sorted(seen - own)}"
        return str(status)

    def other_endpoints(self, app: Any) -> str:
        """Request all closed endpoints; return the first one that answers, or a refusal. Administrators request one."""
        if self.user == "Admin":
            return str(self.status("GET", "/swagger/v1"))
        rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint not in OPEN_ENDPOINTS]
        assert len(rules) > 150
        menu = re.findall(r'"url": ?"(/[^"]+)"', self.client.get("/api/v1/menu/").get_data(as_text=True))
        assert [path for path in menu if self.status("GET", path) >= 400] == [], self.user
        for rule in rules:
            path = re.sub("<[^>]+>", "1", rule.rule)
            for method in sorted(rule.methods - {"HEAD", "OPTIONS"}):
                answer = self.client.open(path, method=method, headers=self.headers)
                is_login = answer.status_code == 302 and answer.location.startswith("/login/")
                # Without a session, a change is refused for want of a token.
                if not is_login and answer.status_code not in (403, 400 if self.user == "not logged in" else 403):
                    return f"200 {method} {path} is answered {answer.status_code}"
        return "403"

    def everything(self, app: Any) -> dict[str, Any]:
        """Ask for everything that SECURITY.md has a row of."""
        dataset = self.question["datasource"]["id"]
        chart = {"slice_name": self.user, "viz_type": "table", "datasource_id": dataset, "datasource_type": "table"}
        dashboard = {"dashboard_title": self.user}
        theme = {"theme_name": self.user, "json_data": "{}"}
        users, roles = related_lists(app, self.user_name)
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
            "use an annotation layer that a chart has": self.rows(annotation_layers=[LAYER]),
            "use your own annotation layer in a chart": self.rows(annotation_layers=[{**LAYER, "name": "b"}]),
            "create charts of any dataset": self.status("POST", "/api/v1/chart/", chart),
            "create dashboards": self.status("POST", "/api/v1/dashboard/", dashboard),
            "put any chart on a dashboard of your own": self.charts_on_own_dashboard(),
            "use someone else's statement of SQL Lab in a chart": self.asked_of(STATEMENT, "1 + 1"),
            "read someone else's statement of SQL Lab": self.statement_of_others(),
            **Changes(app, self.client, self.headers, self.user).statuses(),
            "change someone else's CSS template": self.status(
                "PUT", f"/api/v1/css_template/{OTHERS}", {"css": self.user}
            ),
            "change someone else's annotation layer": self.status(
                "PUT", f"/api/v1/annotation_layer/{LAYER['value']}", {"descr": self.user}
            ),
            "change someone else's theme": self.status("PUT", f"/api/v1/theme/{OTHERS}", theme),
            "create themes": self.status("POST", "/api/v1/theme/", theme),
            "read what any chart is made of": self.chart_of_no_dataset(),
            "open the earlier page of charts": self.status("POST", "/superset/explore/?slice_id=1"),
            "import themes": self.status("POST", "/api/v1/theme/import/"),
            "tag charts and dashboards": self.status(
                "POST",
                "/api/v1/tag/bulk_create",
                {"tags": [{"name": self.user, "objects_to_tag": [["dashboard", 1]]}]},
            ),
            "delete tags": self.status("DELETE", f"/api/v1/tag/?q=!('{TAG}')"),
            "empty the cache of charts": self.status("POST", "/api/v1/cachekey/invalidate", {"datasource_uids": []}),
            "create datasets": self.status(
                "POST", "/api/v1/dataset/", {"database": 1, "table_name": f"of {self.user}", "sql": "SELECT 1 AS one"}
            ),
            "query in SQL Lab": self.sql("SELECT run_id FROM run_harm"),
            "attach a file in SQL Lab": self.sql("ATTACH DATABASE 'superset.db' AS x"),
            "add a database connection": self.status("POST", "/api/v1/database/", another),
            "change the database connection": self.status("PUT", "/api/v1/database/1", {"expose_in_sqllab": True}),
            "test a database connection": self.status("POST", "/api/v1/database/test_connection/", another),
            "list users": self.lists("/api/v1/security/users/", users),
            "create users": self.status("POST", "/api/v1/security/users/", {"username": self.user}),
            "list roles": self.lists("/api/v1/security/roles/", roles),
            "import dashboards": self.status("POST", "/api/v1/dashboard/import/"),
            "import assets": self.status("POST", "/api/v1/assets/import/"),
            "export assets": self.status("GET", "/api/v1/assets/export/"),
            "export a dashboard with its rows": self.status("GET", "/api/v1/dashboard/1/export_as_example/"),
            "list others' drafts": self.drafts(app),
            "open others' drafts": self.draft(),
            "open addresses that no page for readers and authors requests": self.other_endpoints(app),
        }


def main() -> None:
    """Ask, and print."""
    app = create_app()
    logging.disable(logging.CRITICAL)
    assert set(app.view_functions) >= OPEN_ENDPOINTS, OPEN_ENDPOINTS - set(app.view_functions)
    with app.app_context():
        from superset import db
        from superset import security_manager as manager
        from superset.connectors.sqla.models import SqlaTable, TableColumn
        from superset.models.annotations import AnnotationLayer
        from superset.models.core import CssTemplate, Theme
        from superset.models.dashboard import Dashboard
        from superset.models.slice import Slice
        from superset.models.sql_lab import Query, SavedQuery, TableSchema, TabState
        from superset.tags.models import Tag, TagType

        chart = db.session.query(Slice).filter_by(slice_name="kept").one()
        chart.params = json.dumps({**json.loads(chart.params), "metric": METRIC, "adhoc_filters": [CONDITION]})
        chart.query_context = json.dumps(
            {"queries": [{"columns": ["packets"], "post_processing": [OPERATION], "annotation_layers": [LAYER]}]}
        )
        db.session.add(AnnotationLayer(id=LAYER["value"], name="events"))
        owner = manager.find_user(os.environ["SUPERSET_ADMIN_USER"]).id
        saved = {"label": "one", "sql": "select 1", "description": "of somebody else"}
        db.session.add(SavedQuery(uuid=SAVED_QUERY, db_id=1, user_id=owner, **saved))
        db.session.add(TabState(id=OTHERS, user_id=owner, database_id=1, label="one", sql=""))
        of_tab = {"schema": "main", "table": "t", "description": "{}", "expanded": False}
        db.session.add(TableSchema(id=OTHERS, tab_state_id=OTHERS, database_id=1, **of_tab))
        statement = {"client_id": STATEMENT_NAME, "sql": OF_STATEMENT, "tmp_table_name": "", "status": "success"}
        db.session.add(Query(id=OTHERS, database_id=1, user_id=owner, **statement))
        draft = {"dashboard_title": "draft", "owners": [manager.find_user(os.environ["SUPERSET_ADMIN_USER"])]}
        db.session.add(Dashboard(id=OTHERS, uuid=DRAFT, slices=[chart], **draft))
        other = SqlaTable(table_name="other", database_id=1, columns=[TableColumn(column_name="name", type="VARCHAR")])
        db.session.add(other)
        db.session.add(CssTemplate(id=OTHERS, template_name="one", css=""))
        db.session.add(Theme(id=OTHERS, theme_name="one", json_data="{}"))
        db.session.add(Tag(id=OTHERS, name=TAG, type=TagType.custom))
        db.session.commit()
        granted = manager.add_role("granted")
        counted = SqlaTable(table_name="counted", database_id=1, sql="SELECT COUNT(*) AS runs FROM run_harm")
        groups = SqlaTable(table_name="run_harm?group=study_id", database_id=1)
        db.session.add_all((counted, groups))
        db.session.commit()
        granted.permissions = [manager.add_permission_view_menu("datasource_access", other.perm)]
        of_results = manager.add_role("granted results")
        of_results.permissions = [
            manager.add_permission_view_menu("datasource_access", each.perm) for each in (counted, groups)
        ]
        results = {"id": counted.id, "type": "table"}
        other_source = {"id": other.id, "type": "table"}
        of_granted = [granted, *(manager.find_role(role) for role in ("Gamma", "sql_lab"))]
        assert manager.add_user("granted", "granted", "Tester", "granted@example", of_granted, PASSWORD)
        of_granted[0] = of_results
        assert manager.add_user("results", "granted", "Tester", "results@example", of_granted, PASSWORD)
        for user, roles in ROLES.items():
            if user not in ("Admin", "viewer"):
                user_roles = [manager.find_role(role) for role in roles]
                assert manager.add_user(user, user, "Tester", f"{roles[0]}@{len(roles)}", user_roles, PASSWORD), user
        administrators_only = {
            role: sorted(
                name
                for permission in manager.find_role(role).permissions
                if (name := (permission.permission.name, permission.view_menu.name)) in ADMINISTRATORS_ONLY
            )
            for role in ("Gamma", "Alpha", "Admin")
        }
    question = chart_question(app)
    answers: dict[str, Any] = {
        "not logged in": Asking(app.test_client(), {}, question, "not logged in").everything(app)
    }
    asking_as = {}
    for place, user in enumerate(ROLES):
        name = {"Admin": os.environ["SUPERSET_ADMIN_USER"], "viewer": os.environ["VIEWER"]}.get(user, user)
        password = os.environ["SUPERSET_ADMIN_PASSWORD"] if user == "Admin" else PASSWORD
        client, headers, _ = logged_in(app, name, password, f"192.0.2.{place + 1}")
        asking = asking_as[user] = Asking(client, headers, question, user, name)
        answers[user] = asking.everything(app)
        if user.startswith("Alpha"):
            answers.setdefault("earlier charts", {})[user] = asking.earlier_chart(f"{OTHERS}__query")
        if user == "Admin":
            answers["imports"] = imports(app, client, headers)
            exported = client.get("/api/v1/dashboard/export/?q=!(1)").data
            answers["import of an export"] = imported(client, headers, "dashboard", exported, overwrite="true")
        if user == "viewer":
            answers["kept"] = kept(app, client, headers)
            # Parsed, each level would take twice as long.
            answers["types within types"] = asking.rows(extras={"where": "DATE(" * 40 + "1" + ")" * 40, "having": ""})
            answers["long SQL"] = asking.rows(extras={"where": "(packets > 0" + " or 1" * 2**17 + ")", "having": ""})
    client, headers, _ = logged_in(app, "granted", PASSWORD, "192.0.2.100")
    granted_one = Asking(client, headers, question, "granted")
    answers["granted another dataset"] = {
        **{
            expression: granted_one.asked_of(other_source, expression)
            for expression in ("upper(name)", IN_A_COMMENT, *OF_HARM)
        },
        **{f"SELECT {each}": granted_one.sql(f"SELECT {each}") for each in ("1", *OF_HARM)},
        "rows": granted_one.rows(),
        **granted_one.charts(other_source["id"], question["datasource"]["id"]),
    }
    client, headers, _ = logged_in(app, "results", PASSWORD, "192.0.2.101")
    of_results = Asking(client, headers, question, "results")
    answers["granted results of a table"] = {
        "runs + 0": of_results.asked_of(results, "runs + 0"),
        **{sql: of_results.sql(sql) for sql in ("SELECT 1", *OF_THE_TABLE)},
        **{f"chart of {sql}": of_results.chart_of_own(app, sql) for sql in OF_THE_TABLE},
    }
    answers["too large"] = too_large(app, client, headers)
    answers["left by authors"] = left_by_authors(app, asking_as["Alpha, sql_lab"], asking_as["viewer"])
    answers["administrators only"] = administrators_only
    answers["logins"] = logins(app)
    answers["malformed logins"] = malformed_logins(app)
    print(json.dumps(answers), file=sys.stderr)


def related_lists(app: Any, name: str) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """Return the path of each list of users, and of roles, that Superset has for its other things; to the own ones."""
    with app.app_context():
        from superset import security_manager as manager

        user = manager.find_user(name)
        own = {
            manager.user_model: {user.id} if user else set(),
            manager.role_model: {role.id for role in user.roles} if user else set(),
        }
        lists: dict[Any, dict[str, set[int]]] = {model: {} for model in own}
        for view in app.appbuilder.baseviews:
            for column in getattr(view, "allowed_rel_fields", ()):
                model = view.datamodel.get_related_interface(column).obj
                if model in own:
                    lists[model][f"/api/v1/{view.resource_name}/related/{column}"] = own[model]
        assert {"/api/v1/dashboard/related/owners", "/api/v1/css_template/related/created_by"} <= set(
            lists[manager.user_model]
        )
        assert "/api/v1/dashboard/related/roles" in lists[manager.role_model]
    return lists[manager.user_model], lists[manager.role_model]


if __name__ == "__main__":
    main()
