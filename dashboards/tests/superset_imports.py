"""Imports that a real Superset refuses, and one that it takes."""

from __future__ import annotations

import io
import os
import uuid
import zipfile
from typing import Any

from superset_owners import archive_of

from sojourn_superset import request_time


def imports(app: Any, client: Any, headers: dict[str, str]) -> dict[str, str]:
    """Import archives that are to be refused; return the answers."""
    with app.app_context():
        from superset import db
        from superset.models.core import Database

        database = db.session.get(Database, 1).uuid
    files = {
        "metadata.yaml": "version: 1.0.0\ntype: SqlaTable\ntimestamp: '2026-01-01T00:00:00'\n",
        "databases/d.yaml": f"database_name: d\nsqlalchemy_uri: shillelagh+safe://\nuuid: {database}\nversion: 1.0.0\n",
        "datasets/d/x.yaml": f"table_name: A b\nuuid: {uuid.uuid4()}\nversion: 1.0.0\ndatabase_uuid: {database}\n"
        "columns: []\nmetrics: []\n",
    }

    def answer(content: bytes, kind: str = "dataset") -> str:
        return imported(client, headers, kind, content)

    def changed(name: str, text: str) -> str:
        return answer(archive_of({**files, name: files.get(name, "") + text}))

    columns = "".join(f"- column_name: c{number}\n" for number in range(3_000))
    within, request_time.LONGEST_S = request_time.LONGEST_S, 0.1
    long = answer(
        archive_of({**files, "datasets/d/x.yaml": files["datasets/d/x.yaml"].replace("[]", f"\n{columns}", 1)})
    )
    request_time.LONGEST_S = within
    return {
        "many columns": long,
        "tables after that": ", ".join(
            each["table_name"] for each in client.get("/api/v1/dataset/").get_json()["result"]
        ),
        # No dataset has such a name, so its data would be loaded.
        "data of another host": changed("datasets/d/x.yaml", f"data: {os.environ['OTHER_API']}/data.csv\n"),
        "aliases": changed("datasets/d/x.yaml", "extra: &a {b: 1}\ntemplate_params: *a\n"),
        "large files": changed("datasets/d/y.yaml", "# " + "x" * 2**22),
        "many files": answer(archive_of({**files, **{f"{n}.txt": "x" * 2**20 for n in range(5)}})),
        "bzip2": answer(archive_of(files, zipfile.ZIP_BZIP2)),
        "earlier datasets": answer(archive_of({"d.yaml": "databases: [{database_name: d, tables: []}]"})),
        "an earlier dataset alone": answer(b"databases: [{database_name: d, tables: []}]"),
        "earlier dashboards": answer(b'{"dashboards": [], "datasources": []}', "dashboard"),
    }


def imported(client: Any, headers: dict[str, str], kind: str, content: bytes, **fields: str) -> str:
    """Import a file; return the answer."""
    form = {"formData": (io.BytesIO(content), "x.zip"), **fields}
    answer = client.post(f"/api/v1/{kind}/import/", data=form, headers=headers)
    return f"{answer.status_code} {answer.get_data(as_text=True)[:500]}"
