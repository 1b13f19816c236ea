"""Runs commands of Sojourn in forks of one process, so that hundreds of faults cost seconds and not start-ups.

Reads one request per line from the standard input (JSON: ``argv``, ``environment``, ``printed``), and answers each with
the status of the fork, negative for a signal. A fork imports nothing and runs what the command line runs; ``publish``
and ``read`` are not commands of Sojourn, but the step of a build that publishes, and a build's way to read a lake.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from importlib.metadata import entry_points
from pathlib import Path

import duckdb
import obstore.store  # noqa: F401 - loaded here, so that no fork has to
import pyarrow.parquet as pq

from sojourn_ingest import named_points

# What the commands import when they are called, likewise.
from sojourn_ingest.cli import (
    forgetting,  # noqa: F401
    ingesting,  # noqa: F401
    main,
)
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_transforms import maintenance  # noqa: F401
from sojourn_transforms.mart import Mart, MartColumn
from sojourn_transforms.publishing import publish_snapshot

MART = Mart(
    name="delay",
    description="Delays.",
    grain="one run",
    key=("run_id",),
    columns=(MartColumn("run_id", None, "Run.", False), MartColumn("mean_ms", "ms", "Mean.", True)),
)


def publish_small(var: Path, value: float) -> None:
    """Publish a mart of a few rows; the value makes one build another."""
    warehouse = var / "small.duckdb"
    if not warehouse.exists():
        with duckdb.connect(str(warehouse)) as connection:
            connection.execute("create schema marts")
            connection.execute(
                "create table marts.delay as select 'r' || i as run_id, i / 2 as mean_ms from range(9) t(i)"
            )
    publish_snapshot(warehouse, "marts", [MART], {"value": value}, var / "snapshots")


def read_lake(times: int) -> None:
    """Read every live file under a reader's hold, as often as asked: each must be whole, and stay while it is read."""
    for _ in range(times):
        lake = Paths.from_environment().open_lake()
        with lake.reading():
            named_points.reach("lake.registered")
            rows = {name: sum(pq.read_table(path).num_rows for path in lake.files(name)) for name in TABLES}
            again = {name: sum(pq.read_table(path).num_rows for path in lake.files(name)) for name in TABLES}
            assert rows == again


def run(argv: list[str]) -> int:
    """Run one command in this process, and return its status."""
    try:
        if argv[0] == "publish":
            publish_small(Paths.from_environment().var, float(argv[1]))
        elif argv[0] == "read":
            read_lake(int(argv[1]))
        else:
            sys.argv = ["sojourn", *argv]
            main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except OSError as error:
        # As the command line tells it; publication is a step of a command.
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - the test reads what is printed, and a fork must end
        traceback.print_exc()
        return 70
    return 0


def forked(request: dict[str, object]) -> int:
    """Run one request in a fork, and return how it ended."""
    child = os.fork()
    if child == 0:
        descriptor = os.open(str(request["printed"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.environ.update(request["environment"])  # type: ignore[arg-type]
        named_points.reach = named_points.point_of(os.environ)
        status = run(list(request["argv"]))  # type: ignore[call-overload]
        # What is left of the command goes now, so that what a destructor prints is seen.
        gc.collect()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended)


if __name__ == "__main__":
    keep_pandas_out()
    for command in entry_points(group="sojourn.commands"):
        command.load()
    # A collection in a fork would copy every page that it looks at.
    gc.freeze()
    for line in sys.stdin:
        print(forked(json.loads(line)), flush=True)
    # What was loaded is given back as ever when the process ends.
    gc.unfreeze()
