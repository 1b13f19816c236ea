"""A metadata database that Superset has migrated, without a user: made once for its versions, and copied by tests.

`prepare` finds nothing to migrate in a copy, and makes the user of the test: in half of the CPU time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "dashboards" / ".venv" / "bin" / "python"
KEPT = ROOT / "var" / "test-superset"


def put_prepared_database(var: Path) -> None:
    """Put a copy below ``var``, where ``sojourn-superset prepare`` looks for its database; leave one that is there."""
    target = var / "superset" / "superset.db"
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{_made_from()}.db"
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            _make(kept)
    shutil.copyfile(kept, target)


def _made_from() -> str:
    """Return one hash over all that the database depends on: Superset, its settings, and what prepares it."""
    files = [
        ROOT / "dashboards" / "uv.lock",
        ROOT / "infra" / "superset" / "superset_config.py",
        *sorted((ROOT / "dashboards" / "src").rglob("*.py")),
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _make(kept: Path) -> None:
    var = KEPT / "made"
    shutil.rmtree(var, ignore_errors=True)
    for older in KEPT.glob("*.db"):
        older.unlink()
    secret = "only-for-this-database-0123456789abcdef"
    environment = {
        **os.environ,
        "SOJOURN_VAR": str(var),
        "SUPERSET_SECRET_KEY": secret,
        "SUPERSET_ADMIN_USER": "nobody",
        "SUPERSET_ADMIN_PASSWORD": secret[::-1],
    }
    program = "from sojourn_superset import cli; cli.main()"
    run = subprocess.run(
        [str(PYTHON), "-c", program, "prepare"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    with closing(sqlite3.connect(var / "superset" / "superset.db")) as database, database:
        database.execute("delete from ab_user_role")
        database.execute("delete from ab_user")
    (var / "superset" / "superset.db").replace(kept)
    shutil.rmtree(var)
