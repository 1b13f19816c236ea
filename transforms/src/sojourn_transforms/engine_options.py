"""The options that choose an engine, the same for every command that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sojourn_transforms.engine_variables import MASTER_VARIABLE, MEMORY_VARIABLE

if TYPE_CHECKING:
    from sojourn_ingest.paths import Paths
    from sojourn_transforms.engine import Engine

EngineOption = Annotated[
    Literal["duckdb", "spark"], typer.Option(help="duckdb: this machine; spark: this machine or a cluster.")
]
MasterOption = Annotated[
    str | None,
    typer.Option(help=f"Spark's master, such as spark://host:7077. Default: ${MASTER_VARIABLE} or this machine."),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        envvar=MEMORY_VARIABLE,
        help="Memory limit of DuckDB, such as 8GB; beyond it, DuckDB spills to disk next to the warehouse."
        " Default: four fifths of the memory of the machine or cgroup, or less, to leave 512 MiB free.",
        show_envvar=True,
    ),
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option(metavar="spark.SETTING=VALUE", help="A Spark setting; may be repeated."),
]


def check_memory(memory: str) -> None:
    """Refuse what DuckDB does not take as an amount of memory.

    Raises
    ------
    typer.BadParameter
        With an example.
    """
    import duckdb

    try:
        duckdb.connect(config={"memory_limit": memory}).close()
    except duckdb.Error as error:
        raise typer.BadParameter(
            f"{memory!r} is not an amount of memory; expected one such as 8GB", param_hint="--memory"
        ) from error


def engine_of(
    engine: str,
    paths: Paths,
    master: str | None,
    conf: list[str] | None,
    full: bool = False,
    memory: str | None = None,
) -> Engine:
    """Return the engine that a command line names.

    ``full``: it counts all connections, as Spark always does. ``memory`` bounds what DuckDB takes.

    Raises
    ------
    typer.BadParameter
        If there is no such amount of memory, or it is not DuckDB's.
    SparkError
        If a setting of Spark is not one.
    """
    if memory is not None and engine != "duckdb":
        raise typer.BadParameter(
            "is DuckDB's; give Spark --spark-conf spark.driver.memory=8g or spark.executor.memory=8g",
            param_hint=f"--memory ({MEMORY_VARIABLE})",
        )
    if memory is not None:
        check_memory(memory)
    if engine == "duckdb":
        from sojourn_transforms.engine import DuckDbEngine

        return DuckDbEngine(paths, full, memory)
    from sojourn_transforms.spark.engine import SparkEngine
    from sojourn_transforms.spark.session import SparkSettings

    return SparkEngine(paths, SparkSettings.from_options(master, conf or []))
