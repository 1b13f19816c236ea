"""The options by which a command is told its engine, the same for every command that has one."""

from __future__ import annotations

from typing import Annotated

import typer

from sojourn_ingest.paths import Paths
from sojourn_transforms.engine import DuckDbEngine, Engine
from sojourn_transforms.spark.session import MASTER_VARIABLE, SparkSettings

EngineOption = Annotated[str, typer.Option(help="duckdb: this machine; spark: this machine or a cluster.")]
MasterOption = Annotated[
    str | None,
    typer.Option(help=f"Spark's master, such as spark://host:7077. [default: ${MASTER_VARIABLE} or this machine]"),
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option(metavar="spark.SETTING=VALUE", help="A setting of Spark; may be given several times."),
]


def check_engine(engine: str) -> None:
    """Refuse a name that is no engine.

    Raises
    ------
    typer.BadParameter
        With the names that there are.
    """
    if engine not in ("duckdb", "spark"):
        raise typer.BadParameter("give duckdb or spark", param_hint="--engine")


def engine_of(engine: str, paths: Paths, master: str | None, conf: list[str] | None, full: bool = False) -> Engine:
    """Return the engine that a command line names; ``full``: it counts all connections anew, as Spark always does.

    Raises
    ------
    typer.BadParameter
        If there is no such engine.
    SparkError
        If a setting of Spark is not one.
    """
    check_engine(engine)
    if engine == "duckdb":
        return DuckDbEngine(paths, full)
    from sojourn_transforms.spark.engine import SparkEngine

    return SparkEngine(paths, SparkSettings.from_options(master, conf or []))
