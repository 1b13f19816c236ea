"""Importing into a real Superset: ours is replaced, the rest is left alone. Starts Superset thrice (a minute)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from contract_server import Contract
from prepared_database import put_prepared_database

from sojourn_superset import assets

pytestmark = pytest.mark.integration


def command(var: Path, folder: Path, *arguments: str) -> str:
    """Run the command line on the assets in `folder`; return what it printed."""
    code = (
        "from pathlib import Path; from sojourn_superset import cli, settings; "
        f"settings.ASSETS = Path({str(folder)!r}); cli.main()"
    )
    environment = {
        **os.environ,
        "SOJOURN_VAR": str(var),
        "SUPERSET_SECRET_KEY": "only-for-this-test-0123456789abcdef",
        "SUPERSET_ADMIN_USER": "tester",
        "SUPERSET_ADMIN_PASSWORD": "only-for-this-test",
    }
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    return run.stderr


def test_importing_replaces_ours_and_leaves_the_rest(tmp_path: Path, contract: Contract) -> None:
    folder, var = tmp_path / "assets", tmp_path / "var"
    write_assets(folder)
    put_prepared_database(var)
    said = command(var, folder, "prepare", "--api", contract.url)
    assert "created the user tester" in said
    assert all(line.startswith("[") for line in said.splitlines()), "progress is one line per step, nothing else"

    assert stat.S_IMODE((var / "superset").stat().st_mode) == 0o700
    assert stat.S_IMODE((var / "superset" / "superset.db").stat().st_mode) == 0o600
    database = sqlite3.connect(var / "superset" / "superset.db")

    def titles(table: str, column: str) -> set[str]:
        return {row[0] for row in database.execute(f"SELECT {column} FROM {table}")}

    assert titles("slices", "slice_name") == {"kept", "dropped"}
    assert titles("dashboards", "slug") == {"one"}
    # a chart and a dashboard that someone made by hand
    now = "2026-11-21 01:02:03"
    for table, column, name in (("slices", "slice_name", "by hand"), ("dashboards", "slug", "by-hand")):
        database.execute(
            f"INSERT INTO {table} ({column}, uuid, created_on, changed_on) VALUES (?, randomblob(16), ?, ?)",
            (name, now, now),
        )
    database.commit()

    # nothing changed: no start of Superset
    said = command(var, folder, "prepare", "--api", contract.url)
    assert "prepared already" in said
    assert "up to date" in said
    assert "starting" not in said

    (folder / "charts" / "one" / "dropped.yaml").unlink()
    dashboard = yaml.safe_load((folder / "dashboards" / "one.yaml").read_text())
    del dashboard["position"]["dropped"]
    (folder / "dashboards" / "one.yaml").write_text(yaml.safe_dump(dashboard))
    said = command(var, folder, "import-assets", "--api", contract.url)
    assert "removed charts/one/dropped" in said
    assert titles("slices", "slice_name") == {"kept", "by hand"}
    assert titles("dashboards", "slug") == {"one", "by-hand"}
    placed = database.execute("SELECT slice_name FROM dashboard_slices JOIN slices ON slices.id = slice_id").fetchall()
    assert placed == [("kept",)]


def write_assets(folder: Path) -> None:
    """Write two charts of the contract's table, and a dashboard with both."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "metadata.yaml").write_text("version: 1.0.0\ntype: assets\n")

    def write(name: str, content: dict[str, object]) -> str:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        uuid = assets.asset_uuid(name)
        (folder / name).write_text(yaml.safe_dump({**content, "uuid": uuid, "version": "1.0.0"}))
        return uuid

    database = write(
        "databases/api.yaml",
        {
            "database_name": "API",
            "sqlalchemy_uri": "shillelagh+safe://",
            "extra": {"engine_params": {"adapters": ["sojourn"]}},
        },
    )
    dataset = write(
        "datasets/run_harm.yaml",
        {
            "table_name": "run_harm",
            "database_uuid": database,
            "metrics": [{"metric_name": "count", "expression": "COUNT(*)"}],
        },
    )
    position: dict[str, object] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"id": "ROOT_ID", "type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"id": "GRID_ID", "type": "GRID", "children": ["ROW"]},
        "ROW": {"id": "ROW", "type": "ROW", "children": ["kept", "dropped"], "meta": {}},
    }
    for number, title in enumerate(("kept", "dropped")):
        chart = write(
            f"charts/one/{title}.yaml",
            {
                "slice_name": title,
                "viz_type": "big_number_total",
                "params": {"viz_type": "big_number_total", "metric": "count"},
                "dataset_uuid": dataset,
            },
        )
        meta = {"uuid": chart, "chartId": number + 1, "width": 4, "height": 20}
        position[title] = {"id": title, "type": "CHART", "children": [], "meta": meta}
    write(
        "dashboards/one.yaml",
        {"dashboard_title": "One", "slug": "one", "position": position, "metadata": {}, "published": True},
    )
