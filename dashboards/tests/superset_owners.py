"""What a user changes of someone else's charts, dashboards, datasets and saved queries, by every way there is."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

SAVED_QUERY = uuid.uuid4()
METADATA = "version: 1.0.0\ntype: {}\ntimestamp: '2026-01-01T00:00:00'\n"
#: What an import is of, by the path that takes it.
TYPES = {
    "saved_query": "SavedQuery", "assets": "assets", "dataset": "SqlaTable", "chart": "Slice", "dashboard": "Dashboard",
}  # fmt: skip
#: What of the database belongs to the objects that are attacked.
STATES = {
    "chart": ("SELECT slice_name, params, query_context, description, viz_type FROM slices WHERE id = 1",),
    "dashboard": (
        "SELECT dashboard_title, css, position_json, json_metadata, uuid FROM dashboards WHERE id = 1",
        "SELECT slice_id FROM dashboard_slices WHERE dashboard_id = 1",
        "SELECT user_id FROM dashboard_user WHERE dashboard_id = 1",
    ),
    "dataset": (
        "SELECT sql, description, uuid FROM tables WHERE table_name = 'run_harm'",
        "SELECT column_name, expression FROM table_columns JOIN tables t ON t.id = table_id "
        "WHERE table_name = 'run_harm'",
        "SELECT metric_name, expression FROM sql_metrics JOIN tables t ON t.id = table_id "
        "WHERE table_name = 'run_harm'",
        "SELECT user_id FROM sqlatable_user JOIN tables t ON t.id = table_id WHERE table_name = 'run_harm'",
    ),
    "tab of SQL Lab": (
        "SELECT COUNT(*) FROM tab_state WHERE label LIKE 'planted%' OR id > 9000",
        "SELECT label, sql, user_id FROM tab_state WHERE id = 900",
        "SELECT id, description, expanded FROM table_schema WHERE tab_state_id = 900",
    ),
    "saved query": ("SELECT label, sql, user_id FROM saved_query WHERE description = 'of somebody else'",),
}


def archive_of(files: dict[str, str], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive as Superset makes them."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", kind) as archive:
        for name, text in files.items():
            archive.writestr(f"x/{name}", text)
    return content.getvalue()


class Changes:
    """Requests of a user that would change what belongs to the administrator."""

    def __init__(self, app: Any, client: Any, headers: dict[str, str], user: str) -> None:
        self.app, self.client, self.headers, self.user = app, client, headers, user
        self.answers: list[int] = []
        with app.app_context():
            from superset import db
            from superset.connectors.sqla.models import SqlaTable
            from superset.models.core import Database
            from superset.models.dashboard import Dashboard

            dataset = db.session.query(SqlaTable).filter_by(table_name="run_harm").one()
            self.dataset, self.dataset_uuid = dataset.id, str(dataset.uuid)
            self.database = str(db.session.get(Database, 1).uuid)
            dashboard = db.session.get(Dashboard, 1)
            self.dashboard_uuid, self.slug = str(dashboard.uuid), dashboard.slug

    def state(self, kind: str) -> list[Any]:
        """Return what the database has of the attacked object."""
        with self.app.app_context():
            from superset import db

            return [[tuple(row) for row in db.session.execute(query)] for query in STATES[kind]]

    def statuses(self) -> dict[str, str]:
        """Return 200 for each kind that was changed, with what did it; 403 for the others."""
        return {f"change someone else's {kind}": self._status(kind) for kind in STATES}

    def _status(self, kind: str) -> str:
        before = self.state(kind)
        for name, write in self._ways(kind):
            write()
            if self.state(kind) != before:
                return f"200 {name}"
        return "403" if max(self.answers, default=0) < 500 else f"200 {self.answers}"

    def _ways(self, kind: str) -> Iterator[tuple[str, Callable[[], object]]]:
        if kind == "chart":
            yield "PUT", lambda: self._put("chart/1", description=self.user)
            forged = json.dumps({"of": self.user})
            yield "reports", lambda: self._put("chart/1", query_context=forged, query_context_generation=True)
        elif kind == "dashboard":
            yield "PUT", lambda: self._put("dashboard/1", css=f"/* {self.user} */")
            yield "own chart", lambda: self._put(f"chart/{self._own_chart()}", dashboards=[1])
        elif kind == "dataset":
            yield "PUT", lambda: self._put(f"dataset/{self.dataset}", description=self.user)
        elif kind == "tab of SQL Lab":
            table = {"queryEditorId": 900, "dbId": 1, "schema": "main", "name": "t"}
            self._post("tabstateview/", queryEditor={"dbId": 1, "name": "own", "sql": ""})
            own = self._own_tab()
            yield "owner", lambda: self._put_form(f"tabstateview/{own}", user_id=1, label="planted")
            yield "relation", lambda: self._put_form(f"tabstateview/{own}", label="planted", created_by=1)
            yield "long", lambda: self._put_form(f"tabstateview/{own}", label="planted" * 50)
            yield "number", lambda: self._put_form(f"tabstateview/{own}", id=2**62)
            yield "table", lambda: self._post("tableschemaview/", table=table)
            yield "expanded", lambda: self._post("tableschemaview/900/expanded", expanded=True)
            yield "removal", lambda: self.client.delete("/tableschemaview/900", headers=self.headers)
            return
        for path in TYPES:
            for overwrite in ("false", "true"):
                for name, files in self._archives(kind):
                    yield (
                        f"import of {name} at {path}, overwrite {overwrite}",
                        lambda path=path, files=files, overwrite=overwrite: self._import(path, files, overwrite),
                    )

    def _put(self, path: str, **values: Any) -> None:
        self.answers.append(self.client.put(f"/api/v1/{path}", json=values, headers=self.headers).status_code)

    def _post(self, path: str, **values: Any) -> None:
        form = {name: json.dumps(value) for name, value in values.items()}
        self.answers.append(self.client.post(f"/{path}", data=form, headers=self.headers).status_code)

    def _put_form(self, path: str, **values: Any) -> None:
        form = {name: json.dumps(value) for name, value in values.items()}
        self.answers.append(self.client.put(f"/{path}", data=form, headers=self.headers).status_code)

    def _own_tab(self) -> int:
        with self.app.app_context():
            from superset import db

            newest = db.session.execute("SELECT max(id) FROM tab_state WHERE label = 'own'").scalar()
            return int(newest or 0)

    def _own_chart(self) -> int:
        chart = {
            "slice_name": self.user, "viz_type": "table", "datasource_id": self.dataset, "datasource_type": "table",
            "params": "{}",
        }  # fmt: skip
        answer = self.client.post("/api/v1/chart/", json=chart, headers=self.headers).get_json(silent=True) or {}
        return int(answer.get("id", 0))

    def _import(self, path: str, files: dict[str, str], overwrite: str) -> None:
        content = archive_of({"metadata.yaml": METADATA.format(TYPES[path]), **files})
        form = {"bundle" if path == "assets" else "formData": (io.BytesIO(content), "x.zip"), "overwrite": overwrite}
        self.client.post(f"/api/v1/{path}/import/", data=form, headers=self.headers)

    def _archives(self, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield archives that would change an object, by how they name it."""
        database = {
            "databases/d.yaml": f"database_name: d\nsqlalchemy_uri: shillelagh+safe://\nuuid: {self.database}\n"
            "version: 1.0.0\n"
        }
        if kind == "saved query":
            yield (
                "its UUID",
                database
                | {
                    "queries/d/q.yaml": f"schema: null\nlabel: {self.user}\nsql: select 1\n"
                    f"description: of somebody else\nuuid: {SAVED_QUERY}\n"
                    f"version: 1.0.0\ndatabase_uuid: {self.database}\n"
                },
            )
        if kind == "dataset":
            for name, number in (("its name", uuid.uuid4()), ("its UUID", self.dataset_uuid)):
                yield name, database | self._charts_of(str(number), f"select '{self.user}' as a")
        if kind == "dashboard":
            names = {"its slug": str(uuid.uuid4()), "its UUID": self.dashboard_uuid}
            for name, number in {**names, "its UUID in capitals": self.dashboard_uuid.upper()}.items():
                chart = str(uuid.uuid4())
                position = {
                    "C": {"type": "CHART", "id": "C", "children": [], "meta": {"uuid": chart, "chartId": 1, "width": 4}}
                }
                of_dashboard = {
                    "dashboard_title": self.user, "slug": self.slug, "uuid": number, "version": "1.0.0",
                    "position": position, "metadata": {}, "css": f"/* {self.user} */", "published": True,
                }  # fmt: skip
                charts = self._charts_of(self.dataset_uuid, None, chart)
                yield name, database | charts | {"dashboards/n.yaml": json.dumps(of_dashboard)}

    def _charts_of(self, dataset: str, sql: str | None, chart: str = "") -> dict[str, str]:
        """Return a dataset with the attacked one's name, and a chart of it."""
        of_dataset = {
            "table_name": "run_harm", "uuid": dataset, "version": "1.0.0", "database_uuid": self.database,
            "columns": [], "metrics": [], "sql": sql,
        }  # fmt: skip
        of_chart = {
            "slice_name": self.user, "viz_type": "table", "params": {"viz_type": "table"},
            "uuid": chart or str(uuid.uuid4()), "version": "1.0.0", "dataset_uuid": dataset,
        }  # fmt: skip
        return {"datasets/d/a.yaml": json.dumps(of_dataset), "charts/c.yaml": json.dumps(of_chart)}
